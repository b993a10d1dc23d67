"""Cases of a packet simulation (CODES on ROSS) and the errors of the contention models on them."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from netsim.arrays import Floats
from netsim.contention.base import Traffic
from netsim.contention_models import make_contention_model
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree, fat_tree_of_radix

CONTENDED = 1.05  # true slowdown above which a job counts as contended
BANDWIDTH = 12.5e9  # bytes per second of every link of the packet simulation
LATENCY_S, LATENCY_PER_LINK_S = 315e-9, 417.7e-9
BUFFER_BYTES = 65536.0  # of a port: 16 packets
DRAWS = 5  # phase draws that the accurate mode is averaged over


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Jobs that ran together, and the slowdown of each in the packet simulation."""

    name: str
    jobs: tuple[Traffic, ...]
    true: Floats


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
    tree = fat_tree_of_radix(
        8, BANDWIDTH, latency_base_s=LATENCY_S, latency_per_link_s=LATENCY_PER_LINK_S
    )
    return replace(tree, buffer_bytes=BUFFER_BYTES)


def traffic_of(tree: FatTree, job: Mapping[str, Any]) -> Traffic:
    """Return the traffic of a job of a case file."""
    nodes = np.array(job["nodes"])
    flows = [(a, *flow) for a, step in enumerate(job["steps"]) for flow in step]
    step, src, dst, nbytes = (np.array(column) for column in zip(*flows, strict=True))
    routes = DModK(tree).routes(nodes[src], nodes[dst])
    return Traffic(
        step=step,
        sender=nodes[src],
        nbytes=nbytes.astype(float),
        routes=routes,
        compute_s=job.get("compute_ns", 0.0) * 1e-9,
        latency_s=tree.path_latency_s(routes.hops),
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
        cases.append(Case(case["id"], jobs, np.array(true)))
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


MODELS: dict[str, tuple[str, dict[str, Any], int]] = {  # model, options, phase draws
    "null": ("null", {}, 1),
    "load-ratio": ("load-ratio", {}, 1),
    "always-on-max-min": ("always-on-max-min", {}, 1),
    "fast": ("fast", {"tolerance": 1e-6}, 1),
    "phased": ("phased", {"tolerance": 1e-5}, DRAWS),
    "accurate": ("accurate", {"tolerance": 1e-5}, DRAWS),
    "exact": ("exact", {}, DRAWS),
}


def predict(name: str, case: Case, tree: FatTree) -> Floats:
    """Return the slowdowns that a model predicts, averaged over phase draws."""
    model_name, options, draws = MODELS[name]
    result = np.zeros(len(case.jobs))
    for draw in range(draws):
        more = {"seed": draw} if draws > 1 else {}
        model = make_contention_model(model_name, tree, options=options | more)
        for job, traffic in enumerate(case.jobs):
            model.start(job, traffic)
        slowdown = model.solve()
        result += [slowdown[job] for job in range(len(case.jobs))]
    return result / draws


def table(
    cases: Sequence[Case], names: Iterable[str] = tuple(MODELS), tree: FatTree | None = None
) -> dict[str, Errors]:
    """Return the errors of models over the cases, on the fabric of the packets or another."""
    fabric = tree_of_packets() if tree is None else tree
    true = np.concatenate([case.true for case in cases])
    return {
        name: errors(true, np.concatenate([predict(name, case, fabric) for case in cases]))
        for name in names
    }


FILES = {
    "compute phases": "duty_k8.json.gz",
    "always communicating": "cases_k8.json.gz",
}


DUTY, ALWAYS = FILES
