"""Fabrics whose switches choose the way of each packet: link groups that stand for one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.topology.base import Multipath, Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import links_in_service


@dataclass(frozen=True, slots=True, eq=False)
class LinkGroups:
    """Links of a tree among which switches choose freely, level by level and rail by rail."""

    # (E,): the link that stands for each link's link group: the lowest one in service, or the
    # lowest one where none is; links of nodes stand for themselves
    of: Ints
    # (E,): bytes per second of all links in service of the link group, at the link that stands for
    # it; of the link itself elsewhere
    capacity: Floats


def has_link_groups(topology: Topology) -> bool:
    """Say whether a fabric is a tree, or hangs on one, so that links stand for each other."""
    return isinstance(topology, (FatTree, GpuCluster))


def link_groups(tree: Topology) -> LinkGroups:
    """
    Return the link groups of a tree, or of the tree that a GPU cluster hangs on.

    The up-links above one subtree lead to the same switches, so a packet that leaves it may take
    any; and the same links downwards bring it in. Where nodes have several rails, each rail has
    link groups of its own.
    """
    if isinstance(tree, GpuCluster):
        inner = link_groups(tree.endpoint_tree)
        more = np.arange(inner.of.size, tree.n_links)
        capacity = np.concatenate([inner.capacity, tree.capacity[more]])
        return LinkGroups(np.concatenate([inner.of, more]), capacity)
    assert isinstance(tree, FatTree)  # noqa: S101 (as `has_link_groups` has it)
    there = links_in_service(tree)
    of, capacity = np.arange(tree.n_links), tree.capacity.copy()
    rails = tree.parents[0]
    for level in range(1, tree.levels):
        above = prod(tree.parents[:level])
        element = np.repeat(np.arange(tree.counts[level]), tree.ports[level])
        pool = element // above * rails + element % rails
        for base in (tree.up_base[level], tree.down_base[level]):
            links = base + np.arange(pool.size)
            works = there[links]
            order = np.lexsort((links, ~works, pool))
            first = np.unique(pool[order], return_index=True)[1]
            chief = links[order][first]
            of[links] = chief[pool]
            total = np.bincount(pool, weights=np.where(works, tree.capacity[links], 0.0))
            capacity[chief] = np.where(total > 0.0, total, tree.capacity[chief])
    return LinkGroups(of, capacity)


def link_names(topology: Topology) -> Callable[[int], str]:
    """Return how links are called in answers: a link group by its link and the number of others."""
    if topology.multipath is None or not has_link_groups(topology):
        return topology.link_name
    members = np.bincount(
        link_groups(topology).of[links_in_service(topology)], minlength=topology.n_links
    )

    def name(link: int) -> str:
        more = int(members[link]) - 1
        return topology.link_name(link) + (f" and {more} more" if more > 0 else "")

    return name


def spread_over_links(topology: Topology, carried: Floats) -> Floats:
    """Spread what link groups carried (..., E) over their links in service by capacity."""
    if topology.multipath is None or not has_link_groups(topology):
        return carried
    of = link_groups(topology).of
    works = links_in_service(topology)
    share = np.where(works, topology.multipath.capacity / topology.capacity[of], 0.0)
    found: Floats = carried[..., of] * share
    return found


def as_built(topology: Topology) -> Topology:
    """Return a fabric without what says that switches choose."""
    if topology.multipath is None:
        return topology
    return replace(topology, capacity=topology.multipath.capacity, multipath=None)


def with_multipath(topology: Topology, rule: str) -> Topology:
    """Return a fabric whose switches choose each packet's way; link groups have joint capacity."""
    plain = as_built(topology)
    capacity = link_groups(plain).capacity if has_link_groups(plain) else plain.capacity
    return replace(plain, capacity=capacity, multipath=Multipath(rule, plain.capacity))
