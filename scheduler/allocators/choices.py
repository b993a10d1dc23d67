"""Checks of allocator options and of the fabric that an allocator needs."""

from collections.abc import Sequence
from functools import lru_cache

from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from scheduler.errors import AllocationError

BEST_FIT, INDEX = "best-fit", "index"
_TWO_LEVELS, _THREE_LEVELS = 2, 3


def check_choice(option: str, value: object, choices: Sequence[str]) -> None:
    """
    Refuse an option that is not among its choices.

    Parameters
    ----------
    option : str
        Name of the option.
    value : object
        What came.
    choices : sequence of str
        What is allowed.

    Raises
    ------
    AllocationError
        If the value is not allowed.
    """
    if value not in choices:
        raise AllocationError(
            f"option {option!r} must be one of {', '.join(choices)}; got {value!r}."
        )


def check_flag(option: str, value: object) -> None:
    """
    Refuse an option that is neither true nor false.

    Parameters
    ----------
    option : str
        Name of the option.
    value : object
        What came.

    Raises
    ------
    AllocationError
        If the value is no bool.
    """
    if not isinstance(value, bool):
        raise AllocationError(f"option {option!r} must be true or false, got {value!r}.")


def check_count(option: str, value: object, least: int) -> None:
    """
    Refuse an option that is no integer or too small.

    Parameters
    ----------
    option : str
        Name of the option.
    value : object
        What came.
    least : int
        The smallest value allowed.

    Raises
    ------
    AllocationError
        If the value is no int or less than `least`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise AllocationError(f"option {option!r} must be an integer from {least}, got {value!r}.")


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
