"""Kinds of machines, as far as a comparison of one says something about another."""

from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.torus import Torus

IRREGULAR = "irregular fabric"


def machine_kind(topology: Topology) -> str:
    """
    Return the kind of a machine, whatever its size.

    Result: ``full fat-tree``, ``tapered fat-tree``, ``torus``, ``dragonfly``, ``irregular fabric``
    and others; what is missing, half-duplex or of unequal speed comes behind a comma.

    Examples
    --------
    >>> from netsim.registries.topologies import make_topology
    >>> machine_kind(make_topology("synth-1024"))
    'full fat-tree'
    >>> machine_kind(make_topology({"kind": "torus", "dims": [4, 4], "duplex": "half"}))
    'torus, half duplex'
    """
    parts = [_shape(topology)]
    if topology.absent is not None and topology.absent.size:
        parts.append("parts missing")
    if topology.half_duplex:
        parts.append("half duplex")
    rates = topology.capacity if topology.multipath is None else topology.multipath.capacity
    if rates.size and rates.min() < rates.max():
        parts.append("unequal links")
    return ", ".join(parts)


def _shape(topology: Topology) -> str:
    """Return the kind of the fabric as it was built."""
    if isinstance(topology, GpuCluster):
        return f"GPU cluster, {topology.fabric}"
    if isinstance(topology, FatTree):
        return _tree(topology)
    if isinstance(topology, Dragonfly):
        in_rows = topology.rows > 1 and topology.columns > 1
        return "dragonfly of rows and columns" if in_rows else "dragonfly"
    if isinstance(topology, Torus):
        return "torus" if all(topology.wrap) else "mesh"
    return IRREGULAR


def _tree(tree: FatTree) -> str:
    """Return the kind of a tree: rails, then what its levels carry upwards."""
    if tree.parents[0] > 1:
        return "rail tree"
    below = zip(tree.children[:-1], tree.parallel[:-1], tree.ports[1:], strict=True)
    spare = [up - m * p for m, p, up in below]
    if min(spare) < 0:
        return "tapered fat-tree"
    if max(spare) > 0:
        return "fat-tree with spare uplinks"
    return "full fat-tree" + (" of parallel cables" if max(tree.parallel) > 1 else "")
