"""The patterns by name, and how to build one from a specification."""

from collections.abc import Callable, Mapping

from fabricsim.checking import brief, build
from fabricsim.checking.registry import Registry
from patterns.base import Pattern
from patterns.errors import PatternError

PATTERNS: Registry[Callable[..., Pattern]] = Registry(
    {
        "stencil": "patterns.grid:Stencil",
        "unstructured-mesh": "patterns.grid:UnstructuredMesh",
        "pairs": "patterns.pairs:Pairs",
        "permutation": "patterns.pairs:Permutation",
        "shift": "patterns.pairs:Shift",
        "ring": "patterns.pairs:Ring",
        "nearest-neighbor": "patterns.pairs:NearestNeighbor",
        "all-to-all": "patterns.alltoall:AllToAll",
        "sub-all-to-all": "patterns.alltoall:SubAllToAll",
        "one-to-all": "patterns.alltoall:OneToAll",
        "all-to-one": "patterns.alltoall:AllToOne",
        "recursive-doubling": "patterns.collectives:RecursiveDoubling",
        "rhvd": "patterns.collectives:RecursiveHalvingVectorDoubling",
        "binomial": "patterns.collectives:Binomial",
        "bruck": "patterns.collectives:Bruck",
        "rabenseifner": "patterns.collectives:Rabenseifner",
        "pairwise": "patterns.collectives:Pairwise",
        "allreduce": "patterns.collectives:AllReduce",
        "allgather": "patterns.collectives:AllGather",
        "reduce-scatter": "patterns.collectives:ReduceScatter",
        "broadcast": "patterns.collectives:Broadcast",
        "gather": "patterns.collectives:Gather",
        "scatter": "patterns.collectives:Scatter",
        "hybrid": "patterns.compose:Hybrid",
        "sequence": "patterns.compose:Sequence",
        "mix": "patterns.compose:Mix",
        "matrix": "patterns.matrix:Matrix",
        "gpu-collective": "patterns.placed:GpuCollective",
        "training": "patterns.training:Training",
    }
)
"""Class of every pattern; its fields are the options of a specification."""


def make_pattern(spec: Mapping[str, object] | str) -> Pattern:
    """
    Build a pattern from its name and options.

    Parameters
    ----------
    spec : str or mapping of str to object
        A key of `PATTERNS`, or a table with it as ``name`` and with options, the fields of its
        class; lists may stand for tuples, and a mapping that is an option or in a list is a
        pattern itself.

    Returns
    -------
    Pattern
        Equal specifications give equal patterns, with equal hashes.

    Raises
    ------
    PatternError
        If the name or an option is unknown, or a value is out of range.

    Examples
    --------
    >>> make_pattern({"name": "pairs", "nbytes": 4096})
    Pairs(nbytes=4096.0, seed=1)
    """
    if isinstance(spec, str):
        spec = {"name": spec}
    if not isinstance(spec, Mapping) or "name" not in spec:
        raise PatternError(f"pattern: expected a name or a table with one, got {brief(spec)}.")
    options = {key: _frozen_value(value) for key, value in spec.items() if key != "name"}
    return build("pattern", spec["name"], PATTERNS, options, PatternError)


def _frozen_value(value: object) -> object:
    """Return a value with patterns for mappings and tuples for lists, at any depth."""
    if isinstance(value, Mapping):
        return make_pattern(value)
    if isinstance(value, (list, tuple)):
        return tuple(_frozen_value(entry) for entry in value)
    return value
