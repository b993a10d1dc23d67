"""Effective bisection bandwidth: what random pairs of hosts get that all exchange data at once."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError
from netsim.flows.contention import Traffic
from netsim.flows.maxmin import multipath_rates
from netsim.flows.traffic import hops_of
from netsim.routing.base import RankRouting, Routing
from netsim.routing.multipath import as_routed
from netsim.routing.path_sets import nonminimal_part
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service
from netsim.topology.multipath import as_built
from netsim.topology.rails import node_bandwidth

_LEAST = 2  # hosts: a pair
_UNITS = 2**31 - 1  # largest capacity that SciPy's maximum flow takes


@dataclass(frozen=True, slots=True, eq=False)
class Pairings:
    """What pairs of hosts get in random pairings."""

    # (S, P): bytes per second of each of P pairs in S pairings: the slower of its two directions
    rates: Floats
    full: Floats  # (S, P): bytes per second that the links of the pair's hosts allow
    # (E,): load of each directed link if all pairs had what their hosts allow, over its capacity:
    # mean over the pairings
    offered: Floats
    peak: Floats  # (E,): the same, the largest of the pairings


def random_pairings(
    topology: Topology,
    routing: Routing,
    samples: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Pairings:
    """
    Return what pairs of hosts get that all exchange data at once.

    `progress`: called with the pairings done. Each pairing divides the hosts that take jobs at
    random into pairs (one host is idle where their number is odd). Both hosts of a pair send to
    each other, as by MPI_Sendrecv; links are shared max-min fairly. Raises `NetsimError` for fewer
    than two hosts, and where a pair has no path.

    The bandwidth of random bisecting pairings is Hoefler, Schneider and Lumsdaine's effective
    bisection bandwidth (*Multistage switches are not crossbars*, CLUSTER 2008); the exchange in
    both directions is the measurement of Geoffray and Hoefler (HotI 2008).
    """
    hosts = topology.usable_nodes
    if hosts.size < _LEAST:
        raise NetsimError(
            "effective bisection bandwidth needs two hosts that take jobs; the fabric "
            f"({topology.summary}) has "
            f"{hosts.size}."
        )
    fabric = as_routed(topology, routing)
    exchange = _PairExchange(fabric, routing)
    allowed, n_pairs = _host_bandwidth(topology, ways=2), hosts.size // 2
    rates, full = np.empty((samples, n_pairs)), np.empty((samples, n_pairs))
    offered, peak = np.zeros(topology.n_links), np.zeros(topology.n_links)
    rng = np.random.default_rng(seed)
    for sample in range(samples):
        one, other = rng.permutation(hosts)[: 2 * n_pairs].reshape(2, n_pairs)
        full[sample] = np.minimum(allowed[one], allowed[other])
        rates[sample], load = exchange(one, other, full[sample])
        offered += load / samples
        np.maximum(peak, load, out=peak)
        if progress is not None:
            progress(sample + 1)
    return Pairings(np.minimum(rates, full), full, offered, peak)


class _PairExchange:
    """Finds the rates of pairs that exchange data on one fabric."""

    def __init__(self, fabric: Topology, routing: Routing) -> None:
        self._fabric = fabric
        self._ranks = RankRouting(fabric, routing)

    def __call__(self, one: Ints, other: Ints, full: Floats) -> tuple[Floats, Floats]:
        """Return the rate of each pair, and the load of each link at full rates."""
        fabric = self._fabric
        src, dst = np.concatenate([one, other]), np.concatenate([other, one])
        routes, rails = self._ranks.of_nodes(src, dst)
        flow = np.arange(src.size) if rails is None else rails.flow
        parts = np.ones(src.size) if rails is None else rails.parts.astype(np.float64)
        n_flows, nothing = routes.n_flows, np.zeros(routes.n_flows)
        step, nbytes = np.zeros(n_flows, dtype=np.int64), np.tile(full, 2)[flow] / parts
        around = nonminimal_part(fabric, routes, step, nbytes)
        hops = hops_of(Traffic(step, src[flow], nbytes, routes, 0.0, nothing, nonminimal=around))
        got = np.full(src.size, np.inf)
        np.minimum.at(got, flow, multipath_rates(hops, fabric) * parts)
        carried = np.repeat(nbytes, np.diff(hops.indptr)) * hops.share
        channel = fabric.channel
        load = np.bincount(channel[hops.link], weights=carried, minlength=fabric.n_links)[channel]
        return np.minimum(got[: one.size], got[one.size :]), load / fabric.capacity


def _host_bandwidth(topology: Topology, ways: int = 1) -> Floats:
    """Return what each node can send, 0 without links, (N,); 2 `ways`: as it receives as much."""
    found = np.zeros(topology.n_nodes)
    found[np.diff(topology.node_links[1]) > 0] = node_bandwidth(topology)
    found /= ways if topology.half_duplex else 1
    return np.minimum(found, topology.limiter_link / ways) if topology.limiter_link else found


def cut_of_halves(topology: Topology) -> tuple[float, float]:
    """
    Return the capacity between the first and the second half of the hosts, by any paths.

    Result: bytes per second of the maximum flow from the first half of the hosts that take jobs, in
    the fabric's order, to the second; and what the links of one half carry. No less than the
    bisection bandwidth, the least of all halves.
    """
    plain, hosts = as_built(topology), topology.usable_nodes
    half = hosts.size // 2
    links = np.flatnonzero(links_in_service(plain))
    capacity = plain.capacity[links]
    allowed = _host_bandwidth(plain)[hosts]
    amount = np.concatenate([capacity, allowed[: 2 * half]])
    whole = np.rint(amount).astype(np.int64)
    unit = gcd(*whole.tolist()) if np.allclose(whole, amount, rtol=1e-9) else 0
    most = max(capacity.sum(), 2.0 * allowed.sum())
    scale = float(unit) if unit and most / unit < _UNITS else most / _UNITS
    source, sink = plain.n_nodes + plain.n_switches, plain.n_nodes + plain.n_switches + 1
    first, second = hosts[:half], hosts[half : 2 * half]
    tail = np.concatenate([plain.link_tail[links], np.full(half, source), second])
    head = np.concatenate([plain.link_head[links], first, np.full(half, sink)])
    from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import)
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415 (slow to import)

    graph = csr_array(
        (np.rint(amount / scale).astype(np.int32), (tail, head)), shape=(sink + 1, sink + 1)
    )
    cut = float(maximum_flow(graph, source, sink).flow_value) * scale
    return cut, float(min(allowed[:half].sum(), allowed[half : 2 * half].sum()))
