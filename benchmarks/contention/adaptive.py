"""
Does isolation still pay where switches choose the way of each packet? Real logs, and the judge.

Run: ``python -m benchmarks.contention.adaptive FOLDER`` with the folder of the logs of LLNL
Thunder and Atlas (Parallel Workloads Archive). Static beside adaptive routing under Baseline,
random and Jigsaw, coupled, five seeds; then states of adaptive runs in packets. Half an hour of
CPU time.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record
from coupling.inputs.experiment import Experiment
from coupling.results.result import Result
from coupling.runs.assembly import assemble
from coupling.runs.engine import run
from coupling.sweep.intervals import mean_interval
from fabricsim.checking.documents import parse_toml
from netsim.common.arrays import Floats
from netsim.common.hostlist import expand_hostlist
from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from scheduler.job import Communication
from scheduler.traffic import TrafficOf

COMMAND = "python -m benchmarks.contention.adaptive FOLDER"
HERE = Path(__file__).parent
LOGS: Mapping[str, Mapping[str, Any]] = {
    "Atlas": {
        "path": "LLNL-Atlas-2006-2.1-cln.swf.gz",
        "processors_per_node": 8,
        "max_nodes": 1024,
    },
    "Thunder": {"path": "LLNL-Thunder-2007-1.1-cln.swf.gz"},  # the rest as in the file
}
HOURS = {"Atlas": 336, "Thunder": 240}
ALLOCATORS = ("first-free", "random", "jigsaw")
ROUTINGS = {"static": "jigsaw", "adaptive": "adaptive"}
MODEL = "fluid"
SEEDS = (1, 2, 3, 4, 5)
WHAT = ("mean_interference", "jobs", "node_hours", "mean_turnaround_s", "utilization_steady")
MOMENTS = (0.2, 0.5)  # of a run's length, at which its state is judged
JUDGED_SEEDS = (1,)
MESSAGES_KIB = (32, 256)  # of a state, instead of 1 MiB
_LINKS = {"bandwidth": "100 Gb/s", "latency": "codes", "buffer": "64 KiB"}
ITERATIONS = 3  # of the slowest job that meets others
SLOWER = 1.02
Cells = dict[tuple[str, str], list[Result]]


def experiment(log: str, folder: Path, allocator: str, routing: str, seed: int) -> Experiment:
    """Return one cell."""
    tables = parse_toml((HERE / "adaptive.toml").read_text(), "adaptive.toml", ValueError)
    del tables["sweep"]
    tables["workload"] |= {
        **LOGS[log],
        "path": str(folder / LOGS[log]["path"]),
        "window_s": [0, HOURS[log] * 3600],
    }
    tables["scheduler"]["allocator"] = allocator
    tables["network"]["routing"] = ROUTINGS[routing]
    tables["run"]["seed"] = seed
    return Experiment.from_tables(tables, "adaptive.toml", HERE, "adaptive")


def measured(result: Result) -> Floats:
    """Return what a cell says, in the order of `WHAT`."""
    jobs = result.jobs[result.jobs["dropped"] == ""]
    hours = (jobs["n_nodes"] * (jobs["end_s"] - jobs["start_s"])).sum() / 3600.0
    own = result.summary | {"node_hours": hours, "jobs": len(jobs)}
    return np.array([float(own[name]) for name in WHAT])


def coupled(log: str, folder: Path) -> list[str]:
    """Return the table of coupled runs: means, and differences from the first with intervals."""
    base: Floats | None = None
    rows = []
    for routing in ROUTINGS:
        for allocator in ALLOCATORS:
            cells = (run(experiment(log, folder, allocator, routing, seed)) for seed in SEEDS)
            found = np.array([measured(result) for result in cells])
            mean = found.mean(axis=0)
            if base is None:
                base = found
                shown = [f"{mean[0]:.4f}", f"{mean[2]:,.0f}", f"{mean[3]:,.0f} s", f"{mean[4]:.3f}"]
            else:
                shown = [_difference(column) for column in (found / base - 1.0).T[[0, 2, 3, 4]]]
                shown[0] = f"{mean[0]:.4f}, {shown[0]}"
            rows.append(f"| {allocator}, {routing} | {' | '.join(shown)} |")
    jobs = int(0 if base is None else base[0, 1])
    return [
        f"LLNL {log}, the {jobs:,} jobs submitted in the first {HOURS[log]} hours, all at once:",
        "",
        "| allocator, routing | mean interference | node-hours | mean turnaround | steady use |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
    ]


def _difference(values: Floats) -> str:
    """Write a mean difference with its interval."""
    low, high = (100 * one for one in mean_interval(values))
    return f"{100 * values.mean():+.1f} % ({low:.1f} to {high:.1f})"


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Jobs of one state: nodes, interference in packets and by model, time alone over ideal."""

    nodes: Floats
    packets: Floats
    modelled: Floats
    alone: Floats


def states(found: Experiment) -> Iterator[dict[int, tuple[Communication, Partition]]]:
    """Run a cell, and yield what the jobs that run at each moment send, and where."""
    result, parts = run(found), assemble(found)
    sent = {job.id: job.communication for job in parts.workload.jobs}
    jobs = result.jobs[result.jobs["dropped"] == ""]
    owned = dict(zip(result.partitions["id"], result.partitions["links"], strict=True))
    for moment in MOMENTS:
        at_s = moment * float(jobs["end_s"].max())
        now = jobs[(jobs["start_s"] <= at_s) & (at_s < jobs["end_s"])]
        state = {}
        for job, hosts in zip(now["id"].tolist(), now["nodes"].tolist(), strict=True):
            nodes = np.array(parts.topology.names.nodes([hosts]), dtype=np.int64)
            links = expand_hostlist(f"[{owned[job]}]") if job in owned else None
            own = None if links is None else np.array([int(one) for one in links], dtype=np.int64)
            if sent[job] is not None:
                state[job] = sent[job], Partition(nodes, own)
        yield state


def _shortened(own: Traffic, shorter: float, latency_of: LatencyOf) -> Traffic:
    """Return a job whose messages are shorter, and its computing with them."""
    nbytes = shorter * own.nbytes
    latency_s = latency_of(own.routes, own.step, own.nonminimal).of(nbytes)
    return replace(own, nbytes=nbytes, latency_s=latency_s, compute_s=shorter * own.compute_s)


def judged(
    state: Mapping[int, tuple[Communication, Partition]], routing: str, message_kib: int
) -> Judged:
    """Simulate the packets of a state; messages are shortened, and computing with them."""
    shorter = message_kib / 1024
    built = make_topology({"kind": "fat-tree", "radix": 18, **_LINKS})
    ways = make_routing(ROUTINGS[routing], built)
    fabric = as_routed(built, ways)
    traffic_of, latency_of = TrafficOf(fabric, ways), LatencyOf(fabric)
    placed = {
        job: own
        for job, (sent, where) in state.items()
        if (own := traffic_of(sent, where)) is not None
    }
    traffic = {job: _shortened(own.traffic, shorter, latency_of) for job, own in placed.items()}
    rng = np.random.default_rng(7)
    start_s = {job: float(rng.uniform(0.0, own.compute_s)) for job, own in traffic.items()}
    times = simulate_packets(traffic, fabric, start_s=start_s, slowest_does=ITERATIONS).jobs
    model = make_contention_model(MODEL, fabric)
    for job, own in traffic.items():
        model.start(job, own)
    modelled = model.solve()
    return Judged(
        np.array([state[job][1].nodes.size for job in placed], dtype=np.float64),
        np.array([times[job].interference for job in placed]),
        np.array([modelled[job] for job in placed]),
        np.array([times[job].alone_s / (shorter * own.ideal_s) for job, own in placed.items()]),
    )


Kept = dict[tuple[str, str, int], list[Judged]]
"""Judged states by allocator, routing and KiB of a message."""


def judged_states(log: str, folder: Path) -> Kept:
    """Judge the states of adaptive runs under both routings."""
    kept: Kept = {}
    for seed in JUDGED_SEEDS:
        for allocator in ALLOCATORS:
            for state in states(experiment(log, folder, allocator, "adaptive", seed)):
                for routing, kib in product(ROUTINGS, MESSAGES_KIB):
                    key = allocator, routing, kib
                    kept.setdefault(key, []).append(judged(state, routing, kib))
            print(log, allocator, seed, file=sys.stderr, flush=True)
    return kept


def words_of_judge(kept: Mapping[str, Kept]) -> list[str]:
    """Return the table of the judge, by log."""
    return [
        (
            f"The judge: the jobs that run at {' and '.join(map(str, MOMENTS))} of the length of "
            f"adaptive runs ({len(JUDGED_SEEDS) * len(MOMENTS)} states of each allocator and log), "
            "in packets under both routings; messages and computing shortened alike, "
            f"{ITERATIONS} iterations of the slowest job. Means by nodes (lowest and highest "
            "state)."
        ),
        "",
        (
            "| log | allocator | routing | messages | jobs | interference in packets "
            f"| by `{MODEL}` | worst | above {SLOWER} | together / ideal |"
        ),
        "| --- | --- | --- | ---: | ---: | --- | --- | ---: | ---: | --- |",
        *(
            _row(f"{log} | {key[0]} | {key[1]} | {key[2]} KiB", own[key])
            for log, own in kept.items()
            for key in sorted(own, key=_order)
        ),
    ]


def _order(key: tuple[str, str, int]) -> tuple[int, int, int]:
    """Sort routings first, then messages."""
    return list(ROUTINGS).index(key[1]), key[2], ALLOCATORS.index(key[0])


def _row(title: str, found: Sequence[Judged]) -> str:
    """Return a row of the table of states."""
    weights = [own.nodes / own.nodes.sum() for own in found]
    mean = [
        np.array([(weight * values(own)).sum() for weight, own in zip(weights, found, strict=True)])
        for values in (
            lambda own: own.packets,
            lambda own: own.modelled,
            lambda own: own.packets * own.alone,
        )
    ]
    packets = np.concatenate([own.packets for own in found])
    cells = [_span(mean[0]), _span(mean[1]), f"{packets.max():.2f}"]
    slower = 100.0 * np.mean(packets > SLOWER)
    cells += [f"{slower:.0f} %", _span(mean[2])]
    return f"| {title} | {packets.size} | {' | '.join(cells)} |"


def _span(values: Floats) -> str:
    """Write a mean, the lowest and the highest."""
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"


def main() -> int:
    """Print and record the tables."""
    folder = asking.folder(__doc__).resolve()
    lines = [
        (
            "Both logs on 1458 nodes as `benchmarks/contention/adaptive.toml` says, model "
            f"`{MODEL}`: {len(ALLOCATORS)} allocators x {len(ROUTINGS)} routings x {len(SEEDS)} "
            "seeds; differences from Baseline (first-free) under static routing, 95 % intervals "
            "(Student's, paired by seed). Static: routing `jigsaw`, D-mod-k except on links that a "
            "job owns. Node-hours hold what the own placement costs too."
        ),
    ]
    for log in LOGS:
        lines += ["", *coupled(log, folder)]
    print("\n".join(lines), flush=True)
    kept = {log: judged_states(log, folder) for log in LOGS}
    lines += ["", *words_of_judge(kept)]
    print("\n".join(lines))
    record("Does isolation pay where switches choose", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
