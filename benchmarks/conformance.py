"""
Cases of other programs and definitions, their answers beside ours: docs/research/conformance.md.

    python -m benchmarks.conformance            # compute all and write the page
    python -m benchmarks.conformance --check    # exit status 1 where an answer or the page differs

Cases are written from the sources that they name; answers of definitions are counted without the
code that they are compared with.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

import fabricsim as fs
from netsim.common.atomic_write import replace_file
from netsim.flowsim.flow_report import report_flows
from netsim.formats.importers.simgrid import read_simgrid
from netsim.formats.importers.sketch import Settings
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree
from scheduler import Job, make_allocator, make_policy, simulate
from scheduler.cluster import Cluster
from tests.naive.counting import CountingEasy, CountingReservations
from tests.naive.molding import CountingMolding
from tests.naive.outages import NaiveOutages
from tests.scheduler.test_events import happening, runs_of
from tests.simgridcases import ordered_pairs, routes_alike, torus_route

PAGE = Path(__file__).parents[1] / "docs" / "research" / "conformance.md"
_FLUX_JOBS = [
    *((8, 60), (10, 60), (12, 60), (14, 60), (16, 60), (6, 121), (4, 179), (4, 239)),
    *((2, 239), (2, 299), (2, 59)),
]
_TREE = {"kind": "fat-tree", "children": [8, 1], "parents": [1, 1]}
_LOGS = 100


class Case(NamedTuple):
    """A question with an answer from elsewhere, and ours."""

    source: str
    what: str
    expected: str
    ours: str


def cases() -> Iterator[Case]:
    """Compute all cases."""
    yield from _flux()
    yield _batsim_origin()
    yield from _definitions()
    yield _moldable()
    yield _failures()
    yield _feedback()
    yield _fair_share()
    yield from _shortest_ways()
    yield from _simgrid()
    yield from _simgrid_hosts()


def _starts(jobs: list[Job], name: str, options: dict[str, Any], n_nodes: int) -> dict[int, float]:
    """Return the start of each job on a machine of interchangeable nodes."""
    tree = build_fat_tree((n_nodes, 1), (1, 1), (1, 1), "1 GB/s")
    done = simulate(
        jobs,
        Cluster(tree),
        make_allocator("first-free", {}, 1),
        make_policy(name, options),
        estimate_s=lambda job: job.requested_s,
    )
    return {record.job.id: record.start_s for record in done.records}


def _flux() -> Iterator[Case]:
    """Jobs of flux-sched, t/t1003-qmanager-policy.t: 16 cores, one job cancelled after a second."""
    swapped = [*_FLUX_JOBS[:3], _FLUX_JOBS[4], _FLUX_JOBS[3], *_FLUX_JOBS[5:]]
    for policy, sizes, cancelled, queue, expected in (
        ("easy", _FLUX_JOBS, 6, ("easy", {}), "1, 6, 11; then 7, 9"),
        ("hybrid, depth 3", _FLUX_JOBS, 7, ("easy", {"reservation_depth": 3}), "1, 7, 11; then 9"),
        (
            "conservative",
            swapped,
            7,
            ("conservative", {"reservation": "node-count"}),
            "1, 7, 11; then none",
        ),
    ):
        jobs = [
            Job(n, 0.0, size, 1.0 if n == cancelled else 60.0 * minutes, 60.0 * minutes)
            for n, (size, minutes) in enumerate(sizes, start=1)
        ]
        found = _starts(jobs, *queue, 16)
        at_once, then = (
            ", ".join(str(job) for job in sorted(found) if found[job] == at_s) or "none"
            for at_s in (0.0, 1.0)
        )
        what = f"jobs that start at once, and when job {cancelled} is cancelled: {policy}"
        yield Case("Flux, `t1003-qmanager-policy.t`", what, expected, f"{at_once}; then {then}")


def _batsim_origin() -> Case:
    """Drop a job that is too large before the first that runs, which sets second 0."""
    rows = {"id": [1, 2, 3], "submit_s": [0, 1000, 1005], "n_nodes": [99, 4, 4]}
    jobs = pd.DataFrame({**rows, "runtime_s": [10, 10, 10]})
    run = fs.run(fs.Experiment(_TREE, jobs, model="null", self_check=False)).summary
    ours = f"{run['makespan_s']:g} s, {run['utilization_makespan']:.4f}"
    what = "makespan and utilisation where the first job is too large"
    return Case("Batsim, issue 69 (by hand: 80 of 120 node-seconds)", what, "15 s, 0.6667", ours)


def _logs(seed: int) -> list[tuple[int, float, float, int, float]]:
    """Return jobs by chance: number, submission, run time, nodes, estimate, in whole seconds."""
    chance, rows, at_s = random.Random(seed), [], 0.0  # noqa: S311 (jobs of a case)
    for number in range(15):
        at_s += chance.choice([0, 0, 1, 2, 5])
        run_s = float(chance.choice([3, 5, 8, 13, 20, 200]))
        wanted_s = float(max(1, int(run_s * chance.choice([0.5, 1, 1, 2, 3]))))
        rows.append((number, at_s, run_s, chance.randint(1, 8), wanted_s))
    return rows


def _definitions() -> Iterator[Case]:
    """Backfilling from its definition, counted node by node and second by second."""
    for source, what, queue, depth in (
        ("Feitelson and Weil 1998", "EASY", ("easy", {}), None),
        ("Flux, `hybrid`", "3 reservations", ("easy", {"reservation_depth": 3}), 3),
        (
            "Mu'alem and Feitelson 2001; CQSim",
            "conservative by node counts",
            ("conservative", {"reservation": "node-count"}),
            inf,
        ),
    ):
        equal = 0
        for seed in range(_LOGS):
            rows = _logs(seed)
            count = (
                CountingEasy(rows, 8, 50)
                if depth is None
                else CountingReservations(rows, 8, 50, depth=depth)
            )
            jobs = [Job(n, at, size, run, ask) for n, at, run, size, ask in rows]
            equal += _starts(jobs, *queue, 8) == count.run()
        expected, ours = f"{_LOGS} of {_LOGS} logs", f"{equal} of {_LOGS} logs"
        yield Case(source, f"every start: {what}, estimates right and wrong", expected, ours)


def _moldable() -> Case:
    """Jobs of up to four sizes under EASY, counted second by second."""
    equal = 0
    for seed in range(_LOGS):
        chance, rows, jobs = random.Random(seed), [], []  # noqa: S311 (jobs of a case)
        for number, at_s, run_s, first, _ in _logs(seed):
            others = [size for size in chance.sample(range(1, 9), 3) if size != first]
            sizes = [(first, run_s), *((size, float(chance.randint(1, 200))) for size in others)]
            rows.append((number, int(at_s), tuple((n, int(run), int(run)) for n, run in sizes)))
            jobs.append(Job(number, at_s, first, run_s, run_s, sizes=tuple(sizes)))
        starts = {number: at for number, (at, _) in CountingMolding(rows, 8, 50, 1).run().items()}
        equal += _starts(jobs, "easy", {}, 8) == starts
    what = "every start: moldable jobs, the size that ends first, under EASY"
    expected, ours = f"{_LOGS} of {_LOGS} logs", f"{equal} of {_LOGS} logs"
    return Case("by definition, after Cirne and Berman 2002", what, expected, ours)


def _failures() -> Case:
    """Nodes that go down and up, and a window: runs on numbered nodes, second by second."""
    equal, n_logs = 0, 100
    for seed in range(n_logs):
        chance = random.Random(seed)  # noqa: S311 (events of a case)
        rows = [(n, int(at), int(run), size, int(ask)) for n, at, run, size, ask in _logs(seed)]
        events = sorted(
            (chance.randint(0, 150), chance.choice(["down", "up", "drain"]), [chance.randint(0, 9)])
            for _ in range(6)
        )
        windows = [(40, 60, [2, 3, 4])]
        found = runs_of(rows, happening(events, windows))[:2]
        equal += found == NaiveOutages(rows, 16, events, windows).run()
    what = "every run with failures, drains and a maintenance under EASY"
    return Case("by definition", what, f"{n_logs} of {n_logs} logs", f"{equal} of {n_logs} logs")


def _feedback() -> Case:
    """Fields 17 and 18 of the Standard Workload Format."""
    jobs = [Job(1, 0.0, 1, 10.0, 10.0), Job(2, 3.0, 1, 10.0, 10.0, after=(1,), think_s=4.0)]
    found = _starts(jobs, "easy", {}, 8)
    what = "start of a job 4 s of thinking after one that ends at 10 s"
    return Case("Standard Workload Format, fields 17 and 18", what, "14 s", f"{found[2]:g} s")


def _fair_share() -> Case:
    """Slurm's classic fair-share factor, 2^(-U/S), with shares of 4 to 1."""
    jobs = [Job(1, 0.0, 4, 100.0, 100.0, user=1), Job(2, 0.0, 12, 100.0, 100.0, user=2)]
    jobs += [Job(n, 0.0, 16, 10.0, 10.0, user=user) for n, user in ((3, 1), (4, 2), (5, 3))]
    slurm = {"PriorityWeightFairshare": 10000, "PriorityDecayHalfLife": "10000-0"}
    found = _starts(jobs, "multifactor", {"slurm": slurm, "shares": {2: 4}}, 16)
    order = sorted((3, 4, 5), key=found.__getitem__)
    what = "users 3, 2, 1 of use 0, 12, 4 and shares 1, 4, 1"
    return Case("Slurm, *Multifactor Priority Plugin*", what, "5, 4, 3", ", ".join(map(str, order)))


def _shortest_ways() -> Iterator[Case]:
    """Lengths of routes between all nodes of small machines."""
    for name, spec in (
        ("fat-tree", {"kind": "fat-tree", "radix": 4}),
        ("torus", {"kind": "torus", "dims": [4, 3, 2]}),
    ):
        topology = make_topology(spec)
        graph = nx.DiGraph()
        graph.add_edges_from(
            zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True)
        )
        pairs = [(a, b) for a in range(topology.n_nodes) for b in range(topology.n_nodes) if a != b]
        src, dst = np.array(pairs).T
        hops = make_routing("shortest", topology, 1).routes(src, dst).hops.tolist()
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        equal = sum(n == lengths[a][b] for n, (a, b) in zip(hops, pairs, strict=True))
        expected, ours = f"{len(pairs)} of {len(pairs)} pairs", f"{equal} of {len(pairs)} pairs"
        yield Case("NetworkX", f"lengths of routes `shortest`, {name}", expected, ours)


def _platform(hosts: str, more: str) -> Topology:
    """Read a platform of SimGrid: hosts of 125 MB/s, 50 us from a switch or each other."""
    cluster = f'id="c" prefix="n" suffix="" radical="{hosts}" speed="1Gf" bw="125MBps" lat="50us"'
    text = f"<platform><cluster {cluster} {more}/></platform>"
    return read_simgrid(text, "platform", Settings())


def _simgrid() -> Iterator[Case]:
    """Platforms as SimGrid's own tests and examples describe them."""
    fabric = _platform("0-4", 'bb_bw="2.25GBps" bb_lat="500us"')
    links = make_routing("shortest", fabric).routes(np.array([0]), np.array([3])).of_flow(0)
    on_the_way = ", ".join(f"{rate / 1e6:g}" for rate, _ in groupby(fabric.capacity[links]))
    latency_s = fabric.latency_base_s + fabric.latency_per_link_s * (links.size - 1)
    ours = f"{on_the_way} MB/s; {1e6 * latency_s:g} us"
    source = "SimGrid, `flatifier.tesh`"
    what = "links between hosts on a backbone, and latency"
    yield Case(source, what, "125, 2250, 125 MB/s; 600 us", ours)

    torus = _platform("0-11", 'topology="TORUS" topo_parameters="3,2,2"')
    pairs = ordered_pairs(12)
    rule = partial(torus_route, (3, 2, 2))
    equal = routes_alike(torus, "dimension-order", pairs, rule, trim=1)
    yield Case(source, "routes of the torus 3,2,2", "132 of 132 pairs", f"{equal} of 132 pairs")

    limited = _platform("0-2", 'limiter_link="150MBps"')
    rates = [
        fs.flows({"topology": limited, "flows": flows, "fairness": "per-flow"}).report.rates
        for flows in ([[0, 1, 1e6]], [[0, 1, 1e6], [2, 0, 1e6]])
    ]
    ours = "; ".join(", ".join(f"{rate / 1e6:.4g}" for rate in own) for own in rates)
    what = "MB/s out of a limited host: alone; beside a message in"
    yield Case("SimGrid, `limiter_link` (by hand: 150 / 2)", what, "125; 75, 75", ours)


def _simgrid_hosts() -> Iterator[Case]:
    """Flows of clusters with limiters and loopback, as SimGrid 3.32 ends them (CM02)."""
    common = {"kind": "switch", "nodes": 8, "bandwidth": "1 GB/s", "latency": "none"}
    loop = {"loopback_bw": "2 GB/s", "loopback_lat": 0.5}
    for name, more, flows, expected in (
        ("limiter_link", {"limiter_link": "1.5 GB/s"}, *_LIMITED),
        ("loopback_bw", loop, [(0, 0, 3), (0, 0, 1), (0, 1, 3), (2, 0, 3)], [2, 1, 3, 3]),
    ):
        fabric = make_topology(common | more)
        src, dst, amount = (np.array(column) for column in zip(*flows, strict=True))
        routing = make_routing("shortest", fabric)
        ends = report_flows(fabric, routing, src, dst, 1e9 * amount, fairness="per-flow").finish_s
        what = f"ends of {len(flows)} flows on a cluster of 8 hosts, in seconds"
        texts = (", ".join(f"{end:.6g}" for end in own) for own in (expected, ends))
        yield Case(f"SimGrid 3.32, `{name}`", what, *texts)


_LIMITED = (
    [(2, 7, 8), (1, 4, 1), (7, 2, 9), (3, 1, 8), (7, 3, 3), (3, 5, 3)],
    [12.666667, 1, 13.666667, 11, 6, 6],
)
_HEAD = """# Beside other programs

Made by `python -m benchmarks.conformance` from a clone. Cases are written from the sources named; answers of
definitions are counted apart from the code. Tests hold more: `tests/cases`, `tests/naive`, and with reference
data SimGrid's routes and rates, OpenSM's tables and CODES' packets.

| source | what | expected | ours | |
| --- | --- | --- | --- | --- |
"""  # noqa: E501 (a page)
_TAIL = """
## Where programs differ

| question | others | here, and why |
| --- | --- | --- |
| nodes that jobs free at the very time of the head's reservation | Batsim's EASY lends only those of the jobs up to the one that frees enough | all: extra nodes are those free at the shadow time (Feitelson and Weil 1998) |
| jobs that end and come at one instant | CQSim schedules after each single event | once, after all of them: no order within an instant is part of a log |
| half way round a ring | SimGrid: plus, but minus from the middle to 0 | plus, as its rule says |
| a dragonfly's group, from a chassis above 0 to another blade | SimGrid goes on as in chassis 0: a black link too many or too few | along the row, then the column |
| `limiter_link` of clusters with switches | SimGrid limits every switch of a fat-tree or dragonfly too, and each node of a torus that a path passes | hosts alone: what a host sends and receives |
| a job past its estimate | Slurm, Flux and Batsim kill it | only under `kill_at_limit`; else it is expected to end 60 s from now, at each event anew |
"""  # noqa: E501 (a page)


def page(rows: list[Case]) -> str:
    """Return the page."""
    lines = [
        f"| {row.source} | {row.what} | {row.expected} | {row.ours} | "
        f"{'equal' if row.expected == row.ours else '**differs**'} |\n"
        for row in rows
    ]
    return _HEAD + "".join(lines) + _TAIL


def main() -> None:
    """Compute the cases; write the page or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; compare the page")
    check = parser.parse_args().check
    rows = list(cases())
    for row in rows:
        sys.stdout.write(f"{'equal  ' if row.expected == row.ours else 'DIFFERS'}  {row.what}\n")
    stale = check and PAGE.read_text(encoding="utf-8") != page(rows)
    if stale:
        sys.stdout.write(f"{PAGE.name} is of other answers.\n")
    if not check:
        replace_file(PAGE, page(rows).encode())
    sys.exit(stale or any(row.expected != row.ours for row in rows))


if __name__ == "__main__":
    main()
