"""Accounts: what running jobs did and lost so far, in tables that kernels keep."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coupling.errors import CouplingError
from netsim.common.arrays import Floats, Ints, Table
from netsim.common.jit import load_kernels
from netsim.flows.contention import Culprits

# a communicating job, by slot
MEMBER = np.dtype(
    [
        ("job", np.int64),
        ("since_s", np.float64),  # of its last change
        ("work_s", np.float64),  # done by then, at full rate
        ("interference", np.float64),  # from then on
        ("network_slowdown", np.float64),
        ("n_nodes", np.float64),
        ("worst_link", np.int64),  # -1: none yet
        ("first_loss", np.int64),  # of its losses, in the order in which they began
        ("last_loss", np.int64),
        ("first_cause", np.int64),  # of the losses that go on now, -1: not known yet
    ],
    align=True,
)
# what a job lost to another on a class of links
LOSS = np.dtype(
    [
        ("victim", np.int64),
        ("culprit", np.int64),
        ("interference_delay_node_s", np.float64),
        ("share", np.float64),  # of what the job loses now
        ("following", np.int64),  # of the losses of the job, or of the free rows; -1: none
        ("cause", np.int64),  # the next of the losses that go on, -1: none
        ("kind", np.int64),
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("free", np.int64),  # first free row of the losses
        ("n_free", np.int64),
        ("taken", np.int64),  # places that are not empty
    ],
    align=True,
)
_SLOTS, _ROWS = 64, 256  # to begin with
_PLACES = 4  # for each row of losses at least
_NO_LOSS = -2  # class of links of a free row


class Ledger(NamedTuple):
    """What jobs did and lost, as the kernels keep it."""

    members: Table  # `MEMBER`, by slot
    losses: Table  # `LOSS`
    places: Ints  # rows of losses by open addressing, -1: empty; a power of two
    state: Table  # `STATE`, one row


class NewRates(NamedTuple):
    """Rates of jobs from now on."""

    slot: Ints
    interference: Floats
    placement_factor: Floats
    worst_link: Ints  # that delays the job most; -1: as before


class Causes(NamedTuple):
    """Shares of what jobs lose now, the rows of a victim together."""

    victim: Ints
    culprit: Ints
    kind: Ints  # class of links
    share: Floats


JobColumns = tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[int]]
"""Columns of `NewRates`."""


class Accounts:
    """
    What running jobs did and lost, by slot.

    `delay_at_link`: Node-seconds lost at each link; added to. `slot_of`: By job, of open accounts.
    `members`: Columns as in `MEMBER`.
    """

    def __init__(self, delay_at_link: Floats) -> None:
        self._kernels = load_kernels("coupling.rates.ledger_kernels", "ledger kernels", 2)
        self._delay_at_link = delay_at_link
        self.slot_of: dict[int, int] = {}
        self.members = np.zeros(_SLOTS, MEMBER)
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._losses = np.zeros(0, LOSS)
        self._state = np.zeros(1, STATE)
        self._add_rows(_ROWS)

    def open(self, job: int, n_nodes: float, now_s: float) -> None:
        """Open the account of a job that starts."""
        if not self._free:
            n_slots = self.members.size
            self.members = np.concatenate([self.members, np.zeros(n_slots, MEMBER)])
            self._free = list(range(2 * n_slots - 1, n_slots - 1, -1))
        slot = self.slot_of[job] = self._free.pop()
        self.members[slot] = (job, now_s, 0.0, 1.0, 1.0, n_nodes, -1, -1, -1, -1)

    def account(
        self, now_s: float, ended: Sequence[int], job_rates: JobColumns
    ) -> tuple[Ints, Floats, Floats]:
        """Close the accounts of ended jobs, go on with others; return losses and work."""
        # Losses by victim, culprit and class of link (3, R), in node-seconds.
        slots, interference, placement_factor, worst_link = job_rates
        closed = np.array([self.slot_of.pop(job) for job in ended], dtype=np.int64)
        self._make_room(len(ended) + len(slots))
        keys, delay_node_s = self._closed
        n_closed = self._kernels.account(
            now_s,
            closed,
            (
                np.array(slots, dtype=np.int64),
                np.array(interference, dtype=np.float64),
                np.array(placement_factor, dtype=np.float64),
                np.array(worst_link, dtype=np.int64),
            ),
            self._kernel_ledger(),
            self._delay_at_link,
            keys,
            delay_node_s,
        )
        self._free += closed.tolist()
        lost = keys[:, :n_closed].copy(), delay_node_s[:n_closed].copy()
        return *lost, self.members["work_s"][closed]

    def _kernel_ledger(self) -> tuple[Table, Table, Ints, Table]:
        """Return the columns of `Ledger`."""
        return self.members, self._losses, self._places, self._state

    def blame(self, asked: Sequence[int], culprits: Culprits) -> None:
        """Note which jobs delay others from now on."""
        self._make_room(culprits.victim.size)
        stranger = self._kernels.blame(
            np.array(asked, dtype=np.int64),
            np.array([self.slot_of[job] for job in asked], dtype=np.int64),
            (
                np.array(culprits.victim, np.int64),
                np.array(culprits.culprit, np.int64),
                np.array(culprits.kind, np.int64),
                np.array(culprits.share, np.float64),
            ),
            self._kernel_ledger(),
        )
        if stranger >= 0:
            raise CouplingError(
                f"culprits: expected rows of the jobs asked for, got one of job "
                f"{culprits.victim[stranger]}."
            )

    def _make_room(self, n_rows: int) -> None:
        """Have so many free rows of losses."""
        missing = n_rows - int(self._state["n_free"][0])
        if missing > 0:
            self._add_rows(self._losses.size + missing)

    def _add_rows(self, more: int) -> None:
        """Add free rows of losses; the kernels fill a larger table anew, which counts as full."""
        first, size = self._losses.size, self._losses.size + more
        self._losses = np.concatenate([self._losses, np.zeros(more, LOSS)])
        self._losses["kind"][first:] = _NO_LOSS
        self._losses["following"][first:] = [*range(first + 1, size), self._state["free"][0]]
        self._closed = np.empty((3, size), dtype=np.int64), np.empty(size)  # scratch
        self._places: Ints = np.full(1 << (_PLACES * size).bit_length(), -1)
        self._state[0] = first, self._state["n_free"][0] + more, self._places.size
