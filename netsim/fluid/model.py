"""Model `fluid`: the contention model of all commands, kept up to date from event to event."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import ModuleType

import numpy as np

from fabricsim.checking import number, shortened, whole
from netsim.common.arrays import Floats, Ints, Table
from netsim.common.errors import ContentionError
from netsim.common.jit import load_kernels
from netsim.common.rng import shuffled
from netsim.flows.contention import Culprits, Traffic
from netsim.flows.limiters import host_links
from netsim.fluid.demand import DemandOf, JobDemand, JobDemands
from netsim.fluid.tables import STATES, Solution, State, Store
from netsim.topology.base import Topology

_RECOUNT_EVERY = 512  # events; rounding of the totals stays far below any tolerance


class Fluid:
    """
    The default: fair shares, bursts, queues, head-of-line blocking.

    Only jobs that a start or end touches are evaluated again, from where they stood; jobs that all
    start at once are a snapshot.

    Parameters
    ----------
    topology : Topology
        The fabric, with the buffers of its switches.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow on a link: 1 / (flows its sender opens), or 1.
    tolerance : float, default 1e-3
        Relative change of a job's iteration that moves no other job.
    seed : int, default 0
        Of the order in which the phases of each job's iteration are sampled.

    Attributes
    ----------
    demand_of : DemandOf
        What it asks for what a job puts on links.

    Raises
    ------
    ContentionError
        If an option is out of range.

    Notes
    -----
    A job that shares no link has interference 1 exactly. The formulas are on the page on the model.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        fairness: str = "per-sender",
        tolerance: float = 1e-3,
        seed: int = 0,
    ) -> None:
        if not 0.0 < number("tolerance", tolerance, error=ContentionError) < 1.0:
            raise ContentionError(f"tolerance must lie between 0 and 1, got {tolerance}.")
        self.tolerance = tolerance
        self.demand_of = DemandOf(topology, fairness)
        self._seed = whole("seed", seed, 0, error=ContentionError)
        self._kernels = load_kernels("netsim.fluid.solver_kernels", "contention kernels", 10)
        self._store = Store(topology)
        self._name = topology.name
        self._n_links = topology.n_links
        # what limiters of hosts are called by, links of the fabric
        self._host_links = host_links(topology) if topology.limiter_link else None
        self._kinds: tuple[Ints | None, Ints | None] = None, None
        self._events = 0
        self._kept: Solution | None = None  # as the tables stand, once there was a trial
        self._lost: tuple[Ints, Floats] = np.empty(0, dtype=np.int64), np.empty((0, 1))

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Fluid on {shortened(self._name)}: {len(self._store.slot_of)} jobs>"

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job; its effect shows at the next `solve`."""
        self.add(job, self.demand_of(traffic))

    def add(self, job: int, demand: JobDemand) -> None:
        """
        Add a job of which it is known what it puts on links.

        `demand`: from `demand_of`, or that of another model of the same fabric.
        """
        self.add_all({job: demand})

    def add_all(self, demands: Mapping[int, JobDemand]) -> None:
        """Add jobs as `add` does; the tables grow once for all of them."""
        store, kernels = self._store, self._kernels
        for job in demands:
            if job in store.slot_of:
                raise ContentionError(f"job {job} has been started already.")
        self._kept = None
        if store.make_room(demands.values()):
            kernels.relink(tuple(store.state))
        counted = self._events // _RECOUNT_EVERY
        self._events += len(demands)
        if self._events // _RECOUNT_EVERY > counted:
            kernels.recount(tuple(store.state))
        for job, demand in demands.items():
            self._enter(job, demand)

    def _enter(self, job: int, demand: JobDemand) -> int:
        """Give a job rows, where there is room, and fill them; return its slot."""
        slot, first_row = self._store.add(job, demand)
        phase = np.array(shuffled(job, STATES, self._seed), dtype=np.int8)
        times_s = demand.compute_s, demand.iteration_s
        state, tables = tuple(self._store.state), (demand.steps, demand.records, demand.entries)
        self._kernels.enter(state, slot, tables, first_row, times_s, phase)
        return slot

    def end(self, job: int) -> None:
        """Take a job away; its effect shows at the next `solve`."""
        self._kept = None
        self._kernels.leave(tuple(self._store.state), self._slots((job,))[0])
        self._store.remove(job)

    def solve(self) -> Mapping[int, float]:
        """Bring the interference of all jobs up to date."""
        store = self._store
        if not store.state.cursor[1]:
            return {}
        state, scratch = tuple(store.state), tuple(store.scratch)
        n_changed = self._kernels.converge(state, self.tolerance, scratch)
        slots = store.scratch.changed[:n_changed]
        values = store.state.jobs["reported"][slots]
        return dict(zip(store.job_of[slots].tolist(), values.tolist(), strict=True))

    def start_over(
        self, jobs: Sequence[int], demands: JobDemands, rows: Ints, compute_s: Floats
    ) -> None:
        """
        Take all jobs away and let others in, in the tables that there are.

        `rows` (n,): which of `demands` each has, beside `compute_s` (n,) seconds of computation.
        """
        store, sizes = self._store, demands.sizes[:, rows]
        store.clear()
        self._kept = None
        store.make_room_of(len(jobs), sizes.sum(axis=1).tolist())
        self._events += len(jobs)
        slots, first = store.add_all(jobs, sizes)
        phases = np.array([shuffled(job, STATES, self._seed) for job in jobs], dtype=np.int8)
        self._trials().enter_all(
            tuple(store.state),
            slots,
            tuple(demands.tables),
            np.ascontiguousarray(np.stack([first, demands.first[:, rows], sizes])),
            np.stack([compute_s, demands.iterations_s(rows, compute_s)]),
            phases.reshape(-1, STATES),
        )

    def solution(self) -> Solution:
        """Return where the model stands after `solve`, for `go_back`."""
        if self._kept is None:
            self._kept = self._store.solution()
        return self._kept

    def go_back(self, solution: Solution) -> None:
        """Stand where the model stood when it gave this solution."""
        self._store.load(solution)
        self._kept = solution

    def trial(self, gone: Collection[int], new: Mapping[int, JobDemand]) -> Mapping[int, float]:
        """
        Return the interference that would change if some jobs were others; nothing stays changed.

        `gone`: jobs that would be away. `new`: what jobs would put on links that came instead or
        besides, by job. From where the model stands at the last `solve`; the same kernels.
        """
        store, moves = self._store, self._store.moves
        if store.make_room(new.values()):
            self._kernels.relink(tuple(store.state))
        if store.moves != moves:
            self._kept = None
        kept = self.solution()
        state, left = store.state, self._slots(list(gone))
        rows = [_records_of(state, slot) for slot in left]
        links = [own["link"] for own in rows] + [own.records["link"] for own in new.values()]
        with store.jobs_kept():
            for job, slot in zip(gone, left, strict=True):
                self._kernels.leave(tuple(state), slot)
                store.remove(job)
            for job, demand in new.items():
                left.append(self._enter(job, demand))
            found = self.solve()
        evaluated = store.scratch.changed[: state.cursor[2]]
        self._trials().restore(
            tuple(state),
            tuple(kept.rows),
            np.concatenate([evaluated, np.array(left, dtype=np.int64)]),
            np.unique(np.concatenate([np.empty(0, dtype=np.int64), *links])).astype(np.int64),
        )
        return found

    def worst_link(self, job: int) -> int:
        """Return the link that holds a job up most."""
        return self.worst_links((job,))[0]

    def worst_links(self, jobs: Sequence[int]) -> list[int]:
        """Return what `worst_link` says of each job, all at once."""
        slots = np.array(self._slots(jobs), dtype=np.int64)
        links = np.empty_like(slots)
        self._attribution().find_worst(tuple(self._store.state), slots, links)
        if self._host_links is not None:
            host = np.maximum(links - self._n_links, 0)
            links = np.where(links >= self._n_links, self._host_links[host], links)
        found: list[int] = links.tolist()
        return found

    def blame(self, job: int) -> Mapping[int, float]:
        """Return how much of a job's lost time each other job causes."""
        return self.culprits((job,)).by_culprit()

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return which jobs hold jobs up, and on which class of links.

        `kinds` (E,) or None: class of each link, 0, 1, ...; absent: all are of class 0. Result:
        shares of each job's lost time, as of the last `solve`.
        """
        store = self._store
        slots = np.array(self._slots(list(jobs)), dtype=np.int64)
        if kinds is None:
            kind_of = np.zeros(store.state.links.size, dtype=np.int64)
        else:
            kind_of = self._with_limiters(kinds)
        kernels = self._attribution()
        n_steps = int(store.state.jobs["n_steps"][slots].max(initial=0))
        scratch = (
            store.scratch.changed,
            self._scratch(kind_of),
            np.empty(n_steps * STATES, dtype=np.int64),
            np.empty((n_steps * STATES, STATES)),
            np.empty((n_steps, STATES), dtype=np.int64),
            np.empty((n_steps, STATES), dtype=np.float32),
        )
        room = 16 * slots.size + 64
        while True:
            rows, shares = np.empty((3, room), dtype=np.int64), np.empty(room)
            found = kernels.attribute(
                tuple(store.state), slots, kind_of, store.job_of, scratch, rows, shares
            )
            if found <= room:
                break
            room = found
        victim, culprit, kind = rows[:, :found]
        return Culprits(victim, culprit, kind, shares[:found])

    def _with_limiters(self, kinds: Ints) -> Ints:
        """Return the kinds of links; limiters are of the kind of their hosts' links."""
        if self._host_links is None:
            return kinds
        known, found = self._kinds
        if known is not kinds or found is None:
            found = np.concatenate([kinds, kinds[self._host_links]])
            self._kinds = kinds, found
        return found

    @staticmethod
    def _attribution() -> ModuleType:
        """Return the kernels that say what holds jobs up; rankings need none."""
        return load_kernels("netsim.fluid.attribution_kernels", "attribution kernels", 1)

    @staticmethod
    def _trials() -> ModuleType:
        """Return the kernels of rankings and drawn traffic."""
        return load_kernels("netsim.fluid.trial_kernels", "kernels of trials", 3)

    def _scratch(self, kinds: Ints) -> Floats:
        """Return zeros for each slot and class of links; the kernel leaves zeros."""
        known, lost = self._lost
        if known is not kinds or lost.shape[0] != self._store.job_of.size:
            lost = np.zeros((self._store.job_of.size, int(kinds.max(initial=0)) + 1))
            self._lost = kinds, lost
        return lost

    def _slots(self, jobs: Sequence[int]) -> list[int]:
        """Return the slots of jobs."""
        slot_of = self._store.slot_of
        try:
            return [slot_of[job] for job in jobs]
        except KeyError as error:
            raise ContentionError(f"job {error.args[0]} has not been started.") from None


def _records_of(state: State, slot: int) -> Table:
    """Return the records of a job."""
    first, count = state.jobs["first_record"][slot], state.jobs["n_records"][slot]
    return state.records[first : first + count]
