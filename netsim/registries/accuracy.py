"""What is known of the models' errors: comparisons with packet-level simulations, by machine."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fabricsim.checking.documents import json_fields
from netsim.common.arrays import Ints
from netsim.flows.contention import Traffic
from netsim.infiniband.lft import LFT
from netsim.routing.base import Routing
from netsim.routing.cluster import ClusterRouting
from netsim.routing.dimension import DimensionOrder, HyperXOrder
from netsim.routing.dmodk import DModK, SModK
from netsim.routing.dragonfly import Minimal, Valiant
from netsim.routing.ecmp import Ecmp, GraphEcmp
from netsim.routing.multipath import MultipathRouting
from netsim.routing.shortest import Rerouted, Shortest
from netsim.routing.updown import LeastLoadedPerJob
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.dragonflyplus import DragonflyPlus
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.hyperx import HyperX
from netsim.topology.slimfly import SlimFly
from netsim.topology.switches import SWITCHES, switch_of
from netsim.topology.torus import Torus

IRREGULAR = "irregular fabric"
_OTHERS = {HyperX: "HyperX", SlimFly: "Slim Fly", DragonflyPlus: "Dragonfly+"}  # never compared
FEWEST_SENDERS = 4
FILLED = 1.0 + 1e-9  # of a link, with the rounding of an all-to-all
_UNUSED = 4  # numbers of pairs per flow, at most, of which most may be unused
_BY_A_SWITCH = 2  # links of a path that no other job's packets wait on
TABLE = "accuracy.json"
FEW, MANY, ONE, STEPS, ANY = "low-fanout", "high-fanout", "incast", "multi-step", "mixed"
"""Traffic classes: few or many open messages a sender; one rank has most; steps; some of all."""
PACKET_BYTES = 4096.0  # of the packet simulations
OWNED = "wraparound"
"""Routing of jobs that own links: on these alone."""
FEWEST_JOBS = 20
"""Jobs of a comparison that is quoted for one way to communicate; with fewer, that of all is."""
_SOME = 2  # names that a line lists
TRAFFIC_CLASSES = (FEW, MANY, ONE, STEPS, ANY)
_NOTHING_TO_COMPARE = {
    "null": "Model null is an infinite network: there is nothing to compare with packets.",
    "assumed": "Model assumed states what jobs lose: there is nothing to compare with packets.",
}
_FLUID_MODELS = ("fluid", "flow-level")  # which say too little of what waits behind an incast
_MOST_BUSY = 1.1  # of a link; above, the times that the model says are surely too short
_ROUTINGS: Mapping[type, str] = {
    DModK: "d-mod-k",
    SModK: "s-mod-k",
    Ecmp: "ecmp",
    GraphEcmp: "ecmp",
    LeastLoadedPerJob: "least-loaded-per-job",
    Shortest: "shortest",
    DimensionOrder: "dimension-order",
    HyperXOrder: "dimension-order",
    Minimal: "minimal",
    Valiant: "valiant",
    LFT: "loaded tables",
}


def machine_kind(topology: Topology) -> str:
    """
    Return the kind of a machine, whatever its size.

    Result: ``full fat-tree``, ``tapered fat-tree``, ``torus``, ``dragonfly``, ``irregular fabric``
    and others; what is missing, half-duplex or of unequal speed comes behind a comma.

    Examples
    --------
    >>> from netsim.registries.topologies import make_topology
    >>> machine_kind(make_topology("synth-1024"))
    'full fat-tree'
    >>> machine_kind(make_topology({"kind": "torus", "dims": [4, 4], "duplex": "half"}))
    'torus, half duplex'
    """
    parts = [_fabric_kind(topology)]
    if topology.absent is not None and topology.absent.size:
        parts.append("parts missing")
    if topology.half_duplex:
        parts.append("half duplex")
    if topology.limiter_link:
        parts.append("limiters of hosts")
    if topology.loopback_bw:
        parts.append("loopback of hosts")
    rates = topology.capacity if topology.multipath is None else topology.multipath.capacity
    if rates.size and rates.min() < rates.max():
        parts.append("unequal links")
    return ", ".join(parts)


def _fabric_kind(topology: Topology) -> str:
    """Return the kind of the fabric as it was built."""
    if isinstance(topology, GpuCluster):
        return f"GPU cluster, {topology.fabric}"
    if isinstance(topology, FatTree):
        return _tree_kind(topology)
    if isinstance(topology, Dragonfly):
        in_rows = topology.rows > 1 and topology.columns > 1
        return "dragonfly of rows and columns" if in_rows else "dragonfly"
    if isinstance(topology, Torus):
        return "torus" if all(topology.wrap) else "mesh"
    return next((name for kind, name in _OTHERS.items() if isinstance(topology, kind)), IRREGULAR)


def _tree_kind(tree: FatTree) -> str:
    """Return the kind of a tree: rails, then what its levels carry upwards."""
    if tree.parents[0] > 1:
        return "rail tree"
    below = zip(tree.children[:-1], tree.parallel[:-1], tree.ports[1:], strict=True)
    spare = [up - m * p for m, p, up in below]
    if min(spare) < 0:
        return "tapered fat-tree"
    if max(spare) > 0:
        return "fat-tree with spare uplinks"
    return "full fat-tree" + (" of parallel cables" if max(tree.parallel) > 1 else "")


def hot_spot(topology: Topology, jobs: Iterable[Traffic], before: str = "") -> str:
    """
    Name the receiver that most senders of a job saturate at once, as ``17 senders to n5``.

    `before`: what was found so far. Result: empty where there is none. Senders saturate a link if
    they could fill it more than once; those on the receiver's own switch do not count, as nothing
    of other jobs waits behind their packets.
    """
    most, found = hot_spot_senders(before), before
    for own in jobs:
        senders, node = _most_senders(topology, own, most)
        if senders > most:
            most, found = senders, f"{senders} senders to {topology.vertex_name(node)}"
    return found


def hot_spot_senders(found: str) -> int:
    """Return how many senders saturate the receiver that `hot_spot` found; else too few to tell."""
    return int(found.split(maxsplit=1)[0]) if found else FEWEST_SENDERS - 1


def _most_senders(topology: Topology, own: Traffic, least: int) -> tuple[int, int]:
    """Return how many senders saturate a receiver of a job in a step, and which; 0 for `least`."""
    indptr, links = own.routes.indptr, own.routes.links
    if indptr.size - 1 <= least:  # fewer flows than that many senders have
        return 0, 0
    hops = np.diff(indptr)
    node = np.full(hops.size, -1, dtype=np.int64)
    last = links[indptr[1:][hops > 0] - 1]
    several = not topology.endpoints.one_each  # each link of a node is a receiver of its own
    node[hops > 0] = last if several else topology.link_head[last]
    outside = hops
    if topology.n_fabric_links < topology.n_links:
        inside = np.concatenate([[0], np.cumsum(links >= topology.n_fabric_links)])
        outside = hops - np.diff(inside[indptr])
    across = outside > _BY_A_SWITCH
    if not across.any() or np.bincount(node[across]).max() <= least:
        return 0, 0
    sender = _pair_numbers(own.step, own.sender)
    weight = np.where(hops > 0, 1.0 / np.maximum(np.bincount(sender, hops > 0), 1)[sender], 0)
    sender, weight = sender[across], weight[across]
    receiver = _pair_numbers(own.step[across], node[across])
    saturated = np.bincount(receiver, weight) > FILLED
    if not saturated.any():
        return 0, 0
    behind = saturated[receiver]
    width = int(sender.max()) + 1
    pairs = np.unique(receiver[behind] * width + sender[behind])
    senders = np.bincount(pairs // width)
    place = int(np.argmax(senders))
    first = int(np.argmax(receiver == place))
    found = int(node[across][first])
    return int(senders[place]), int(topology.link_head[found]) if several else found


def _pair_numbers(step: Ints, end: Ints) -> Ints:
    """Return a number of the pair of step and end of each flow, in order, few unused."""
    number: Ints = step * (int(end.max()) + 1) + end
    if int(number.max()) < _UNUSED * number.size:  # without sorting all flows
        return number
    found: Ints = np.unique(number, return_inverse=True)[1].reshape(-1)
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """A model compared with packet-level simulations of one kind of network."""

    machine: str  # as `netsim.registries.accuracy.machine_kind` names it
    routing: str  # as `routing_kind` names it
    ranks_per_node: int  # ranks of a job on each of its nodes, or the fewest
    fairness: str  # what a link is shared evenly among
    buffer_bytes: float  # buffer of a port in the model; 0 where the fabric states none
    load: str  # what the jobs do
    model: str  # the contention model
    nodes: int  # nodes of the machine, or of the smallest
    # cases, jobs: scenes, and jobs in all of them
    cases: int
    jobs: int
    # mean_error, p90_error, worst_error: relative errors of the interference; 0.01 is one per cent
    mean_error: float
    p90_error: float
    worst_error: float
    contended_error: float  # mean over the jobs whose true interference is above 1.05
    bias: float  # sum of (predicted - 1) / sum of (true - 1); below 1 the model understates
    rank: float  # Spearman's rank correlation
    source: str  # the command that measured it
    most_nodes: int | None = None  # nodes of the largest machine, where there were several
    # ranks of a job on each of its nodes at most, where jobs of several numbers were taken
    most_ranks: int | None = None
    # of the jobs: `FEW`, `MANY`, `ONE`, `STEPS`, or `ANY` for all together
    traffic_class: str = ANY


@dataclass(frozen=True, slots=True)
class Setting:
    """What a comparison must have in common with a result to say something about it."""

    # model, fairness: as in an experiment
    model: str
    fairness: str
    machine: str  # as `netsim.registries.accuracy.machine_kind` names it
    # as `routing_kind` names them; jobs that own links may be routed otherwise than others
    routings: tuple[str, ...]
    ranks_per_node: tuple[int, ...]
    buffer_bytes: float  # buffer of a port; 0 where the fabric states none
    traffic_class: str = ANY  # of most of the communication of its jobs, as in a comparison
    nodes: int = 0  # nodes of the machine; 0 in results that do not say
    # receiver that many senders saturate, as `netsim.registries.accuracy.hot_spot` names it
    hot_spot: str = ""

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> "Setting":
        """Take a setting back from JSON; older results do not say all that has a default."""
        names = {one.name for one in fields(cls)}
        own: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in known.items()
            if key in names
        }
        return cls(**own)


def routing_kind(routing: Routing, *, owned: bool = False) -> str:
    """Return the key of a routing in `ROUTINGS`; of ``jigsaw``, that of the half that it is."""
    if isinstance(routing, ClusterRouting):
        return routing_kind(routing.inner, owned=owned)
    if isinstance(routing, Rerouted):
        return f"{routing_kind(routing.inner, owned=owned)} round failures"
    if isinstance(routing, Wraparound):
        return OWNED if owned else "d-mod-k"
    if isinstance(routing, MultipathRouting):
        return routing.rule
    return _ROUTINGS.get(type(routing), "a routing of its own")


def setting_of(
    topology: Topology,
    routing: Routing | None,
    *,
    model: str,
    fairness: str,
    owned: Iterable[bool] = (),
    ranks_per_node: Iterable[int] = (),
    options: Mapping[str, Any] | None = None,
    traffic_class: str = ANY,
    hot_spot: str = "",
) -> Setting:
    """
    Return what a result is computed with; jobs that communicate may own links.

    `options`: those of the model, of which `packets` has the table `[switch]` and its stepping.
    """
    buffer_bytes, given = topology.buffer_bytes, options or {}
    if model == "packets":
        found = switch_of(topology, given.get("switch"))
        buffer_bytes = found.buffer_bytes
        fairness = fairness if found == SWITCHES["codes"] else "of other switches"
        fairness += ", without barriers" if given.get("stepping") == "rank" else ""
    elif topology.packet_bytes not in (0.0, PACKET_BYTES):
        fairness += f", packets of {topology.packet_bytes:,.0f} bytes"
    ways = (
        set()
        if routing is None
        else {routing_kind(routing, owned=o) for o in set(owned) or {False}}
    )
    return Setting(
        model=model,
        fairness=fairness,
        machine=machine_kind(topology),
        routings=tuple(sorted(ways)),
        ranks_per_node=tuple(sorted(set(ranks_per_node) or {1})),
        buffer_bytes=buffer_bytes,
        traffic_class=traffic_class,
        nodes=topology.n_nodes,
        hot_spot=hot_spot,
    )


@cache
def comparisons(model: str | None = None) -> tuple[Comparison, ...]:
    """Return the comparisons with packets that were made, all or those of a model."""
    return tuple(Comparison(**row) for row in _comparison_rows() if model in (None, row["model"]))


@cache
def _comparison_rows() -> list[dict[str, Any]]:
    """Return the table of comparisons."""
    text = Path(__file__).with_name(TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def nearest_comparisons(setting: Setting) -> tuple[Comparison, ...]:
    """
    Return the comparisons nearest to a result; empty where the model was never compared.

    Of its kind of machine if there are any, then with its routing, fairness, buffers and ranks a
    node; of jobs that communicate alike if there were `FEWEST_JOBS`, else of all jobs.
    """
    rows = comparisons(setting.model) if setting.machine else ()
    nearer: tuple[Callable[[Comparison], bool], ...] = (
        lambda row: row.machine == setting.machine.partition(",")[0],
        lambda row: any(one.partition(" round ")[0] == row.routing for one in setting.routings),
        lambda row: row.fairness == setting.fairness,
        lambda row: row.buffer_bytes == setting.buffer_bytes,
        lambda row: row.traffic_class == setting.traffic_class != ANY and row.jobs >= FEWEST_JOBS,
        lambda row: row.traffic_class == ANY,
        lambda row: row.most_ranks is None and row.ranks_per_node in setting.ranks_per_node,
    )
    for near in nearer:
        rows = tuple(row for row in rows if near(row)) or rows
    return rows


def outside(setting: Setting, rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return in what a result lies outside of comparisons, with what these had in brackets."""
    found = []
    for own, compared_with in (
        ((setting.machine,), {row.machine for row in rows}),
        (setting.routings, {row.routing for row in rows}),
        ((setting.fairness,), {row.fairness for row in rows}),
    ):
        if absent := [one for one in own if one not in compared_with]:
            known = (
                f" ({' or '.join(sorted(compared_with))})" if len(compared_with) <= _SOME else ""
            )
            found.append(" and ".join(absent) + known)
    low, high = min(row.nodes for row in rows), max(row.most_nodes or row.nodes for row in rows)
    if setting.nodes and not low <= setting.nodes <= high:
        found.append(f"{setting.nodes:,} nodes ({_written_span((low, high))})")
    few = min(row.ranks_per_node for row in rows)
    many = max(row.most_ranks or row.ranks_per_node for row in rows)
    if beyond := [ranks for ranks in setting.ranks_per_node if not few <= ranks <= many]:
        found.append(
            f"{' and '.join(map(str, beyond))} ranks a node ({_written_span((few, many))})"
        )
    buffers = {row.buffer_bytes for row in rows}
    if setting.buffer_bytes not in buffers:
        sizes = " or ".join(f"{one:,.0f}" for one in sorted(buffers))
        found.append(f"buffers of {setting.buffer_bytes:,.0f} bytes ({sizes})")
    told_apart = any(row.traffic_class != ANY for row in comparisons(setting.model))
    if told_apart and setting.traffic_class != ANY == rows[0].traffic_class:
        found.append(f"pattern: {setting.traffic_class} (fewer than {FEWEST_JOBS} jobs)")
    return tuple(found)


def known_accuracy(setting: Setting, busiest: tuple[str, float] = ("", 0.0)) -> dict[str, Any]:
    """Return what is known of the error of a result, for JSON; `busiest` as in `accuracy_line`."""
    rows = nearest_comparisons(setting)
    return json_fields(setting) | {
        "compared_with_packets": [asdict(row) for row in rows],
        "outside": list(outside(setting, rows)) if rows else [],
        "accuracy": accuracy_line(setting, busiest),
    }


def accuracy_line(setting: Setting, busiest: tuple[str, float] = ("", 0.0)) -> str:
    """
    Say how far off a result may be: mean error and bias of the nearest comparison with packets.

    `busiest`: a link, and the share of its capacity that it carries by the times of the result.
    Result: a sentence that also says in what the result lies outside of what was compared.

    Examples
    --------
    >>> mesh = Setting("hop-cost", "per-sender", "mesh", ("dimension-order",), (1,), 0.0)
    >>> accuracy_line(mesh)
    'How true: not known; model hop-cost was never compared with packet simulation.'
    """
    if setting.model in _NOTHING_TO_COMPARE:
        return _NOTHING_TO_COMPARE[setting.model]
    judge = "another packet simulation" if setting.model == "packets" else "packet simulation"
    rows = nearest_comparisons(setting)
    if not setting.machine:
        return "How true: not known; the result does not say what its network was."
    if not rows:
        return f"How true: not known; model {setting.model} was never compared with {judge}."
    jobs = sum(row.jobs for row in rows)
    error = sum(row.jobs * row.mean_error for row in rows) / jobs
    bias = sum(row.jobs * row.bias for row in rows) / jobs
    machines, routings = ({getattr(row, key) for row in rows} for key in ("machine", "routing"))
    where = ", ".join(
        " or ".join(sorted(names)) if len(names) <= _SOME else f"{len(names)} {what}"
        for names, what in ((machines, "kinds of fabric"), (routings, "routings"))
    )
    line = (
        f"How true: mean error {100 * error:.1f} %, bias {bias:.2f} against {judge} "
        f"({jobs:,} jobs, {where})"
    )
    beyond = outside(setting, rows)
    if beyond:
        line += f"; outside what was compared: {', '.join(beyond)}"
    doubts = []
    if setting.hot_spot and setting.model in _FLUID_MODELS:
        doubts.append(f"{setting.hot_spot} saturate its link")
    if setting.model == "fluid" and busiest[1] > _MOST_BUSY:
        doubts.append(f"{busiest[0]} would be {100 * busiest[1]:.0f} % busy")
    if doubts:
        line += f"; {', '.join(doubts)}: ask `packets`"
    return f"{line}."


def _written_span(ends: tuple[int, int]) -> str:
    """Write least and greatest."""
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
