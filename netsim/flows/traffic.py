"""What the flows of a placed job put on links, and how long its steps take alone."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fabricsim.checking import number, whole
from netsim.common.arrays import Floats, Ints, Table, distinct_numbers
from netsim.common.errors import ContentionError
from netsim.common.jit import load_kernels
from netsim.flows.contention import STEP, Hops, Traffic, hidden_sum, step_rounds
from netsim.flows.limiters import limited_hops, limited_links
from netsim.topology.base import Topology
from netsim.topology.rails import n_senders, node_bundles
from netsim.topology.routes import Routes, require_routes

_T = TypeVar("_T", bound=np.generic)
_KERNELS = "netsim.flows.traffic_kernels"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Overlap:
    """Steps that take longer than the computation beside them, summed over an iteration."""

    communication_s: float  # Seconds of the steps alone
    computation_s: float  # Seconds of the computation beside them

    @property
    def exposed_s(self) -> float:
        """Seconds of the steps that the computation does not hide."""
        return self.communication_s - self.computation_s


@dataclass(frozen=True, slots=True, eq=False)
class StepTimes:
    """
    Times of a job's steps alone (A,), of all rounds together.

    The link with the most bytes, the longest latency, and the links of the nodes alone, latency
    included.
    """

    steps: Table
    hide_s: Floats | None = None  # as in `Traffic`

    @property
    def communication_s(self) -> float:
        """Time of an iteration alone in steps, tau + lam each, or computation beside them."""
        return hidden_sum(self.steps["drain_s"] + self.steps["latency_s"], self.hide_s)

    @property
    def injection_s(self) -> float:
        """The same if only the node links limited it."""
        return hidden_sum(self.steps["injection_s"], self.hide_s)

    @property
    def overlap(self) -> Overlap | None:
        """Steps beside computation that outlast it alone; None where there are none."""
        if self.hide_s is None:
            return None
        length_s = self.steps["drain_s"] + self.steps["latency_s"]
        last = np.flatnonzero(self.hide_s >= 0.0)  # of steps beside one computation
        together_s = np.diff(np.cumsum(length_s)[last], prepend=0.0)
        beside_s = self.hide_s[last]
        longer = (beside_s > 0.0) & (together_s > beside_s * (1.0 + _ROUNDING))
        if not longer.any():
            return None
        return Overlap(float(together_s[longer].sum()), float(beside_s[longer].sum()))

    @property
    def latency_s(self) -> float:
        """What latency alone takes of an iteration: sum of lam over the steps."""
        return float(self.steps["latency_s"].sum())


class TrafficTimes:
    """Computes how long the steps of jobs take alone on one fabric."""

    def __init__(self, topology: Topology) -> None:
        self._kernel = load_kernels(_KERNELS, "traffic kernels", 3).step_times
        bundle, bundle_capacity = node_bundles(topology)
        channel, capacity = limited_links(topology)
        more = np.arange(topology.n_links, channel.size)  # limiters, which are of the nodes too
        self._topology = topology
        self._links = (
            _kernel_ints(channel),
            _kernel_floats(capacity),
            _kernel_ints(np.concatenate([bundle, more])),
            _kernel_floats(np.concatenate([bundle_capacity, capacity[more]])),
        )
        self._drain_s: Floats = np.zeros((2, channel.size))  # scratch, 0 before and after

    def __call__(self, traffic: Traffic) -> StepTimes:
        """Return how long the steps of one job take; `check_traffic` has passed it."""
        flows = (
            _kernel_ints(traffic.step),
            _kernel_floats(traffic.nbytes),
            _kernel_floats(traffic.latency_s),
        )
        rounds = _kernel_ints(step_rounds(traffic))
        hops, _ = limited_hops(hops_of(traffic), self._topology)
        steps = np.zeros(rounds.size, STEP)
        self._kernel(flows, rounds, hops, self._links, self._drain_s, steps)
        return StepTimes(steps, traffic.hide_s)


def hops_of(traffic: Traffic) -> Hops:
    """
    Return the links that the flows of a job cross.

    A flow that is spread over paths has its first link, those of its minimal and non-minimal paths
    with their shares, and its last.
    """
    routes, path_sets = traffic.routes, traffic.routes.path_sets
    indptr, link = _kernel_ints(routes.indptr), _kernel_ints(routes.links)
    if path_sets is None:
        return Hops(indptr, link, _WHOLE)
    nonminimal, n_flows = traffic.nonminimal, traffic.step.size
    if nonminimal is None:
        raise ContentionError(
            f"traffic of the routing {routes.rule!r} must say which part of each flow takes "
            "non-minimal paths (nonminimal)."
        )
    if not path_sets.pair.size == nonminimal.size == n_flows:
        raise ContentionError(
            f"traffic must hold one pair of routers and one non-minimal part per flow, got "
            f"{n_flows}, {path_sets.pair.size} and {nonminimal.size}."
        )
    kernels = load_kernels("netsim.flows.multipath_kernels", "kernels of multipath routes", 1)
    paths = (path_sets.indptr, path_sets.links, path_sets.share, path_sets.pair)
    as_read = (
        _kernel_ints(paths[0]),
        _kernel_ints(paths[1]),
        _kernel_floats(paths[2]),
        _kernel_ints(paths[3]),
    )
    made = kernels.multipath_hops(indptr, link, as_read, _kernel_floats(nonminimal))
    return Hops(_kernel_ints(made[0]), _kernel_ints(made[1]), _kernel_floats(made[2]))


def check_traffic(traffic: Traffic, topology: Topology) -> None:
    """Refuse traffic that does not fit together or the fabric."""
    n_flows, routes = traffic.step.size, traffic.routes
    require_routes(routes, ContentionError)
    sizes = (traffic.sender.size, traffic.nbytes.size, traffic.latency_s.size, routes.n_flows)
    if sizes != (n_flows,) * len(sizes):
        raise ContentionError(
            f"traffic must hold one step, sender, size, latency and route per flow, got "
            f"{n_flows}, {sizes[0]}, {sizes[1]}, {sizes[2]} and {sizes[3]}."
        )
    if routes.n_links != topology.n_links:
        raise ContentionError(
            f"routes must be on a fabric of {topology.n_links} links, got one of {routes.n_links}."
        )
    require_rule(routes, topology)
    number("compute_s", traffic.compute_s, 0.0, error=ContentionError)
    if traffic.n_nodes is not None:
        whole("n_nodes", traffic.n_nodes, 0, error=ContentionError)
    if n_flows == 0:
        return
    step = traffic.step
    if step[0] < 0 or bool((step[1:] < step[:-1]).any()):
        raise ContentionError("steps of flows must be 0 or more and ascend.")
    rounds = step_rounds(traffic)
    if rounds.size != step[-1] + 1 or int(rounds.min()) < 1:
        raise ContentionError(
            f"rounds must be 1 or more for each of {step[-1] + 1} steps, got {rounds.size} numbers "
            f"from {rounds.min(initial=0)}."
        )
    least, most = traffic.nbytes.min(), traffic.nbytes.max()
    if not 0.0 < least <= most < np.inf:
        wrong_size = most if least > 0.0 else least
        raise ContentionError(f"bytes of flows must be positive and finite, got {wrong_size}.")
    if not 0.0 <= traffic.latency_s.min() <= traffic.latency_s.max() < np.inf:
        raise ContentionError("latencies of flows must be 0 or more and finite.")
    low, high = int(traffic.sender.min()), int(traffic.sender.max())
    most = n_senders(topology) - 1
    if low < 0 or high > most:
        what = "nodes" if most < topology.n_nodes else "links of nodes"
        raise ContentionError(f"senders must be {what} 0..{most}, got {low}..{high}.")


def require_rule(routes: Routes, topology: Topology) -> None:
    """Refuse routes over link groups where the fabric has none, and paths where it has some."""
    rule = "" if topology.multipath is None else topology.multipath.rule
    if routes.rule != rule:
        raise ContentionError(
            f"routes must be of the routing {rule or 'of the fabric, over paths'!r}, got "
            f"{routes.rule or 'paths'!r}: where switches choose the way of each packet, make the "
            "fabric by netsim.as_routed."
        )


def bytes_per_link(traffic: Traffic) -> tuple[Ints, Floats]:
    """Return the links that a job uses, ascending, and bytes per iteration on each."""
    hops, total = hops_of(traffic), np.zeros(traffic.routes.n_links)
    touched = np.empty_like(hops.link)
    count = load_kernels(_KERNELS, "traffic kernels", 3).link_bytes(
        _kernel_floats(traffic.nbytes), hops, total, touched
    )
    links = distinct_numbers(touched[:count])
    return links, total[links]


def _kernel_ints(array: Ints) -> Ints:
    """Return whole numbers as kernels take them."""
    return read_only(np.ascontiguousarray(array, np.int64))


def _kernel_floats(array: Floats) -> Floats:
    """Return numbers as kernels take them."""
    return read_only(np.ascontiguousarray(array, np.float64))


def read_only(array: NDArray[_T]) -> NDArray[_T]:
    """Return a view that cannot be written to, the type that kernels are compiled for."""
    view = array.view()
    view.setflags(write=False)
    return view


_WHOLE = read_only(np.ones(1))
