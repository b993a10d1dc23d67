"""Cases of a packet simulation (CODES on ROSS) and the errors of the contention models on them."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from netsim.common.arrays import Floats
from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.registries.accuracy import ANY, FEWEST_JOBS, TRAFFIC_CLASSES
from netsim.registries.contention_models import make_contention_model
from netsim.routing.dmodk import DModK
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, fat_tree_of_radix
from scheduler.traffic import RankFlows, traffic_class

CONTENDED = 1.05  # true slowdown above which a job counts as contended
BANDWIDTH = 12.5e9  # bytes per second of every link of the packet simulation
LATENCY_PER_LINK_S = 90e-9
BUFFER_BYTES, PACKET_BYTES = 65536.0, 4096.0  # of a port; 16 packets fit
MODELS = ("null", "fluid", "flow-level")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Jobs that ran together, the slowdown of each in packets, and how it talks."""

    name: str
    jobs: tuple[Traffic, ...]
    true: Floats
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """How far predictions are from the truth; errors in per cent."""

    n_jobs: int
    mean: float
    p90: float
    worst: float
    contended: float
    bias: float
    rank: float


def tree_of_packets() -> FatTree:
    """Return the fabric of the packet simulation."""
    tree = fat_tree_of_radix(8, BANDWIDTH, latency_per_link_s=LATENCY_PER_LINK_S)
    return replace(tree, buffer_bytes=BUFFER_BYTES, packet_bytes=PACKET_BYTES)


def as_sized(topology: Topology) -> Topology:
    """
    Return a fabric with the latencies by which scenes are sized: those of messages of 1 MiB.

    So a scene keeps its bytes, and what packets say of it, whatever the models make of latency.
    """
    return replace(topology, latency_base_s=315e-9, latency_per_link_s=417.7e-9, packet_bytes=0.0)


def _flows_of(job: Mapping[str, Any]) -> RankFlows:
    """Return the messages of a job of a case file."""
    flows = [(a, *flow) for a, step in enumerate(job["steps"]) for flow in step]
    step, src, dst, nbytes = (np.array(column) for column in zip(*flows, strict=True))
    return RankFlows(step, src, dst, nbytes.astype(float))


def traffic_of(tree: FatTree, job: Mapping[str, Any]) -> Traffic:
    """Return the traffic of a job of a case file."""
    nodes, flows = np.array(job["nodes"]), _flows_of(job)
    routes = DModK(tree).routes(nodes[flows.src], nodes[flows.dst])
    return Traffic(
        step=flows.step,
        sender=nodes[flows.src],
        nbytes=flows.nbytes,
        routes=routes,
        compute_s=job.get("compute_ns", 0.0) * 1e-9,
        latency_s=LatencyOf(tree)(routes).of(flows.nbytes),
    )


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file: jobs that always communicate, or with compute phases."""
    tree = tree_of_packets()
    cases = []
    for case in json.loads(gzip.decompress(path.read_bytes()))["cases"]:
        jobs = tuple(traffic_of(tree, job) for job in case["jobs"])
        if "results" in case:
            true = [job["slowdown"] for job in case["results"]["bsp_persist"]["jobs"]]
        else:
            true = [job["together"]["slowdown"] for job in case["jobs"]]
        kinds = tuple(traffic_class(_flows_of(job)) for job in case["jobs"])
        cases.append(Case(case["id"], jobs, np.array(true), kinds))
    return cases


def errors(true: Floats, predicted: Floats) -> Errors:
    """Return the error table of predictions."""
    off = 100.0 * np.abs(predicted - true) / true
    varies = np.ptp(predicted) > 0.0
    return Errors(
        n_jobs=true.size,
        mean=float(off.mean()),
        p90=float(np.quantile(off, 0.9)),
        worst=float(off.max()),
        contended=float(off[true > CONTENDED].mean()),
        bias=float((predicted - 1.0).sum() / (true - 1.0).sum()),
        rank=float(spearmanr(true, predicted).statistic) if varies else 0.0,
    )


def predict(name: str, case: Case, tree: FatTree) -> Floats:
    """Return the slowdowns that a model predicts with its defaults."""
    model = make_contention_model(name, tree)
    for job, traffic in enumerate(case.jobs):
        model.start(job, traffic)
    network_slowdown = model.solve()
    return np.array([network_slowdown[job] for job in range(len(case.jobs))])


def tables(
    cases: Sequence[Case], names: Iterable[str] = MODELS, tree: FatTree | None = None
) -> dict[str, dict[str, Errors]]:
    """
    Return the errors of models over the cases, on the fabric of the packets or another.

    Result: by how jobs talk (`ANY`: all), where there are enough, and model.
    """
    fabric = tree_of_packets() if tree is None else tree
    true = np.concatenate([case.true for case in cases])
    said = {n: np.concatenate([predict(n, case, fabric) for case in cases]) for n in names}
    kinds = np.array([kind for case in cases for kind in case.kinds])
    chosen = {name: (kinds == name) | (name == ANY) for name in TRAFFIC_CLASSES}
    return {
        mix: {name: errors(true[keep], own[keep]) for name, own in said.items()}
        for mix, keep in chosen.items()
        if mix == ANY or keep.sum() >= FEWEST_JOBS
    }


def table(
    cases: Sequence[Case], names: Iterable[str] = MODELS, tree: FatTree | None = None
) -> dict[str, Errors]:
    """Return the errors of models over all jobs of the cases."""
    return tables(cases, names, tree)[ANY]


FILES = {
    "compute phases": "duty_k8.json.gz",
    "always communicating": "cases_k8.json.gz",
}


DUTY, ALWAYS = FILES
