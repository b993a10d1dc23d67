"""Events in time: nodes go down and come up again, are drained, or kept for a while."""

import heapq
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.machine import Window

ACTIONS = ("down", "up", "drain", "resume")
"""What happens to nodes: ``resume`` ends a drain and a down, as in Slurm."""
_FAILED, _REPAIRED = "failed", "repaired"  # by chance; neither is ended by a listed event
_ENDS = {"up": {"down"}, "resume": {"down", "drain"}, _REPAIRED: {_FAILED}}


class MachineEvent(NamedTuple):
    """
    Something that happens to nodes, switches or cables.

    Parameters
    ----------
    time_s : float
        When, in seconds of the simulation.
    action : {"down", "up", "drain", "resume"}
        What happens.
    nodes : tuple of int
        To which nodes.
    parts : tuple of str
        Names of switches and cables, which go down or come up.
    cause : str
        What the user called it, for tables.
    """

    time_s: float
    action: str
    nodes: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    cause: str = ""

    def __repr__(self) -> str:
        what = f"{len(self.nodes)} nodes, {len(self.parts)} switches and cables"
        return f"<MachineEvent: {self.action} at {self.time_s:g} s, {what}>"


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """
    What becomes of a job whose node goes down.

    Parameters
    ----------
    requeue : bool
        Whether it joins the end of the queue; else it has ended.
    delay_s : float
        How long after its failure, in seconds, positive.
    most : int
        How often; then it has ended.
    checkpoint_s : float
        Seconds of run time at full rate after which work is kept.
    """

    requeue: bool = True
    delay_s: float = 120.0
    most: int = 100
    checkpoint_s: float = inf


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
    Failures by chance: each thing runs and is repaired by turns, for exponential times.

    Parameters
    ----------
    things : sequence of int or of str
        Numbers of nodes, or names of switches or cables, at least one.
    mtbf_s : float
        Mean time between the repair of one and its next failure, in seconds.
    repair_s : float
        Mean time until one is repaired, in seconds.
    seed : int
        Random seed; the times depend on nothing else.
    """

    def __init__(
        self, things: Sequence[int] | Sequence[str], mtbf_s: float, repair_s: float, seed: int
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._mean_s = mtbf_s, repair_s
        first_s = self._rng.exponential(mtbf_s, len(things)).tolist()
        self._things = things
        self._due = [(time_s, place, True) for place, time_s in enumerate(first_s)]
        heapq.heapify(self._due)

    def __repr__(self) -> str:
        mtbf_s, repair_s = self._mean_s
        return f"<DrawnFailures of {len(self._things)}: MTBF {mtbf_s:g} s, repair {repair_s:g} s>"

    @property
    def next_s(self) -> float:
        """
        When the next one fails or is repaired.

        Returns
        -------
        float
            Seconds of the simulation.
        """
        next_s: float = self._due[0][0]
        return next_s

    def pop(self) -> MachineEvent:
        """
        Return what happens next.

        Returns
        -------
        MachineEvent
            A failure or a repair of one thing.
        """
        time_s, place, fails = self._due[0]
        later_s = time_s + self._rng.exponential(self._mean_s[fails])
        heapq.heapreplace(self._due, (later_s, place, not fails))
        thing, action = self._things[place], _FAILED if fails else _REPAIRED
        if isinstance(thing, str):
            return MachineEvent(time_s, action, parts=(thing,), cause=thing)
        return MachineEvent(time_s, action, (thing,), cause=f"node {thing}")


class Happened(NamedTuple):
    """What an instant has changed: nodes that went down by cause; whether nodes, or routes, are."""

    down: dict[int, str]
    nodes: bool
    routes: bool


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
    drawn : sequence of DrawnFailures
        Failures by chance.
    policy : FailurePolicy
        What becomes of jobs.
    without : callable or None
        Returns the fabric without some switches and cables, by name; needed where events name some.

    Attributes
    ----------
    happened : list of MachineEvent
        What has happened so far.
    fabric : Topology or None
        The fabric as it is; None until a switch or a cable has gone down.
    """

    listed: Sequence[MachineEvent] = ()
    windows: Sequence[Window] = ()
    drawn: Sequence[DrawnFailures] = ()
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    without: Callable[[Collection[str]], Topology] | None = None
    happened: list[MachineEvent] = field(init=False, default_factory=list)
    _waiting: list[MachineEvent] = field(init=False)
    _ends: list[float] = field(init=False)
    fabric: Topology | None = field(init=False, default=None)
    # of what is down or drained
    _why: dict[int | str, set[str]] = field(init=False, default_factory=dict)
    _cut_off: frozenset[int] = field(init=False, default=frozenset())  # nothing leads to them

    def __repr__(self) -> str:
        return (
            f"<MachineEvents: {len(self.listed)} listed, {len(self.windows)} windows, "
            f"{len(self.drawn)} kinds of failures by chance>"
        )

    def __post_init__(self) -> None:
        """Put the events in order."""
        self._waiting = sorted(self.listed, key=lambda event: event.time_s)[::-1]
        self._ends = sorted({window.until_s for window in self.windows})[::-1]

    @property
    def next_s(self) -> float:
        """When something happens next, or a window ends, in seconds; inf: never."""
        times = [self._waiting[-1].time_s if self._waiting else inf, *self._ends[-1:]]
        return min([*times, *(own.next_s for own in self.drawn)])

    @property
    def closed(self) -> set[int]:
        """Nodes that take no jobs now."""
        return {node for node in self._why if isinstance(node, int)} | self._cut_off

    def take(self, now_s: float) -> "Happened":
        """
        Let happen what is due.

        Parameters
        ----------
        now_s : float
            Seconds of the simulation.

        Returns
        -------
        Happened
            What the instant has changed.
        """
        down, before = dict[int, str](), set(self._why)
        while self._ends and self._ends[-1] <= now_s:
            self._ends.pop()
        while self._waiting and self._waiting[-1].time_s <= now_s:
            self._apply(self._waiting.pop(), down)
        for drawn in self.drawn:
            while drawn.next_s <= now_s:
                self._apply(drawn.pop(), down)
        changed = self._why.keys() ^ before
        routes = any(isinstance(thing, str) for thing in changed)
        if routes:
            self._rewire([part for part in self._why if isinstance(part, str)], down)
        return Happened(down, nodes=bool(changed or down), routes=routes)

    def _rewire(self, parts: Sequence[str], down: dict[int, str]) -> None:
        """Take the fabric without what is down; nodes that it cuts off are down."""
        assert self.without is not None  # noqa: S101 (asked before)
        whole, self.fabric = self.without([]), self.without(parts)
        lost = frozenset(np.setdiff1d(whole.usable_nodes, self.fabric.usable_nodes).tolist())
        for node in lost - self._cut_off:
            down.setdefault(node, self.happened[-1].cause)
        self._cut_off = lost

    def _apply(self, event: MachineEvent, down: dict[int, str]) -> None:
        """Note why nodes and parts are not in use."""
        self.happened.append(event)
        things: list[int | str] = [*event.nodes, *event.parts]
        for thing in things:
            if event.action in _ENDS and thing in self._why:
                self._why[thing] -= _ENDS[event.action]
                if not self._why[thing]:
                    del self._why[thing]
            elif event.action not in _ENDS:
                self._why.setdefault(thing, set()).add(event.action)
                if event.action != "drain" and isinstance(thing, int):
                    down[thing] = event.cause
