"""
Tables of the model `fluid`: what a job puts on links, and what all jobs together do there.

Symbols are those of the page on the model. Seconds are seconds of a link: bytes / capacity.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints, Table, as_blocks, copied_rows
from netsim.flows.limiters import n_limited_links
from netsim.topology.base import Topology

if TYPE_CHECKING:
    from netsim.fluid.demand import JobDemand

STATES = 16  # sampled phases of the other jobs; 8 cost half and err by 0.3 points more
CHANNELS = 4  # virtual channels told apart; higher ones count as the last

Float32s = NDArray[np.float32]
_BY_STATE = (np.float32, (STATES,))

ENTRY = np.dtype(  # a job on a link in one of its steps
    [
        ("drain_s", np.float64),  # B, of all its bytes
        ("weight", np.float64),  # m, of its flows when the step starts
        ("senders", np.float64),  # q
        ("end_s", np.float64),  # e, of its last flow, alone
        ("weight_s", np.float64),  # E, integral of the weight until then
        ("injection_s", np.float64),  # G, mean over flows by weight
        ("offered", np.float64),  # o, what links upstream let through, a share of the link
        ("blocked", np.float64),  # g, share of the time in which it blocks other packets
        ("first_packets_s", np.float64),  # p, one of each sender
        ("fraction", np.float64),  # v, of their flows that the bytes are: 1 on a single path
        ("time_s", np.float64),  # y, of its last flow, among others, before it waits in a queue
        ("step", np.int32),
        ("delay_s", *_BY_STATE),  # beyond tau, of records that are LATE
    ],
    align=True,
)
RECORD = np.dtype(  # a job on a link; its entries are contiguous
    [
        ("link", np.int32),
        ("job", np.int32),  # slot
        ("first_entry", np.int32),  # of the job's
        ("n_entries", np.int32),
        ("next_record", np.int32),  # on the link, -1: none
        ("next_dirty", np.int32),  # of the job's, counted from its first; -1: none
        ("next_late", np.int32),  # the same
        ("free_weight", np.float32),  # of other jobs, up to which every entry ends as alone
        ("times_s", np.float64),  # sum of y as of the last commit
        ("channel", np.float32, (CHANNELS,)),  # share of it on each virtual channel
    ],
    align=True,
)
STEP = np.dtype(  # a step of a job
    [
        ("drain_s", np.float64),  # tau, the longest drain, of one round as all here and in ENTRY
        ("latency_s", np.float64),  # lam, of the longest path
        ("duration_s", np.float64),  # d, among others
        ("rounds", np.int64),
        ("hide_s", np.float64),  # h, computation beside it and steps before; -1: goes on
        ("late_s", *_BY_STATE),  # longest delay on any link, or 0
    ],
    align=True,
)
LINK = np.dtype(
    [
        ("first_record", np.int32),
        ("n_records", np.int32),
        ("buffer_s", np.float32),  # of a virtual channel; 0: not stated
        ("change", np.float32),  # of its totals since its records were marked dirty
    ],
    align=True,
)
LOAD = np.dtype(  # a record's contribution to its link, or the total of a link; float32 alone
    [
        ("weight", *_BY_STATE),  # N_i
        ("use", *_BY_STATE),  # R_i
        ("offered", *_BY_STATE),  # O_i
        ("blocked", *_BY_STATE),  # g_i
        ("mean_weight", np.float32),  # N, mean over an iteration, as all that follow
        ("mean_burst", np.float32),  # N x length of the burst
        ("blocked_use", np.float32),  # g R
        ("blocked_weight", np.float32),  # g E / L
        ("variance", np.float32),  # of the weight in time
        ("correlation", np.float32),  # variance x correlation time
        ("mean_use", np.float32),  # R
        ("blocked_on", np.float32, (CHANNELS,)),  # g by virtual channel
    ]
)
JOB = np.dtype(
    [
        ("first_record", np.int32),
        ("n_records", np.int32),
        ("first_entry", np.int32),
        ("n_entries", np.int32),
        ("first_step", np.int32),
        ("n_steps", np.int32),
        ("compute_s", np.float64),
        ("alone_s", np.float64),  # T, iteration alone
        ("period_s", np.float64),  # P, iteration among others
        ("committed_s", np.float64),  # P as of the last commit of all its records
        ("reported", np.float64),  # interference as of the last `solve`
        ("damping", np.float64),
        ("n_dirty", np.int32),  # records
        ("first_dirty", np.int32),  # of its records, counted from its first; -1: none
        ("first_late", np.int32),  # of those that are LISTED, the same
        ("queued", np.bool_),
        ("share", *_BY_STATE),  # part of its iterations in each state
        ("phase", np.int8, (STATES,)),  # state i in which it is in each cell, pi_j
    ],
    align=True,
)
WORK = np.dtype(  # scratch of the solver
    [
        ("weight", *_BY_STATE),  # N_i
        ("use", *_BY_STATE),  # R_i
        ("full", *_BY_STATE),  # R = 1
        ("blocked", *_BY_STATE),  # g_i
        ("times_s", *_BY_STATE),  # y_i
        ("blocked_s", *_BY_STATE),  # z_i
        ("speed", *_BY_STATE),  # v_i
        ("stretched_s", *_BY_STATE),  # t_i
    ]
)
FLOW_WORK = np.dtype(  # scratch of what a job puts on links: a flow
    [
        ("end_s", np.float64),  # e, alone
        ("sender", np.float64),  # a whole number; so what sorts flows is compiled once
        ("slowest", np.int64),  # hop with the greatest drain time
    ]
)
SENT_WORK = np.dtype(  # a flow among those of its sender
    [
        ("end_s", np.float64),  # e, alone
        ("weight", np.float64),  # 1/o when its step starts
        ("weight_s", np.float64),  # integral of the weight until its end
    ]
)
HOP_WORK = np.dtype(  # a flow on a link that flows of other sizes cross
    [("own_s", np.float64), ("flow", np.int64)],
)
ENTRY_WORK = np.dtype(  # beside `ENTRY`; what most loops read comes first, in one line of a cache
    [
        ("drain_s", np.float64),  # B
        ("least_s", np.float64),  # that the link takes for a flow
        ("most_s", np.float64),
        ("n_hops", np.int64),
        ("is_even", np.int64),  # the same for all flows
        ("stop", np.int64),  # place behind its hops, which are contiguous where it is not even
        ("before_slow", np.float64),  # bytes of flows whose slowest link comes later
        ("waiting_s", np.float64),  # U
        ("room_s", np.float64),  # K
        ("link", np.int64),
        ("last_sender", np.float64),
        ("by_channel", np.float32, (CHANNELS,)),  # weight
    ]
)

# marks of a record
SHARED = 1  # other jobs are on the link
COMMITTED = 2  # its contribution is part of the totals of its link
DIRTY = 4  # the link's totals have changed since its delays were computed
MOVED = 8  # its time on the link has changed since its contribution was computed
LATE = 16  # some delay is above 0
FREE = 32  # the others' weight is at most `free_weight`, and nothing blocks it
LISTED = 64  # on the job's list of records that are LATE, or were
UNCHANGED = 128  # neither delays nor contribution were computed since the last `Store.solution`
_GROUPS = {  # tables whose rows belong together, and the fields of a job that say which are its own
    ("first_record", "n_records"): ("records", "marks", "loads"),
    ("first_entry", "n_entries"): ("entries",),
    ("first_step", "n_steps"): ("steps",),
}
_BY_SLOT = ("jobs",)
_SLOTS, _ROWS = 64, 1024


class State(NamedTuple):
    """All that the solver knows of the running jobs; drawn in `netsim.fluid.solver_kernels`."""

    jobs: Table
    steps: Table
    records: Table
    marks: NDArray[np.uint8]  # (records,), apart from the rest: looked at most
    entries: Table
    links: Table
    loads: Table  # (records,), contributions
    totals: Table  # (links,)
    load_values: Float32s  # the same memory as `loads`, a row each
    total_values: Float32s  # the same memory as `totals`
    queue: Ints  # (jobs + 1,), ring of dirty jobs
    cursor: Ints  # (3,), first place of the queue, its length, and jobs evaluated last time


class Scratch(NamedTuple):
    """What `converge` writes."""

    rounds: Ints  # (jobs,), all 0 before and after
    changed: Ints  # (jobs,), slots that were evaluated
    found: Ints  # (records,), dirty ones of a job
    begin_s: Floats  # (steps,) of a job
    fresh: Table  # (1,), a contribution
    fresh_values: Float32s  # the same memory
    work: Table  # (1,)


class KeptRows(NamedTuple):
    """A copy of rows; contributions and totals of links with one job are 0, and not here."""

    jobs: Table
    steps: Table
    records: Table
    marks: NDArray[np.uint8]
    entries: Table
    links: Table
    load_row: Ints  # (records,), -1: none
    load_values: Float32s
    total_row: Ints  # (links,), -1: none
    total_values: Float32s


class Solution(NamedTuple):
    """Where a model stands: all that a trial of other jobs may change, and the jobs."""

    rows: KeptRows
    slot_of: dict[int, int]
    tails: dict[tuple[str, str], int]


class Demand(NamedTuple):
    """Tables of a job alone, as `job_demand` returns them."""

    steps: Table
    records: Table
    entries: Table


class Flows(NamedTuple):
    """Flows of a job and what they cross; `share` is as of `Hops`."""

    step: Ints
    sender: Ints
    nbytes: Floats
    latency_s: Floats
    indptr: Ints
    link: Ints
    share: Floats
    channel: Ints  # virtual channel of each hop
    rounds: Ints  # of each step, over which bytes are even
    hide_s: Floats  # of each step, as in `Traffic`


class DemandWork(NamedTuple):
    """Scratch of what a job puts on links; only `entry_of` is read before it is written."""

    flows: Table
    sent: Table  # of one sender
    hops: Table
    entries: Table  # in the order in which flows first cross links
    of_entry: Table
    entry_of: Ints  # (E,), by link; -1 before and after
    by_sender: Ints  # (F,)
    by_end: Ints  # (F,)
    grouped: Ints  # (hops,), by entry that is not even
    spare: Ints  # (hops or F,)


class Store:
    """
    Tables that hold every running job.

    The rows of a job are contiguous. Rows of jobs that ended are holes until a table is full; then
    the rows move together, and the table grows if that is not enough.

    Parameters
    ----------
    topology : Topology
        The fabric: its links, buffers and packets.

    Attributes
    ----------
    state : State
        The tables.
    slot_of : dict of int to int
        By job.
    job_of : (S,) int array
        Identity of the job in each slot.
    scratch : Scratch
        Of the solver.
    moves : int
        How often rows have moved, or slots have been added.
    """

    def __init__(self, topology: Topology) -> None:
        n_links = n_limited_links(topology)
        links = np.zeros(n_links, LINK)
        links["first_record"] = -1
        port = topology.capacity if topology.multipath is None else topology.multipath.capacity
        links["buffer_s"][: port.size] = topology.buffer_bytes / port  # of limiters: 0
        loads, totals = np.zeros(_ROWS, LOAD), np.zeros(n_links, LOAD)
        self.state = State(
            jobs=np.zeros(_SLOTS, JOB),
            steps=np.zeros(_ROWS, STEP),
            records=np.zeros(_ROWS, RECORD),
            marks=np.zeros(_ROWS, np.uint8),
            entries=np.zeros(_ROWS, ENTRY),
            links=links,
            loads=loads,
            totals=totals,
            load_values=_as_numbers(loads),
            total_values=_as_numbers(totals),
            queue=np.zeros(_SLOTS + 1, dtype=np.int64),
            cursor=np.zeros(3, dtype=np.int64),
        )
        self.scratch = _scratch(self.state)
        self.moves = 0
        self.slot_of: dict[int, int] = {}
        self.job_of: Ints = np.zeros(_SLOTS, dtype=np.int64)
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._tails = dict.fromkeys(_GROUPS, 0)

    def make_room(self, demands: Collection["JobDemand"]) -> bool:
        """Move rows together, or grow, until jobs fit; return whether records have moved."""
        n_records = n_entries = n_steps = 0
        for demand in demands:
            n_records += demand.records.size
            n_entries += demand.entries.size
            n_steps += demand.steps.size
        return self.make_room_of(len(demands), (n_records, n_entries, n_steps))

    def make_room_of(self, n_jobs: int, sizes: Sequence[int]) -> bool:
        """Do so for jobs of so many records, entries and steps together."""
        moved = False
        for (group, tables), n_rows in zip(_GROUPS.items(), sizes, strict=True):
            capacity = getattr(self.state, tables[0]).size
            if self._tails[group] + n_rows <= capacity:
                continue
            tail = self._tails[group] = self._compact_rows(group, tables)
            moved = moved or tables[0] == "records"
            self.moves += 1
            if 2 * (tail + n_rows) > capacity:  # else it would be full again soon
                self._grow_tables(tables, 4 * (tail + n_rows))
        while len(self._free) < n_jobs:
            self._grow_slots()
        return moved

    def clear(self) -> None:
        """Take all jobs away; the tables keep their length."""
        state = self.state
        state.jobs[:] = 0
        state.total_values[state.links["n_records"] > 1] = 0.0  # others are 0
        state.links["first_record"] = -1
        state.links["n_records"] = 0
        state.links["change"] = 0.0
        state.cursor[:] = 0
        self.slot_of = {}
        self._free = list(range(self.job_of.size - 1, -1, -1))
        self._tails = dict.fromkeys(_GROUPS, 0)

    def solution(self) -> Solution:
        """Return a copy of the rows in use; marks say from now on which records change."""
        state = self.state
        n_records, n_entries, n_steps = self._tails.values()
        shared = np.flatnonzero(state.marks[:n_records] & SHARED)
        state.marks[:n_records] |= UNCHANGED
        several = np.flatnonzero(state.links["n_records"] > 1)
        rows = KeptRows(
            copied_rows(state.jobs),
            copied_rows(state.steps[:n_steps]),
            copied_rows(state.records[:n_records]),
            state.marks[:n_records].copy(),
            copied_rows(state.entries[:n_entries]),
            copied_rows(state.links),
            _places(shared, n_records),
            state.load_values[shared],
            _places(several, state.links.size),
            state.total_values[several],
        )
        return Solution(rows, dict(self.slot_of), dict(self._tails))

    def load(self, solution: Solution) -> None:
        """Put the rows of a solution of these tables in place of those that there are."""
        state, rows = self.state, solution.rows
        self.clear()
        for name in ("jobs", "steps", "records", "marks", "entries", "links"):
            kept = as_blocks(getattr(rows, name))
            as_blocks(getattr(state, name))[: kept.size] = kept
        state.load_values[np.flatnonzero(rows.load_row >= 0)] = rows.load_values
        state.total_values[np.flatnonzero(rows.total_row >= 0)] = rows.total_values
        self.slot_of, self._tails = dict(solution.slot_of), dict(solution.tails)
        self.job_of[list(self.slot_of.values())] = list(self.slot_of)
        used = set(self.slot_of.values())
        self._free = [slot for slot in self._free if slot not in used]

    @contextmanager
    def jobs_kept(self) -> Iterator[None]:
        """Know the jobs of before again at the end of the block, in which no table grows."""
        before = dict(self.slot_of), self.job_of.copy(), list(self._free), dict(self._tails)
        yield
        self.slot_of, self.job_of, self._free, self._tails = before

    def add(self, job: int, demand: "JobDemand") -> tuple[int, tuple[int, int, int]]:
        """Give a job a slot and rows, to be filled; return it and their first in each group."""
        slot = self.slot_of[job] = self._free.pop()
        self.job_of[slot] = job
        record, entry, step = self._tails.values()
        ends = record + demand.records.size, entry + demand.entries.size, step + demand.steps.size
        self._tails = dict(zip(_GROUPS, ends, strict=True))
        return slot, (record, entry, step)

    def add_all(self, jobs: Sequence[int], sizes: Ints) -> tuple[Ints, Ints]:
        """
        Give jobs slots and rows, to be filled; return these and their first in each group (3, n).

        `sizes` (3, n): records, entries and steps of each.
        """
        slots = np.array([self._free.pop() for _ in jobs], dtype=np.int64)
        self.slot_of.update(zip(jobs, slots.tolist(), strict=True))
        self.job_of[slots] = jobs
        tails = np.array([list(self._tails.values())], dtype=np.int64).T
        ends = tails + np.cumsum(sizes, axis=1)
        if slots.size:
            self._tails = dict(zip(_GROUPS, ends[:, -1].tolist(), strict=True))
        return slots, ends - sizes

    def remove(self, job: int) -> None:
        """Free the slot and rows of a job whose records are on no link any more."""
        self._free.append(self.slot_of.pop(job))

    def _compact_rows(self, group: tuple[str, str], tables: tuple[str, ...]) -> int:
        """Move the rows of running jobs together and return how many they are."""
        slots = np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))
        first, count = (self.state.jobs[field] for field in group)
        slots = slots[np.argsort(first[slots], kind="stable")]
        rows = [as_blocks(getattr(self.state, name)) for name in tables]
        tail = 0
        for old, n_rows in zip(first[slots].tolist(), count[slots].tolist(), strict=True):
            if old != tail:  # a block at a time: many times as fast as row by row
                for table in rows:
                    table[tail : tail + n_rows] = table[old : old + n_rows]
            tail += n_rows
        first[slots] = np.cumsum(count[slots]) - count[slots]
        return tail

    def _grow_tables(self, tables: tuple[str, ...], n_rows: int) -> None:
        """Make tables longer."""
        longer = {name: _longer_table(getattr(self.state, name), n_rows) for name in tables}
        if "loads" in longer:
            longer["load_values"] = _as_numbers(longer["loads"])
        self._replace(longer)

    def _grow_slots(self) -> None:
        """Double the slots."""
        self.moves += 1
        n_slots = self.job_of.size
        self._grow_tables(_BY_SLOT, 2 * n_slots)
        first, length = self.state.cursor[:2].tolist()
        queue = np.zeros(2 * n_slots + 1, dtype=np.int64)
        queue[:length] = np.roll(self.state.queue, -first)[:length]
        self.state.cursor[0] = 0
        self._replace({"queue": queue})
        self.job_of = _longer_table(self.job_of, 2 * n_slots)
        self._free = list(range(2 * n_slots - 1, n_slots - 1, -1)) + self._free

    def _replace(self, tables: dict[str, Any]) -> None:
        """Put other tables in place of some."""
        self.state = self.state._replace(**tables)
        self.scratch = _scratch(self.state)


def _longer_table(table: Any, n_rows: int) -> Any:  # noqa: ANN401 (an array of any kind)
    """Return a table with so many rows, new ones zero."""
    result = np.zeros(n_rows, table.dtype)
    as_blocks(result)[: len(table)] = as_blocks(table)
    return result


def _places(kept: Ints, n_rows: int) -> Ints:
    """Return the place of each row among those kept, -1 for none."""
    found = np.full(n_rows, -1)
    found[kept] = np.arange(kept.size)
    return found


def _scratch(state: State) -> Scratch:
    """Return scratch that is large enough for any job."""
    rounds, changed = np.zeros((2, state.jobs.size), dtype=np.int64)
    found, begin_s = np.empty(state.records.size, dtype=np.int64), np.empty(state.steps.size)
    fresh = np.zeros(1, LOAD)
    return Scratch(rounds, changed, found, begin_s, fresh, _as_numbers(fresh), np.ones(1, WORK))


def _as_numbers(loads: Table) -> Float32s:
    """Return the same memory as rows of numbers."""
    return loads.view(np.float32).reshape(loads.size, -1)
