"""Allocators: where a job runs."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fabricsim.checking import build
from fabricsim.checking.onuse import on_use
from fabricsim.checking.registry import Registry
from scheduler.allocators.base import Allocator
from scheduler.errors import AllocationError

if TYPE_CHECKING:
    from scheduler.allocators.baselines import Contiguous, FirstFree, Scattered
    from scheduler.allocators.chooser import NodeChooser
    from scheduler.allocators.emergent import EmergentAdaptive
    from scheduler.allocators.jigsaw import Jigsaw, Laas
    from scheduler.allocators.lc import LeastConstrained, LeastConstrainedShared
    from scheduler.allocators.leaves import Adaptive, Balanced, Greedy, SlurmBestFit
    from scheduler.allocators.lists import (
        ClosestFit,
        ClosestFitMind,
        Fifo,
        FifoFit,
        FirstFit,
        LargestFit,
        VaryingFit,
    )
    from scheduler.allocators.ta import TopologyAware
    from scheduler.allocators.torus import CompactContiguous, NonContiguous, TorusChunk

__all__ = [
    "ALIASES",
    "ALLOCATORS",
    "Adaptive",
    "Allocator",
    "Balanced",
    "ClosestFit",
    "ClosestFitMind",
    "CompactContiguous",
    "Contiguous",
    "EmergentAdaptive",
    "Fifo",
    "FifoFit",
    "FirstFit",
    "FirstFree",
    "Greedy",
    "Jigsaw",
    "Laas",
    "LargestFit",
    "LeastConstrained",
    "LeastConstrainedShared",
    "NodeChooser",
    "NonContiguous",
    "Scattered",
    "SlurmBestFit",
    "TopologyAware",
    "TorusChunk",
    "VaryingFit",
    "make_allocator",
]

__getattr__, __dir__ = on_use(__name__)

ALLOCATORS: Registry[Callable[..., Allocator]] = Registry(
    {
        "adaptive": "scheduler.allocators:Adaptive",
        "balanced": "scheduler.allocators:Balanced",
        "closest-fit": "scheduler.allocators:ClosestFit",
        "closest-fit-mind": "scheduler.allocators:ClosestFitMind",
        "compact-contiguous": "scheduler.allocators:CompactContiguous",
        "contiguous": "scheduler.allocators:Contiguous",
        "emergent-adaptive": "scheduler.allocators:EmergentAdaptive",
        "fifo": "scheduler.allocators:Fifo",
        "fifo-fit": "scheduler.allocators:FifoFit",
        "first-fit": "scheduler.allocators:FirstFit",
        "first-free": "scheduler.allocators:FirstFree",
        "greedy": "scheduler.allocators:Greedy",
        "jigsaw": "scheduler.allocators:Jigsaw",
        "laas": "scheduler.allocators:Laas",
        "largest-fit": "scheduler.allocators:LargestFit",
        "lc": "scheduler.allocators:LeastConstrained",
        "lc+s": "scheduler.allocators:LeastConstrainedShared",
        "non-contiguous": "scheduler.allocators:NonContiguous",
        "random": "scheduler.allocators:Scattered",
        "slurm-best-fit": "scheduler.allocators:SlurmBestFit",
        "ta": "scheduler.allocators:TopologyAware",
        "torus-chunk": "scheduler.allocators:TorusChunk",
        "varying-fit": "scheduler.allocators:VaryingFit",
    }
)
ALIASES: dict[str, str] = {"baseline": "first-free"}


def make_allocator(name: str, options: Mapping[str, Any], seed: int) -> Allocator:
    """
    Make an allocator by name.

    Parameters
    ----------
    name : str
        Key of `ALLOCATORS` or `ALIASES`.
    options : mapping of str to any
        Its options.
    seed : int
        For allocators that draw at random, unless their options hold a seed.

    Returns
    -------
    Allocator
        A fresh one.

    Raises
    ------
    AllocationError
        If the name or an option is unknown, or a value is not allowed.

    Examples
    --------
    >>> make_allocator("jigsaw", {"order": "index"}, seed=1)
    Jigsaw(order='index', single_leaf_links=False)
    """
    key = ALIASES.get(name, name) if isinstance(name, str) else name
    found = build("allocator", key, ALLOCATORS, options, AllocationError, seed=seed)
    if not callable(getattr(found, "allocate", None)):  # one of the user's own
        raise AllocationError(f"allocator {name!r}: expected a method allocate, it is missing.")
    return found
