"""Model `fast`: the fixed point with time-averaged neighbours, kept up to date event by event."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fabricsim.checking import number, shortened
from netsim.arrays import Floats, Ints
from netsim.contention.among import MOVED, Among
from netsim.contention.base import Traffic
from netsim.contention.blame import Culprits
from netsim.contention.constants import ConstantsOf, JobConstants
from netsim.contention.events.pool import Pool
from netsim.errors import ContentionError
from netsim.kernelcache import load_kernels
from netsim.topology.base import Topology

_MAX_SWEEPS = 400  # 2 to 4 % of the events of jobs with f of 0.7 to 1 take more than 100
_RECOUNT_EVERY = 512  # starts; rounding of the totals stays far below any tolerance


class Fast:
    """
    Per-sender shares with lingering, neighbours by their time-averaged presence.

    Only jobs that a start or end touches are evaluated again, from where they stood.

    Parameters
    ----------
    topology : Topology
        The fabric.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow on a link: 1 / (flows its sender opens), or 1.
    tolerance : float, default 1e-3
        Changes of a slowdown, or of a channel's weight or utilisation, that move no neighbour.

    Attributes
    ----------
    constants_of : ConstantsOf
        What it asks for the constants of jobs that start.

    Raises
    ------
    ContentionError
        If an option is out of range.

    Notes
    -----
    Links that a single job uses take no part, so a job that shares no link has interference
    1 exactly. Against packet level the mean error is about 3.5 %. Values follow a cold solve
    within some tolerances, within about ten where jobs hardly compute.
    """

    def __init__(
        self, topology: Topology, *, fairness: str = "per-sender", tolerance: float = 1e-3
    ) -> None:
        if not 0.0 < number("tolerance", tolerance, error=ContentionError) < 1.0:
            raise ContentionError(f"tolerance must lie between 0 and 1, got {tolerance}.")
        self.tolerance = tolerance
        self.constants_of = ConstantsOf(topology, fairness)
        self._channels = load_kernels(
            "netsim.contention.events.channel_kernels", "contention kernels", 4
        )
        self._kernels = load_kernels(
            "netsim.contention.events.fixedpoint_kernels", "contention kernels", 4
        )
        self._pool = self._empty_pool(topology.n_links)
        self._among = Among(topology) if self.constants_of.leads_round else None
        self._name = topology.name
        self._events = 0
        self._settled = True  # nobody came or went since the last `solve`
        self._blame_of = np.empty(0, dtype=np.int64), np.empty((0, 1))  # classes of links, scratch

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Fast on {shortened(self._name)}>"

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job; its effect shows at the next `solve`."""
        if job in self._pool.slot_of:
            raise ContentionError(f"job {job} has been started already.")
        constants = self.constants_of(traffic)
        self._add(job, constants)
        if self._among is not None:
            self._among.start(job, constants)

    def end(self, job: int) -> None:
        """Take a job away; its effect shows at the next `solve`."""
        self._remove(job)
        if self._among is not None:
            self._among.end(job)

    def _add(self, job: int, constants: JobConstants, slowdown: float = 1.0) -> None:
        """Put a job down, and let it begin at a slowdown."""
        self._events += 1
        self._settled = False
        if self._pool.make_room(constants) or self._events % _RECOUNT_EVERY == 0:
            self._recount()
        self._enter(self._placed(job, constants, slowdown), constants)

    def _remove(self, job: int) -> None:
        """Take a job off its channels."""
        pool = self._pool
        self._channels.leave(self._slot(job), pool.records, pool.listed, *pool.state)
        pool.remove(job)
        self._settled = False

    def _lead_round(self) -> None:
        """Put down anew the jobs that go other ways since others came or went."""
        if self._among is None:
            return
        for job, constants in self._among.moved(MOVED * self.tolerance):
            slowdown = float(self._pool.jobs["slowdown"][self._slot(job)])
            self._remove(job)
            self._add(job, constants, slowdown)

    def _empty_pool(self, n_channels: int) -> Pool:
        """Return the state before the first job."""
        return Pool(n_channels)

    def _placed(self, job: int, constants: JobConstants, slowdown: float) -> int:
        """Give a job rows and return its slot."""
        return self._pool.add(job, constants, slowdown)

    def _enter(self, slot: int, constants: JobConstants) -> None:
        """Put a job on its channels."""
        pool = self._pool
        self._channels.enter(
            slot,
            constants.records,
            constants.entries,
            constants.steps,
            pool.records,
            pool.listed,
            pool.entries,
            pool.steps,
            *pool.state,
        )

    def solve(self) -> Mapping[int, float]:
        """Bring the slowdowns up to date."""
        self._lead_round()
        pool = self._pool
        if self._settled and not np.count_nonzero(pool.wake):  # twelve times as fast as `any`
            return {}
        self._settled = True
        slots = pool.changed[: self._settle()]
        if not slots.size:
            return {}
        jobs, values = pool.jobs_in(slots), pool.jobs["slowdown"][slots]
        return dict(zip(jobs.tolist(), values.tolist(), strict=True))

    def _settle(self) -> int:
        """Find the fixed point; return how many slowdowns, listed in `changed`, moved."""
        pool = self._pool
        moved: int = self._kernels.solve(
            pool.records,
            pool.listed,
            pool.entries,
            pool.steps,
            *pool.state,
            pool.moved,
            pool.changed,
            self.tolerance,
            _MAX_SWEEPS,
        )
        return moved

    def worst_link(self, job: int) -> int:
        """Return the link that holds a job up most."""
        return self.worst_links((job,))[0]

    def worst_links(self, jobs: Sequence[int]) -> list[int]:
        """Return what `worst_link` says of each job, all at once; a subclass redefines this one."""
        link_of = self._pool.jobs["worst_link"].item
        return [link_of(slot) for slot in self._slots(jobs)]

    def blame(self, job: int) -> Mapping[int, float]:
        """Return how much of a job's lost time each other job causes."""
        return self.culprits((job,)).by_culprit()

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return who holds jobs up, and on which class of links.

        `kinds` (E,) or None: class of each link, 0, 1, ...; absent: all are of class 0. Result:
        shares of each job's lost time, as of the last `solve`.

        A step's excess over its time alone is that of the link that takes longest. Where the
        bound 1 / (1 - R) decides that time, the others on the link share in proportion to
        their use R_k, else, and for waits in buffers, in proportion to their weight N_k.
        """
        pool = self._pool
        slots = np.array(self._slots(list(jobs)), dtype=np.int64)
        kind_of = np.zeros(pool.channels.size, dtype=np.int64) if kinds is None else kinds
        blame = self._room_for_blame(kind_of)
        kernel = load_kernels("netsim.contention.events.blame_kernels", "blame kernels", 2).culprits
        room = 16 * slots.size + 64
        while True:
            rows, shares = np.empty((3, room), dtype=np.int64), np.empty(room)
            found = kernel(
                slots,
                kind_of,
                pool.job_of,
                pool.records,
                pool.listed,
                pool.entries,
                pool.steps,
                pool.jobs,
                pool.channels,
                blame,
                rows,
                shares,
            )
            if found <= room:
                break
            room = found
        victim, culprit, kind = rows[:, :found]
        return Culprits(victim, culprit, kind, shares[:found])

    def _room_for_blame(self, kinds: Ints) -> Floats:
        """Return zeros for each slot and class of links; the kernel leaves zeros."""
        known, room = self._blame_of
        if known is not kinds or room.shape[0] != self._pool.jobs.size:
            room = np.zeros((self._pool.jobs.size, int(kinds.max(initial=0)) + 1))
            self._blame_of = kinds, room
        return room

    def _slot(self, job: int) -> int:
        """Return the slot of a job."""
        return self._slots((job,))[0]

    def _slots(self, jobs: Sequence[int]) -> list[int]:
        """Return the slots of jobs."""
        slot_of = self._pool.slot_of
        try:
            return [slot_of[job] for job in jobs]
        except KeyError as error:
            raise ContentionError(f"job {error.args[0]} has not been started.") from None

    def _recount(self) -> None:
        """Make the totals and lists of all channels anew."""
        pool = self._pool
        self._channels.recount(
            pool.records, pool.listed, pool.jobs, pool.channels, pool.live_slots()
        )
