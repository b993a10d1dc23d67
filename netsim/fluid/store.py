"""Rows of the running jobs in the tables of `State`: a slot each, and blocks of rows."""

from typing import Any

import numpy as np

from netsim.common.arrays import Ints
from netsim.fluid.demand import JobDemand
from netsim.fluid.tables import CHANNELS, ENTRY, JOB, LINK, RECORD, STATES, STEP, SUMS, State
from netsim.topology.base import Topology

_GROUPS = {  # tables whose rows belong together, and the fields of a job that say which are its own
    ("first_record", "n_records"): ("records", "marks", "own", "own_sums", "channel"),
    ("first_entry", "n_entries"): ("entries", "delay"),
    ("first_step", "n_steps"): ("steps",),
}
_BY_SLOT = ("jobs", "phase", "share")
_SLOTS, _ROWS = 64, 1024


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
    cursor : (2,) int array
        First place and length of the queue of dirty jobs.
    rounds, changed : (S,) int array
        Scratch of the solver.
    """

    def __init__(self, topology: Topology) -> None:
        n_links = topology.n_links
        links = np.zeros(n_links, LINK)
        links["first_record"] = -1
        port = topology.capacity if topology.multipath is None else topology.multipath.capacity
        self.state = State(
            jobs=np.zeros(_SLOTS, JOB),
            steps=np.zeros(_ROWS, STEP),
            records=np.zeros(_ROWS, RECORD),
            marks=np.zeros(_ROWS, np.uint8),
            entries=np.zeros(_ROWS, ENTRY),
            links=links,
            own=np.zeros((_ROWS, 4 * STATES), np.float32),
            total=np.zeros((n_links, 4 * STATES), np.float32),
            own_sums=np.zeros(_ROWS, SUMS),
            total_sums=np.zeros(n_links, SUMS),
            delay=np.zeros((_ROWS, STATES), np.float32),
            channel=np.zeros((_ROWS, CHANNELS), np.float32),
            phase=np.zeros((_SLOTS, STATES), np.int8),
            share=np.zeros((_SLOTS, STATES), np.float32),
            buffer_s=(topology.buffer_bytes / port).astype(np.float32),
            queue=np.zeros(_SLOTS + 1, dtype=np.int64),
        )
        self.slot_of: dict[int, int] = {}
        self.job_of: Ints = np.zeros(_SLOTS, dtype=np.int64)
        self.cursor: Ints = np.zeros(2, dtype=np.int64)
        self.rounds: Ints = np.zeros(_SLOTS, dtype=np.int64)
        self.changed: Ints = np.zeros(_SLOTS, dtype=np.int64)
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._tails = dict.fromkeys(_GROUPS, 0)

    def make_room(self, demand: JobDemand) -> bool:
        """Move rows together, or grow, until a job fits; return whether records have moved."""
        moved = False
        sizes = (demand.records.size, demand.entries.size, demand.steps.size)
        for (group, tables), n_rows in zip(_GROUPS.items(), sizes, strict=True):
            capacity = len(getattr(self.state, tables[0]))
            if self._tails[group] + n_rows <= capacity:
                continue
            tail = self._tails[group] = self._compact(group, tables)
            moved = moved or tables[0] == "records"
            if 2 * (tail + n_rows) > capacity:  # else it would be full again soon
                self._grow(tables, 4 * (tail + n_rows))
        if not self._free:
            self._grow_slots()
        return moved

    def add(self, job: int, demand: JobDemand, phase: tuple[int, ...]) -> int:
        """Give a job a slot and fill its rows; `phase`: state in which each cell is met."""
        state = self.state
        rec, ent, step = self._tails.values()
        slot = self.slot_of[job] = self._free.pop()
        n_rec, n_ent, n_step = demand.records.size, demand.entries.size, demand.steps.size
        self._tails = dict(zip(_GROUPS, (rec + n_rec, ent + n_ent, step + n_step), strict=True))
        self.job_of[slot] = job
        state.records[rec : rec + n_rec] = demand.records
        state.records["job"][rec : rec + n_rec] = slot
        state.marks[rec : rec + n_rec] = 0
        state.channel[rec : rec + n_rec] = demand.channel
        state.own[rec : rec + n_rec] = 0.0
        state.own_sums[rec : rec + n_rec] = np.zeros((), SUMS)
        state.entries[ent : ent + n_ent] = demand.entries
        state.delay[ent : ent + n_ent] = -1e30
        state.steps[step : step + n_step] = demand.steps
        alone_s = demand.iteration_s
        rows = (rec, n_rec, ent, n_ent, step, n_step)
        state.jobs[slot] = (
            *rows,
            demand.compute_s,
            alone_s,
            alone_s,
            alone_s,
            np.nan,
            1.0,
            -1,
            False,
        )
        state.phase[slot] = phase
        state.share[slot] = 1.0 / STATES
        return slot

    def remove(self, job: int) -> None:
        """Free the slot and rows of a job whose records are on no link any more."""
        slot = self.slot_of.pop(job)
        self.state.jobs[slot] = np.zeros((), JOB)
        self._free.append(slot)

    def _compact(self, group: tuple[str, str], tables: tuple[str, ...]) -> int:
        """Move the rows of running jobs together and return how many they are."""
        slots = np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))
        first, count = (self.state.jobs[field] for field in group)
        slots = slots[np.argsort(first[slots], kind="stable")]
        number = count[slots].astype(np.int64)
        end = np.cumsum(number)
        tail = int(end[-1]) if end.size else 0
        old = np.arange(tail) + np.repeat(first[slots] - (end - number), number)
        for name in tables:
            table = getattr(self.state, name)
            table[:tail] = table[old]
        first[slots] = end - number
        return tail

    def _grow(self, tables: tuple[str, ...], n_rows: int) -> None:
        """Make tables longer."""
        self._replace({name: _longer(getattr(self.state, name), n_rows) for name in tables})

    def _grow_slots(self) -> None:
        """Double the slots."""
        n_slots = self.job_of.size
        self._grow(_BY_SLOT, 2 * n_slots)
        first, length = self.cursor.tolist()
        queue = np.zeros(2 * n_slots + 1, dtype=np.int64)
        queue[:length] = np.roll(self.state.queue, -first)[:length]
        self.cursor[0] = 0
        self._replace({"queue": queue})
        self.job_of = _longer(self.job_of, 2 * n_slots)
        self.rounds, self.changed = np.zeros((2, 2 * n_slots), dtype=np.int64)
        self._free = list(range(2 * n_slots - 1, n_slots - 1, -1))

    def _replace(self, tables: dict[str, Any]) -> None:
        """Put other tables in place of some."""
        self.state = self.state._replace(**tables)


def _longer(table: Any, n_rows: int) -> Any:  # noqa: ANN401 (an array of any kind)
    """Return a table with so many rows, new ones zero."""
    result = np.zeros((n_rows, *table.shape[1:]), table.dtype)
    result[: len(table)] = table
    return result
