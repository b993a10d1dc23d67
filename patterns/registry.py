"""The patterns by name, and how to build one from a specification."""

from collections.abc import Callable, Mapping

from fabricsim.checking import brief, build
from patterns.algorithms import (
    Binomial,
    Bruck,
    Pairwise,
    Rabenseifner,
    RecursiveDoubling,
    RecursiveHalvingVectorDoubling,
)
from patterns.alltoall import AllToAll, AllToOne, OneToAll, SubAllToAll
from patterns.base import Pattern
from patterns.collectives import AllGather, AllReduce, Broadcast, Gather, ReduceScatter, Scatter
from patterns.compose import Hybrid, Mix, Sequence
from patterns.errors import PatternError
from patterns.matrix import Matrix
from patterns.mesh import UnstructuredMesh
from patterns.pairs import NearestNeighbor, Pairs, Permutation, Ring, Shift
from patterns.stencil import Stencil
from patterns.training import Training

PATTERNS: dict[str, Callable[..., Pattern]] = {
    "stencil": Stencil,
    "unstructured-mesh": UnstructuredMesh,
    "pairs": Pairs,
    "permutation": Permutation,
    "shift": Shift,
    "ring": Ring,
    "nearest-neighbor": NearestNeighbor,
    "all-to-all": AllToAll,
    "sub-all-to-all": SubAllToAll,
    "one-to-all": OneToAll,
    "all-to-one": AllToOne,
    "recursive-doubling": RecursiveDoubling,
    "rhvd": RecursiveHalvingVectorDoubling,
    "binomial": Binomial,
    "bruck": Bruck,
    "rabenseifner": Rabenseifner,
    "pairwise": Pairwise,
    "allreduce": AllReduce,
    "allgather": AllGather,
    "reduce-scatter": ReduceScatter,
    "broadcast": Broadcast,
    "gather": Gather,
    "scatter": Scatter,
    "hybrid": Hybrid,
    "sequence": Sequence,
    "mix": Mix,
    "matrix": Matrix,
    "training": Training,
}
"""Class of every pattern; its fields are the options of a specification."""


def make_pattern(spec: Mapping[str, object]) -> Pattern:
    """
    Build a pattern from its name and options.

    Parameters
    ----------
    spec : mapping of str to object
        ``name``, a key of `PATTERNS`, and options, the fields of its class; lists may stand
        for tuples, and a mapping that is an option or in a list is a pattern itself.

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
    Pairs(nbytes=4096.0, seed=0)
    """
    if not isinstance(spec, Mapping) or "name" not in spec:
        raise PatternError(f"pattern: expected a table with a name, got {brief(spec)}.")
    options = {key: _frozen(value) for key, value in spec.items() if key != "name"}
    return build("pattern", spec["name"], PATTERNS, options, PatternError)


def _frozen(value: object) -> object:
    """Return a value with patterns for mappings and tuples for lists, at any depth."""
    if isinstance(value, Mapping):
        return make_pattern(value)
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(entry) for entry in value)
    return value
