"""Co-simulation: the exact simulation of jobs that come and go, from instant to instant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.contention.base import Traffic
from netsim.contention.exact.columns import JOB, SEAT
from netsim.contention.exact.flowtable import outside_nodes
from netsim.contention.exact.ranges import Ranges
from netsim.contention.exact.world import Rehearsal, fill, lengthened, new_world, with_slots
from netsim.errors import ContentionError
from netsim.flows.maxmin import as_channels, is_per_sender
from netsim.kernelcache import load_kernels
from netsim.routes import Routes
from netsim.topology.base import Topology

_ENDLESS = 2**62
_SLOTS = 64


@dataclass(frozen=True, slots=True)
class _Running:
    """A job on the network: its slot, where its rows begin, and how it is scaled."""

    slot: int
    began_s: float
    alone_s: float
    need: int
    rows: Mapping[str, tuple[int, int]]  # begin and count of its rows, by pool
    rehearsal: Rehearsal


class CoSimulation:
    """
    The exact simulation, whose jobs start and leave while it goes on.

    Parameters
    ----------
    topology : Topology
        The fabric.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow among others.

    Attributes
    ----------
    now_s : float
        How far it has come.
    over : tuple of int
        Jobs that have made their iterations at `now_s`; they are to be ended.

    Notes
    -----
    Rates are re-shared at every start and end of a flow, as in `simulate_jobs`; nothing is
    simulated again. What a job does while it meets nobody was found once, when it started.
    """

    def __init__(self, topology: Topology, *, fairness: str) -> None:
        self._per_sender = is_per_sender(fairness)
        self._topology = topology
        self._n_channels = topology.n_links
        self.now_s = 0.0
        self.over: tuple[int, ...] = ()
        self._kernels: Any = None
        self._jobs: dict[int, _Running] = {}
        self._job_of: dict[int, int] = {}
        self._pools = {name: Ranges() for name in ("flow", "entry", "step", "crossed", "news")}
        self._rows: Mapping[str, int] = {}  # of the tables, by pool
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._told: dict[int, int] = {}  # iterations that were made when a job was last told
        self._world: Any = None

    def __repr__(self) -> str:
        """Return one line."""
        return f"<CoSimulation: {len(self._jobs)} jobs at {self.now_s:g} s>"

    def __contains__(self, job: int) -> bool:
        """Return whether a job is on the network."""
        return job in self._jobs

    def rehearse(self, traffic: Traffic) -> Rehearsal | None:
        """
        Simulate an iteration of a job with nobody else on the network.

        `traffic`: what it sends in each iteration. Result: None where no flow crosses a link.
        """
        own = outside_nodes(traffic)
        if not own.step.size:
            return None
        self._load()
        whole = own.step, own.sender, own.routes.indptr, own.routes.links
        alone, found, most, exponent, fill, *rows = self._kernels.rehearse(
            *[np.ascontiguousarray(values, dtype=np.int64) for values in whole],
            self._channel_of,
            self._capacity,
            np.ascontiguousarray(own.nbytes),
            np.ascontiguousarray(own.latency_s),
            self._per_sender,
            self._topology.buffer_bytes,
            self._topology.packet_bytes,
            self._scratch,
        )
        alone_s = own.compute_s
        for seconds in alone.step_s[:-1].tolist():
            alone_s += seconds
        indptr, list_of, firm_end, step_first = rows
        return Rehearsal(
            own, alone_s, indptr, list_of, firm_end, step_first, alone, found, most, exponent, fill
        )

    def start(
        self, job: int, rehearsal: Rehearsal, iterations: int | None, scale: float = 1.0
    ) -> None:
        """
        Let a job start to compute now.

        `iterations`: how many it makes, at least 1; None: it goes on until it is ended. `scale`:
        each iteration computes, sends and waits for so many.
        """
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        if not self._free:
            old = self._world.jobs.size
            self._world = with_slots(self._kernels, self._world, 2 * old)
            self._free = list(range(2 * old - 1, old - 1, -1))
        slot = self._free.pop()
        sizes = {
            "flow": rehearsal.indptr.size - 1,
            "entry": rehearsal.list_of.size,
            "step": rehearsal.step_first.size,
            "crossed": rehearsal.alone.crossed.size,
            "news": rehearsal.alone.news_s.size,
        }
        rows = {name: (self._pools[name].take(count), count) for name, count in sizes.items()}
        pooled = {name: pool.size for name, pool in self._pools.items()}
        if pooled != self._rows:
            self._rows, self._world = pooled, lengthened(self._kernels, self._world, pooled)
        first = {name: begin for name, (begin, _) in rows.items()}
        fill(self._world, slot, rehearsal, scale, first)
        need = _ENDLESS if iterations is None else iterations
        alone_s = rehearsal.alone_s * scale
        self._jobs[job] = _Running(slot, self.now_s, alone_s, need, rows, rehearsal)
        self._job_of[slot] = job
        self._told[job] = 0
        self._seat(rehearsal)
        self._plant(slot, rows, rehearsal.traffic.compute_s * scale, need)

    def end(self, job: int) -> None:
        """Take a job off the network, whatever it has made."""
        own = self._known(job)
        self._kernels.withdraw(own.slot, self._world)
        for name, (begin, count) in own.rows.items():
            self._pools[name].give(begin, count)
        self._need[own.rehearsal.found] -= own.rehearsal.most
        self._free.append(own.slot)
        del self._jobs[job], self._job_of[own.slot], self._told[job]

    def advance(self, until_s: float) -> float:
        """
        Go on to the first instant at which jobs have made their iterations, if it comes.

        Result: the instant, `until_s` at the latest; who is done stands in `over`.
        """
        if not self._jobs:
            self.now_s, self.over = until_s, ()
            return until_s
        self.now_s, n_over = self._kernels.advance(self.now_s, until_s, self._world)
        slots = self._world.over[: int(n_over)].tolist()
        self.over = tuple(sorted(self._job_of[slot] for slot in slots))
        return self.now_s

    def made(self, job: int) -> float:
        """
        Return how many iterations a job has made.

        Result: the one that it is in counts by what it has done of it, as if its present step had
        gone on as alone.
        """
        own = self._known(job)
        state, part = self._world.jobs[own.slot], self._world.parts[own.slot]
        first, at = int(state["first_step"]), int(state["at"])
        if int(state["count"]) >= own.need:
            return float(own.need)
        spent_s = self.now_s - float(part["phase_s"])
        if at < first:
            done_s = min(spent_s, float(self._world.plan.compute_s[own.slot]))
        else:
            step_s = self._world.alone.step_s
            done_s = float(self._world.plan.compute_s[own.slot] + step_s[first:at].sum())
            done_s += min(spent_s, float(step_s[at]))
        return int(state["count"]) + min(1.0, done_s / own.alone_s)

    def lost_s(self, job: int) -> float:
        """
        Return by how much others have made a job take longer until now.

        Result: in seconds; exactly 0 for a job that met nobody.
        """
        own = self._known(job)
        if not self._world.parts[own.slot]["met"]:
            return 0.0
        return self.now_s - own.began_s - self.made(job) * own.alone_s

    def news(self) -> dict[int, float]:
        """
        Return how long the last iteration of jobs took, as a multiple of its time alone.

        Result: of those that have made one since they were last told; 1 for who met nobody.
        """
        if not self._jobs:
            return {}
        count = self._world.jobs["count"]
        found = {}
        for job, own in self._jobs.items():
            made = int(count[own.slot])
            if made != self._told[job]:
                self._told[job] = made
                part = self._world.parts[own.slot]
                found[job] = float(part["took_s"]) / own.alone_s if part["met"] else 1.0
        return found

    def _known(self, job: int) -> _Running:
        """Return a job on the network."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
        return self._jobs[job]

    def _load(self) -> None:
        """Load the kernels and make the network, once."""
        if self._kernels is not None:
            return
        self._kernels = load_kernels(
            "netsim.contention.exact.cosimulation_kernels", "exact co-simulation", seconds=20
        )
        topology, n_links = self._topology, self._topology.n_links
        nothing = Routes.from_lists([], n_links)
        _, self._capacity = as_channels(nothing, topology.capacity, topology.channel)
        own = np.arange(n_links) if topology.channel is None else topology.channel
        self._channel_of = np.ascontiguousarray(own, dtype=np.int64)
        n_lists = n_links + max(n_links, topology.n_nodes)  # a sender is a node or its link
        self._scratch = np.full(n_lists, -1)
        self._need, self._room = np.zeros((2, n_lists), dtype=np.int64)
        self._world = new_world(self._kernels, self._capacity, n_lists, _SLOTS, self._per_sender)

    def _seat(self, rehearsal: Rehearsal) -> None:
        """Have seats for all flows that may be on a list at once."""
        found = rehearsal.found
        self._need[found] += rehearsal.most
        if np.any(self._need[found] > self._room[found]):
            self._room[found] = np.maximum(self._room[found], 2 * self._need[found])
            seats = np.zeros(int(self._room.sum()), dtype=SEAT)
            self._kernels.reseat(self._room, self._world, seats)
            self._world = self._world._replace(seats=seats)

    def _plant(
        self, slot: int, rows: Mapping[str, tuple[int, int]], compute_s: float, need: int
    ) -> None:
        """Let the job in a slot begin with its first iteration."""
        world, now_s = self._world, self.now_s
        first, count = rows["step"]
        world.jobs[slot] = np.zeros(1, dtype=JOB)[0]
        job = world.jobs[slot]
        job["first_step"], job["end_step"], job["at"] = first, first + count - 1, first - 1
        world.parts[slot] = (now_s, now_s, 0.0, False, False, False, False)
        world.plan.compute_s[slot], world.plan.need[slot] = compute_s, need
        self._kernels.begin(slot, now_s + compute_s, world)
