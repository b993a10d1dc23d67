"""Distance metrics of placements: average pairwise hops (MIND) and hop-bytes."""

from collections.abc import Sequence

import numpy as np

from netsim.common.arrays import Floats, Ints, numbers_below, numbers_from
from netsim.common.errors import NetsimError, TopologyError
from netsim.topology.base import Topology, require_topology
from netsim.topology.fattree import FatTree


def average_pairwise_hops(topology: Topology, nodes: Ints) -> float:
    """
    Return the mean number of hops between two different members of a placement.

    Parameters
    ----------
    topology : Topology
        The fabric; a hop is a link between switches on a shortest path, links of nodes do not
        count.
    nodes : (n,) int array
        Nodes of a job; one that appears twice (two ranks) is 0 hops from itself.

    Returns
    -------
    float
        Mean over the n (n - 1) ordered pairs; 0 for fewer than two nodes.

    Raises
    ------
    TopologyError
        If a node does not exist, or two of the nodes are not connected.

    Notes
    -----
    Equation (1) of S. D. Pollard et al., SC 2018 (APH). The same number as MIND, the mean
    inter-node distance of *Improving job node allocation on HECToR*, section 2.4.1, figure 2,
    whose torus distance is the Manhattan distance with wrap-around. O(n) on trees and tori.

    Examples
    --------
    Two nodes on one leaf and one in another pod: hops 0, 4 and 4.

    >>> from netsim.topology.fattree import fat_tree_of_radix
    >>> tree = fat_tree_of_radix(4, 1e9)
    >>> round(average_pairwise_hops(tree, np.array([0, 1, 15])), 3)
    2.667
    """
    require_topology(topology, TopologyError)
    nodes = numbers_below("nodes", nodes, topology.n_nodes, TopologyError)
    return float(average_pairwise_hops_each(topology, [nodes])[0])


def average_pairwise_hops_each(topology: Topology, placements: Sequence[Ints]) -> Floats:
    """Return what `average_pairwise_hops` says of each of P placements (P,), all at once."""
    if not placements:
        return np.zeros(0)
    sizes = np.array([nodes.size for nodes in placements])
    if isinstance(topology, FatTree):
        total = topology.total_hops_each(np.concatenate(placements), sizes)
    else:
        total = np.array([topology.total_hops(nodes) for nodes in placements])
    means: Floats = 2 * total / np.maximum(sizes * (sizes - 1), 1)
    return means


def hop_bytes(topology: Topology, src: Ints, dst: Ints, nbytes: Floats) -> float:
    """
    Return the bytes of flows times the hops they travel, summed.

    Parameters
    ----------
    topology : Topology
        The fabric.
    src, dst : (F,) int array
        Source and destination node of each flow.
    nbytes : (F,) float array
        Bytes of each flow.

    Returns
    -------
    float
        Bytes that links between switches carry in all, on shortest paths.

    Raises
    ------
    NetsimError
        If the arrays do not fit together or the fabric, or a flow has no path.
    """
    require_topology(topology, NetsimError)
    src = numbers_below("src", src, topology.n_nodes, NetsimError)
    dst = numbers_below("dst", dst, topology.n_nodes, NetsimError)
    nbytes = numbers_from("nbytes", nbytes, 0.0, NetsimError)
    if not src.size == dst.size == nbytes.size:
        raise NetsimError(
            "src, dst and nbytes: expected one of each for every flow, "
            f"got {src.size}, {dst.size} and {nbytes.size}."
        )
    hops = topology.hops(src, dst)
    if hops.min(initial=0) < 0:
        flow = int(np.argmin(hops))
        raise NetsimError(
            f"no path leads from {topology.vertex_name(int(src[flow]))} to "
            f"{topology.vertex_name(int(dst[flow]))} in the fabric ({topology.summary})."
        )
    return float(hops @ nbytes)
