"""Dragonflies: groups of routers in rows and columns, all-to-all between the groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netsim.common.arrays import Ints, occurrence_numbers
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import (
    Ends,
    all_to_all_links,
    check_size,
    class_rates,
    router_fields,
)

_ARIES_LANES = (1, 3, 2)  # green, black, blue cables per router pair, as on Edison and Theta
_PLAIN = (1, 1, 1)

Wiring = tuple[Ints, tuple[int, int, int]]
_CLASSES = ("green", "black", "blue")
_AT_ONCE = 1_000_000  # entries of a table of flows and gateways that is held in memory


def canonical(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Spread the global ports over the routers in order (absolute arrangement).

    Port ``t * K + k`` of a group is cable k to its t-th other group; each router holds the same
    number h of consecutive ports, the last one maybe fewer. With one cable a pair, G = a * h + 1
    and one row this is the dragonfly of J. Kim et al., *Technology-driven, highly-scalable
    dragonfly topology*, ISCA 2008, in the absolute arrangement (C. Camarero et al., 2014).
    """
    per_pair = 1 if global_links is None else global_links
    port = np.arange((groups - 1) * per_pair)
    per_router = max(1, -(-port.size // (rows * columns)))
    return _same_in_all(groups, (port // per_router).reshape(groups - 1, per_pair)), _PLAIN


def aries(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Wire as on Cray XC: every row holds the same columns for each other group.

    With c = K / rows, cable ``row * c + i`` to the t-th other group is at column ``(t * c + i) mod
    columns`` of that row. Read off the link dumps of ALCF Theta (K = 24) and NERSC Edison (K = 12);
    a test compares every router pair.
    """
    per_pair = rows if global_links is None else global_links
    if per_pair % rows:
        raise TopologyError(f"global_links must be a multiple of {rows} rows, got {per_pair}.")
    per_row = per_pair // rows
    row, place = np.divmod(np.arange(per_pair), per_row)
    peer = np.arange(groups - 1)[:, None]
    return _same_in_all(groups, row * columns + (peer * per_row + place) % columns), _ARIES_LANES


def best_case(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Join every router to its twin in every other group: 3 hops at most.

    The best case of *Improving job node allocation on HECToR*, section 7.2.1.
    """
    _require_cables(global_links, rows * columns)
    twins = np.tile(np.arange(rows * columns), (groups - 1, 1))
    return _same_in_all(groups, twins), _PLAIN


def worst_case(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Join the first routers of the groups only: one cable a pair, 5 hops at most.

    The worst case of *Improving job node allocation on HECToR*, section 7.2.2: "always at the node
    coordinate (0, 0, z)".
    """
    del rows, columns
    _require_cables(global_links, 1)
    return _same_in_all(groups, np.zeros((groups - 1, 1), dtype=np.int64)), _PLAIN


def simgrid(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Wire as SimGrid does: group i holds its cable to group j at row 0, column j.

    SimGrid's parallel cables are one of their joint bandwidth.
    """
    del rows
    _require_cables(global_links, 1)
    if groups > columns:
        raise TopologyError(
            f"variant 'simgrid' needs a column for each of {groups} groups, got {columns}."
        )
    peer, group = np.arange(groups - 1), np.arange(groups)[:, None]
    return (peer + (peer >= group))[:, :, None], _PLAIN


def _same_in_all(groups: int, places: Ints) -> Ints:
    """Give every group the same table of (other group, cable)."""
    return np.broadcast_to(places, (groups, *places.shape)).copy()


def _require_cables(global_links: int | None, only: int) -> None:
    """Refuse a number of cables that the variant does not have."""
    if global_links not in {None, only}:
        raise TopologyError(f"global_links must be {only} here, got {global_links}.")


VARIANTS: dict[str, Callable[[int, int, int, int | None], Wiring]] = {
    "canonical": canonical,
    "aries": aries,
    "best-case": best_case,
    "worst-case": worst_case,
    "simgrid": simgrid,
}


@dataclass(frozen=True, eq=False, repr=False)
class Dragonfly(Topology):
    """
    Groups of rows x columns routers; Cray's colours name the cables.

    *Green* cables join all routers of a row (chassis), *black* ones all routers of a column, *blue*
    ones each pair of groups, at ``gateways[g, t, k]``: the place of the router in group g that
    holds cable k to the t-th of the other groups in ascending order. Cable k of one group meets
    cable k of the other. Router r has group ``r // (rows * columns)``, and within it row ``place //
    columns`` and column ``place % columns``; node n hangs on router ``n // nodes_per_router``.
    Between two joined routers there are ``lanes`` parallel cables.

    Links: ``n`` up from node n, ``n_nodes + n`` down to it, then green, black and blue links, each
    by tail router (blue: by group), peer and lane.
    """

    groups: int = 1
    # rows, columns: rows and columns of routers in a group; one row is a group that is joined
    # all-to-all
    rows: int = 1
    columns: int = 1
    nodes_per_router: int = 1
    # parallel cables of green, black and blue pairs of routers
    lanes: tuple[int, int, int] = (1, 1, 1)
    # (G, G-1, K): place within its group of the router of each end of the blue cables
    gateways: Ints = field(default_factory=lambda: np.zeros((1, 0, 1), dtype=np.int64))

    @property
    def summary(self) -> str:
        """What the fabric is, in plain words: its nodes and groups."""
        groups = f"{self.groups} group{'' if self.groups == 1 else 's'}"
        return f"dragonfly, {self._nodes_words}, {groups} of {self.routers_per_group} routers"

    @property
    def routers_per_group(self) -> int:
        """Routers of a group."""
        return self.rows * self.columns

    @cached_property
    def bases(self) -> tuple[int, int, int]:
        """Number of the first green, black and blue link."""
        green = 2 * self.n_nodes
        black = green + self.n_switches * (self.columns - 1) * self.lanes[0]
        return green, black, black + self.n_switches * (self.rows - 1) * self.lanes[1]

    def green(self, router: Ints, column: Ints, lane: Ints) -> Ints:
        """Return links along the row; meaningless where the column is the router's own."""
        peer = column - (column > router % self.columns)
        return self.bases[0] + (router * (self.columns - 1) + peer) * self.lanes[0] + lane

    def black(self, router: Ints, row: Ints, lane: Ints) -> Ints:
        """Return links along the column; meaningless where the row is the router's own."""
        peer = row - (row > router // self.columns % self.rows)
        link: Ints = self.bases[1] + (router * (self.rows - 1) + peer) * self.lanes[1] + lane
        return link

    def blue(self, group: Ints, target: Ints, cable: Ints, lane: Ints) -> Ints:
        """Return links between groups; meaningless where the groups are the same."""
        pair = group * (self.groups - 1) + target - (target > group)
        place: Ints = pair * self.gateways.shape[2] + cable
        return self.bases[2] + place * self.lanes[2] + lane

    def gateway_ends(self, group: Ints, target: Ints) -> tuple[Ints, Ints]:
        """Return the routers (F, K) at both ends of every blue cable between two groups."""
        size = self.routers_per_group
        exits = self.gateways[group, target - (target > group)]
        entries = self.gateways[target, group - (group > target)]
        return group[:, None] * size + exits, target[:, None] * size + entries

    def batches(self, flows: Ints) -> Iterator[Ints]:
        """Part flows so that a table of them and their gateways stays small."""
        batch = max(1, _AT_ONCE // self.gateways.shape[2])
        for first in range(0, flows.size, batch):
            yield flows[first : first + batch]

    def local_hops(self, here: Ints, there: Ints) -> Ints:
        """Return 0, 1 or 2 links between routers of one group: a green and a black one."""
        green = here % self.columns != there % self.columns
        black = here // self.columns != there // self.columns
        hops: Ints = green.astype(np.int64) + black
        return hops

    def thirds(self, rule: str) -> tuple[int, int]:
        """
        Return the groups, and the routers of a group, by a third one of which packets may go.

        `rule`: how switches choose. 0 where there is no third one, or packets go minimally only.
        """
        adaptive = rule == "adaptive"
        groups, routers = (
            number if adaptive and number > 2 else 0  # noqa: PLR2004 (two ends and a third)
            for number in (self.groups, self.routers_per_group)
        )
        return groups, routers

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between routers on a minimal path, over one blue cable at most."""
        src, dst = self._node_pairs(src, dst)
        here, there = src // self.nodes_per_router, dst // self.nodes_per_router
        found = self.local_hops(here, there)
        size = self.routers_per_group
        for some in self.batches(np.flatnonzero(here // size != there // size)):
            exits, entries = self.gateway_ends(here[some] // size, there[some] // size)
            hops = self.local_hops(here[some, None], exits) + 1
            found[some] = (hops + self.local_hops(entries, there[some, None])).min(axis=1)
        return found

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each colour."""
        return dict(zip(_CLASSES, self.bases, strict=True))


def build_dragonfly(
    groups: int,
    routers: int | Sequence[int],
    bandwidth: Bandwidth,
    *,
    nodes_per_router: int = 1,
    variant: str = "canonical",
    global_links: int | None = None,
    lanes: Sequence[int] | None = None,
    gateways: Ints | None = None,
    half_duplex: bool = False,
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> Dragonfly:
    """
    Build a dragonfly.

    `bandwidth`: bytes per second of every cable, or of node, green, black and blue cables.
    `variant`: where the blue cables end, a key of `netsim.topology.dragonfly.VARIANTS`.
    `global_links`: blue cables (router pairs) between two groups; the variant's own number when
    absent. `lanes`: parallel cables of green, black and blue pairs of routers; the variant's when
    absent. `gateways` (G, G-1, K) or None: where the blue cables end (see `Dragonfly`), in place of
    the variant's rule. `half_duplex`: both directions of a cable share one capacity.
    `latency_base_s`, `latency_per_link_s`: latency of a path of n links: base + per_link * (n - 1),
    in seconds or as ``"315 ns"``.

    Examples
    --------
    The canonical dragonfly with p = h = 2, a = 4 has 9 groups and 72 nodes.

    >>> fabric = build_dragonfly(9, 4, 1e9, nodes_per_router=2)
    >>> fabric.n_nodes, fabric.n_switches, int(fabric.hops(np.array([0]), np.array([71]))[0])
    (72, 36, 3)
    """
    rows, columns = _rows_and_columns(groups, routers, nodes_per_router)
    if variant not in VARIANTS:
        raise TopologyError(
            f"unknown dragonfly variant {variant!r}; choose from {', '.join(VARIANTS)}."
        )
    n_routers = groups * rows * columns
    check_size(2 * n_routers * nodes_per_router + groups * (groups - 1) * (global_links or 1))
    usual_gateways, usual_lanes = VARIANTS[variant](groups, rows, columns, global_links)
    gateways = usual_gateways if gateways is None else gateways
    counts = usual_lanes if lanes is None else tuple(lanes)
    if len(counts) != len(_CLASSES) or min(counts) < 1:
        raise TopologyError(f"lanes must be three numbers from 1, got {counts}.")
    rates = class_rates(bandwidth, _CLASSES)
    local = n_routers * ((columns - 1) * counts[0] + (rows - 1) * counts[1])
    check_size(2 * n_routers * nodes_per_router + local + gateways.size * counts[2])
    shape = (groups, rows, columns)
    classes = [
        all_to_all_links(shape, counts[0], axis=2),
        all_to_all_links(shape, counts[1], axis=1),
    ]
    classes.append(global_links_of(gateways, rows * columns, counts[2]))
    common = router_fields(
        np.repeat(np.arange(n_routers), nodes_per_router),
        n_routers,
        classes,
        rates,
        half_duplex=half_duplex,
        latency_base_s=latency_base_s,
        latency_per_link_s=latency_per_link_s,
    )
    return Dragonfly(
        name=f"dragonfly({variant}; {groups} groups of {rows}x{columns}; "
        f"{nodes_per_router} a router)",
        **common,
        groups=groups,
        rows=rows,
        columns=columns,
        nodes_per_router=nodes_per_router,
        lanes=(counts[0], counts[1], counts[2]),
        gateways=gateways,
    )


def _rows_and_columns(
    groups: int, routers: int | Sequence[int], nodes_per_router: int
) -> tuple[int, int]:
    """Check the counts and return the rows and columns of a group."""
    shape = (1, routers) if isinstance(routers, int) else tuple(routers)
    if len(shape) != 2 or min(groups, nodes_per_router, *shape) < 1:  # noqa: PLR2004 (rows, columns)
        raise TopologyError(
            f"groups, nodes_per_router and routers (one number, or rows and columns) must be at "
            f"least 1, got {groups}, {nodes_per_router} and {routers}."
        )
    return shape[0], shape[1]


def global_links_of(gateways: Ints, routers: int, lanes: int) -> Ends:
    """Return the links between groups by their gateways, as `Dragonfly` has them."""
    groups, others, per_pair = gateways.shape
    group, peer, cable = (
        np.repeat(axis.ravel(), lanes) for axis in np.indices((groups, others, per_pair))
    )
    target = peer + (peer >= group)
    back = group - (group > target)
    tail = group * routers + gateways[group, peer, cable]
    head = target * routers + gateways[target, back, cable]
    # two cables of a pair of groups may join the same routers
    return tail, head, occurrence_numbers(tail * groups * routers + head)
