"""Scenes of long and of short messages on a full tree, drawn by number, for judging the models."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from measured.packets import as_sized, tree_of_packets
from measured.scenes import PATTERNS, traffic_of
from netsim.contention.base import Traffic
from netsim.contention.constants import ConstantsOf
from netsim.latency import LatencyOf
from netsim.topology.fattree import FatTree

ITERATIONS = 12  # of the slowest job of a scene; the first does not count
NAMES = ("stencil", "mesh", "pairs", "sub-all-to-all", "recursive doubling", "all-to-all")
_FRACTION = (0.2, 0.9)
_LONG = (2.0**16, 2.0**19)  # bytes of a message, drawn log-uniformly
_SHORT_S = (2e-5, 4e-4)  # communication of an iteration alone, the same
_MOST_S = 1.5e-3  # of communication of an iteration alone: longer messages are cut
KINDS = {  # whether messages are long, whether jobs compute
    "long messages, compute phases": (True, True),
    "long messages, always communicating": (True, False),
    "short messages, compute phases": (False, True),
    "short messages, always communicating": (False, False),
}


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Jobs on the tree of the packet cases, and the name of each one's pattern."""

    kind: str
    number: int
    topology: FatTree
    names: tuple[str, ...]
    traffic: dict[int, Traffic]

    @property
    def digest(self) -> str:
        """Digest of all that decides what packets do."""
        known = hashlib.sha256(f"fresh {ITERATIONS} {self.topology.name}".encode())
        for own in self.traffic.values():
            for part in (own.step, own.sender, own.nbytes, own.routes.links):
                known.update(np.ascontiguousarray(part).tobytes())
            known.update(np.float64(own.compute_s).tobytes())
        return known.hexdigest()[:16]


def fresh_scene(kind: str, number: int) -> Scene:
    """Draw 3 to 6 jobs on random nodes."""
    tree = tree_of_packets()
    rng = np.random.default_rng((4711, list(KINDS).index(kind), number))
    idle = rng.permutation(tree.n_nodes)
    names, traffic = [], {}
    for place, (name, nodes) in enumerate(_placed(rng, idle)):
        names.append(name)
        traffic[place] = _sized(rng, tree, name, np.sort(nodes), kind)
    return Scene(kind, number, tree, tuple(names), traffic)


def _placed(rng: np.random.Generator, idle: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield patterns and nodes of jobs, most of them of 8 to 48 ranks."""
    for _ in range(int(rng.integers(3, 7))):
        size = int(2 ** rng.uniform(3.0, np.log2(48.0)))
        name = NAMES[rng.integers(len(NAMES))]
        if size <= idle.size:
            yield name, idle[:size]
            idle = idle[size:]


def _sized(
    rng: np.random.Generator, tree: FatTree, name: str, nodes: np.ndarray, kind: str
) -> Traffic:
    """Return a job with messages and compute time as drawn."""
    long, computes = KINDS[kind]
    steps = PATTERNS[NAMES.index(name)](nodes.size)
    constants_of = ConstantsOf(as_sized(tree))
    own = traffic_of(as_sized(tree), nodes, steps, 1.0, 0.0)
    constants = constants_of(own)
    drain_s = float(constants.steps["drain_s"].sum())  # of one byte a message
    if long:
        nbytes = min(float(np.exp(rng.uniform(*np.log(_LONG)))), _MOST_S / drain_s)
    else:
        nbytes = float(np.exp(rng.uniform(*np.log(_SHORT_S)))) / drain_s
    own = replace(own, nbytes=np.full(own.nbytes.size, np.ceil(nbytes)))
    fraction = float(rng.uniform(*_FRACTION))
    alone_s = constants_of(own).communication_s
    compute_s = alone_s * (1.0 - fraction) / fraction if computes else 0.0
    return replace(own, compute_s=compute_s, latency_s=LatencyOf(tree)(own.routes).of(own.nbytes))
