"""Checks of allocator options and of the fabric that an allocator needs."""

from collections.abc import Callable
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


def largest(fits: Callable[[int], object], size: int) -> str:
    """
    Say how large a job may be that owns an uplink for each of its nodes on several leaves.

    `fits`: places a job of so many nodes on the empty machine, or returns None. `size`: does not
    fit.
    """
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) is None else (middle, high)
    return (
        f" On several leaves a job owns as many uplinks as nodes on each, to the same switches: "
        f"{low} nodes fit."
    )
