"""Small machines of every kind, whole and damaged, on which parts are tried."""

from functools import lru_cache

import numpy as np

from netsim.topology.base import Topology
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.gpucluster import Hosts, build_gpu_cluster
from netsim.topology.outage import depopulate, exclude, fail
from netsim.topology.torus import build_torus

_RATE = "1 B/s"


@lru_cache
def whole_fabrics() -> dict[str, Topology]:
    """Return machines of which nothing is missing and that are tapered nowhere."""
    return {
        "radix-4": fat_tree_of_radix(4, _RATE),
        "radix-6": fat_tree_of_radix(6, _RATE),
        "two-level": fat_tree_of_radix(6, _RATE, levels=2),
        "top-cables": build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), _RATE),
        "four-level": build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), _RATE),
        "two-rail": build_fat_tree((3, 3, 2), (2, 3, 3), (1, 1, 1), _RATE),
        "torus": build_torus((5, 4, 4), _RATE),
        "two-node-routers": build_torus((4, 3, 3), _RATE, nodes_per_router=2),
        "gpu-rails": _gpu_cluster("rail", 12, units_per_pod=2),
        "gpu-clos": _gpu_cluster("clos", 9),
        "dragonfly": build_dragonfly(4, (2, 5), _RATE, nodes_per_router=2),
    }


@lru_cache
def damaged_fabrics() -> dict[str, Topology]:
    """Return machines of which something is missing, broken, set aside or too narrow."""
    return {
        "tapered": build_fat_tree((4, 4, 3), (1, 2, 2), (1, 1, 1), _RATE),
        "bundles": build_fat_tree((4, 2, 3), (1, 2, 3), (1, 2, 1), _RATE),
        "uneven": _uneven_tree(),
        "holes": depopulate(fat_tree_of_radix(6, _RATE), ["n4", "n9", "s1.5"]),
        "login-nodes": exclude(fat_tree_of_radix(6, _RATE, levels=2), ["n0", "n1", "n17"]),
        "service-routers": exclude(build_torus((4, 4, 3), _RATE), ["n5", "n6", "n47"]),
        "broken-links": fail(fat_tree_of_radix(6, _RATE), ["s1.3>s2.4", "s2.7>s3.4"]),
    }


def _gpu_cluster(fabric: str, hosts: int, units_per_pod: int | None = None) -> Topology:
    """Return units of three hosts of two adapters."""
    return build_gpu_cluster(
        hosts, Hosts(2, 2), fabric, hosts_per_unit=3, bandwidth=_RATE, units_per_pod=units_per_pod
    )


def _uneven_tree() -> Topology:
    """Return a tree of three uneven leaves below two spines, one with a node; some cables twice."""
    n_nodes = 12
    leaf = [12] * 5 + [13] * 4 + [14] * 2 + [16]
    cables = [(12, 15), (12, 15), (13, 15), (14, 15), (12, 16), (13, 16)]
    ends = np.array([*enumerate(leaf), *cables])
    twice = np.array([0] * n_nodes + [0, 1, 0, 0, 0, 0])
    return Topology(
        "uneven leaves",
        n_nodes,
        5,
        link_tail=ends.ravel(),
        link_head=ends[:, ::-1].ravel(),
        link_cable=np.repeat(twice, 2),
        capacity=np.ones(ends.size),
        channel=np.arange(ends.size),
    )
