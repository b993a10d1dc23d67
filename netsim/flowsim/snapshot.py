"""Snapshots: jobs that iterate together from given starts, each beside its time alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fabricsim.checking import whole
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import ContentionError
from netsim.common.rng import sample_phases
from netsim.flows.contention import Recomputed, Solution, Traffic, step_rounds
from netsim.flows.isolation import groups_that_share
from netsim.flows.limiters import limited_links, limited_traffic
from netsim.flows.maxmin import is_per_sender
from netsim.flows.traffic import check_traffic
from netsim.flowsim.cosimulation import CoSimulation, Links, SoloRun, outside_nodes
from netsim.topology.base import Topology

SLOWEST_DOES = 20  # iterations where none are given; the first of every job is discarded
_MOST_FLOWS = 1e8  # flow starts of one simulation: an hour or two
_SAME = 1e-5  # of an iteration: its times may be rounded by that
_OFFSETS = 256  # parts of an iteration at which a job may start


@dataclass(frozen=True, slots=True)
class JobTimes:
    """What a simulation says about one job."""

    alone_s: float  # seconds of an iteration without other jobs
    together_s: float  # seconds of an iteration among the others, mean
    # together_s / alone_s; exactly 1 where no channel is shared. It can fall below 1: a neighbour
    # that blocks some flows of a job clears the way for others.
    interference: float
    end_s: float | None  # when the job ends, if its iterations are given
    # 99th percentile of the iterations among the others, where each is followed
    p99_s: float | None = None


def simulate_jobs(
    traffic: Mapping[int, Traffic],
    capacity: Floats,
    channel: Ints | None = None,
    *,
    fairness: str = "per-sender",
    start_s: Mapping[int, float] | None = None,
    iterations: Mapping[int, int] | None = None,
    slowest_does: int = SLOWEST_DOES,
    buffer_bytes: float = 0.0,
    packet_bytes: float = 0.0,
) -> dict[int, JobTimes]:
    """
    Simulate iterating jobs, rates max-min fair at every start and end of a flow.

    A job computes, then goes through its steps, and again. A step starts all its flows; it
    lasts until the last byte has arrived: the maximum over its flows of the time when their
    bytes have gone plus the latency of their path. A flow inside a node takes no time.

    `capacity` (E,): bytes per second of each directed link's channel. `channel` (E,) or None:
    channel of each link (`Topology.channel`); absent: a channel for every link. `fairness`
    {"per-sender", "per-flow"}: weight of a flow: 1 / (flows open at its source now), or 1.
    `start_s`: when each job starts to compute, seconds; 0 for jobs not named. `iterations`:
    iterations of each job, after which it leaves. Absent: jobs go on until the slowest of those
    that share channels, directly or through others, has done `slowest_does`; `together_s` is the
    mean of the iterations completed by then, without the first. `slowest_does`: iterations of the
    slowest job, at least 2; less is cheaper and noisier. `buffer_bytes`: of a port, 0 where none is
    stated; flows whose messages are longer weigh more than 1 / (flows open). `packet_bytes`: 0
    where none is stated; flows of short packets weigh less. Result: in the order of `traffic`.

    Jobs that share no channel are simulated apart, which changes no time.
    """
    if slowest_does < 2:  # noqa: PLR2004 (the first one is discarded)
        raise ContentionError(f"slowest_does must be at least 2, got {slowest_does}.")
    check_names(traffic, start_s, iterations)
    own = {job: outside_nodes(whole) for job, whole in traffic.items()}
    n_senders = 1 + max((int(part.sender.max(initial=0)) for part in own.values()), default=0)
    links = Links(capacity, channel, n_senders, buffer_bytes, packet_bytes)
    simulation = CoSimulation(links, fairness=fairness)
    solo = {job: simulation.solo_run(part) for job, part in own.items()}
    times, starts = {}, dict.fromkeys(traffic, 0.0) | dict(start_s or {})
    for job, run in solo.items():
        alone_s = own[job].compute_s if run is None else run.alone_s
        end_s = starts[job] + iterations[job] * alone_s if iterations else None
        times[job] = JobTimes(alone_s, alone_s, 1.0, end_s)
    talking = {job: run for job, run in solo.items() if run is not None}
    crossed = [run.rows.crossed for run in talking.values()]
    for members in groups_that_share(crossed):
        if len(members) == 1:
            continue
        group = {job: talking[job] for job in (list(talking)[member] for member in members)}
        need = {job: iterations[job] if iterations else slowest_does for job in group}
        together = _simulate_together(simulation, group, starts, need, persist=iterations is None)
        times.update(together)
    return times


def check_names(
    traffic: Mapping[int, Traffic],
    start_s: Mapping[int, float] | None,
    iterations: Mapping[int, int] | None,
) -> None:
    """Check that starts and iterations are of the jobs given."""
    unknown = set(start_s or {}) - set(traffic)
    if unknown:
        raise ContentionError(f"start_s names jobs that send nothing: {sorted(unknown)}.")
    if iterations is not None and set(iterations) != set(traffic):
        different = sorted(set(iterations) ^ set(traffic))
        raise ContentionError(
            f"iterations must name every job once; missing or unknown: {different}."
        )
    if any(count < 1 for count in (iterations or {}).values()):
        raise ContentionError("iterations must be at least 1 for every job.")


def _simulate_together(
    simulation: CoSimulation,
    jobs: Mapping[int, SoloRun],
    starts: Mapping[int, float],
    need: Mapping[int, int],
    *,
    persist: bool,
) -> dict[int, JobTimes]:
    """Simulate jobs that share channels; times count from the first start."""
    origin = min(starts[job] for job in jobs)
    _check_size(jobs, {job: starts[job] - origin for job in jobs}, need, persist=persist)
    simulation.now_s = 0.0
    times, unfinished = {}, set(jobs)
    later = sorted(jobs, key=lambda job: starts[job], reverse=True)
    while unfinished:
        until_s = starts[later[-1]] - origin if later else np.inf
        simulation.advance(until_s)
        for job in simulation.over:
            unfinished.discard(job)
            if not persist:
                count, _, last_s = simulation.iterations(job)
                alone_s = jobs[job].alone_s
                together_s = (last_s - (starts[job] - origin)) / count
                times[job] = JobTimes(alone_s, together_s, together_s / alone_s, origin + last_s)
                simulation.end(job)
        while later and not simulation.over and starts[later[-1]] - origin <= simulation.now_s:
            job = later.pop()
            simulation.start(job, jobs[job], need[job], persists=persist)
    for job in jobs if persist else ():
        count, first_s, last_s = simulation.iterations(job)
        alone_s, together_s = jobs[job].alone_s, (last_s - first_s) / (count - 1)
        times[job] = JobTimes(alone_s, together_s, together_s / alone_s, None)
        simulation.end(job)
    return times


def _check_size(
    jobs: Mapping[int, SoloRun],
    since_s: Mapping[int, float],
    need: Mapping[int, int],
    *,
    persist: bool,
) -> None:
    """Refuse jobs of which one would iterate practically without end while another does its few."""
    until_s = max(since_s[job] + need[job] * run.alone_s for job, run in jobs.items())
    shortest_s = min(run.alone_s for run in jobs.values())
    sent = {job: step_rounds(run.traffic)[run.traffic.step].sum() for job, run in jobs.items()}
    flows = sum(
        sent[job] * (until_s / run.alone_s if persist else need[job]) for job, run in jobs.items()
    )
    if flows > _MOST_FLOWS:
        raise ContentionError(
            f"iterations of {shortest_s:.3g} s share links with others for {until_s:.3g} s: the "
            f"simulation would start {flows:.1e} flows, at most {_MOST_FLOWS:.0e} are allowed; "
            "give iterations or another model."
        )
    if np.spacing(until_s) > _SAME * shortest_s:
        raise ContentionError(
            f"iterations of {shortest_s:.3g} s are to be told apart for {until_s:.3g} s from the "
            f"first start on, more than numbers have digits for: expected at most "
            f"{_SAME * shortest_s * 2**52:.3g} s; let jobs start nearer to each other."
        )


def flow_level(topology: Topology, *, fairness: str, seed: int = 0) -> Recomputed[Traffic]:
    """
    Build the model `flow-level`: every flow, max-min fair, as SimGrid.

    `fairness` {"per-sender", "per-flow"}: weight of a flow among others.

    Slow: each solve simulates at least 20 iterations of every job that shares a link with another,
    which takes seconds for a few hundred nodes. Meant for single snapshots and short logs. A job
    starts at a part of its iteration sampled by its identity. Interference can fall below 1; the
    model has no attribution of its own.
    """
    whole("seed", seed, 0, error=ContentionError)
    is_per_sender(fairness)
    channel, capacity = limited_links(topology)

    def predict(jobs: Mapping[int, Traffic]) -> Solution:
        start_s = {
            job: float(sample_phases(job, _OFFSETS, seed)[0]) * own.compute_s
            for job, own in jobs.items()
        }
        times = simulate_jobs(
            jobs,
            capacity,
            channel,
            fairness=fairness,
            start_s=start_s,
            buffer_bytes=topology.buffer_bytes,
            packet_bytes=topology.packet_bytes,
        )
        interference = {job: own.interference for job, own in times.items()}
        return Solution(interference, dict.fromkeys(jobs, -1))

    def kept(traffic: Traffic) -> Traffic:
        check_traffic(traffic, topology)
        return limited_traffic(traffic, topology)

    return Recomputed(kept, predict)
