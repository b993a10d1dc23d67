"""
Compiled co-simulation: jobs come and go while their flows run; import through `netsim.kernelcache`.

A step whose lists nobody else crosses is *quiet*: it goes as when the job is alone, which was
rehearsed when the job came, and is one event. Where another job comes onto one of its lists, the
job is *woken*: its flows are put on the network with what they have left by then. Flows have no
seats on channels that are spare (`spare_kernels`) until another job comes onto these.
"""

from typing import NamedTuple

from numba import boolean, float64, from_dtype, int64, types

from netsim.arrays import Ints, Table
from netsim.contention.exact.columns import ENTRY, FLOW, JOB, LIST, PART, SEAT
from netsim.contention.exact.exact_kernels import (
    Plan,
    Senders,
    end_events,
    mark,
    next_step,
    reweigh,
    set_rates,
    start_step,
)
from netsim.contention.exact.rehearsal_kernels import Alone, rehearse
from netsim.contention.exact.reshare_kernels import (
    Dirty,
    add_flow,
    loosen,
    remove_flow,
    reshare,
    take_seat,
    vacate,
)
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set
from netsim.uncounted_kernels import uncounted

__all__ = [
    "Alone",
    "Dirty",
    "Heap",
    "Plan",
    "Senders",
    "World",
    "advance",
    "begin",
    "rehearse",
    "reseat",
    "withdraw",
]


class World(NamedTuple):
    """State of a co-simulation."""

    plan: Plan
    alone: Alone
    jobs: Table
    parts: Table
    flows: Table
    entries: Table
    seats: Table
    lists: Table
    dirty: Dirty
    clock: Heap  # a flow's end; after all flows, a job's next step
    senders: Senders
    done: Ints
    ready: Ints
    over: Ints  # slots whose jobs have made their iterations
    crossing: Ints  # of each list: jobs that cross it now
    owner: Ints  # of each list: slot of a job that has crossed it with nobody else; -1: none
    firm_end: Ints  # of each flow: its entries from here to its sender's are spare


_INTS, _FLOATS = int64[::1], float64[::1]
_NAMED = types.NamedTuple
_HEAP = _NAMED((_INTS, _INTS, _FLOATS, _INTS), Heap)  # type: ignore[no-untyped-call]
_DIRTY = _NAMED((_HEAP, _INTS, _INTS), Dirty)  # type: ignore[no-untyped-call]
_PLAN = _NAMED((_FLOATS, _FLOATS, _INTS, _INTS, _FLOATS, _INTS, boolean), Plan)  # type: ignore[no-untyped-call]
_ALONE = _NAMED(  # type: ignore[no-untyped-call]
    (_FLOATS, _FLOATS, _INTS, _INTS, _INTS, _FLOATS, _INTS, _FLOATS), Alone
)
_SENDERS = _NAMED((_INTS, boolean[::1], _INTS, boolean), Senders)  # type: ignore[no-untyped-call]
_TABLES = [from_dtype(table)[::1] for table in (JOB, PART, FLOW, ENTRY, SEAT, LIST)]
_WORLD = _NAMED(  # type: ignore[no-untyped-call]
    (_PLAN, _ALONE, *_TABLES, _DIRTY, _HEAP, _SENDERS, *([_INTS] * 6)), World
)
_INSTANT = types.UniTuple(float64, 2)  # type: ignore[no-untyped-call]


@uncounted()
def _leave_lists(slot: int, world: World) -> None:
    """Take a job whose step is over from the lists that the step crossed."""
    part, alone = world.parts[slot], world.alone
    if not part.crossing:
        return
    step = world.jobs[slot].at
    for i in range(alone.crossed_first[step], alone.crossed_first[step + 1]):
        number = alone.crossed[i]
        world.crossing[number] -= 1
        if world.owner[number] == slot:
            world.owner[number] = -1
    part.crossing = part.quiet = False


@uncounted()
def _own_lists(slot: int, step: int, world: World) -> None:
    """Note on the lists of a step which of them the job has for itself."""
    alone = world.alone
    for i in range(alone.crossed_first[step], alone.crossed_first[step + 1]):
        number = alone.crossed[i]
        world.owner[number] = slot if world.crossing[number] == 1 else -1


@uncounted()
def _seat_spare(step: int, runs: bool, world: World) -> None:
    """Give the flows of a step entries on the spare channels that are shared; seats if they run."""
    entries, lists = world.entries, world.lists
    for number in range(world.plan.step_first[step], world.plan.step_first[step + 1]):
        flow = world.flows[number]
        if runs and entries[flow.sender_entry].seat < 0:
            continue
        if not runs:
            flow.end_entry = world.firm_end[number]
        for entry in range(flow.end_entry, flow.sender_entry):
            channel = entries[entry].list
            if world.crossing[channel] > 1:
                entries[entry].list = entries[flow.end_entry].list
                entries[flow.end_entry].list = channel
                if runs:
                    take_seat(number, flow.end_entry, entries, world.seats, lists)
                flow.end_entry += 1


@uncounted()
def _wake(slot: int, now: float, world: World) -> None:
    """Put the flows of a quiet job on the network, with what they have left by now."""
    plan, alone, flows, clock = world.plan, world.alone, world.flows, world.clock
    job, part = world.jobs[slot], world.parts[slot]
    step, begin_s = job.at, part.phase_s
    part.quiet, part.met = False, True
    heap_remove(clock, plan.nbytes.size + slot)
    first = plan.step_first[step]
    for number in range(first, plan.step_first[step + 1]):
        flow = flows[number]
        flow.left, flow.since_s, flow.rate = plan.nbytes[number], begin_s, 0.0
    for i in range(alone.news_first[step], alone.news_first[step + 1]):
        at_s = begin_s + alone.news_s[i]
        if at_s > now:
            break
        flow = flows[alone.news_flow[i]]
        flow.left -= flow.rate * (at_s - flow.since_s)
        flow.since_s, flow.rate = at_s, alone.news_rate[i]
    _seat_spare(step, False, world)
    for number in range(first, plan.step_first[step + 1]):
        flow = flows[number]
        sent_s = begin_s + alone.sent_s[number]
        if sent_s <= now:
            job.n_open -= 1
            job.step_end_s = max(job.step_end_s, sent_s + plan.latency_s[number])
            continue
        flow.left = max(0.0, flow.left - flow.rate * (now - flow.since_s))
        flow.since_s, flow.rate = now, 0.0
        add_flow(number, flows, world.entries, world.seats, world.lists)
        loosen(number, flow.weight, flows, world.entries, world.lists, world.dirty)
        mark(world.senders, world.entries[flow.sender_entry].list)
    if job.n_open == 0:
        heap_set(clock, plan.nbytes.size + slot, max(now, job.step_end_s))


@uncounted()
def _join_lists(slot: int, step: int, now: float, world: World) -> bool:
    """Put a job on the lists of a step, and tell those who had them; return whether any had."""
    alone, parts, owner = world.alone, world.parts, world.owner
    begin, end = alone.crossed_first[step], alone.crossed_first[step + 1]
    meets, n_joined = False, 0
    for i in range(begin, end):
        number = alone.crossed[i]
        if world.crossing[number] > 0:
            meets = True
            if owner[number] >= 0 and not parts[owner[number]].joined:
                parts[owner[number]].joined = True
                world.over[world.over.size - 1 - n_joined] = owner[number]
                n_joined += 1
        world.crossing[number] += 1
    for i in range(n_joined):
        other = world.over[world.over.size - 1 - i]
        parts[other].joined = False
        at = world.jobs[other].at
        if parts[other].quiet:
            _wake(other, now, world)
        else:
            _seat_spare(at, True, world)
        _own_lists(other, at, world)
    parts[slot].crossing, parts[slot].quiet = True, not meets
    return meets


@uncounted()
def _begin_step(slot: int, step: int, now: float, world: World) -> None:
    """Start a step: quietly, if nobody is on its lists."""
    meets = _join_lists(slot, step, now, world)
    _own_lists(slot, step, world)
    if not meets:
        end_s = now + world.alone.step_s[step]
        heap_set(world.clock, world.plan.nbytes.size + slot, end_s)
        return
    world.parts[slot].met = True
    _seat_spare(step, False, world)
    start_step(
        step,
        now,
        world.plan,
        world.flows,
        world.entries,
        world.seats,
        world.lists,
        world.dirty,
        world.senders,
    )


@uncounted()
def _share(now: float, world: World) -> None:
    """Share the links anew among the flows that run."""
    flows, entries, seats, lists = world.flows, world.entries, world.seats, world.lists
    reweigh(world.senders, flows, entries, seats, lists, world.dirty)
    n_done = reshare(flows, entries, seats, lists, world.dirty, world.done)
    set_rates(now, world.done, n_done, flows, world.clock)


@uncounted(_INSTANT(float64, float64, _WORLD))
def advance(now: float, until_s: float, world: World) -> tuple[float, float]:
    """
    Go on from `now` to the first instant at which jobs have made their iterations, if it comes.

    Returns the instant, `until_s` at the latest, and how many slots are listed in `world.over`.
    """
    clock, jobs, parts = world.clock, world.jobs, world.parts
    n_over = 0
    _share(now, world)  # a job may have been taken away
    while clock.size[0] > 0 and n_over == 0:
        now = clock.key[clock.items[0]]
        if now > until_s:
            return until_s, 0.0
        n_ready = end_events(
            now,
            world.plan,
            jobs,
            world.flows,
            world.entries,
            world.seats,
            world.lists,
            world.dirty,
            clock,
            world.senders,
            world.done,
            world.ready,
        )
        for i in range(n_ready):
            _leave_lists(world.ready[i], world)
        for i in range(n_ready):
            slot = world.ready[i]
            count, part = jobs[slot].count, parts[slot]
            step, enough = next_step(slot, now, world.plan, jobs, clock)
            part.phase_s = now
            if jobs[slot].count > count:
                part.took_s, part.round_s = now - part.round_s, now
            if step >= 0:
                _begin_step(slot, step, now, world)
            if enough:
                world.over[n_over] = slot
                n_over += 1
        _share(now, world)
    return (now, float(n_over)) if n_over else (until_s, 0.0)


@uncounted(types.void(int64, float64, _WORLD))
def begin(slot: int, at_s: float, world: World) -> None:
    """Let the job in a slot start its first step then."""
    heap_set(world.clock, world.plan.nbytes.size + slot, at_s)


@uncounted(types.void(int64, _WORLD))
def withdraw(slot: int, world: World) -> None:
    """Take away a job that has not made its iterations; `advance` shares what it had."""
    plan, clock, flows = world.plan, world.clock, world.flows
    job, part = world.jobs[slot], world.parts[slot]
    if part.crossing and not part.quiet:
        for number in range(plan.step_first[job.at], plan.step_first[job.at + 1]):
            if clock.place[number] >= 0:
                heap_remove(clock, number)
                remove_flow(number, flows, world.entries, world.seats, world.lists)
                vacate(number, flows, world.entries, world.lists, world.dirty)
                mark(world.senders, world.entries[flows[number].sender_entry].list)
    if clock.place[plan.nbytes.size + slot] >= 0:
        heap_remove(clock, plan.nbytes.size + slot)
    _leave_lists(slot, world)


@uncounted(types.void(_INTS, _WORLD, from_dtype(SEAT)[::1]))
def reseat(room: Ints, world: World, seats: Table) -> None:
    """Move whoever is on lists to `seats`, with so much room on each list."""
    first = 0
    for number in range(room.size):
        of = world.lists[number]
        for i in range(of.length):
            seats[first + i].flow = world.seats[of.first + i].flow
            seats[first + i].entry = world.seats[of.first + i].entry
            world.entries[seats[first + i].entry].seat = first + i
        of.first = first
        first += room[number]
