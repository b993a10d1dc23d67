"""Packet-level simulation of jobs that compute and communicate, again and again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fabricsim.checking import choice
from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.errors import ContentionError
from netsim.common.rng import uniforms
from netsim.flows.contention import Traffic, unfolded
from netsim.flows.isolation import groups_that_share, used_links
from netsim.flows.traffic import require_rule
from netsim.flows.virtual_channels import virtual_channels
from netsim.flowsim.cosimulation import outside_nodes
from netsim.flowsim.snapshot import SLOWEST_DOES, JobTimes, check_names
from netsim.packetsim.forecast import (
    Forecast,
    Progress,
    fluid_iteration_s,
    forecast_of,
    free_memory_bytes,
    require_affordable,
)
from netsim.packetsim.next_hops import links_within_reach, next_hops_bytes, next_hops_to
from netsim.packetsim.records import World
from netsim.packetsim.running import Ledger, LinkUse, advance
from netsim.packetsim.world import NS, build, by_rank, by_sender, scene_of
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.routes import Routes
from netsim.topology.switches import Switch, switch_of

_ALONE_COUNTS = 4  # iterations of a job alone, beside those that are dropped
_KEPT, _MOST_KEPT = 10_000, 4_000_000  # iterations that are written down: of a job, of all
_SPARE = 65536  # packets that there is room for at first
STEPPINGS = ("barrier", "rank")
_MOST_SECONDS = 1e6  # of simulated time; beyond, floats do not resolve parts of a ns


@dataclass(frozen=True, slots=True, eq=False)
class PacketTimes:
    """What a packet simulation says."""

    jobs: dict[int, JobTimes]  # in the order of the traffic
    links: LinkUse  # over the simulations of jobs that share links, and of those that share none
    hops: int  # packets moved over a link, in all


def simulate_packets(
    traffic: Mapping[int, Traffic],
    topology: Topology,
    switch: Switch | None = None,
    *,
    start_s: Mapping[int, float] | None = None,
    iterations: Mapping[int, int] | None = None,
    slowest_does: int = SLOWEST_DOES,
    seed: int = 0,
    stepping: str = "barrier",
    dropped: int = 1,
    persistent: Sequence[int] = (),
) -> PacketTimes:
    """
    Simulate every packet of iterating jobs.

    A job computes, then goes through its steps, and again. A step starts all its messages; it
    ends when the last packet has arrived. Messages inside a node take no time.

    `switch`: what happens to packets; absent: the first preset, with what the fabric states itself.
    `start_s`: when each job starts to compute, seconds; 0 for jobs not named. `iterations`:
    iterations of each job, after which it leaves. Absent: jobs go on until the slowest of those
    that share links, directly or through others, has done `slowest_does`; `together_s` is the mean
    of the iterations completed by then, without the first `dropped`. `slowest_does`: iterations of
    the slowest job, more than `dropped`; less is cheaper and noisier. `seed`: of the random delays
    and of the order of messages in a NIC. `stepping` {"barrier", "rank"}: whether a job's next step
    begins when all messages of the last have arrived, or a rank's when its own have left its NIC
    and those for it have arrived; ranks of one node go together.

    `persistent`: jobs without barriers, whose nodes each repeat their messages as soon as these
    have arrived, until the other jobs that they share links with have ended; their iteration time
    is that of a node, mean over nodes and time.

    Equal arguments give equal numbers. Jobs that share no link are simulated apart, which changes
    no result; their interference is exactly 1.
    """
    switch = switch_of(topology, switch)
    require_packet_fabric(topology)
    choice("stepping", stepping, STEPPINGS, error=ContentionError)
    if slowest_does <= dropped:
        raise ContentionError(
            f"iterations: expected more than the {dropped} dropped, got {slowest_does}."
        )
    check_names(traffic, start_s, iterations)
    for part in traffic.values():
        require_rule(part.routes, topology)
    own = {job: unfolded(outside_nodes(traffic[job])) for job in sorted(traffic)}
    starts = dict.fromkeys(own, 0.0) | dict(start_s or {})
    times = {  # right for those that send nothing over links
        job: _undisturbed_times(part.compute_s, starts[job], iterations, job)
        for job, part in own.items()
    }
    talking = [job for job, part in own.items() if part.step.size]
    if not talking:
        return PacketTimes({job: times[job] for job in traffic}, Ledger(topology).use(), 0)
    run = _Run(topology, switch, seed, {job: own[job] for job in talking})
    run.by_rank = stepping == "rank"
    run.persistent = frozenset(persistent)
    if persistent and run.by_rank:
        raise ContentionError("persistent jobs: expected stepping 'barrier', got 'rank'.")
    asked = _AskedIterations(starts, slowest_does, iterations, dropped)
    groups = groups_that_meet([own[job] for job in talking], topology)
    named = [[talking[member] for member in group] for group in groups]
    run.check_cost(named, asked)
    for names in named:
        times.update(run.group(names, asked))
    return PacketTimes({job: times[job] for job in traffic}, run.ledger.use(), run.ledger.hops)


def require_packet_fabric(topology: Topology) -> None:
    """Refuse a fabric on which packets cannot be simulated."""
    if topology.half_duplex:
        raise ContentionError(
            "packets need full-duplex cables; both directions of some cables of the fabric "
            f"({topology.summary}) "
            "share one capacity."
        )
    if topology.limiter_link:
        raise ContentionError(
            "packets know no limiters of hosts: expected limiter_link 0, got "
            f"{topology.limiter_link:g} bytes/s; models 'fluid' and 'flow-level' have them."
        )
    if isinstance(topology, GpuCluster) and topology.hosts.nccl:
        raise ContentionError(
            "packets know no latencies of collectives: expected efficiency 'none', got 'nccl'; "
            "models 'fluid' and 'flow-level' have them."
        )
    if topology.latency_base_s > 0.0:
        raise ContentionError(
            "packets have no latency of their own: latency_base_s of the fabric "
            f"({topology.summary}) is "
            f"{topology.latency_base_s:g} s, expected 0; put it into the compute times."
        )
    damaged = topology.absent is not None and topology.absent.size > 0
    if damaged and topology.multipath is not None and not isinstance(topology, FatTree):
        raise ContentionError(
            f"packets under routing {topology.multipath.rule!r} need a fat-tree, or a torus or "
            f"dragonfly with all its links, got {topology.summary}."
        )


@dataclass(frozen=True, slots=True)
class _AskedIterations:
    """When each job starts, and how many iterations it or the slowest is to do."""

    starts: Mapping[int, float]
    slowest_does: int
    iterations: Mapping[int, int] | None
    dropped: int

    @property
    def alone_does(self) -> int:
        """Iterations of a job that is simulated alone."""
        return self.dropped + _ALONE_COUNTS

    def need(self, names: Sequence[int]) -> list[int]:
        """Return how many iterations each of some jobs does at least, if it is the slowest."""
        return [self.iterations[one] if self.iterations else self.slowest_does for one in names]

    def from_first_s(self, names: Sequence[int]) -> Floats:
        """Return how long after the first of some jobs each starts."""
        start_s = np.array([self.starts[name] for name in names])
        since_s: Floats = start_s - start_s.min()
        return since_s

    def until_s(self, names: Sequence[int], seconds: Floats) -> float:
        """Return how long jobs go on together, each of which an iteration takes some seconds."""
        return float((self.from_first_s(names) + np.array(self.need(names)) * seconds).max())


class _Run:
    """Simulations on one fabric."""

    def __init__(
        self, topology: Topology, switch: Switch, seed: int, parts: Mapping[int, Traffic]
    ) -> None:
        self._topology, self._switch, self._seed = topology, switch, seed
        self._parts = parts
        links = np.concatenate([part.routes.links for part in parts.values()])
        hops = np.concatenate([part.routes.hops for part in parts.values()])
        routes = Routes(np.concatenate([[0], np.cumsum(hops)]), links, topology.n_links)
        self._next_hops, self._tables_bytes = None, 0.0
        if topology.multipath is None:
            self._capacity = topology.capacity
            channels = virtual_channels(topology, routes, switch.virtual_channels)
        else:
            self._capacity = topology.multipath.capacity
            last = topology.link_tail[links[routes.indptr[1:] - 1]]
            self._tables_bytes = next_hops_bytes(topology, np.unique(last).size)
            free = free_memory_bytes()
            if self._tables_bytes > free:
                raise ContentionError(
                    "where packets may go from everywhere on the fabric "
                    f"({topology.summary}) takes tables of "
                    f"{self._tables_bytes / 1e6:,.0f} MB, of which {free / 1e6:,.0f} MB are free: "
                    "jobs on fewer switches, a smaller fabric or static routing take less."
                )
            self._next_hops = next_hops_to(topology, last, switch.virtual_channels)
            channels = np.zeros_like(links)
        longest = int(hops.max()) if self._next_hops is None else self._next_hops.longest
        _require_reaction(switch, longest, float(self._capacity[links].min()))
        ends = np.cumsum([part.routes.links.size for part in parts.values()])
        self._channels = dict(zip(parts, np.split(channels, ends[:-1]), strict=True))
        self.ledger = Ledger(topology)
        self.by_rank = False
        self.persistent: frozenset[int] = frozenset()

    def check_cost(self, groups: Sequence[Sequence[int]], asked: _AskedIterations) -> None:
        """Refuse groups of jobs that cost too much, and announce what takes long."""
        capacity, switch = self._capacity, self._switch
        forecasts, longest_s = [], 0.0
        for names in groups:
            parts = [self._parts[name] for name in names]
            seconds = np.array([fluid_iteration_s(part, capacity, switch) for part in parts])
            forecasts.append(self._forecast(names, seconds, asked))
            together_s = asked.until_s(names, seconds) if len(names) > 1 else 0.0
            longest_s = max(longest_s, together_s, asked.alone_does * float(seconds.max()))
        forecast = Forecast(
            sum(one.hops for one in forecasts),
            max(one.memory_bytes for one in forecasts) + self._tables_bytes,
        )
        if longest_s > _MOST_SECONDS:
            raise ContentionError(
                f"the packet simulation would follow {longest_s:.3g} s of jobs, at most "
                f"{_MOST_SECONDS:g} s are counted in ns: ask for fewer iterations, or for starts "
                "nearer to each other."
            )
        require_affordable(forecast)
        self._hops = {names[0]: one.hops for names, one in zip(groups, forecasts, strict=True)}
        self._progress = Progress(forecast, self._hops)

    def _forecast(self, names: Sequence[int], seconds: Floats, asked: _AskedIterations) -> Forecast:
        """Return the cost of jobs that meet; a lone one is simulated by itself only."""
        parts = [self._parts[name] for name in names]
        width = 0 if self._next_hops is None else self._next_hops.longest + 2
        alone = forecast_of(parts, seconds, 0.0, self._switch, width)
        hops = 0.0
        if len(names) > 1 and asked.iterations:
            for part, count in zip(parts, asked.need(names), strict=True):
                hops += forecast_of([part], np.ones(1), float(count), self._switch).hops
        elif len(names) > 1:
            hops = forecast_of(parts, seconds, asked.until_s(names, seconds), self._switch).hops
        return Forecast(hops + asked.alone_does * alone.hops, alone.memory_bytes)

    def group(self, names: Sequence[int], asked: _AskedIterations) -> dict[int, JobTimes]:
        """Simulate jobs that meet, each alone and all together."""
        alone, starts, iterations, begun = {}, asked.starts, asked.iterations, 0.0
        for name in names:
            world, rows = self._world([name])
            _give_work(
                world,
                rows,
                [self._parts[name]],
                [0.0],
                [asked.alone_does],
                dropped=asked.dropped,
                leaves=self.by_rank,
            )
            expected = self._forecast([name], np.ones(1), asked).hops
            begun += expected
            self._progress.begin(names[0], expected, self._hops[names[0]] - begun)
            world = self._finished(world, [name], counted=len(names) == 1)
            alone[name] = self._iteration_s(world, name, rows == 0)
        if len(names) == 1:
            return {
                name: _undisturbed_times(alone[name], starts[name], iterations, name)
                for name in names
            }
        seconds = np.array([alone[name] for name in names])
        forecast = self._forecast(names, seconds, asked)
        require_affordable(forecast)
        self._progress.begin(names[0], forecast.hops - begun, 0.0)
        world, rows = self._world(names)
        if not self.by_rank:
            kept = min(_KEPT, _MOST_KEPT // rows.size)
            world.clock["kept"] = kept
            world = world._replace(lasted=np.zeros(kept * rows.size))
        _give_work(
            world,
            rows,
            [self._parts[name] for name in names],
            asked.from_first_s(names).tolist(),
            self._need(names, asked),
            dropped=asked.dropped,
            leaves=iterations is not None,
        )
        world = self._finished(world, names, counted=True)
        found, origin = {}, min(starts[name] for name in names)
        for place, name in enumerate(names):
            mine = rows == place
            if iterations and name not in self.persistent:
                lasted_s = float(world.jobs["need_end"][:-1][mine].max()) / NS
                together_s = (lasted_s - (starts[name] - origin)) / iterations[name]
                end_s = origin + lasted_s
            else:
                end_s, together_s = None, self._iteration_s(world, name, mine)
            tail_s = None if name in self.persistent else _tail_s(world, mine)
            times = (together_s, together_s / alone[name], end_s, tail_s)
            found[name] = JobTimes(alone[name], *times)
        return found

    def _need(self, names: Sequence[int], asked: _AskedIterations) -> list[int]:
        """Return the iterations of some jobs; persistent ones end with the last of the others."""
        need = asked.need(names)
        if self.persistent.issuperset(names):
            return [asked.slowest_does] * len(names)
        pairs = zip(names, need, strict=True)
        return [0 if name in self.persistent else count for name, count in pairs]

    def _iteration_s(self, world: World, name: int, mine: Bools) -> float:
        """Return the mean seconds of a job's iterations, of a persistent one those of a node."""
        if name not in self.persistent:
            return _mean_s(world, mine)
        flows, step_of = world.flows, world.steps["job"]
        done = flows["done"] + 1.0 - flows["unarrived"] / flows["packets"]
        row = step_of[flows["step"]]
        by_node = np.bincount(row, done) / np.bincount(row)
        mean = float(by_node[mine].mean())
        if not mean > 0.0:
            raise ContentionError(
                "no packet of a persistent job arrives before the others end: ask for more "
                "iterations."
            )
        return float(world.clock["now"][0] / NS / mean)

    def _world(self, names: Sequence[int]) -> tuple[World, Ints]:
        """Return a world with some jobs, and the job of each row of its table of jobs."""
        parts = [self._parts[name] for name in names]
        channels = np.concatenate([self._channels[name] for name in names])
        seed = int(uniforms(self._seed, np.array(names[:1]), len(names))[0] * 2**53)
        scene, rows = scene_of(parts, channels, self._next_hops), np.arange(len(names))
        if self.by_rank:
            scene, rows = by_rank(scene, self._topology)
        elif self.persistent.intersection(names):
            scene, rows = by_sender(scene, np.array([name in self.persistent for name in names]))
        return build(scene, self._capacity, self._switch, seed, _SPARE), rows

    def _links(self, names: Sequence[int]) -> Ints:
        """Return the links of a world with some jobs."""
        if self._next_hops is not None:
            return np.arange(self._topology.n_links)
        return np.unique(np.concatenate([self._parts[name].routes.links for name in names]))

    def _finished(self, world: World, names: Sequence[int], *, counted: bool) -> World:
        """Run a world, and write down what its links carried."""
        world = advance(world, self._progress.report)
        self._progress.end(world)
        self.ledger.hops += int(world.clock["hops"][0])
        if counted:
            self.ledger.add(world, self._links(names))
        return world


def _require_reaction(switch: Switch, n_links: int, slowest: float) -> None:
    """Refuse a reaction time in which not even a lone packet and its answer travel."""
    there_s = n_links * switch.packet_bytes / slowest + (n_links - 1) * switch.delay_s
    round_trip_s = there_s + (n_links - 1) * switch.delay_s
    if switch.congestion_control == "end-point" and switch.reaction_s < round_trip_s:
        raise ContentionError(
            f"switch: reaction: expected a round trip at least, {round_trip_s * 1e6:.3g} us over "
            f"{n_links} links, got {switch.reaction_s * 1e6:.3g} us."
        )


def _give_work(
    world: World,
    rows: Ints,
    parts: Sequence[Traffic],
    start_s: Sequence[float],
    need: Sequence[int],
    *,
    dropped: int,
    leaves: bool,
) -> None:
    """Set when jobs start and how much they do."""
    compute = NS * np.array([part.compute_s for part in parts])
    jobs = world.jobs[:-1]
    jobs["compute"] = compute[rows]
    jobs["wake"] = (NS * np.array(start_s) + compute)[rows]
    jobs["need"], jobs["dropped"] = np.array(need)[rows], dropped
    jobs["first_end"] = (NS * np.array(start_s))[rows]  # where none is dropped
    jobs["leaves"] = leaves
    jobs["last_end"] = jobs["first_end"]


def _tail_s(world: World, mine: Bools) -> float | None:
    """Return the 99th percentile of the iterations of a job; None where its ranks go apart."""
    kept = int(world.clock["kept"][0])
    if not kept:
        return None
    row = int(np.flatnonzero(mine)[0])
    counted = int(min(kept, world.jobs["count"][row] - world.jobs["dropped"][row]))
    if counted < 1:
        return None
    return float(np.percentile(world.lasted[row * kept : row * kept + counted], 99)) / NS


def _mean_s(world: World, mine: Bools) -> float:
    """
    Return the mean seconds of a job's iterations, without those that are dropped.

    Where ranks go on by themselves, those that its last rank takes for the iterations asked for.
    """
    ranks = world.jobs[:-1][mine]
    if world.clock["by_rank"][0]:
        lasted = ranks["need_end"].max() - ranks["first_end"].max()
        return float(lasted / (ranks["need"][0] - ranks["dropped"][0]) / NS)
    counted = ranks["count"][0] - ranks["dropped"][0]
    return float((ranks["last_end"][0] - ranks["first_end"][0]) / counted / NS)


def _undisturbed_times(
    alone_s: float, start_s: float, iterations: Mapping[int, int] | None, job: int
) -> JobTimes:
    """Return the times of a job that shares no link."""
    end_s = start_s + iterations[job] * alone_s if iterations else None
    return JobTimes(alone_s, alone_s, 1.0, end_s)


def reachable_links(part: Traffic, topology: Topology) -> Ints:
    """
    Return the links that packets of a job may cross.

    `part`: what it sends, without flows inside nodes. Result: ascending; where switches of a tree
    choose, the links that stand for its link groups.
    """
    if topology.multipath is None:
        return used_links(part.routes)
    return links_within_reach(topology, part.routes)


def groups_that_meet(parts: Sequence[Traffic], topology: Topology) -> list[list[int]]:
    """Return the groups of jobs whose packets may share links, as `groups_that_share`."""
    return groups_that_share([reachable_links(part, topology) for part in parts])
