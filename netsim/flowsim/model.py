"""Model `flow-level`: every solve simulates the flows of the jobs that run."""

from collections.abc import Mapping

from fabricsim.checking import whole
from netsim.common.errors import ContentionError
from netsim.common.rng import sample_phases
from netsim.flows.contention import Recomputed, Solution, Traffic
from netsim.flows.maxmin import is_per_sender
from netsim.flows.traffic import check_traffic
from netsim.flowsim.snapshot import simulate_jobs
from netsim.topology.base import Topology

_OFFSETS = 256  # parts of an iteration at which a job may start


def flow_level(topology: Topology, *, fairness: str, seed: int = 0) -> Recomputed[Traffic]:
    """
    Build the model `flow-level`.

    `fairness` {"per-sender", "per-flow"}: weight of a flow among others.

    Slow: each solve simulates at least 20 iterations of every job that shares a link with another,
    which takes seconds for a few hundred nodes. Meant for single snapshots and short logs. A job
    starts at a part of its iteration sampled by its identity. Interference can fall below 1; the
    model has no attribution of its own.
    """
    whole("seed", seed, 0, error=ContentionError)
    is_per_sender(fairness)

    def predict(jobs: Mapping[int, Traffic]) -> Solution:
        start_s = {
            job: float(sample_phases(job, _OFFSETS, seed)[0]) * own.compute_s
            for job, own in jobs.items()
        }
        times = simulate_jobs(
            jobs,
            topology.capacity,
            topology.channel,
            fairness=fairness,
            start_s=start_s,
            buffer_bytes=topology.buffer_bytes,
            packet_bytes=topology.packet_bytes,
        )
        interference = {job: own.interference for job, own in times.items()}
        return Solution(interference, dict.fromkeys(jobs, -1))

    def kept(traffic: Traffic) -> Traffic:
        check_traffic(traffic, topology)
        return traffic

    return Recomputed(kept, predict)
