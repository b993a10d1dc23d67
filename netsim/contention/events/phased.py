"""Model `phased`: what jobs meet state by state, read off the fixed point of `fast`."""

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

import numpy as np

from fabricsim.checking import whole
from netsim.arrays import Ints
from netsim.contention.blame import Closers, Culprits, with_closers
from netsim.contention.constants import JobConstants
from netsim.contention.events.fast import Fast
from netsim.contention.events.readingpool import ReadingPool
from netsim.contention.phases import shuffled
from netsim.errors import ContentionError
from netsim.kernelcache import load_kernels
from netsim.topology.base import Topology

_STATES = 8


class Phased(Fast):
    """
    `fast`, and for each job the time of its steps among neighbours who are present by states.

    A burst of a neighbour then hits all its links at once, which time-averaged neighbours never do.

    Parameters
    ----------
    topology : Topology
        The fabric.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow on a link: 1 / (flows its sender opens), or 1.
    tolerance : float, default 1e-3
        Changes that move no neighbour.
    seed : int, default 0
        Of the draw in which part of its iteration a job is in each state.

    Raises
    ------
    ContentionError
        If an option is out of range.

    Notes
    -----
    A job that shares no link has interference 1 exactly. Who is to blame is told as `fast` does,
    and who closes pools is to blame for what is lost before them.
    """

    _pool: ReadingPool

    def __init__(
        self,
        topology: Topology,
        *,
        fairness: str = "per-sender",
        tolerance: float = 1e-3,
        seed: int = 0,
    ) -> None:
        super().__init__(topology, fairness=fairness, tolerance=tolerance)
        self._n_told = 0
        self._seed = whole("seed", seed, 0, error=ContentionError)
        self._crowd = _kernels("crowd_kernels")
        self._leaving = _kernels("leaving_kernels")
        self._telling = _kernels("telling_kernels")
        self._closing = _kernels("closing_kernels")
        self._readings = _kernels("reading_kernels")

    def _remove(self, job: int) -> None:
        """Take a job off its channels."""
        pool, slot = self._pool, self._slot(job)
        if pool.closed.size:
            pool.readings["closes"][slot] = False
        self._n_told = self._leaving.depart(
            slot,
            self.tolerance,
            pool.records,
            pool.listed,
            pool.jobs,
            pool.channels,
            pool.own,
            pool.crowd,
            pool.felt,
            pool.readings,
            pool.told,
            self._n_told,
        )
        super()._remove(job)

    def solve(self) -> Mapping[int, float]:
        """Bring the readings up to date."""
        self._lead_round()
        pool = self._pool
        self._settle()
        own, crowd = pool.own, pool.crowd
        n_told = self._crowd.put_down(
            pool.cells,
            pool.records,
            pool.entries,
            pool.steps,
            pool.latency_s,
            pool.jobs,
            own,
            crowd,
            pool.late,
            pool.readings,
            pool.told,
            self._n_told,
            self.tolerance,
        )
        self._n_told = 0
        if n_told:
            self._telling.tell(
                pool.told,
                n_told,
                self._crowd.STALE * self.tolerance,
                pool.listed,
                pool.jobs,
                pool.channels,
                own,
                crowd,
                pool.felt,
                pool.readings,
            )
        if pool.closed.size:
            self._close_pools()
        n_changed = self._readings.read(
            _STATES,
            pool.entries,
            pool.steps,
            pool.latency_s,
            pool.jobs,
            own,
            pool.place,
            crowd,
            pool.felt,
            pool.readings,
            pool.late,
            pool.moved,
            pool.changed,
            self.tolerance,
        )
        slots = pool.changed[:n_changed]
        jobs, values = pool.jobs_in(slots), pool.readings["said"][slots]
        return dict(zip(jobs.tolist(), values.tolist(), strict=True))

    def worst_links(self, jobs: Sequence[int]) -> list[int]:
        """Return the links that hold jobs up most."""
        readings = self._pool.readings[self._slots(jobs)]
        by_closed = 1.0 / (1.0 - readings["closed"]) > readings["value"]
        links: list[int] = np.where(
            by_closed, readings["closed_link"], readings["worst_link"]
        ).tolist()
        return links

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return what `fast` says of who holds jobs up, and who closes pools before them."""
        asked = list(jobs)
        told = super().culprits(asked, kinds)
        pool = self._pool
        if not pool.closed.size:
            return told
        slots = self._slots(asked)
        readings = pool.readings[slots]
        return with_closers(
            told,
            [
                self._closers(asked[number], slots[number], kinds)
                for number in np.flatnonzero(readings["closed"] > 0.0).tolist()
            ],
        )

    def _closers(self, job: int, slot: int, kinds: Ints | None) -> Closers:
        """Return who closes the pool before which a job loses most."""
        pool, by = self._pool, np.zeros(self._pool.jobs.size)
        self._closing.find_closers(
            slot,
            pool.records,
            pool.listed,
            pool.entries,
            pool.steps,
            pool.jobs,
            pool.channels,
            pool.place,
            pool.late,
            pool.readings,
            by,
        )
        there, own = np.flatnonzero(by), pool.readings[slot]
        lost = float(own["closed"])
        return Closers(
            job,
            pool.jobs_in(there),
            0 if kinds is None else int(kinds[own["closed_link"]]),
            by[there],
            float(own["value"]) / (1.0 - lost),
            lost,
        )

    def _empty_pool(self, n_channels: int) -> ReadingPool:
        """Return the state before the first job."""
        spread = self.constants_of.topology.spread
        n_lines = 1 + self.constants_of.has_lanes + self.constants_of.fills_lanes
        return ReadingPool(n_channels, _STATES, has_pools=spread is not None, n_lines=n_lines)

    def _placed(self, job: int, constants: JobConstants, slowdown: float) -> int:
        """Give a job rows and return its slot."""
        cells = np.array(shuffled(job, _STATES, self._seed), dtype=np.int64)
        return self._pool.add_in_cells(job, constants, cells, slowdown)

    def _enter(self, slot: int, constants: JobConstants) -> None:
        """Put a job on its channels."""
        super()._enter(slot, constants)
        pool = self._pool
        self._crowd.arrive(
            slot,
            constants.records,
            constants.entries,
            constants.steps,
            pool.records,
            pool.listed,
            pool.jobs,
            pool.channels,
            pool.own,
            pool.place,
            pool.felt,
            pool.readings,
            pool.late,
            pool.latency_s,
        )
        if constants.lanes.size:
            first = pool.jobs["first_entry"][slot]
            rows = pool.late[first : first + constants.entries.size]
            at, width = self._crowd.LANES_AT, constants.lanes.shape[1]
            rows[:, at : at + width] = constants.lanes
            rows[:, self._crowd.QUEUED_AT] = constants.entries["queued"]
        if pool.closed.size:
            first, closed = pool.jobs["first_entry"][slot], constants.entries["closed"]
            pool.late[first : first + closed.size, self._crowd.CLOSES] = closed
            pool.late[first : first + closed.size, self._crowd.LINKS] = constants.entries["links"]
            pool.late[first : first + closed.size, self._crowd.DRAWN] = constants.entries["drawn"]
            packet_s = constants.entries["packet_s"]
            pool.late[first : first + closed.size, self._crowd.PACKET] = packet_s
            pool.late[first : first + closed.size, self._crowd.MET] = constants.entries["met_s"]
            pool.readings["closed"][slot], pool.readings["closed_link"][slot] = 0.0, -1
            pool.readings["closes"][slot] = closed.any()

    def _close_pools(self) -> None:
        """Find what jobs lose before pools that others close."""
        pool = self._pool
        if not pool.readings["closes"].any() and not pool.readings["closed"].any():
            return
        self._closing.close_pools(
            pool.records,
            pool.listed,
            pool.entries,
            pool.steps,
            pool.latency_s,
            pool.jobs,
            pool.channels,
            pool.place,
            pool.late,
            pool.readings,
            pool.closed,
            self.tolerance,
        )

    def _recount(self) -> None:
        """Make the totals and lists of all channels anew."""
        super()._recount()
        pool = self._pool
        self._leaving.recount_crowd(
            pool.records, pool.jobs, pool.own, pool.crowd, pool.live_slots()
        )


def _kernels(module: str) -> ModuleType:
    """Return kernels of this room; all that the model needs take 10 s to compile."""
    return load_kernels(f"netsim.contention.events.{module}", "kernels of the model phased", 10)
