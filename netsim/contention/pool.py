"""State of the running jobs in compact arrays: slots for jobs, rows for their records."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints
from netsim.contention.constants import JobConstants

# column pairs (first row, number of rows) of `job_i`, in the order of the groups below
_RECORDS, _ENTRIES, _STEPS = (0, 1), (2, 3), (4, 5)
_SLOWDOWN, _REPORTED = 1, 5  # columns of `job_f`
_SOLE = 2
_WORD = 64
_T = TypeVar("_T", bound=np.generic)


class Pool:
    """
    Arrays that hold every running job; the kernels name their columns.

    The rows of a job are contiguous. Rows of jobs that ended are holes until an array is
    full; then the rows move together, and the array grows if that is not enough.

    Parameters
    ----------
    n_channels : int
        Channels of the fabric.
    """

    def __init__(self, n_channels: int) -> None:
        self.rec_i: Ints = np.zeros((1024, 5), dtype=np.int64)
        self.rec_f: Floats = np.zeros((1024, 6))
        self.ent_step: Ints = np.zeros(1024, dtype=np.int64)
        self.ent_f: Floats = np.zeros((1024, 5))
        self.steps: Floats = np.zeros((256, 3))
        self.job_i: Ints = np.zeros((_WORD, 9), dtype=np.int64)
        self.job_f: Floats = np.zeros((_WORD, 6))
        self.chan: Floats = np.zeros((n_channels, 8))  # 7 columns, padded to a cache line
        self.member: NDArray[np.uint64] = np.zeros((n_channels, 1), dtype=np.uint64)
        self.active: NDArray[np.uint64] = np.zeros((n_channels, 1), dtype=np.uint64)
        self.wake: NDArray[np.uint64] = np.zeros((2, 1), dtype=np.uint64)
        self.slot_of: dict[int, int] = {}
        self._job_of = np.zeros(_WORD, dtype=np.int64)
        self._free = list(range(_WORD - 1, -1, -1))
        self._tail = {_RECORDS: 0, _ENTRIES: 0, _STEPS: 0}

    def add(self, job: int, constants: JobConstants) -> int:
        """
        Give a job a slot and rows, at slowdown 1, still on no channel.

        Parameters
        ----------
        job : int
            Identity of the job, not present.
        constants : JobConstants
            What it puts on the channels.

        Returns
        -------
        int
            Its slot.
        """
        n_rec, n_ent, n_step = (
            constants.rec_i.shape[0],
            constants.ent_step.size,
            constants.steps.shape[0],
        )
        rec = self._reserve(_RECORDS, n_rec, ("rec_i", "rec_f"))
        ent = self._reserve(_ENTRIES, n_ent, ("ent_step", "ent_f"))
        step = self._reserve(_STEPS, n_step, ("steps",))
        self.rec_i[rec : rec + n_rec, :4] = constants.rec_i
        self.rec_i[rec : rec + n_rec, 4] = _SOLE
        self.rec_f[rec : rec + n_rec, :4] = constants.rec_f
        self.rec_f[rec : rec + n_rec, 4] = constants.rec_f[:, 1]
        self.ent_step[ent : ent + n_ent] = constants.ent_step
        self.ent_f[ent : ent + n_ent] = constants.ent_f[:, :5]
        self.steps[step : step + n_step, 0] = constants.steps[:, 0]
        if not self._free:
            self._grow_slots()
        slot = self._free.pop()
        self.slot_of[job] = slot
        self._job_of[slot] = job
        period = constants.iteration_s
        rate = 1.0 / period if period > 0.0 else 0.0
        self.job_i[slot] = (rec, n_rec, ent, n_ent, step, n_step, 0, 0, -1)
        self.job_f[slot] = (period, 1.0, rate, 1.0, 0.0, np.nan)
        return slot

    def remove(self, job: int) -> None:
        """
        Free the slot and rows of a job that is on no channel any more.

        Parameters
        ----------
        job : int
            Identity of the job.
        """
        slot = self.slot_of.pop(job)
        self.job_f[slot] = 0.0
        self._free.append(slot)

    def changes(self) -> dict[int, float]:
        """
        Return the slowdowns that differ from what was returned before.

        Returns
        -------
        dict of int to float
            By job, in order of slots.
        """
        reported = self.job_f[:, _REPORTED]
        slots = np.flatnonzero(self.job_f[:, _SLOWDOWN] != reported)
        values = self.job_f[slots, _SLOWDOWN]
        reported[slots] = values
        return dict(zip(self._job_of[slots].tolist(), values.tolist(), strict=True))

    def live_slots(self) -> Ints:
        """
        Return the slots in use.

        Returns
        -------
        (J,) int array
            In the order in which the jobs started.
        """
        return np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))

    def _reserve(self, group: tuple[int, int], n_rows: int, names: Sequence[str]) -> int:
        """Return the first of n_rows new rows, after moving rows together or growing."""
        capacity = getattr(self, names[0]).shape[0]
        if self._tail[group] + n_rows > capacity:
            live = self._compact(group, names)
            if 2 * (live + n_rows) > capacity:  # else it would be full again soon
                for name in names:
                    setattr(self, name, _grown(getattr(self, name), 4 * (live + n_rows)))
        first = self._tail[group]
        self._tail[group] = first + n_rows
        return first

    def _compact(self, group: tuple[int, int], names: Sequence[str]) -> int:
        """Move the rows of live jobs together and return how many they are."""
        first, count = group
        slots = self.live_slots()
        tail = 0
        for slot in slots[np.argsort(self.job_i[slots, first], kind="stable")].tolist():
            old, n_rows = (int(value) for value in self.job_i[slot, [first, count]])
            for name in names:
                array = getattr(self, name)
                array[tail : tail + n_rows] = array[old : old + n_rows]
            self.job_i[slot, first] = tail
            tail += n_rows
        self._tail[group] = tail
        return tail

    def _grow_slots(self) -> None:
        """Double the slots."""
        n_slots = self.job_i.shape[0]
        for name in ("job_i", "job_f", "_job_of"):
            setattr(self, name, _grown(getattr(self, name), 2 * n_slots))
        for name in ("member", "active", "wake"):
            bits = getattr(self, name)
            setattr(self, name, np.hstack([bits, np.zeros_like(bits)]))
        self._free = list(range(2 * n_slots - 1, n_slots - 1, -1))


def _grown(array: NDArray[_T], n_rows: int) -> NDArray[_T]:
    """Return the array with so many rows, new ones zero."""
    result = np.zeros((n_rows, *array.shape[1:]), dtype=array.dtype)
    result[: array.shape[0]] = array
    return result
