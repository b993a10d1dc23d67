"""Exact flow-level simulation of jobs that compute and communicate, again and again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.base import Traffic
from netsim.contention.exact.flowtable import FlowTable, Sharing, flow_table, outside_nodes, run
from netsim.errors import ContentionError
from netsim.flows.maxmin import is_per_sender

SLOWEST_DOES = 20  # iterations where none are given; the first of every job is discarded
_MOST_FLOWS = 1e8  # flow starts of one simulation: an hour or two
_SAME = 1e-5  # of an iteration: its times may be rounded by that


@dataclass(frozen=True, slots=True)
class JobTimes:
    """
    What the simulation says about one job.

    Parameters
    ----------
    alone_s : float
        Seconds of an iteration with nobody else on the network.
    together_s : float
        Seconds of an iteration among the others, mean.
    interference : float
        together_s / alone_s; exactly 1 where no channel is shared. It can fall below 1: a
        neighbour that holds up some flows of a job clears the way for others.
    end_s : float or None
        When the job ends, if its iterations are given.
    """

    alone_s: float
    together_s: float
    interference: float
    end_s: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A job that is to be simulated; `need` is None without a given number of iterations."""

    own: Traffic  # without flows inside nodes
    alone_s: float
    start_s: float
    need: int | None

    def undisturbed(self) -> JobTimes:
        """Return the times of a job that shares no channel."""
        end_s = None if self.need is None else self.start_s + self.need * self.alone_s
        return JobTimes(self.alone_s, self.alone_s, 1.0, end_s)


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
    place_bytes: float = 0.0,
) -> dict[int, JobTimes]:
    """
    Simulate iterating jobs, rates re-shared at every start and end of a flow.

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
    stated; flows whose messages are longer weigh more than 1 / (flows open). `place_bytes`: of a
    packet, 0 where none is stated; flows of short packets weigh less (docs/model-laws.md). Result:
    in the order of `traffic`.

    With latency 0 and per-flow fairness this is SimGrid's model CM02 without cross traffic.
    Jobs that share no channel are simulated apart, which changes nobody.
    """
    per_sender = is_per_sender(fairness)
    sharing = Sharing(per_sender, buffer_bytes, place_bytes)
    if slowest_does < 2:  # noqa: PLR2004 (the first one is discarded)
        raise ContentionError(f"slowest_does must be at least 2, got {slowest_does}.")
    check_names(traffic, start_s, iterations)
    starts = dict.fromkeys(traffic, 0.0) | dict(start_s or {})
    jobs = {}
    for job, whole in traffic.items():
        own = outside_nodes(whole)
        alone_s = _alone_s(own, capacity, channel, sharing)
        jobs[job] = _Job(own, alone_s, starts[job], iterations[job] if iterations else None)
    times = {job: placed.undisturbed() for job, placed in jobs.items()}
    talking = [job for job, placed in jobs.items() if placed.own.step.size]
    if len(talking) > 1:
        table = flow_table([jobs[job].own for job in talking], capacity, channel)
        for group in _groups_that_meet(table, per_sender=per_sender):
            names = [talking[member] for member in group]
            together = _together(
                [jobs[name] for name in names],
                capacity,
                channel,
                slowest_does,
                sharing,
            )
            times.update(zip(names, together, strict=True))
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


def _alone_s(own: Traffic, capacity: Floats, channel: Ints | None, sharing: Sharing) -> float:
    """Return the seconds of an iteration without others."""
    if not own.step.size:
        return own.compute_s
    table = flow_table([own], capacity, channel)
    result = run(
        table,
        [own.compute_s],
        [0.0],
        [1],
        persist=False,
        sharing=sharing,
    )
    return float(result.last_end_s[0])


def _groups_that_meet(table: FlowTable, *, per_sender: bool) -> list[Ints]:
    """Return the groups of two jobs and more that share channels, directly or through others."""
    from scipy.sparse import coo_array  # noqa: PLC0415 (slow to load)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    n_jobs = table.job_first.size - 1
    flow_first = table.step_first[table.job_first]
    job = np.repeat(np.arange(n_jobs), np.diff(table.indptr[flow_first]))
    matters = np.ones(table.lists.size, dtype=bool)
    matters[table.indptr[1:] - 1] = per_sender  # the sender of a flow
    meets = (job[matters], n_jobs + table.lists[matters])
    size = n_jobs + int(table.lists.max()) + 1
    graph = coo_array((np.ones(meets[0].size), meets), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    members = [np.flatnonzero(label[:n_jobs] == group) for group in np.unique(label[:n_jobs])]
    return [group for group in members if group.size > 1]


def _together(
    jobs: Sequence[_Job],
    capacity: Floats,
    channel: Ints | None,
    slowest_does: int,
    sharing: Sharing,
) -> list[JobTimes]:
    """Simulate jobs that meet."""
    table = flow_table([job.own for job in jobs], capacity, channel)
    origin = min(job.start_s for job in jobs)
    persist = jobs[0].need is None
    _check_size(jobs, origin, slowest_does)
    result = run(
        table,
        [job.own.compute_s for job in jobs],
        [job.start_s - origin for job in jobs],
        [slowest_does if job.need is None else job.need for job in jobs],
        persist=persist,
        sharing=sharing,
    )
    times = []
    for job, first, last, count in zip(
        jobs, result.first_end_s, result.last_end_s, result.count, strict=True
    ):
        if persist:
            together_s, end_s = float(last - first) / (int(count) - 1), None
        else:
            end_s = float(origin + last)
            together_s = float(last - (job.start_s - origin)) / int(count)
        times.append(JobTimes(job.alone_s, together_s, together_s / job.alone_s, end_s))
    return times


def _check_size(jobs: Sequence[_Job], origin: float, slowest_does: int) -> None:
    """Refuse jobs of which one would iterate practically without end while another does its few."""
    until_s = max(job.start_s - origin + slowest_does * job.alone_s for job in jobs)
    shortest_s = min(job.alone_s for job in jobs)
    flows = sum(job.own.step.size * (job.need or until_s / job.alone_s) for job in jobs)
    if flows > _MOST_FLOWS:
        raise ContentionError(
            f"iterations of {shortest_s:.3g} s meet others for {until_s:.3g} s: the exact "
            f"simulation would start {flows:.1e} flows, at most {_MOST_FLOWS:.0e} are allowed; "
            "give iterations or another model."
        )
    if np.spacing(until_s) > _SAME * shortest_s:
        raise ContentionError(
            f"iterations of {shortest_s:.3g} s are to be told apart for {until_s:.3g} s from the "
            f"first start on, more than numbers have digits for: expected at most "
            f"{_SAME * shortest_s * 2**52:.3g} s; let jobs start nearer to each other."
        )
