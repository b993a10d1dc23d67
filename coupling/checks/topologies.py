"""What every topology promises: links that join vertices, true distances; machines to try on."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly, build_dragonfly
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


Make = Callable[[], Topology]

_MOST_NODES = 500  # of which all pairs are looked at
_ARRAYS = ("link_tail", "link_head", "link_cable", "capacity", "channel", "usable_nodes")


def links_join_vertices(make: Make) -> Iterator[str]:
    """Check the ends of links, and that every cable goes both ways."""
    topology = make()
    tail, head = topology.link_tail, topology.link_head
    if not np.array_equal(
        np.unique(np.concatenate([tail, head])), np.arange(_vertex_count(topology))
    ):
        yield "a vertex has no link, or a link an end that is no vertex"
    if not np.all(tail != head):
        yield "a link leads from a vertex to itself"
    back = topology.reverse
    if not np.array_equal(back[back], np.arange(topology.n_links)):
        yield "the reverse of a reverse is another link"
    for name, there, here in (
        ("ends", tail, head),
        ("cable number", topology.link_cable, topology.link_cable),
        ("capacity", topology.capacity, topology.capacity),
    ):
        if not np.array_equal(there[back], here):
            yield f"the two directions of a cable differ in their {name}"


def capacities_are_positive(make: Make) -> Iterator[str]:
    """Check that every link carries something."""
    capacity = make().capacity
    if not np.all((capacity > 0) & np.isfinite(capacity)):
        yield f"a link carries {capacity[~((capacity > 0) & np.isfinite(capacity))][0]} bytes/s"


def nodes_hang_on_switches(make: Make) -> Iterator[str]:
    """Check that nodes are linked to switches only, each to one at least."""
    topology = make()
    from_node = topology.link_tail < topology.n_nodes
    if not np.all(topology.link_head[from_node] >= topology.n_nodes):
        yield "a node is linked to a node"
    if not np.array_equal(np.unique(topology.link_tail[from_node]), np.arange(topology.n_nodes)):
        yield "a node has no link"


def channels_are_cables(make: Make) -> Iterator[str]:
    """Check that a half-duplex cable is one channel and a full-duplex one two."""
    topology = make()
    links = np.arange(topology.n_links)
    half = np.minimum(links, topology.reverse)
    own = (topology.channel == links) & (topology.channel[topology.reverse] == topology.reverse)
    shared = topology.channel == half
    if not np.all(own | (shared & (topology.channel[topology.reverse] == half))):
        yield "a channel is neither a link of its own nor the two directions of one cable"


def names_lead_back(make: Make) -> Iterator[str]:
    """Check that names of links and vertices lead back to their numbers."""
    topology = make()
    names = [topology.link_name(link) for link in range(topology.n_links)]
    if len(set(names)) != topology.n_links:
        yield "two links have one name"
    for link, name in enumerate(names):
        if topology.link_number(name) != link:
            yield f"{name} is link {link}, but leads to {topology.link_number(name)}"
    for vertex in range(_vertex_count(topology)):
        name = topology.vertex_name(vertex)
        if topology.vertex_number(name) != vertex:
            yield f"{name} is vertex {vertex}, but leads to {topology.vertex_number(name)}"


def cables_are_numbered(make: Make) -> Iterator[str]:
    """Check that parallel cables are numbered from 0, and that only their names tell the number."""
    topology = make()
    pairs = list(zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True))
    cables = defaultdict(list)
    for pair, cable in zip(pairs, topology.link_cable.tolist(), strict=True):
        cables[pair].append(cable)
    for pair, numbers in cables.items():
        if sorted(numbers) != list(range(len(numbers))):
            yield f"cables from {pair[0]} to {pair[1]} are numbered {sorted(numbers)}"
    count = Counter(pairs)
    for link, pair in enumerate(pairs):
        if ("#" in topology.link_name(link)) != (count[pair] > 1):
            yield f"{topology.link_name(link)} is one of {count[pair]} cables"


def classes_tell_node_links(make: Make) -> Iterator[str]:
    """Check that classes of links tell those of nodes from the rest."""
    topology = make()
    for link in range(topology.n_fabric_links):
        word = topology.link_class(link)
        expected = {
            "injection": topology.link_tail[link] < topology.n_nodes,
            "ejection": topology.link_head[link] < topology.n_nodes,
        }
        if any((word == name) != holds for name, holds in expected.items()):
            yield f"{topology.link_name(link)} is of class {word!r}"


def hops_are_shortest(make: Make, *, longer: bool | None = None) -> Iterator[str]:
    """Check distances against a breadth-first search."""
    topology = make()
    nodes = _node_sample(topology)
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    hops, searched = topology.hops(src, dst), Topology.hops(topology, src, dst)
    if longer is None:
        longer = isinstance(topology, Dragonfly)
    wrong = (hops < searched) | ((hops == 0) != (searched == 0)) if longer else hops != searched
    if np.any(wrong):
        pair = int(np.argmax(wrong))
        yield (
            f"nodes {src[pair]} and {dst[pair]}: {hops[pair]} hops, a search finds {searched[pair]}"
        )


def total_hops_add_up(make: Make) -> Iterator[str]:
    """Check that the sum of hops is the sum over all pairs."""
    topology = make()
    nodes = np.random.default_rng(1).integers(0, topology.n_nodes, 20)
    first, second = np.triu_indices(nodes.size, 1)
    total, expected = topology.total_hops(nodes), topology.hops(nodes[first], nodes[second]).sum()
    if total != expected:
        yield f"total_hops is {total}, the hops of all pairs add up to {expected}"
    if Topology.total_hops(topology, nodes) != total:
        yield f"total_hops is {total}, that of the base {Topology.total_hops(topology, nodes)}"


def all_nodes_meet(make: Make) -> Iterator[str]:
    """Check that usable nodes are nodes, in order, and connected."""
    topology = make()
    usable = topology.usable_nodes
    if not usable.size or usable[0] < 0 or usable[-1] >= topology.n_nodes:
        yield f"usable nodes are not among 0..{topology.n_nodes - 1}"
    elif np.any(np.diff(usable) <= 0):
        yield "usable nodes are not ascending"
    elif np.any(topology.hops(np.full(usable.size, usable[0]), usable) < 0):
        yield "two usable nodes are not connected"


def made_alike(make: Make) -> Iterator[str]:
    """Check that the same description gives the same fabric."""
    one, other = make(), make()
    for name in _ARRAYS:
        if not np.array_equal(getattr(one, name), getattr(other, name)):
            yield f"{name} differs when the fabric is made again"


RULES: Mapping[str, Callable[[Make], Iterator[str]]] = {
    "links join vertices, and every cable goes both ways": links_join_vertices,
    "capacities are positive": capacities_are_positive,
    "nodes hang on switches only": nodes_hang_on_switches,
    "a half-duplex cable is one channel, a full-duplex one two": channels_are_cables,
    "names of links and vertices lead back to their numbers": names_lead_back,
    "parallel cables are numbered from 0, and named by number": cables_are_numbered,
    "classes of links tell those of nodes from the rest": classes_tell_node_links,
    "hops are those of a breadth-first search": hops_are_shortest,
    "total_hops adds up over all pairs": total_hops_add_up,
    "usable nodes are ascending and connected": all_nodes_meet,
    "the same description gives the same fabric": made_alike,
}


def _vertex_count(topology: Topology) -> int:
    """Return the number of vertices."""
    return topology.n_nodes + topology.n_switches


def _node_sample(topology: Topology) -> Ints:
    """Return all nodes of a small fabric, some of a large one."""
    nodes = np.arange(topology.n_nodes)
    if nodes.size <= _MOST_NODES:
        return nodes
    return np.random.default_rng(2).choice(nodes, _MOST_NODES, replace=False)
