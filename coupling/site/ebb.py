"""Effective bisection bandwidth of a fabric: random pairs of hosts that exchange data at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fabricsim.checking import whole, wrong
from netsim.common.arrays import Floats, Ints, Tabled
from netsim.common.errors import NetsimError, RoutingError
from netsim.flowsim.effective_bisection import Pairings, cut_of_halves, random_pairings
from netsim.registries.routings import make_routing, usual_routing
from netsim.routing.base import Routing
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.multipath import link_names

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
SAMPLES = 50


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveBisection(Tabled):
    """
    What pairs of hosts get that all exchange data at once.

    Parameters
    ----------
    topology : Topology
        The fabric, as the routing sees it.
    routing : str
        Name of the routing.
    seed : int
        Random seed of the pairings.
    pairings : Pairings
        Rates of all pairs, loads of links.
    cut : tuple of float
        Capacity between the halves of the hosts, and what the links of one half carry, in bytes per
        second.
    assumed : tuple of str
        What the description of the fabric left open.
    """

    topology: Topology
    routing: str
    seed: int
    pairings: Pairings
    cut: tuple[float, float]
    assumed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<EffectiveBisection: {self.mean:.3g} in {self.samples} pairings>"

    @property
    def samples(self) -> int:
        """Random pairings."""
        return int(self.pairings.rates.shape[0])

    @property
    def shares(self) -> Floats:
        """Bandwidth of pairs as a fraction of what their hosts' links allow, (samples, pairs)."""
        return self.pairings.rates / self.pairings.full

    @property
    def mean(self) -> float:
        """Effective bisection bandwidth: mean of `shares`, 0 to 1."""
        return float(self.shares.mean())

    def percentiles(self) -> list[tuple[int, float, float]]:
        """
        Return how pairs are distributed.

        Returns
        -------
        list of (int, float, float)
            Percentile, fraction of what the hosts' links allow, bytes per second.
        """
        shares, rates = (
            np.percentile(own, PERCENTILES).tolist() for own in (self.shares, self.pairings.rates)
        )
        return list(zip(PERCENTILES, shares, rates, strict=True))

    def worst_links(self, top: int | None = None) -> list[dict[str, Any]]:
        """
        Return the links between switches that pairs load most.

        Parameters
        ----------
        top : int, optional
            How many; default: all that carry anything.

        Returns
        -------
        list of dict
            ``link``, ``offered``, ``peak``: load over capacity if all pairs had what their hosts
            allow, mean and largest of the pairings; the worst first.
        """
        name, pairings = link_names(self.topology), self.pairings
        return [
            {"link": name(link), "offered": pairings.offered[link], "peak": pairings.peak[link]}
            for link in _by_load(self.topology, pairings)[:top].tolist()
        ]

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the links between switches with their load."""
        return self.worst_links()

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim ebb --json` prints."""
        each, (cut, full) = self.shares.mean(axis=1), self.cut
        return {
            "fabric": self.topology.name,
            "routing": self.routing,
            "hosts": int(self.topology.usable_nodes.size),
            "samples": self.samples,
            "seed": self.seed,
            "ebb": self.mean,
            "ebb_bytes_per_s": float(self.pairings.rates.mean()),
            "pairings": {"lowest": float(each.min()), "highest": float(each.max())},
            "pairs": [
                {"percentile": percentile, "share": share, "bytes_per_s": rate}
                for percentile, share, rate in self.percentiles()
            ],
            "bisection": {"share": cut / full, "bytes_per_s": cut},
            "links": self.worst_links(),
            "assumed": list(self.assumed),
        }


def effective_bisection(
    topology: Topology,
    routing: Routing | Mapping[str, Any] | str | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    assumed: tuple[str, ...] = (),
) -> EffectiveBisection:
    """
    Return what random pairs of hosts get.

    `routing`: itself, its name or its table; None: the usual one. `progress`: called with the
    pairings done. `assumed`: what the description left open.
    """
    samples = whole("samples", samples, 1, error=NetsimError)
    seed = whole("seed", seed, 0, error=NetsimError)
    spec = usual_routing(topology, owned=False) if routing is None else routing
    chosen = make_routing(spec, topology, seed) if isinstance(spec, (str, Mapping)) else spec
    if not hasattr(chosen, "routes"):
        raise wrong("routing", "a Routing, its name or its table", chosen, RoutingError)
    pairings = random_pairings(topology, chosen, samples, seed, progress)
    cut = cut_of_halves(topology)
    return EffectiveBisection(
        as_routed(topology, chosen), _routing_name(spec), seed, pairings, cut, assumed
    )


def _routing_name(spec: Routing | Mapping[str, Any] | str) -> str:
    """Return what a routing is called in answers."""
    if isinstance(spec, Mapping):
        return str(spec.get("name", "tables"))
    return spec if isinstance(spec, str) else type(spec).__name__


def _by_load(topology: Topology, pairings: Pairings) -> Ints:
    """Return the links between switches that carry anything, the most loaded first."""
    first = topology.n_nodes
    inner = (topology.link_tail >= first) & (topology.link_head >= first)
    links = np.flatnonzero(inner & (pairings.peak > 0.0))
    order = np.lexsort((links, -pairings.peak[links], -pairings.offered[links]))
    return links[order]
