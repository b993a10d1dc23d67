"""Rows of the running jobs in the tables of `State`: a slot each, and blocks of rows."""

from typing import Any

import numpy as np

from netsim.common.arrays import Ints, Table
from netsim.fluid.demand import JobDemand
from netsim.fluid.tables import (
    ENTRY,
    JOB,
    LINK,
    LOAD,
    RECORD,
    STATES,
    STEP,
    WORK,
    Float32s,
    State,
)
from netsim.topology.base import Topology

_GROUPS = {  # tables whose rows belong together, and the fields of a job that say which are its own
    ("first_record", "n_records"): ("records", "marks", "loads"),
    ("first_entry", "n_entries"): ("entries",),
    ("first_step", "n_steps"): ("steps",),
}
_BY_SLOT = ("jobs",)
_SLOTS, _ROWS = 64, 1 << 16  # memory that is not written takes no room


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
    rounds, changed : (S,) int array
        Scratch of the solver.
    fresh, fresh_values : (1,) table, (1, V) float array
        A contribution, the same memory twice; scratch.
    work : (1,) table
        More of it.
    """

    def __init__(self, topology: Topology) -> None:
        n_links = topology.n_links
        links = np.zeros(n_links, LINK)
        links["first_record"] = -1
        port = topology.capacity if topology.multipath is None else topology.multipath.capacity
        links["buffer_s"] = topology.buffer_bytes / port
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
            load_values=_values(loads),
            total_values=_values(totals),
            queue=np.zeros(_SLOTS + 1, dtype=np.int64),
            cursor=np.zeros(2, dtype=np.int64),
        )
        self.fresh: Table = np.zeros(1, LOAD)
        self.fresh_values = _values(self.fresh)
        self.work: Table = np.ones(1, WORK)
        self.slot_of: dict[int, int] = {}
        self.job_of: Ints = np.zeros(_SLOTS, dtype=np.int64)
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
        """Give a job a slot and rows, to be filled; `phase`: state in which it is in each cell."""
        state = self.state
        rec, ent, step = self._tails.values()
        slot = self.slot_of[job] = self._free.pop()
        n_rec, n_ent, n_step = demand.records.size, demand.entries.size, demand.steps.size
        self._tails = dict(zip(_GROUPS, (rec + n_rec, ent + n_ent, step + n_step), strict=True))
        self.job_of[slot] = job
        alone_s = demand.iteration_s
        rows = (rec, n_rec, ent, n_ent, step, n_step)
        times = (demand.compute_s, alone_s, alone_s, alone_s, np.nan, 1.0)
        state.jobs[slot] = (*rows, *times, -1, False, (1.0 / STATES,) * STATES, phase)
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
        longer = {name: _longer(getattr(self.state, name), n_rows) for name in tables}
        if "loads" in longer:
            longer["load_values"] = _values(longer["loads"])
        self._replace(longer)

    def _grow_slots(self) -> None:
        """Double the slots."""
        n_slots = self.job_of.size
        self._grow(_BY_SLOT, 2 * n_slots)
        first, length = self.state.cursor.tolist()
        queue = np.zeros(2 * n_slots + 1, dtype=np.int64)
        queue[:length] = np.roll(self.state.queue, -first)[:length]
        self.state.cursor[0] = 0
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


def _values(loads: Table) -> Float32s:
    """Return the same memory as rows of numbers."""
    return loads.view(np.float32).reshape(loads.size, -1)
