"""One static table for all traffic of a job: what collides under it, and a search for a better."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints, Table
from netsim.common.errors import PartitionError, RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.partition import Partition, TreePartition, on_tree
from netsim.routing.base import RankRouting, Routing, flow_ends
from netsim.routing.multipath import single_paths
from netsim.routing.updown import up_down_routes
from netsim.routing.wraparound import l2_candidates, l2_key, leaf_candidates
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_BATCH = 200_000  # flows routed at once: tens of MB
_ALL_TABLES = 100_000  # tables tried one by one; more are searched


@dataclass(frozen=True, slots=True)
class TableReport:
    """How permutations fare under one static table."""

    # shifts, shifts_clean, shifts_worst: shifts of the ranks by 1..n-1, those with at most one flow
    # on every link between switches, and the largest load of any
    shifts: int
    shifts_clean: int
    shifts_worst: int
    # random, random_clean, random_worst: the same for random permutations
    random: int
    random_clean: int
    random_worst: int
    random_mean: float  # mean of their largest loads; 0 without any


@dataclass(frozen=True, slots=True, eq=False)
class JobTable:
    """A static table for the traffic inside one job; a routing like any other."""

    job: TreePartition  # the job, on a tree without parallel cables
    leaf_port: Ints  # (L, n): up-port of every leaf towards every node of the job
    # (P, l2_per_pod, n): up-port of every L2 switch towards every node; no L2 ports in a two-level
    # tree
    l2_port: Ints

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
    ) -> Routes:
        """Route flows between nodes of the job."""
        del partition
        job, tree = self.job, self.job.tree
        src, dst = flow_ends(src, dst, tree)
        to = job.index(dst)
        leaf = job.leaf_of_node[job.index(src)]
        ports = np.zeros((tree.levels, src.size), dtype=np.int64)
        ports[1] = self.leaf_port[leaf, to]
        if self.l2_port.size:
            ports[2] = self.l2_port[job.pod_of_leaf[leaf], ports[1], to]
        return up_down_routes(tree, src, dst, ports, np.zeros_like(ports))


@dataclass(frozen=True, slots=True, eq=False)
class TableSearch:
    """The best static table found for a pattern."""

    table: JobTable
    # clean, steps: steps of the pattern with at most one flow on every link, of how many
    clean: int
    steps: int
    # (steps + 1,): tables with 0, 1, ... clean steps where all were tried; None where entries were
    # changed one by one.
    histogram: Ints | None


def static_table_report(
    topology: Topology,
    routing: Routing,
    partition: Partition,
    *,
    n_random: int = 500,
    seed: int = 1,
) -> TableReport:
    """Count the shifts and random permutations without contention under a routing."""
    _, first = np.unique(partition.nodes, return_index=True)
    nodes = partition.nodes[np.sort(first)]
    rank = np.arange(nodes.size)
    shifts = (rank + np.arange(1, nodes.size)[:, None]) % nodes.size
    rng = np.random.default_rng(seed)
    rows = max(1, _BATCH // max(rank.size, 1))  # drawn at once: the draws are the same
    batches = [min(rows, n_random - begin) for begin in range(0, n_random, rows)]
    drawn = (rng.permuted(np.tile(rank, (count, 1)), axis=1) for count in batches)
    loads = [
        np.concatenate(
            [np.zeros(0, dtype=np.int64)]
            + [largest_loads(topology, routing, partition, nodes, nodes[part]) for part in parts]
        )
        for parts in ([shifts], drawn)
    ]
    return TableReport(
        shifts=loads[0].size,
        shifts_clean=int(np.sum(loads[0] <= 1)),
        shifts_worst=int(loads[0].max(initial=0)),
        random=n_random,
        random_clean=int(np.sum(loads[1] <= 1)),
        random_worst=int(loads[1].max(initial=0)),
        random_mean=float(loads[1].mean()) if n_random else 0.0,
    )


def largest_loads(
    topology: Topology, routing: Routing, partition: Partition, src: Ints, dst: Ints
) -> Ints:
    """Return the most flows on a link between switches for each of K permutations."""
    n_nodes, n_links = topology.n_nodes, topology.n_links
    single_paths(routing, "counting flows on links needs", RoutingError)
    ways = RankRouting(topology, routing)
    largest = np.zeros(dst.shape[0], dtype=np.int64)
    batch = max(1, _BATCH // max(src.size, 1))
    for start in range(0, dst.shape[0], batch):
        rows = dst[start : start + batch]
        routes, parts = ways.of_nodes(np.tile(src, rows.shape[0]), rows.ravel(), partition)
        row = np.repeat(np.arange(rows.shape[0]), src.size)
        row = np.repeat(row if parts is None else row[parts.flow], routes.hops)
        ends = topology.link_tail[routes.links], topology.link_head[routes.links]
        between = np.minimum(*ends) >= n_nodes
        used, load = np.unique(row[between] * n_links + routes.links[between], return_counts=True)
        np.maximum.at(largest, start + used // n_links, load)
    return largest


def search_static_table(
    tree: FatTree,
    partition: Partition,
    steps: Sequence[tuple[Ints, Ints]],
    *,
    tries: int = 20_000,
    seed: int = 1,
) -> TableSearch:
    """
    Look for a static table under which as many steps of a pattern as possible are clean.

    An entry may depend on switch and destination, so there are many more tables than rules. Up to
    100,000 are tried one by one; else entries of flows that share a link are changed at random,
    where the number of flows too many does not rise.
    """
    job = on_tree(tree, partition)
    if max(tree.parallel) > 1:
        raise PartitionError(
            f"the search needs a tree without parallel cables, got {tree.summary}."
        )
    options, choice = _options(job)
    start = np.concatenate([[0], np.cumsum(options.sum(axis=1))])
    values = np.ascontiguousarray(np.nonzero(options)[1])
    kernels = load_kernels("netsim.nonblocking.static_table_kernels", "table search", seconds=5)
    rows, first = _flows(job, steps, kernels.FLOW)
    if np.any(np.diff(start)[rows["leaf_entry"]] == 0):
        raise PartitionError("the job's links do not join all nodes that exchange flows.")
    spines = tree.ports[2] if tree.levels > 2 else 1  # noqa: PLR2004
    free = _free(job, rows, start)
    flows, entries = kernels.Flows(rows, first, spines), kernels.Entries(start, values)
    histogram = None
    if sum(np.log(np.diff(start)[free])) <= np.log(_ALL_TABLES):
        histogram = kernels.all_tables(flows, free, entries, choice, tree.n_links)
        clean = int(np.flatnonzero(histogram)[-1])
    else:
        clean = kernels.improve_table(flows, entries, choice, tree.n_links, tries, seed)
    return TableSearch(_table(job, choice), clean, len(steps), histogram)


def _options(job: TreePartition) -> tuple[Bools, Ints]:
    """Return the ports that entries (leaf, node), (pod, node, L2) may hold, and wraparound's."""
    n_leaves, n_pods, n = job.leaves.size, job.pods.size, job.nodes.size
    leaf, node = np.divmod(np.arange(n_leaves * n), n)
    at_leaf = leaf_candidates(job, leaf, job.leaf_of_node[node])
    at_leaf[leaf == job.leaf_of_node[node]] = False
    key = [job.slot[node]]
    parts = [at_leaf]
    if n_pods > 1:
        n_l2 = job.tree.parents[1]
        pod, node, index = np.unravel_index(np.arange(n_pods * n * n_l2), (n_pods, n, n_l2))
        target = job.pod_of_leaf[job.leaf_of_node[node]]
        at_l2 = l2_candidates(job, pod * n_l2 + index, target * n_l2 + index)
        at_l2[pod == target] = False
        parts.append(at_l2)
        key.append(l2_key(job)[node])
    width = max(part.shape[1] for part in parts)
    options = np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
    count = options.sum(axis=1)
    place = np.concatenate(key) % np.maximum(count, 1)
    choice: Ints = np.argmax(np.cumsum(options, axis=1) > place[:, None], axis=1)
    return options, choice


def _flows(
    job: TreePartition, steps: Sequence[tuple[Ints, Ints]], record: np.dtype[np.void]
) -> tuple[Table, Ints]:
    """Return the rows that the kernels read, and the first row of every step."""
    tree, n = job.tree, job.nodes.size
    n_l2 = tree.parents[1]
    rows, first = [np.empty(0, dtype=record)], [0]
    for src, dst in steps:
        to = job.index(dst)
        s, d = job.leaf_of_node[job.index(src)], job.leaf_of_node[to]
        p, q = job.pod_of_leaf[s], job.pod_of_leaf[d]
        row = np.full(src.size, -1, dtype=record)
        row["leaf_entry"] = s * n + to
        row["leaf_up"] = tree.up_base[1] + job.leaves[s] * tree.ports[1]
        row["leaf_down"] = tree.down_base[1] + job.leaves[d] * tree.ports[1]
        far = p != q
        if far.any():
            row["l2_up"][far] = tree.up_base[2] + job.pods[p[far]] * n_l2 * tree.ports[2]
            row["l2_down"][far] = tree.down_base[2] + job.pods[q[far]] * n_l2 * tree.ports[2]
            row["l2_entry"][far] = job.leaves.size * n + (p[far] * n + to[far]) * n_l2
        rows.append(row[s != d])
        first.append(first[-1] + rows[-1].shape[0])
    return np.concatenate(rows), np.array(first, dtype=np.int64)


def _free(job: TreePartition, flows: Table, start: Ints) -> Ints:
    """Return the entries that flows may read and that have a choice."""
    used = np.zeros(start.size - 1, dtype=np.bool_)
    used[flows["leaf_entry"]] = True
    at_l2 = np.unique(flows["l2_entry"][flows["l2_entry"] >= 0])
    used[(at_l2[:, None] + np.arange(job.tree.parents[1])).ravel()] = True
    return np.flatnonzero(used & (np.diff(start) > 1))


def _table(job: TreePartition, choice: Ints) -> JobTable:
    """Shape the entries as a table."""
    n_leaves, n_pods, n = job.leaves.size, job.pods.size, job.nodes.size
    shape = (n_pods, n, job.tree.parents[1]) if n_pods > 1 else (0, 0, 0)
    at_l2 = choice[n_leaves * n :][: prod(shape)].reshape(shape)
    return JobTable(job, choice[: n_leaves * n].reshape(n_leaves, n), at_l2.transpose(0, 2, 1))
