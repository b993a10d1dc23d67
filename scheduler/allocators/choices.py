"""Checks of allocator options and of the fabric that an allocator needs."""

from functools import lru_cache, partial

from fabricsim.checking import choice, flag, whole
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.errors import AllocationError

BEST_FIT, INDEX = "best-fit", "index"
_TWO_LEVELS, _THREE_LEVELS = 2, 3


check_choice = partial(choice, error=AllocationError)
check_flag = partial(flag, error=AllocationError)
check_count = partial(whole, error=AllocationError)


@lru_cache(maxsize=16)
def require_tree(allocator: str, fabric: Topology) -> FatTree:
    """
    Return the fabric as a two- or three-level fat-tree, full or tapered.

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
    if (
        not isinstance(fabric, FatTree)
        or fabric.levels not in (_TWO_LEVELS, _THREE_LEVELS)
        or fabric.ports[0] != 1
    ):
        raise AllocationError(
            f"allocator {allocator!r} needs a fat-tree of 2 or 3 levels with one link per node, "
            f"got {fabric.name}."
        )
    return fabric


@lru_cache(maxsize=16)
def require_full_tree(allocator: str, fabric: Topology) -> FatTree:
    """
    Return the fabric as a full two- or three-level fat-tree.

    Parameters
    ----------
    allocator : str
        Who needs it, for the message.
    fabric : Topology
        The machine.

    Returns
    -------
    FatTree
        The fabric: a switch below the top has as many uplinks as downlinks, and parallel
        cables exist at the top level only, where each stands for a virtual parent (cable k
        to parent j is up-port ``q = j + w * k`` in every pod, so equal q meet).

    Raises
    ------
    AllocationError
        If it is no such tree; the message names what does not fit.
    """
    tree = require_tree(allocator, fabric)
    need = f"allocator {allocator!r} needs a full fat-tree"
    if tree.ports[1] != tree.children[0]:
        raise AllocationError(
            f"{need}: as many uplinks per leaf as nodes ({tree.children[0]}), "
            f"but {tree.name} has {tree.ports[1]}."
        )
    if tree.levels == _THREE_LEVELS and tree.parallel[1] != 1:
        raise AllocationError(
            f"{need} with one cable between a leaf and an L2 switch, "
            f"but {tree.name} has {tree.parallel[1]}."
        )
    if tree.levels == _THREE_LEVELS and tree.ports[2] != tree.children[1]:
        raise AllocationError(
            f"{need}: as many uplinks per L2 switch as leaves in its pod ({tree.children[1]}), "
            f"but {tree.name} has {tree.ports[2]}."
        )
    return tree
