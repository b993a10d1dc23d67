"""State of the running jobs in compact arrays: slots for jobs, rows for their records."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Bits, Ints, Table
from netsim.contention.constants import JobConstants
from netsim.contention.events.columns import CHANNEL, ENTRY, JOB, LISTED, RECORD, STEP


class Group(NamedTuple):
    """Tables that share their rows, and the columns of `jobs` that say which a job has."""

    first_row: str
    n_rows: str
    tables: tuple[str, ...]


_RECORDS = Group("first_record", "n_records", ("records", "listed"))
_NO_JOB = np.zeros((), JOB)
_WORD = 64
_LINE = 64  # bytes of a line of the cache
_T = TypeVar("_T", bound=np.generic)


class Pool:
    """
    Tables that hold every running job; `columns` names their columns.

    The rows of a job are contiguous. Rows of jobs that ended are holes until a table is
    full; then the rows move together, and the table grows if that is not enough. The last row
    of a table is no job's: two rows change places through it.

    Parameters
    ----------
    n_channels : int
        Channels of the fabric.
    """

    groups: tuple[Group, ...] = (
        _RECORDS,
        Group("first_entry", "n_entries", ("entries",)),
        Group("first_step", "n_steps", ("steps",)),
    )
    by_slot: tuple[str, ...] = ("jobs", "changed", "job_of")

    def __init__(self, n_channels: int) -> None:
        self.records = aligned(1024, RECORD)
        self.listed = aligned(1024, LISTED)
        self.entries = aligned(1024, ENTRY)
        self.steps = aligned(256, STEP)
        self.jobs = aligned(_WORD, JOB)
        self.channels = aligned(n_channels, CHANNEL)
        self.channels["first_record"] = -1
        self.moved: Ints = np.zeros(n_channels, dtype=np.int64)
        self.changed: Ints = np.zeros(_WORD, dtype=np.int64)
        self.active: Bits = np.zeros((n_channels, 1), dtype=np.uint64)
        self.wake: Bits = np.zeros(1, dtype=np.uint64)
        self.slot_of: dict[int, int] = {}
        self.job_of: Ints = np.zeros(_WORD, dtype=np.int64)
        self._free = list(range(_WORD - 1, -1, -1))
        self._tails = [0] * len(self.groups)
        self._capacities = [getattr(self, group.tables[0]).size - 1 for group in self.groups]

    @property
    def state(self) -> tuple[Table, Table, Bits, Bits]:
        """Return jobs, channels, who is active on them, and who is to be evaluated."""
        return self.jobs, self.channels, self.active, self.wake

    def make_room(self, constants: JobConstants) -> bool:
        """Move rows together, or grow, until a job fits."""
        moved = False
        for i, n_rows in enumerate(_sizes(constants)):
            if self._tails[i] + n_rows <= self._capacities[i]:
                continue
            live = self._tails[i] = self._compact(self.groups[i])
            moved = moved or self.groups[i] is _RECORDS
            if 2 * (live + n_rows) > self._capacities[i]:  # else it would be full again soon
                self._capacities[i] = 4 * (live + n_rows)
                for name in self.groups[i].tables:
                    setattr(self, name, _grown(getattr(self, name), self._capacities[i] + 1))
        return moved

    def add(self, job: int, constants: JobConstants, slowdown: float = 1.0) -> int:
        """Give a job a slot and rows still to be filled, on no channel."""
        n_rec, n_ent, n_step = _sizes(constants)
        rec, ent, step = self._tails
        self._tails = [rec + n_rec, ent + n_ent, step + n_step]
        if not self._free:
            self._grow_slots()
        slot = self._free.pop()
        self.slot_of[job] = slot
        self.job_of[slot] = job
        period = constants.iteration_s
        rate = 1.0 / (period * slowdown) if period > 0.0 else 0.0
        rows = (rec, 0, 0, n_rec, ent, n_ent, step, n_step, -1)
        self.jobs[slot] = (*rows, period, slowdown, rate, 1.0, 0.0, np.nan)  # as `JOB` names them
        return slot

    def remove(self, job: int) -> None:
        """Free the slot and rows of a job that is on no channel any more."""
        slot = self.slot_of.pop(job)
        self.jobs[slot] = _NO_JOB
        self._free.append(slot)

    def jobs_in(self, slots: Ints) -> Ints:
        """
        Return the jobs in slots.

        `slots` (K,): slots in use. Result (K,): identities.
        """
        return self.job_of[slots]

    def live_slots(self) -> Ints:
        """
        Return the slots in use.

        Result (J,): in the order in which the jobs started.
        """
        return np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))

    def _compact(self, group: Group) -> int:
        """Move the rows of live jobs together and return how many they are."""
        slots = self.live_slots()
        first_row, n_rows = self.jobs[group.first_row], self.jobs[group.n_rows]
        slots = slots[np.argsort(first_row[slots], kind="stable")]
        count = n_rows[slots]
        end = np.cumsum(count)
        tail = int(end[-1]) if end.size else 0
        old = np.arange(tail) + np.repeat(first_row[slots] - (end - count), count)
        for name in group.tables:
            table = getattr(self, name)
            raw = table.view(np.uint8).reshape(-1, table.itemsize)  # rows as they lie, not fields
            raw[:tail] = raw.take(old, axis=0)
        first_row[slots] = end - count
        return tail

    def _grow_slots(self) -> None:
        """Double the slots."""
        n_slots = self.jobs.size
        for name in self.by_slot:
            setattr(self, name, _grown(getattr(self, name), 2 * n_slots))
        self.active = np.hstack([self.active, np.zeros_like(self.active)])
        self.wake = np.hstack([self.wake, np.zeros_like(self.wake)])
        self._free = list(range(2 * n_slots - 1, n_slots - 1, -1))


def aligned(n_rows: int, dtype: np.dtype[_T]) -> NDArray[_T]:
    """Return zeros that begin where a line of the cache does: a row of 64 bytes is one line."""
    n_bytes = n_rows * dtype.itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + n_bytes].view(dtype)


def _grown(array: NDArray[_T], n_rows: int) -> NDArray[_T]:
    """Return the array with so many rows, new ones zero."""
    result = aligned(n_rows, array.dtype)
    result[: array.size] = array
    return result


def _sizes(constants: JobConstants) -> tuple[int, int, int]:
    """Return how many records, entries and steps a job has."""
    return constants.records.size, constants.entries.size, constants.steps.size
