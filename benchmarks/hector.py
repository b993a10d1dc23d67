"""
Repeat Stoltzfus13: how much closer than FIFO-0 (first free) its allocators place jobs.

A load with HECToR's job sizes is replayed on the paper's four machines under each allocator, by
places and removals alone. Improvement is the paper's: per job size with more than thirty jobs, how
much lower the mean MIND is than under FIFO-0, in per cent; then the plain mean over the sizes 2-10
(small), those above (large) and all. Single-node jobs have no MIND. That the paper's "overall" is
the mean over sizes follows from its tables: in all of them 9 small sizes weigh as 9 in 133. This
load has fewer large sizes with thirty jobs, so the mean with the paper's mix of small and large
sizes is given too.

Beside it: the improvement of MIND summed over all jobs with their node time as weight, and the
paired t-test over the jobs. Exit status 1 if Closest Fit or Largest Fit fails to improve anywhere.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.evidence import record, verdict
from benchmarks.placements import events, machines, replay
from coupling.results.mind import MindGain, mind_gain
from netsim.arrays import Floats, Ints
from netsim.distance import average_pairwise_hops
from netsim.topology.base import Topology
from scheduler.allocators import make_allocator
from scheduler.allocators.lists.hops import TableHops, window_hops
from scheduler.allocators.ordering import ORDERINGS
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.workload.synthetic import hector_like

N_JOBS = 20_000
SMALL_SHARE = 9 / 133  # of the job sizes of the paper
SIGNIFICANT = 0.05  # section 6.4
REFERENCE = "FIFO-0"
RULES = {
    REFERENCE: ("fifo", {"k": 0}),
    "FIFO-32": ("fifo", {"k": 32}),
    "Fit-1": ("first-fit", {"gap": 1}),
    "Fit-8": ("first-fit", {"gap": 8}),
    "FifoFit64-8": ("fifo-fit", {"k": 64, "gap": 8}),
    "Varying": ("varying-fit", {}),
    "Largest-1": ("largest-fit", {"gap": 1}),
    "Largest-2": ("largest-fit", {"gap": 2}),
    "Largest-4": ("largest-fit", {"gap": 4}),
    "Largest-8": ("largest-fit", {"gap": 8}),
    "Largest-8, whole runs": ("largest-fit", {"gap": 8, "whole_runs": True}),
    "Closest": ("closest-fit", {}),
    "ClosestMind": ("closest-fit-mind", {}),
}
MUST_IMPROVE = ("Closest", "Largest-1", "Largest-8")
PAPER = {  # overall improvement in per cent: Tables 1, 4, 5 and 6
    "3D torus": {"Closest": 30.88, "Largest-8": 29.037, "Largest-4": 28.94},
    "dragonfly, best case": {"Closest": 35.21, "Largest-1": 33.28, "Largest-2": 33.17},
    "dragonfly, worst case": {"Closest": 40.59, "Largest-8": 36.48, "Largest-1": 36.04},
    "5D torus": {"Closest": 23.48, "Largest-8": 20.37, "Largest-2": 19.98},
}
PAPER_CHANGE = {  # mean change in MIND under Closest Fit, hops: Table 8
    "3D torus": 1.89,
    "dragonfly, best case": 0.424,
    "dragonfly, worst case": 0.702,
    "5D torus": 0.901,
}
PAPER_ORDER = (
    "ClosestMind > Closest > Largest-8 > Largest-4 > FifoFit64-8 > Fit-8 > Varying > Fit-1"
)


def at_paper_weights(gain: MindGain) -> float:
    """Overall improvement if small sizes were as few as in the paper."""
    return SMALL_SHARE * gain.small + (1 - SMALL_SHARE) * gain.large


def holds(gain: MindGain) -> bool:
    """Whether it improves overall, and significantly."""
    return gain.overall > 0 and gain.p < SIGNIFICANT


def mind_of(fabric: Topology) -> Callable[[Ints], float]:
    """Return a function that gives the MIND of nodes, quick on dragonflies too."""
    form = window_hops(fabric)
    if not isinstance(form, TableHops):
        return lambda nodes: average_pairwise_hops(fabric, nodes)
    table = form

    def by_groups(nodes: Ints) -> float:
        group, count = np.unique(table.group[nodes], return_counts=True)
        pairs = nodes.size * (nodes.size - 1)
        return float(count @ table.hops[np.ix_(group, group)] @ count) / max(1, pairs)

    some = fabric.usable_nodes[:: fabric.n_nodes // 50]
    assert np.isclose(by_groups(some), average_pairwise_hops(fabric, some))
    return by_groups


def measure(
    fabric: Topology, jobs: Sequence[Job], log: Sequence[tuple[Job, bool]], order: str
) -> dict[str, MindGain]:
    """Return the gains on one machine, best first."""
    mind_of_nodes = mind_of(fabric)
    sizes = np.array([job.n_nodes for job in jobs])
    node_s = sizes * np.array([job.runtime_s for job in jobs])
    minds: dict[str, Floats] = {}
    for rule, (name, options) in RULES.items():
        along = {} if rule == REFERENCE else {"order": order}
        cluster = Cluster(fabric)
        placed = replay(log, cluster, make_allocator(name, {**options, **along}, seed=1))
        minds[rule] = np.array([mind_of_nodes(one.nodes()) for one in placed])
    gains = {
        rule: mind_gain(sizes, node_s, minds[REFERENCE], mind)
        for rule, mind in minds.items()
        if rule != REFERENCE
    }
    return dict(sorted(gains.items(), key=lambda item: -item[1].overall))


def _small(p: float) -> str:
    """Write a probability, also one too small for a float."""
    return f"{p:.1g}" if p else "< 1e-300"


def page(machine: str, gains: dict[str, MindGain]) -> list[str]:
    """Return the table of a machine."""
    paper = PAPER[machine]
    head = (
        "| allocator | overall % | small % | large % | paper's mix % | paper % | by node time % "
        "| hops | t | p |"
    )
    lines = [
        f"**{machine}**",
        "",
        head,
        "| --- |" + 9 * " ---: |",
    ]
    lines += [
        f"| {rule} | {100 * one.overall:.2f} | {100 * one.small:.2f} | {100 * one.large:.2f} "
        f"| {100 * at_paper_weights(one):.2f} | {paper.get(rule, '')} "
        f"| {100 * one.by_node_time:.2f} "
        f"| {one.hops:.3f} | {one.t:.1f} | {_small(one.p)} |"
        for rule, one in gains.items()
    ]
    change = gains["Closest"].hops
    lines += ["", f"Closest Fit, mean change: {change:.3f} hops (paper: {PAPER_CHANGE[machine]})."]
    for rule in MUST_IMPROVE:
        lines.append(f"- {rule} improves on FIFO-0 (p < 0.05): {verdict(holds(gains[rule]))}")
    return [*lines, ""]


def main() -> None:
    """Replay, print, record."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--jobs", type=int, default=N_JOBS, help="placements to replay")
    parser.add_argument("--seed", type=int, default=1, help="of the load")
    parser.add_argument("--order", choices=ORDERINGS, default="row-major", help="but for FIFO-0")
    arguments = parser.parse_args()
    jobs = hector_like(arguments.jobs, arguments.seed).jobs
    log = list(events(jobs))
    lines = [f"MIND against FIFO-0, {len(jobs):,} placements of a HECToR-like load.", ""]
    all_hold = True
    for machine, fabric in machines().items():
        gains = measure(fabric, jobs, log, arguments.order)
        all_hold &= all(holds(gains[rule]) for rule in MUST_IMPROVE)
        part = page(machine, gains)
        print("\n".join(part))
        lines += part
    order = f"Order of the paper on the 3D torus (sections 4.2 to 5.4, Table 1): {PAPER_ORDER}."
    print(order)
    if (arguments.jobs, arguments.seed, arguments.order) == (N_JOBS, 1, "row-major"):
        record("Compactness on HECToR", "python -m benchmarks.hector", [*lines, order])
    sys.exit(0 if all_hold else 1)


if __name__ == "__main__":
    main()
