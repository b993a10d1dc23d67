"""Dragonfly+: groups of leaves and spines, whose spines are joined to those of other groups."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import check_size, class_rates, router_fields
from netsim.topology.dragonfly import canonical, global_links_of


@dataclass(frozen=True, eq=False, repr=False)
class DragonflyPlus(Topology):
    """
    Groups of leaves and spines, all leaves of a group joined to all its spines.

    Nodes hang on leaves, cables between groups on spines. Switch r has group ``r // (leaves +
    spines)``; its leaves come first. Shortest paths go up to a spine, over one cable between groups
    at most, and down. Source: A. Shpiner et al., *Dragonfly+: low cost topology for scaling
    datacenters*, HiPINEB 2017.

    Links: ``n`` up from node n, ``n_nodes + n`` down to it, up-links by leaf and spine, down-links
    by spine and leaf, then global links by group, peer and cable.
    """

    groups: int = 1
    leaves: int = 1
    spines: int = 1
    nodes_per_leaf: int = 1
    global_links: int = 1  # cables between two groups

    @property
    def _kind_words(self) -> str:
        groups = f"{self.groups} group{'' if self.groups == 1 else 's'}"
        return f"Dragonfly+, {groups} of {self.leaves} leaves and {self.spines} spines"

    @cached_property
    def first_of_kind(self) -> dict[str, int]:
        """First up-link, down-link and global link."""
        first, local = 2 * self.n_nodes, self.groups * self.leaves * self.spines
        return {"up": first, "down": first + local, "global": first + 2 * local}

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between switches on a shortest path: 0, 2 or 3."""
        src, dst = self._node_pairs(src, dst)
        here, there = src // self.nodes_per_leaf, dst // self.nodes_per_leaf
        outside = here // self.leaves != there // self.leaves
        return np.where(here == there, 0, np.where(outside, 3, 2))


def build_dragonfly_plus(
    groups: int,
    leaves: int,
    spines: int,
    bandwidth: Bandwidth,
    *,
    nodes_per_leaf: int = 1,
    global_links: int | None = None,
    half_duplex: bool = False,
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> DragonflyPlus:
    """
    Build a Dragonfly+.

    `bandwidth`: bytes per second of every cable, or of node, local and global cables.
    `global_links`: cables between two groups, dealt to the spines in order of the other group; when
    absent as many as give spines as many cables to other groups as to leaves, at least one. The
    others as in `netsim.topology.torus.build_torus`.

    Examples
    --------
    >>> fabric = build_dragonfly_plus(5, 4, 4, 1e9, nodes_per_leaf=4)
    >>> fabric.summary, fabric.global_links
    ('Dragonfly+, 5 groups of 4 leaves and 4 spines, 80 nodes', 4)
    """
    between = leaves * spines // max(1, groups - 1) if global_links is None else global_links
    between = max(1, between) if global_links is None else between
    if min(groups, leaves, spines, nodes_per_leaf, between) < 1:
        raise TopologyError(
            f"groups, leaves, spines, nodes_per_leaf and global_links must be at least 1, got "
            f"{groups}, {leaves}, {spines}, {nodes_per_leaf} and {between}."
        )
    local = groups * leaves * spines
    check_size(2 * (groups * leaves * nodes_per_leaf + local) + groups * (groups - 1) * between)
    size = leaves + spines
    group, leaf, spine = (part.ravel() for part in np.indices((groups, leaves, spines)))
    low, high = group * size + leaf, group * size + leaves + spine
    down = np.lexsort((low, high))
    gateways = leaves + canonical(groups, 1, spines, between)[0]
    plain = np.zeros(local, dtype=np.int64)
    rates = class_rates(bandwidth, ("local", "global"))
    common = router_fields(
        np.repeat(np.arange(groups)[:, None] * size + np.arange(leaves), nodes_per_leaf),
        groups * size,
        [
            (low, high, plain),
            (high[down], low[down], plain),
            global_links_of(gateways, size, 1),
        ],
        (*rates[:2], *rates[1:]),
        half_duplex=half_duplex,
        latency_base_s=latency_base_s,
        latency_per_link_s=latency_per_link_s,
    )
    return DragonflyPlus(
        name=f"dragonfly+({groups} groups of {leaves}+{spines}; {nodes_per_leaf} a leaf)",
        **common,
        groups=groups,
        leaves=leaves,
        spines=spines,
        nodes_per_leaf=nodes_per_leaf,
        global_links=between,
    )
