"""Checks of allocator options and of the fabric that an allocator needs."""

from functools import lru_cache, partial

from fabricsim.checking import choice, flag, whole
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError

BEST_FIT, INDEX = "best-fit", "index"
_TWO_LEVELS, _THREE_LEVELS = 2, 3


check_choice = partial(choice, error=AllocationError)
check_flag = partial(flag, error=AllocationError)
check_count = partial(whole, error=AllocationError)


@lru_cache(maxsize=16)
def require_tree(allocator: str, fabric: Topology) -> FatTree:
    """
    Return the fabric as a two- or three-level fat-tree: full, tapered, damaged, with any cables.

    Parameters
    ----------
    allocator : str
        Who needs it, for the message.
    fabric : Topology
        The machine.

    Returns
    -------
    FatTree
        The fabric.

    Raises
    ------
    AllocationError
        If it is no such tree, or nodes have several links.
    """
    need = f"allocator {allocator!r} needs a fat-tree of 2 or 3 levels with one link per node, got"
    if not isinstance(fabric, FatTree):
        why = fabric.origin.irregularity.rstrip(".") if fabric.origin is not None else ""
        hint = "as_tree = true in its description takes it as one of which parts are missing"
        raise AllocationError(f"{need} {fabric.name}{f': {why}; {hint}' if why else ''}.")
    if fabric.levels not in (_TWO_LEVELS, _THREE_LEVELS) or fabric.ports[0] != 1:
        raise AllocationError(f"{need} {fabric.name}.")
    return fabric


def uplinks_needed(cluster: Cluster) -> str:
    """Say how many nodes a job on several leaves can have, each with an uplink of its own."""
    pairs = zip(cluster.leaf_nodes, cluster.leaf_links, strict=True)
    most = sum(min(nodes.bit_count(), links.bit_count()) for nodes, links in pairs)
    return (
        f" On several leaves a job has as many uplinks of its own as nodes on each, of which there "
        f"are {most} in all."
    )
