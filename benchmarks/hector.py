"""
Repeat seed 002: how much closer than FIFO-0 (first free) its allocators place jobs.

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
from dataclasses import dataclass

import numpy as np
from evidence import record, verdict
from placements import events, machines, replay
from scipy.stats import ttest_rel

from netsim.arrays import Bools, Floats, Ints
from netsim.distance import average_pairwise_hops
from netsim.topology.base import Topology
from scheduler.allocators import make_allocator
from scheduler.allocators.closest_hops import TableHops, window_hops
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.ordering import ORDERINGS
from scheduler.workload.synthetic import hector_like

N_JOBS = 20_000
SMALL = 10  # nodes of the largest small job
SMALL_SHARE = 9 / 133  # of the job sizes of the paper
FEWEST = 31  # jobs of a size that is reported (section 2.5.2)
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


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """What an allocator changes against the reference."""

    overall: float  # per cent, mean over job sizes
    small: float
    large: float
    by_node_time: float  # per cent, over all jobs
    hops: float  # mean over job sizes
    t: float  # paired t-test over jobs of at least two nodes
    p: float  # of no improvement

    @property
    def at_paper_weights(self) -> float:
        """Overall improvement if small sizes were as few as in the paper, per cent."""
        return SMALL_SHARE * self.small + (1 - SMALL_SHARE) * self.large

    @property
    def holds(self) -> bool:
        """Whether it improves overall, and significantly."""
        return self.overall > 0 and self.p < SIGNIFICANT


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


def gain(sizes: Ints, node_s: Floats, before: Floats, after: Floats) -> Gain:
    """Compare the MIND of the same jobs under the reference and another allocator."""
    several = sizes > 1
    names, count = np.unique(sizes[several], return_counts=True)
    names = names[count >= FEWEST]
    means = np.array([[mind[sizes == size].mean() for size in names] for mind in (before, after)])
    improved = 100 * (1 - means[1] / means[0])

    def mean(chosen: Bools) -> float:
        return float(improved[chosen].mean())

    test = ttest_rel(before[several], after[several], alternative="greater")
    return Gain(
        overall=mean(names > 0),
        small=mean(names <= SMALL),
        large=mean(names > SMALL),
        by_node_time=100 * (1 - float(node_s @ after) / float(node_s @ before)),
        hops=float((means[0] - means[1]).mean()),
        t=float(test.statistic),
        p=float(test.pvalue),
    )


def measure(
    fabric: Topology, jobs: Sequence[Job], log: Sequence[tuple[Job, bool]], order: str
) -> dict[str, Gain]:
    """Return the gains on one machine, best first."""
    mind_of_nodes = mind_of(fabric)
    sizes = np.array([job.n_nodes for job in jobs])
    node_s = sizes * np.array([job.runtime_s for job in jobs])
    minds: dict[str, Floats] = {}
    for rule, (name, options) in RULES.items():
        along = {} if rule == REFERENCE else {"order": order}
        cluster = Cluster(fabric)
        placed = replay(log, cluster, make_allocator(name, {**options, **along}, seed=1))
        minds[rule] = np.array([mind_of_nodes(one.nodes(cluster.nodes_per_leaf)) for one in placed])
    gains = {
        rule: gain(sizes, node_s, minds[REFERENCE], mind)
        for rule, mind in minds.items()
        if rule != REFERENCE
    }
    return dict(sorted(gains.items(), key=lambda item: -item[1].overall))


def _small(p: float) -> str:
    """Write a probability, also one too small for a float."""
    return f"{p:.1g}" if p else "< 1e-300"


def page(machine: str, gains: dict[str, Gain]) -> list[str]:
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
        f"| {rule} | {one.overall:.2f} | {one.small:.2f} | {one.large:.2f} "
        f"| {one.at_paper_weights:.2f} | {paper.get(rule, '')} | {one.by_node_time:.2f} "
        f"| {one.hops:.3f} | {one.t:.1f} | {_small(one.p)} |"
        for rule, one in gains.items()
    ]
    change = gains["Closest"].hops
    lines += ["", f"Closest Fit, mean change: {change:.3f} hops (paper: {PAPER_CHANGE[machine]})."]
    for rule in MUST_IMPROVE:
        lines.append(f"- {rule} improves on FIFO-0 (p < 0.05): {verdict(gains[rule].holds)}")
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
    holds = True
    for machine, fabric in machines().items():
        gains = measure(fabric, jobs, log, arguments.order)
        holds &= all(gains[rule].holds for rule in MUST_IMPROVE)
        part = page(machine, gains)
        print("\n".join(part))
        lines += part
    order = f"Order of the paper on the 3D torus (sections 4.2 to 5.4, Table 1): {PAPER_ORDER}."
    print(order)
    if (arguments.jobs, arguments.seed, arguments.order) == (N_JOBS, 1, "row-major"):
        record("Compactness on HECToR", "python benchmarks/hector.py", [*lines, order])
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
