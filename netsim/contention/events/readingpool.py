"""State of the running jobs with what they put on channels in each state."""

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Floats, Ints
from netsim.contention.constants import JobConstants
from netsim.contention.events.columns import READING
from netsim.contention.events.pool import Group, Pool, aligned

_LINE = 64  # bytes: 16 numbers of 4
_PLACE = np.dtype((np.void, 16))  # 4 whole numbers


class ReadingPool(Pool):
    """
    The pool with tables for the readings; `reading_kernels` names their columns.

    Parameters
    ----------
    n_channels : int
        Channels of the fabric.
    n_states : int
        States of a job.
    has_pools : bool, default False
        Whether switches choose among links that are one channel.
    n_lines : int, default 1
        Lines of 16 numbers of what is on channels: one more where virtual channels are told apart,
        and another where it is known for how long they are closed.
    """

    groups = (
        Pool.groups[0],
        Group("first_entry", "n_entries", ("entries", "_own", "_place", "_late", "felt")),
        Group("first_step", "n_steps", ("steps", "latency_s")),
    )
    by_slot = (*Pool.by_slot, "readings")

    def __init__(
        self, n_channels: int, n_states: int, *, has_pools: bool = False, n_lines: int = 1
    ) -> None:
        super().__init__(n_channels)
        line = np.dtype((np.void, n_lines * _LINE))
        self._own = aligned(self.entries.size, line)
        self._place = aligned(self.entries.size, _PLACE)
        self._late = aligned(self.entries.size, line)
        self._look()
        self.felt = aligned(self.entries.size, np.dtype(np.uint8))
        self.latency_s: Floats = aligned(self.steps.size, np.dtype(np.float64))
        self.readings = aligned(self.jobs.size, READING)
        self.crowd = aligned(n_channels, line).view(np.float32).reshape(n_channels, -1)
        self.closed: Floats = np.zeros((n_channels if has_pools else 0, 2))
        self.told: Ints = np.zeros(2 * n_channels, dtype=np.int64)  # one can be listed twice
        self.cells: Ints = np.zeros((self.jobs.size, n_states), dtype=np.int64)

    def _look(self) -> None:
        """See the rows as numbers; whoever asks at each event would pay for a view each time."""
        # what the records put on channels
        self.own: NDArray[np.float32] = self._own.view(np.float32).reshape(self._own.size, -1)
        # channel, number of entries and link of the records, and steps of the entries
        self.place: NDArray[np.int32] = self._place.view(np.int32).reshape(-1, 4)
        # by how much channels make steps late in each state, waits, v and z, closed, links, drawn
        self.late: NDArray[np.float32] = self._late.view(np.float32).reshape(self._late.size, -1)

    def make_room(self, constants: JobConstants) -> bool:
        """Move rows together, or grow, until a job fits."""
        moved = super().make_room(constants)
        if self.own.shape[0] != self._own.size:
            self._look()
        return moved

    def add_in_cells(
        self, job: int, constants: JobConstants, cells: Ints, slowdown: float = 1.0
    ) -> int:
        """Give a job a slot and rows, and note in which cell it is in each state."""
        slot = self.add(job, constants, slowdown)
        if slot >= self.cells.shape[0]:
            more = np.zeros((self.jobs.size - self.cells.shape[0], cells.size), dtype=np.int64)
            self.cells = np.vstack([self.cells, more])
        self.cells[slot] = cells
        return slot
