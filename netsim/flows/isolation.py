"""Isolation: which jobs share which directed links."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from fabricsim.checking import wrong
from netsim.common.arrays import Bools, Ints, distinct_numbers, numbers_below
from netsim.common.errors import PartitionError
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


def shared_links(links_of_job: Sequence[Ints]) -> dict[int, list[int]]:
    """
    Return the directed links that more than one job uses, and which jobs.

    Parameters
    ----------
    links_of_job : sequence of int arrays
        Directed links that each job uses, in any order, repeats allowed: `used_links` of its
        routes, or `minimal_links` for every minimal routing.

    Returns
    -------
    dict of int to list of int
        Jobs, by place in the sequence, of every shared link; links and jobs ascending.

    Examples
    --------
    >>> shared_links([np.array([4, 7, 7]), np.array([5]), np.array([7, 9])])
    {7: [0, 2]}
    """
    if isinstance(links_of_job, (str, Mapping)):
        raise wrong("links_of_job", "a list of lists of links", links_of_job, PartitionError)
    once = [
        distinct_numbers(numbers_below(f"links_of_job[{job}]", links, 2**40, PartitionError))
        for job, links in enumerate(links_of_job)
    ]
    if not once:
        return {}
    link = np.concatenate(once)
    job = np.repeat(np.arange(len(once)), [part.size for part in once])
    order = np.argsort(link, kind="stable")
    link, job = link[order], job[order]
    values, first, count = np.unique(link, return_index=True, return_counts=True)
    shared = np.flatnonzero(count > 1)
    return {int(values[i]): job[first[i] : first[i] + count[i]].tolist() for i in shared}


def groups_that_share(used: Sequence[Ints]) -> list[list[int]]:
    """
    Return the groups of jobs that share links, directly or through others; and lone jobs.

    `used`: numbers of links, or of what stands for them, of each job. Result: places in the
    sequence, ascending.
    """
    label = list(range(len(used)))

    def root(member: int) -> int:
        while label[member] != member:
            label[member] = member = label[label[member]]
        return member

    for members in shared_links(used).values():
        for member in members[1:]:
            one, other = sorted((root(members[0]), root(member)))
            label[other] = one
    groups: dict[int, list[int]] = {}
    for member in range(len(used)):
        groups.setdefault(root(member), []).append(member)
    return list(groups.values())


def used_links(routes: Routes) -> Ints:
    """Return the directed links that any flow crosses, ascending."""
    return np.unique(routes.links)


def minimal_links(topology: Topology, src: Ints, dst: Ints) -> Ints:
    """Return links on any shortest path of any flow: what some minimal routing could use."""
    if isinstance(topology, FatTree):
        return np.flatnonzero(_minimal_in_tree(topology, src, dst))
    return np.flatnonzero(_minimal_in_graph(topology, src, dst))


def _minimal_in_tree(tree: FatTree, src: Ints, dst: Ints) -> Bools:
    """Mark all links up from what lies above a source, and down to what is above its target."""
    marked = np.zeros(tree.n_links, dtype=np.bool_)
    turn = tree.turning_level(src, dst)
    for level in range(tree.levels):
        below = prod(tree.children[:level])
        width = prod(tree.parents[:level]) * tree.ports[level]  # up-ports above one such subtree
        ports = np.arange(width)
        for base, end in ((tree.up_base[level], src), (tree.down_base[level], dst)):
            subtree = np.unique(end[turn > level] // below)
            marked[base + subtree[:, None] * width + ports] = True
    return marked


def _minimal_in_graph(topology: Topology, src: Ints, dst: Ints) -> Bools:
    """Mark the links that lie on a shortest path: distances before and after add up."""
    size = topology.n_nodes + topology.n_switches
    tail, head = topology.link_tail, topology.link_head
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415

    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(size, size))
    sources, from_row = np.unique(src, return_inverse=True)
    targets, to_row = np.unique(dst, return_inverse=True)
    before = shortest_path(graph, unweighted=True, indices=sources)
    after = shortest_path(graph.T.tocsr(), unweighted=True, indices=targets)
    marked = np.zeros(tail.size, dtype=np.bool_)
    for row in range(sources.size):
        ends = np.unique(to_row[from_row == row])
        through = before[row, tail] + 1 + after[ends][:, head]
        length = before[row, targets[ends]]
        marked |= np.any((through == length[:, None]) & (length[:, None] > 0), axis=0)
    return marked
