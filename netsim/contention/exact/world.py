"""World: the tables of a co-simulation, made, lengthened, and filled with a job."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints
from netsim.contention.base import Traffic
from netsim.contention.exact.columns import ENTRY, FLOW, JOB, LIST, PART, SEAT

_T = TypeVar("_T", bound=np.generic)
World = Any
"""As `cosimulation_kernels` has it, which is imported when it is needed."""
_Heap = Any


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """
    What a job does alone, and the tables it is simulated by.

    Parameters
    ----------
    traffic : Traffic
        What it sends, flows inside nodes left out; at least one flow.
    alone_s : float
        Seconds of an iteration with nobody else on the network.
    indptr, list_of : int array
        For each flow the channels it crosses, spare ones after the others, and last its sender.
    firm_end : (F,) int array
        Where the spare ones begin.
    step_first : (S + 1,) int array
        First flow of each step.
    alone : tuple of array
        As the kernel tells.
    found, most : (L,) int array
        Lists that it is on, and how many of its flows are there at once at most.
    exponent : (F,) float array
        How much flows give way to others of their sender.
    fill : (F,) float array
        How full their packets are.
    """

    traffic: Traffic
    alone_s: float
    indptr: Ints
    list_of: Ints
    firm_end: Ints
    step_first: Ints
    alone: Any
    found: Ints
    most: Ints
    exponent: Floats
    fill: Floats


def new_world(
    kernels: ModuleType, capacity: Floats, n_lists: int, n_slots: int, per_sender: bool
) -> World:
    """Return a network without jobs; lists are channels, then senders."""
    n_channels = capacity.size
    lists = np.zeros(n_lists, dtype=LIST)
    lists["filled"] = np.inf
    lists["capacity"][:n_channels] = capacity
    ints, floats = np.empty(0, dtype=np.int64), np.empty(0)
    one, slots = np.zeros(1, dtype=np.int64), np.zeros((3, n_slots), dtype=np.int64)
    return kernels.World(
        kernels.Plan(floats, floats, ints, ints, np.zeros(n_slots), slots[0], False),
        kernels.Alone(floats, floats, ints, ints, ints, floats, ints, floats),
        np.zeros(n_slots, dtype=JOB),
        np.zeros(n_slots, dtype=PART),
        np.zeros(0, dtype=FLOW),
        np.zeros(0, dtype=ENTRY),
        np.zeros(0, dtype=SEAT),
        lists,
        kernels.Dirty(
            _new_heap(kernels, 2 * n_channels),
            np.empty(n_channels, dtype=np.int64),
            np.zeros(3, dtype=np.int64),
        ),
        _new_heap(kernels, n_slots),
        kernels.Senders(
            np.empty(n_lists - n_channels, dtype=np.int64),
            np.zeros(n_lists, dtype=np.bool_),
            one,
            per_sender,
        ),
        ints,
        slots[1],
        slots[2],
        np.zeros(n_lists, dtype=np.int64),
        np.full(n_lists, -1),
        ints,
    )


def _new_heap(kernels: ModuleType, n_items: int) -> _Heap:
    """Return a heap without items."""
    items, size = np.empty(n_items, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return kernels.Heap(items, np.full(n_items, -1), np.empty(n_items), size)


def lengthened(kernels: ModuleType, world: World, size: Mapping[str, int]) -> World:
    """Return the world with tables of at least so many rows, by pool."""
    plan, alone = world.plan, world.alone
    clock, done = world.clock, world.done
    if size["flow"] > plan.nbytes.size:
        clock = _longer_clock(kernels, world, size["flow"], world.jobs.size)
        done = np.empty(size["flow"], dtype=np.int64)
    return world._replace(
        plan=plan._replace(
            nbytes=_longer(plan.nbytes, size["flow"]),
            latency_s=_longer(plan.latency_s, size["flow"]),
            job_of=_longer(plan.job_of, size["flow"]),
            step_first=_longer(plan.step_first, size["step"]),
        ),
        alone=alone._replace(
            step_s=_longer(alone.step_s, size["step"]),
            sent_s=_longer(alone.sent_s, size["flow"]),
            crossed_first=_longer(alone.crossed_first, size["step"]),
            crossed=_longer(alone.crossed, size["crossed"]),
            news_first=_longer(alone.news_first, size["step"]),
            news_s=_longer(alone.news_s, size["news"]),
            news_flow=_longer(alone.news_flow, size["news"]),
            news_rate=_longer(alone.news_rate, size["news"]),
        ),
        flows=_longer(world.flows, size["flow"]),
        entries=_longer(world.entries, size["entry"]),
        clock=clock,
        done=done,
        firm_end=_longer(world.firm_end, size["flow"]),
    )


def with_slots(kernels: ModuleType, world: World, n_slots: int) -> World:
    """Return the world with more slots for jobs."""
    return world._replace(
        plan=world.plan._replace(
            compute_s=_longer(world.plan.compute_s, n_slots),
            need=_longer(world.plan.need, n_slots),
        ),
        jobs=_longer(world.jobs, n_slots),
        parts=_longer(world.parts, n_slots),
        ready=_longer(world.ready, n_slots),
        over=_longer(world.over, n_slots),
        clock=_longer_clock(kernels, world, world.plan.nbytes.size, n_slots),
    )


def _longer_clock(kernels: ModuleType, world: World, flows: int, slots: int) -> _Heap:
    """Return the clock with places for so many flows, and after them so many slots."""
    old, new = world.clock, _new_heap(kernels, flows + slots)
    n_flows = world.plan.nbytes.size
    n_slots = old.key.size - n_flows
    for name in ("place", "key"):
        before, after = getattr(old, name), getattr(new, name)
        after[:n_flows] = before[:n_flows]
        after[flows : flows + n_slots] = before[n_flows:]
    count = int(old.size[0])
    items = old.items[:count]
    new.items[:count] = np.where(items >= n_flows, items + flows - n_flows, items)
    new.size[0] = count
    return new


def fill(
    world: World, slot: int, rehearsal: Rehearsal, scale: float, first: Mapping[str, int]
) -> None:
    """Write the rows of a job, which begin where `first` says, by pool."""
    own, alone = rehearsal.traffic, rehearsal.alone
    n_flows, n_steps = own.step.size, rehearsal.step_first.size
    rows = slice(first["flow"], first["flow"] + n_flows)
    world.plan.nbytes[rows] = own.nbytes * scale
    world.plan.latency_s[rows] = own.latency_s * scale
    world.plan.job_of[rows] = slot
    world.firm_end[rows] = rehearsal.firm_end + first["entry"]
    world.alone.sent_s[rows] = alone.sent_s * scale
    flows = world.flows[rows]
    flows[:] = np.zeros(1, dtype=FLOW)
    flows["first_entry"] = rehearsal.indptr[:-1] + first["entry"]
    flows["sender_entry"] = rehearsal.indptr[1:] + (first["entry"] - 1)
    flows["weight"], flows["bottleneck"], flows["first_rate"] = 1.0, -1, -1.0
    flows["exponent"], flows["fill"] = rehearsal.exponent, rehearsal.fill
    begin = first["entry"]
    entries = world.entries[begin : begin + rehearsal.list_of.size]
    entries["list"], entries["seat"] = rehearsal.list_of, -1
    steps = slice(first["step"], first["step"] + n_steps)
    world.plan.step_first[steps] = rehearsal.step_first + first["flow"]
    world.alone.step_s[steps] = alone.step_s * scale
    world.alone.crossed_first[steps] = alone.crossed_first + first["crossed"]
    world.alone.news_first[steps] = alone.news_first + first["news"]
    begin = first["crossed"]
    world.alone.crossed[begin : begin + alone.crossed.size] = alone.crossed
    news = slice(first["news"], first["news"] + alone.news_s.size)
    world.alone.news_s[news] = alone.news_s * scale
    world.alone.news_flow[news] = alone.news_flow + first["flow"]
    world.alone.news_rate[news] = alone.news_rate


def _longer(array: NDArray[_T], size: int) -> NDArray[_T]:
    """Return an array of at least so many rows, new ones zero."""
    if size <= array.size:
        return array
    longer = np.zeros(size, dtype=array.dtype)
    longer[: array.size] = array
    return longer
