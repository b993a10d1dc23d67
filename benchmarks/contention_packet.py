"""
Error of the contention models against packet level (CODES on ROSS), beside `null`.

Run: ``python -m benchmarks.contention_packet FOLDER`` with the folder of ``cases_k8.json.gz``
and ``duty_k8.json.gz``. Exit status 1 if a bar is missed.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.accuracy import record_comparisons
from benchmarks.evidence import record, verdict
from netsim.accuracy import Comparison, routing_kind
from netsim.arrays import Floats
from netsim.contention.base import Traffic
from netsim.contention.constants import ConstantsOf
from netsim.contention_models import make_contention_model
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree, fat_tree_of_radix
from netsim.topology.kind import machine_kind

COMMAND = "python -m benchmarks.contention_packet FOLDER"
CONTENDED = 1.05  # true slowdown above which a job counts as contended
BANDWIDTH = 12.5e9  # bytes per second of every link of the packet simulation
LATENCY_S, LATENCY_PER_LINK_S = 315e-9, 417.7e-9
BUFFER_BYTES = 65536.0  # of a port: 16 packets
STEP_S = (0.0, 15e-6, 40e-6, np.inf)  # bounds of classes of jobs by the length of their steps
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
BARS = (  # cases, model, quantity, least, most, whether it is only aimed at
    (DUTY, "accurate", "mean", 0.0, 3.6, False),
    (DUTY, "accurate", "contended", 0.0, 6.7, False),
    (DUTY, "accurate", "bias", 0.65, 1.1, False),
    (DUTY, "fast", "mean", 0.0, 4.6, False),
    (ALWAYS, "accurate", "mean", 0.0, 5.0, False),
    (DUTY, "accurate", "mean", 0.0, 3.0, True),
    (DUTY, "accurate", "bias", 0.85, 1.1, True),
)


def by_step_time(cases: Sequence[Case], wet: FatTree, dry: FatTree) -> list[str]:
    """Return how much of the slowdown `accurate` finds with and without buffers, as Markdown."""
    constants_of = ConstantsOf(wet)
    steps = [constants_of(own).steps for case in cases for own in case.jobs]
    step_s = np.array([own["drain_s"].mean() for own in steps])
    true = np.concatenate([case.true for case in cases])
    said = [
        np.concatenate([predict("accurate", case, tree) for case in cases]) for tree in (wet, dry)
    ]
    lines = [
        "| mean step alone | jobs | bias of accurate | without buffers |",
        "| --- | ---: | ---: | ---: |",
    ]
    for low_s, high_s in pairwise(STEP_S):
        part = (step_s >= low_s) & (step_s < high_s)
        bias = [(one[part] - 1.0).sum() / (true[part] - 1.0).sum() for one in said]
        lines.append(f"| from {low_s * 1e6:g} us | {part.sum()} | {bias[0]:.2f} | {bias[1]:.2f} |")
    return lines


def rows_of(title: str, errors_of: Mapping[str, Errors]) -> list[str]:
    """Return the rows of a Markdown table."""
    return [
        f"| {title} | {name} | {e.n_jobs} | {e.mean:.2f} % | {e.p90:.1f} % | {e.worst:.0f} % | "
        f"{e.contended:.1f} % | {e.bias:.2f} | {e.rank:.2f} |"
        for name, e in errors_of.items()
    ]


def comparisons(
    load: str, n_cases: int, fabric: FatTree, errors_of: Mapping[str, Errors]
) -> list[Comparison]:
    """Return the rows of the table that reports quote."""
    return [
        Comparison(
            machine=machine_kind(fabric),
            routing=routing_kind(DModK(fabric)),
            ranks_per_node=1,
            fairness="per-sender",
            buffer_bytes=fabric.buffer_bytes,
            load=load,
            model=name,
            nodes=fabric.n_nodes,
            cases=n_cases,
            jobs=e.n_jobs,
            mean_error=e.mean / 100,
            p90_error=e.p90 / 100,
            worst_error=e.worst / 100,
            contended_error=e.contended / 100,
            bias=e.bias,
            rank=e.rank,
            source=COMMAND,
        )
        for name, e in errors_of.items()
    ]


def main(folder: Path) -> int:
    """Print and record the tables; return the exit status."""
    cases = {title: read_cases(folder / file) for title, file in FILES.items()}
    wet, dry = tree_of_packets(), replace(tree_of_packets(), buffer_bytes=0.0)
    tables = {title: table(found) for title, found in cases.items()}
    without = {
        title: {name: tables[title][name] for name in ("null", "exact")}  # they know no buffers
        | table(found, ("fast", "accurate"), dry)
        for title, found in cases.items()
    }
    found = []
    for title in FILES:
        found += comparisons(title, len(cases[title]), wet, tables[title])
        found += comparisons(title, len(cases[title]), dry, without[title])
    record_comparisons(COMMAND, found)
    lines = [
        (
            f"{DRAWS} phase draws averaged for `accurate` and `exact`; the fabric is that of "
            '`latency = "codes"`.'
        ),
        "",
        "| cases | model | jobs | mean | p90 | worst | contended | bias | rank |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, errors_of in tables.items():
        lines += rows_of(title, errors_of)
        lines += rows_of(f"{title}, no buffers", without[title])
    lines += ["", f"{DUTY.capitalize()}, by the length of a job's steps:", ""]
    lines += [*by_step_time(cases[DUTY], wet, dry), ""]
    missed = False
    for title, name, quantity, low, high, aim in BARS:
        value = getattr(tables[title][name], quantity)
        held = low <= value <= high
        missed = missed or not (held or aim)
        lines.append(
            f"- {'aim' if aim else 'bar'}: {title}, {name}, {quantity} {low:g} to {high:g}: "
            f"{value:.2f}, {verdict(held)}"
        )
    print("\n".join(lines))
    record(
        "Contention models against packet level",
        COMMAND,
        lines,
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
