"""What the packet simulation moves and where, as plain objects: links, places, packets, jobs."""

from collections import deque
from dataclasses import dataclass, field

from naive.splitmix import GOLDEN, MASK, output


class Stream:
    """Numbers in [0, 1), one after the other."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        """Return the next number."""
        drawn = output(self.state)
        self.state = (self.state + GOLDEN) & MASK
        return (drawn >> 11) / 2**53


@dataclass
class Link:
    """A directed link: ns per byte, delay of the switch before it."""

    number: int
    per_byte: float
    delay: float
    is_last: bool
    fastest_next: float = float("inf")
    free_at: float = 0.0
    under_way: deque = field(default_factory=deque)
    nbytes: float = 0.0
    packets: int = 0
    waited: float = 0.0


@dataclass
class Channel:
    """A virtual channel of a link."""

    link: Link
    number: int
    free: int
    slots: int
    lanes: dict = field(default_factory=dict)  # packets that wait, by input port
    turns: deque = field(default_factory=deque)  # input ports in order of their turn

    @property
    def occupied(self):
        """Packets that hold a place or wait for one."""
        return self.slots - self.free + sum(len(lane) for lane in self.lanes.values())


@dataclass
class Nic:
    """Where messages become packets."""

    number: int
    per_byte: float
    messages: deque = field(default_factory=deque)
    waiting: int = 0
    state: str = "idle"
    fresh: bool = False
    free_at: float = 0.0


@dataclass
class Flow:
    """A message of each iteration."""

    path: list
    nbytes: float
    nic: Nic
    step: int
    into: int
    unsent: int = 0
    unarrived: int = 0
    done: int = 0


@dataclass
class Packet:
    """A packet at a place of its path."""

    flow: Flow
    nbytes: float
    since: float
    path: list
    is_last: bool = False
    place: int = 0
    target: tuple | None = None  # where switches choose


class Job:
    """Steps of flows, and a compute time."""

    def __init__(self, steps, **work):
        self.steps = steps
        self.compute, self.spread, self.wake = work["compute"], work["spread"], work["wake"]
        self.need, self.leaves = work["need"], work["leaves"]
        self.step = self.open = self.count = 0
        self.ends = []
