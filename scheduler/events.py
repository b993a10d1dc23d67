"""Events in time: nodes go down and come up again, are drained, or kept for a while."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from netsim.common.arrays import Ints
from scheduler.allocation import Allocation
from scheduler.machine import Window

ACTIONS = ("down", "up", "drain", "resume")
"""What happens to nodes: ``resume`` ends a drain and a down, as in Slurm."""
_FAILED = "failed"  # down by a drawn failure, which its own repair ends


class MachineEvent(NamedTuple):
    """
    Something that happens to nodes.

    `time_s`: when, in seconds. `action`: a key of `ACTIONS`. `nodes`: which nodes. `cause`: for
    tables, what the user called them.
    """

    time_s: float
    action: str
    nodes: tuple[int, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What becomes of a job whose node goes down."""

    requeue: bool = True  # it joins the end of the queue; else it has ended
    delay_s: float = 120.0  # so long after its failure, positive
    most: int = 100  # so often; then it has ended
    checkpoint_s: float = inf  # work is kept every so many seconds of run time at full rate


@dataclass(frozen=True, slots=True, eq=False)
class FailedRun:
    """A run of a job that a failure ended; it may have run again."""

    allocation: Allocation
    # start_s, end_s: in seconds
    start_s: float
    end_s: float
    cause: str  # what went down
    lost_s: float  # work that has to be done again, in seconds at full rate


class DrawnFailures:
    """
    Failures of nodes by chance: each runs and is repaired by turns, for exponential times.

    `nodes`: those that fail. `mtbf_s`: mean time between the repair of a node and its next failure,
    in seconds. `repair_s`: mean time until a node is repaired, in seconds. `seed`: Random seed; the
    times depend on nothing else.
    """

    def __init__(self, nodes: Ints, mtbf_s: float, repair_s: float, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._mean_s = mtbf_s, repair_s
        first_s = self._rng.exponential(mtbf_s, nodes.size).tolist()
        self._due = [
            (time_s, node, True) for time_s, node in zip(first_s, nodes.tolist(), strict=True)
        ]
        heapq.heapify(self._due)

    @property
    def next_s(self) -> float:
        """When the next node fails or is repaired, in seconds."""
        next_s: float = self._due[0][0]
        return next_s

    def pop(self) -> tuple[float, int, bool]:
        """Return when, which node, and whether it fails."""
        time_s, node, fails = self._due[0]
        later_s = time_s + self._rng.exponential(self._mean_s[fails])
        heapq.heapreplace(self._due, (later_s, node, not fails))
        return time_s, node, fails


@dataclass(slots=True, eq=False)
class MachineEvents:
    """
    What happens to a machine in one simulation, and what then becomes of jobs.

    Parameters
    ----------
    listed : sequence of MachineEvent
        In any order; at one time the order counts.
    windows : sequence of Window
        Times in which nodes take no jobs; queue policies know them from the beginning.
    drawn : DrawnFailures or None
        Failures by chance.
    policy : FailurePolicy
        What becomes of jobs.

    Attributes
    ----------
    happened : list of MachineEvent
        What has happened so far.
    """

    listed: Sequence[MachineEvent] = ()
    windows: Sequence[Window] = ()
    drawn: DrawnFailures | None = None
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    happened: list[MachineEvent] = field(default_factory=list)
    _waiting: list[MachineEvent] = field(init=False)
    _ends: list[float] = field(init=False)
    _why: dict[int, set[str]] = field(default_factory=dict)  # nodes that take no jobs

    def __post_init__(self) -> None:
        """Put the events in order."""
        self._waiting = sorted(self.listed, key=lambda event: event.time_s)[::-1]
        self._ends = sorted({window.until_s for window in self.windows})[::-1]

    @property
    def next_s(self) -> float:
        """When something happens next, or a window ends, in seconds; inf: never."""
        times = [self._waiting[-1].time_s if self._waiting else inf, *self._ends[-1:]]
        return min([*times, inf if self.drawn is None else self.drawn.next_s])

    @property
    def closed(self) -> Iterable[int]:
        """Nodes that take no jobs now."""
        return self._why.keys()

    def take(self, now_s: float) -> tuple[bool, dict[int, str]]:
        """Let happen what is due; return whether nodes change, and those down with the cause."""
        down, changed = dict[int, str](), False
        while self._ends and self._ends[-1] <= now_s:
            self._ends.pop()
        while self._waiting and self._waiting[-1].time_s <= now_s:
            event = self._waiting.pop()
            changed |= self._apply(event, down)
        while self.drawn is not None and self.drawn.next_s <= now_s:
            time_s, node, fails = self.drawn.pop()
            event = MachineEvent(time_s, _FAILED if fails else "repaired", (node,), "failure")
            changed |= self._apply(event, down)
        return changed, down

    def _apply(self, event: MachineEvent, down: dict[int, str]) -> bool:
        """Note why nodes take no jobs; say whether that has changed for one."""
        self.happened.append(event)
        before = len(self._why)
        ends = {"up": {"down"}, "resume": {"down", "drain"}, "repaired": {_FAILED}}
        for node in event.nodes:
            if event.action not in ends:
                self._why.setdefault(node, set()).add(event.action)
                if event.action != "drain":
                    down[node] = event.cause
            elif node in self._why:
                self._why[node] -= ends[event.action]
                if not self._why[node]:
                    del self._why[node]
                    before = -1
        return len(self._why) != before
