"""Permutations: read, one flow per line or JSON, and parted by job."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import JobId, Snapshot
from fabricsim.checking import brief, wholes, wrong
from fabricsim.checking.documents import parse_json
from fabricsim.checking.inputs import read_text
from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology

_ENDS = 2
_LONGEST = 10_000  # characters of a line: shlex takes time by the square of a word's length
Pairs = Sequence[tuple[int, int]]


def read_permutation(path: Path, topology: Topology) -> list[tuple[int, int]]:
    """Read pairs of source and destination, as lines or JSON; ``-`` is standard input."""
    text = read_text(path, SnapshotError)
    if text.lstrip().startswith("["):
        return _from_json(text, path, topology)
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > _LONGEST and not line.lstrip().startswith("#"):
            raise SnapshotError(
                f"{path}:{number}: expected two names, got a line of {len(line):,} characters."
            )
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise SnapshotError(f"{path}:{number}: expected two names, got: {error}.") from None
        if words:
            pairs.append(_read_pair(words, f"{path}:{number}", topology))
    if not pairs:
        raise SnapshotError(f"{path}: expected lines 'source destination', got none.")
    return pairs


def _from_json(text: str, path: Path, topology: Topology) -> list[tuple[int, int]]:
    """Read a JSON list of pairs."""
    entries = parse_json(text, str(path), SnapshotError)
    return [_read_pair(entry, f"{path}: [{i}]", topology) for i, entry in enumerate(entries)]


def _read_pair(ends: object, place: str, topology: Topology) -> tuple[int, int]:
    """Return source and destination."""
    if not isinstance(ends, list) or len(ends) != _ENDS:
        raise SnapshotError(f"{place}: expected source and destination, got {brief(ends)}.")
    try:
        return topology.names.node(ends[0]), topology.names.node(ends[1])
    except TopologyError as error:
        raise SnapshotError(f"{place}: {error}") from None


def flows_by_job(snapshot: Snapshot, permutation: Pairs) -> dict[JobId, tuple[Ints, Ints]]:
    """Part the flows of a permutation by the job whose nodes they join."""
    members = [(job.id, set(job.partition.nodes.tolist())) for job in snapshot.jobs]
    parts: dict[JobId, list[tuple[int, int]]] = {}
    for pair in permutation:
        ends = wholes("permutation", pair, 0, error=SnapshotError)
        if len(ends) != _ENDS:
            raise wrong("permutation", "pairs of source and destination", pair, SnapshotError)
        src, dst = ends
        owner = next((job for job, nodes in members if src in nodes and dst in nodes), None)
        if owner is None:
            name = snapshot.topology.vertex_name
            raise SnapshotError(
                f"permutation: expected nodes of one job, got {name(src)} to {name(dst)}."
            )
        parts.setdefault(owner, []).append((src, dst))
    arrays = {job: np.array(pairs, dtype=np.int64).T for job, pairs in parts.items()}
    return {job: (src, dst) for job, (src, dst) in arrays.items()}
