"""Models in which every job always communicates, as others have them; for comparison only."""

from collections.abc import Mapping, Sequence

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.base import Traffic
from netsim.contention.cold.fixedpoint import ColdSolution
from netsim.contention.constants import ConstantsOf, JobConstants
from netsim.contention.phases import sample_phases
from netsim.flows.maxmin import is_per_sender, max_min_rates, sender_weights
from netsim.routes import Routes
from netsim.topology.base import Topology

_SAMPLES = 8


def load_ratio(jobs: Mapping[int, JobConstants]) -> ColdSolution:
    """
    Stretch each link's time by its load: (own + others' flows) / own flows.

    Result: interference, at least 1.

    t = max over links of B (1 + N/m), with N the others' weights m, averaged over their
    steps by time. No cap by what the others have to send: it overstates interference several
    times over, which is why it is here.
    """
    n_channels = 1 + max(
        (int(j.records["channel"].max(initial=-1)) for j in jobs.values()), default=-1
    )
    total = np.zeros(n_channels)
    own = {job: _mean_weight(constants, n_channels) for job, constants in jobs.items()}
    for weight in own.values():
        total += weight
    interference, worst = {}, {}
    for job, constants in jobs.items():
        others = np.where(own[job] < total, total - own[job], 0.0)
        interference[job], worst[job] = _stretched(constants, others)
    return ColdSolution(interference, worst)


def _mean_weight(constants: JobConstants, n_channels: int) -> Floats:
    """Return the weight of a job on each channel, averaged over its communication time."""
    duration = constants.steps["drain_s"] + constants.steps["latency_s"]
    share = duration / max(duration.sum(), np.finfo(float).tiny)
    return np.bincount(
        np.repeat(constants.records["channel"], constants.records["n_entries"]),
        weights=constants.entries["weight"] * share[constants.entries["step"]],
        minlength=n_channels,
    ).astype(np.float64)


def _stretched(constants: JobConstants, others: Floats) -> tuple[float, int]:
    """Return the interference of a job among others' weights, and its worst link."""
    b, m = constants.entries["drain_s"], constants.entries["weight"]
    channel = np.repeat(constants.records["channel"], constants.records["n_entries"])
    link = np.repeat(constants.records["link"], constants.records["n_entries"])
    tau = constants.steps["drain_s"]
    late = b * (1.0 + others[channel] / m) - tau[constants.entries["step"]]
    excess = np.zeros(tau.size)
    np.maximum.at(excess, constants.entries["step"], late)
    worst = int(link[late.argmax()]) if late.max(initial=0.0) > 0.0 else -1
    period = constants.iteration_s
    return (1.0 + float(excess.sum()) / period if period > 0.0 else 1.0), worst


class AlwaysOnMaxMin:
    """
    Max-min fair rates of jobs that all communicate all the time.

    Parameters
    ----------
    topology : Topology
        The fabric.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow: 1 / (flows its sender opens), or 1.

    Notes
    -----
    Each job is met in the step that its communication has reached at 8 stratified phases
    (those of the accurate mode); rates are those at the start of the steps, and hold until
    their end. The stretch of a step is its longest flow time together / alone, the stretch
    of the communication its mean over the phases.
    """

    def __init__(self, topology: Topology, fairness: str) -> None:
        self._topology = topology
        self._per_sender = is_per_sender(fairness)
        self._constants_of = ConstantsOf(topology, fairness)

    def prepare(self, traffic: Traffic) -> tuple[Traffic, JobConstants]:
        """Return what is kept of a job."""
        return traffic, self._constants_of(traffic)

    def predict(self, jobs: Mapping[int, tuple[Traffic, JobConstants]]) -> ColdSolution:
        """
        Return the interference of jobs that run together.

        `jobs`: what `prepare` returned. Result: interference, at least 1; exactly 1 where no
        channel is shared. Links are not told.
        """
        sharing = _sharing({job: constants for job, (_, constants) in jobs.items()})
        stretch = dict.fromkeys(jobs, 1.0)
        if sharing:
            order = {job: sample_phases(job, _SAMPLES) for job in sharing}
            for sample in range(_SAMPLES):
                now = [_step_at(*jobs[job], order[job][sample]) for job in sharing]
                together = self._times(now)
                for job, flows, time_s in zip(sharing, now, together, strict=True):
                    alone_s = self._times([flows])[0]
                    stretch[job] += max(0.0, time_s / alone_s - 1.0) / _SAMPLES
        interference = {}
        for job, (_, constants) in jobs.items():
            communication_s, period_s = constants.communication_s, constants.iteration_s
            share = communication_s / period_s if period_s > 0.0 else 0.0
            interference[job] = 1.0 + share * (stretch[job] - 1.0)
        return ColdSolution(interference, dict.fromkeys(jobs, -1))

    def _times(self, steps: Sequence[Traffic]) -> list[float]:
        """Return how long the longest flow of each job takes, all starting now."""
        indptr = np.concatenate([[0], *(np.diff(step.routes.indptr) for step in steps)]).cumsum()
        links = np.concatenate([step.routes.links for step in steps])
        routes = Routes(indptr, links, self._topology.n_links)
        weights = None
        if self._per_sender:
            weights = np.concatenate([sender_weights(step.sender, step.routes) for step in steps])
        rates = max_min_rates(routes, self._topology.capacity, weights, self._topology.channel)
        times = np.concatenate([step.nbytes for step in steps]) / rates
        ends = np.cumsum([step.nbytes.size for step in steps])
        return [
            float(part.max() + step.latency_s.max())
            for part, step in zip(np.split(times, ends[:-1]), steps, strict=True)
        ]


def _sharing(jobs: Mapping[int, JobConstants]) -> list[int]:
    """Return the jobs that share a channel with another."""
    if not jobs:
        return []
    n_channels = 1 + max(int(job.records["channel"].max(initial=0)) for job in jobs.values())
    users: Ints = np.zeros(n_channels, dtype=np.int64)
    for constants in jobs.values():
        users[constants.records["channel"]] += 1
    return [job for job, c in jobs.items() if np.any(users[c.records["channel"]] > 1)]


def _step_at(traffic: Traffic, constants: JobConstants, phase: float) -> Traffic:
    """Return the flows of the step that a job has reached at a phase of its communication."""
    ends = (constants.steps["drain_s"] + constants.steps["latency_s"]).cumsum()
    step = int(np.searchsorted(ends, phase * ends[-1], side="right"))
    first, last = np.searchsorted(traffic.step, [step, step + 1])
    indptr, links = traffic.routes.indptr, traffic.routes.links
    return Traffic(
        step=traffic.step[first:last],
        sender=traffic.sender[first:last],
        nbytes=traffic.nbytes[first:last],
        routes=Routes(
            indptr[first : last + 1] - indptr[first],
            links[indptr[first] : indptr[last]],
            traffic.routes.n_links,
        ),
        compute_s=traffic.compute_s,
        latency_s=traffic.latency_s[first:last],
    )
