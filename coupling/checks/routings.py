"""What every routing promises: paths over adjacent links, the same ones again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.rails import flow_endpoints
from netsim.topology.routes import Routes

_FLOWS, _SEED = 400, 3
NO_NODES: Sequence[tuple[Any, Any, str]] = (
    ([0], [99999999], "dst"),
    ([0, -1], [1, 1], "src"),
    ([2**63], [0], "src"),
    ([10**30], [0], "src"),
    ([0.0], [1.0], "src"),
    ([True], [False], "src"),
    (["n0"], ["n1"], "src"),
    ([[0]], [[1]], "src"),
    (0, 1, "src"),
    ([[0], [1, 2]], [0], "src"),
    ([0], [1, 2], "src and dst"),
    ([0, 1], [1], "src and dst"),
)
"""Sources and destinations that are none, and what the error has to name."""


@dataclass(frozen=True)
class Case:
    """A routing on a fabric, and flows between many pairs of its usable nodes."""

    topology: Topology  # The fabric
    make: Callable[[], Routing]  # Makes the routing, always with the same seed

    @cached_property
    def routing(self) -> Routing:
        """A routing."""
        return self.make()

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Endpoints that flows go from and to."""
        rng = np.random.default_rng(_SEED)
        src, dst = rng.choice(self.topology.usable_nodes, (2, _FLOWS))
        return flow_endpoints(self.topology, src, dst)

    @cached_property
    def routes(self) -> Routes:
        """Routes of the flows."""
        return self.routing.routes(*self.ends)


def paths_lead_there(case: Case) -> Iterator[str]:
    """Check that paths lead from source to destination over adjacent links."""
    topology, routes = case.topology, case.routes
    src, dst = (topology.endpoints.node[end] for end in case.ends)
    if routes.n_flows != src.size or routes.n_links != topology.n_links:
        yield (
            f"routes of {routes.n_flows} flows over {routes.n_links} links come out, expected "
            f"{src.size} and {topology.n_links}"
        )
        return
    for flow in range(src.size):
        links, name = routes.of_flow(flow), f"from node {src[flow]} to {dst[flow]}"
        if src[flow] == dst[flow]:
            if links.size:
                yield f"{name}: a flow within a node crosses links"
        elif not links.size:
            yield f"{name}: no links"
        elif topology.link_tail[links[0]] != src[flow]:
            yield f"{name}: the path begins elsewhere"
        elif topology.link_head[links[-1]] != dst[flow]:
            yield f"{name}: the path ends elsewhere"
        elif not np.array_equal(topology.link_head[links[:-1]], topology.link_tail[links[1:]]):
            yield f"{name}: a link does not begin where the one before ends"


def paths_are_simple(case: Case) -> Iterator[str]:
    """Check that no path takes a link twice or passes through a node."""
    src, dst = case.ends
    for flow in range(src.size):
        links, name = case.routes.of_flow(flow), f"from node {src[flow]} to {dst[flow]}"
        if np.unique(links).size != links.size:
            yield f"{name}: a link is taken twice"
        if not np.all(case.topology.link_head[links[:-1]] >= case.topology.n_nodes):
            yield f"{name}: the path passes through a node"


def absent_links_are_left(case: Case) -> Iterator[str]:
    """Check that absent links are never taken."""
    absent = case.topology.absent
    if absent is not None and np.isin(case.routes.links, absent).any():
        link = case.routes.links[np.isin(case.routes.links, absent)][0]
        yield f"a flow takes {case.topology.link_name(int(link))}, which is absent"


def routes_come_again(case: Case) -> Iterator[str]:
    """Check that the same call gives the same routes, and lists those of arrays."""
    src, dst = case.ends
    for again, words in (
        (case.make().routes(src, dst), "another routing of the same seed gives other routes"),
        (case.routing.routes(src.tolist(), dst.tolist()), "lists are routed otherwise than arrays"),
    ):
        if not (
            np.array_equal(again.indptr, case.routes.indptr)
            and np.array_equal(again.links, case.routes.links)
        ):
            yield words


def no_flows_no_links(case: Case) -> Iterator[str]:
    """Check that no flows are routed to no links."""
    none = np.empty(0, dtype=np.int64)
    routes = case.routing.routes(none, none)
    found = (routes.n_flows, routes.links.size, routes.n_links)
    if found != (0, 0, case.topology.n_links):
        yield f"flows, links taken and links of the fabric are {found}"


def no_nodes_are_refused(case: Case) -> Iterator[str]:
    """Check that what are no nodes of the fabric is refused: else it indexes other links."""
    for src, dst, field in NO_NODES:
        try:
            case.routing.routes(src, dst)
        except RoutingError as error:
            if f"{field}: expected" not in str(error):
                yield f"src {src}, dst {dst}: the error does not say {field!r}: {error}"
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            yield f"src {src}, dst {dst}: {type(error).__name__} instead of a RoutingError"
        else:
            yield f"src {src}, dst {dst}: is routed"


ABSENT = "absent links are never taken"
RULES: Mapping[str, Callable[[Case], Iterator[str]]] = {
    "paths lead from source to destination over adjacent links": paths_lead_there,
    "no path takes a link twice or passes through a node": paths_are_simple,
    ABSENT: absent_links_are_left,
    "the same call gives the same routes": routes_come_again,
    "no flows are routed to no links": no_flows_no_links,
    "what are no nodes of the fabric is refused with a RoutingError": no_nodes_are_refused,
}
