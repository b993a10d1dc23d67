"""State of the running jobs in compact arrays: slots for jobs, rows for their records."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Bits, Floats, Ints, Ints32
from netsim.contention.constants import JobConstants
from netsim.contention.events.columns import (
    C_HEAD,
    J_ENT,
    J_NENT,
    J_NREC,
    J_NSTEP,
    J_REC,
    J_STEP,
)


class _Group(NamedTuple):
    """Arrays that share their rows, and the columns of `job_i` that say which a job has."""

    first_row: int
    n_rows: int
    arrays: tuple[str, ...]


_RECORDS = _Group(J_REC, J_NREC, ("rec_i", "rec_f", "rec_l"))
_GROUPS = (
    _RECORDS,
    _Group(J_ENT, J_NENT, ("ent",)),
    _Group(J_STEP, J_NSTEP, ("steps",)),
)
_WORD = 64
_LINE = 64  # bytes of a line of the cache
_T = TypeVar("_T", bound=np.generic)


class Pool:
    """
    Arrays that hold every running job; `columns` names their columns.

    The rows of a job are contiguous. Ints32 of jobs that ended are holes until an array is
    full; then the rows move together, and the array grows if that is not enough.

    Parameters
    ----------
    n_channels : int
        Channels of the fabric.
    """

    def __init__(self, n_channels: int) -> None:
        self.rec_i: Ints32 = np.zeros((1024, 4), dtype=np.int32)
        self.rec_f: Floats = _aligned((1024, 8), np.float64)
        self.rec_l: Ints = np.zeros((1024, 3), dtype=np.int64)
        self.ent: Floats = _aligned((1024, 8), np.float64)
        self.steps: Floats = np.zeros((256, 3))
        self.job_i: Ints = np.zeros((_WORD, 9), dtype=np.int64)
        self.job_f: Floats = np.zeros((_WORD, 6))
        self.chan: Floats = _aligned((n_channels, 8), np.float64)
        self.chan[:, C_HEAD] = -1.0
        self.moved: Ints = np.zeros(n_channels, dtype=np.int64)
        self.changed: Ints = np.zeros(_WORD, dtype=np.int64)
        self.active: Bits = np.zeros((n_channels, 1), dtype=np.uint64)
        self.wake: Bits = np.zeros(1, dtype=np.uint64)
        self.slot_of: dict[int, int] = {}
        self._job_of = np.zeros(_WORD, dtype=np.int64)
        self._free = list(range(_WORD - 1, -1, -1))
        self._tails = [0] * len(_GROUPS)
        self._capacities = [getattr(self, group.arrays[0]).shape[0] for group in _GROUPS]

    @property
    def records(self) -> tuple[Ints32, Floats, Ints]:
        """Return the arrays with a row per record."""
        return self.rec_i, self.rec_f, self.rec_l

    @property
    def state(self) -> tuple[Ints, Floats, Floats, Bits, Bits]:
        """Return jobs, channels, who is active on them, and who is to be evaluated."""
        return self.job_i, self.job_f, self.chan, self.active, self.wake

    def make_room(self, constants: JobConstants) -> bool:
        """
        Move rows together, or grow, until a job fits.

        Parameters
        ----------
        constants : JobConstants
            The job that comes next.

        Returns
        -------
        bool
            Whether records moved, so that the channels' lists are to be made anew.
        """
        moved = False
        for i, n_rows in enumerate(_sizes(constants)):
            if self._tails[i] + n_rows <= self._capacities[i]:
                continue
            live = self._tails[i] = self._compact(_GROUPS[i])
            moved = moved or _GROUPS[i] is _RECORDS
            if 2 * (live + n_rows) > self._capacities[i]:  # else it would be full again soon
                self._capacities[i] = 4 * (live + n_rows)
                for name in _GROUPS[i].arrays:
                    setattr(self, name, _grown(getattr(self, name), self._capacities[i]))
        return moved

    def add(self, job: int, constants: JobConstants) -> int:
        """
        Give a job a slot and rows still to be filled, at slowdown 1, on no channel.

        Parameters
        ----------
        job : int
            Identity of the job, not present.
        constants : JobConstants
            What it puts on the channels; there is room.

        Returns
        -------
        int
            Its slot.
        """
        n_rec, n_ent, n_step = _sizes(constants)
        rec, ent, step = self._tails
        self._tails = [rec + n_rec, ent + n_ent, step + n_step]
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

    def jobs_in(self, slots: Ints) -> Ints:
        """
        Return the jobs in slots.

        Parameters
        ----------
        slots : (K,) int array
            Slots in use.

        Returns
        -------
        (K,) int array
            Identities.
        """
        return self._job_of[slots]

    def live_slots(self) -> Ints:
        """
        Return the slots in use.

        Returns
        -------
        (J,) int array
            In the order in which the jobs started.
        """
        return np.fromiter(self.slot_of.values(), np.int64, len(self.slot_of))

    def _compact(self, group: _Group) -> int:
        """Move the rows of live jobs together and return how many they are."""
        slots = self.live_slots()
        tail = 0
        for slot in slots[np.argsort(self.job_i[slots, group.first_row], kind="stable")].tolist():
            old, n_rows = (int(self.job_i[slot, k]) for k in (group.first_row, group.n_rows))
            for name in group.arrays:
                array = getattr(self, name)
                array[tail : tail + n_rows] = array[old : old + n_rows]
            self.job_i[slot, group.first_row] = tail
            tail += n_rows
        return tail

    def _grow_slots(self) -> None:
        """Double the slots."""
        n_slots = self.job_i.shape[0]
        for name in ("job_i", "job_f", "changed", "_job_of"):
            setattr(self, name, _grown(getattr(self, name), 2 * n_slots))
        self.active = np.hstack([self.active, np.zeros_like(self.active)])
        self.wake = np.hstack([self.wake, np.zeros_like(self.wake)])
        self._free = list(range(2 * n_slots - 1, n_slots - 1, -1))


def _aligned(shape: tuple[int, ...], dtype: np.dtype[_T] | type[_T]) -> NDArray[_T]:
    """Return zeros that begin where a line of the cache does: a row of 64 bytes is one line."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + n_bytes].view(dtype).reshape(shape)


def _grown(array: NDArray[_T], n_rows: int) -> NDArray[_T]:
    """Return the array with so many rows, new ones zero."""
    result = _aligned((n_rows, *array.shape[1:]), array.dtype)
    result[: array.shape[0]] = array
    return result


def _sizes(constants: JobConstants) -> tuple[int, int, int]:
    """Return how many records, entries and steps a job has."""
    return constants.rec_i.shape[0], constants.ent_step.size, constants.steps.shape[0]
