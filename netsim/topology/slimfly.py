"""Slim Fly: routers of which any two are at most two links apart."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth, Quantity
from netsim.topology.base import Topology
from netsim.topology.building import Ends, check_size, class_rates, router_fields

_MOST_Q = 200  # 80,000 routers


@dataclass(frozen=True, eq=False, repr=False)
class SlimFly(Topology):
    """
    The graph of McKay, Miller and Siran on 2 q² routers, for a prime q.

    Router ``(0, x, y)`` has number ``x q + y``, router ``(1, m, c)`` number ``q² + m q + c``. Those
    of one x are joined where y differs by an element of X, those of one m where c differs by one of
    X', and (0, x, y) with (1, m, c) where y = m x + c modulo q. Node n hangs on router ``n //
    nodes_per_router``. Source: M. Besta and T. Hoefler, *Slim Fly: a cost effective low-diameter
    network topology*, SC 2014, section II-B.

    Links: ``n`` up from node n, ``n_nodes + n`` down to it, then by tail and head router.
    """

    q: int = 5
    nodes_per_router: int = 1

    @property
    def _kind_words(self) -> str:
        return f"Slim Fly of {self.n_switches} routers"

    @property
    def bases(self) -> tuple[int, ...]:
        """Number of the first link between routers."""
        return (2 * self.n_nodes,)

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link between routers."""
        return {"router": 2 * self.n_nodes}


def build_slim_fly(
    q: int,
    bandwidth: Bandwidth,
    *,
    nodes_per_router: int | None = None,
    half_duplex: bool = False,
    latency_base_s: Quantity = 0.0,
    latency_per_link_s: Quantity = 0.0,
) -> SlimFly:
    """
    Build a Slim Fly.

    `q`: a prime above 2. `bandwidth`: bytes per second of every cable, or of node and router
    cables. `nodes_per_router`: half of a router's cables to others, rounded up, when absent: full
    global bandwidth (Besta and Hoefler, section II-B). The others as in
    `netsim.topology.torus.build_torus`.

    Examples
    --------
    >>> fabric = build_slim_fly(5, 1e9)
    >>> fabric.summary, fabric.n_links // 2
    ('Slim Fly of 50 routers, 200 nodes', 375)
    """
    if not 2 < q <= _MOST_Q or any(q % part == 0 for part in range(2, q)):  # noqa: PLR2004 (odd)
        raise TopologyError(f"q must be a prime from 3 to {_MOST_Q}, got {q}.")
    ends = _router_links(q)
    degree = ends[0].size // (2 * q * q)
    nodes = -(-degree // 2) if nodes_per_router is None else nodes_per_router
    if nodes < 1:
        raise TopologyError(f"nodes_per_router must be at least 1, got {nodes}.")
    check_size(ends[0].size + 4 * q * q * nodes)
    common = router_fields(
        np.repeat(np.arange(2 * q * q), nodes),
        2 * q * q,
        [ends],
        class_rates(bandwidth, ["router"]),
        half_duplex=half_duplex,
        latency_base_s=latency_base_s,
        latency_per_link_s=latency_per_link_s,
    )
    return SlimFly(name=f"slim-fly({q}; {nodes} a router)", **common, q=q, nodes_per_router=nodes)


def _router_links(q: int) -> Ends:
    """Return the links between routers by tail and head."""
    own, other = generator_sets(q)
    number = np.arange(q)
    apart = (number[:, None] - number) % q
    tails, heads = [], []
    for first, steps in ((0, own), (q * q, other)):
        low, high = np.nonzero(steps[apart])
        block = first + q * number[:, None]
        tails.append((block + low).ravel())
        heads.append((block + high).ravel())
    x, y, m = (part.ravel() for part in np.meshgrid(number, number, number, indexing="ij"))
    one, two = x * q + y, q * q + m * q + (y - m * x) % q
    tail, head = np.concatenate([*tails, one, two]), np.concatenate([*heads, two, one])
    order = np.lexsort((head, tail))
    return tail[order], head[order], np.zeros(tail.size, dtype=np.int64)


def generator_sets(q: int) -> tuple[Bools, Bools]:
    """
    Return which differences join routers of one x, and of one m: the sets X and X' (q,).

    With a generator g of the residues and q = 4 w + d: for d = 1 the even and the odd powers of g;
    for d = -1 even powers to 2 w - 2 with odd ones from 2 w - 1, and the other half.
    """
    power = _generator_powers(q)
    own, other = np.zeros(q, dtype=bool), np.zeros(q, dtype=bool)
    if q % 4 == 1:
        own[power[::2]] = other[power[1::2]] = True
        return own, other
    w = (q + 1) // 4
    low, high = np.arange(0, 2 * w, 2), np.arange(2 * w - 1, 4 * w - 2, 2)
    own[power[np.concatenate([low, high])]] = True
    other[power[(np.concatenate([low, high]) + 1) % (q - 1)]] = True
    return own, other


def _generator_powers(q: int) -> Ints:
    """Return the powers 0 to q - 2 of the least generator of the residues modulo a prime."""
    for g in range(2, q + 1):
        power = np.ones(q - 1, dtype=np.int64)
        for exponent in range(1, q - 1):
            power[exponent] = power[exponent - 1] * g % q
        if np.unique(power).size == q - 1:
            return power
    raise AssertionError(f"{q} is no prime")
