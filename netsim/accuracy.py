"""What is known of the models' errors: comparisons with packet-level simulations, by machine."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from netsim.infiniband.lft import LFT
from netsim.routing.base import Routing
from netsim.routing.dimension import DimensionOrder
from netsim.routing.dmodk import DModK
from netsim.routing.dragonfly import Minimal, Valiant
from netsim.routing.leastloaded import LeastLoaded
from netsim.routing.oblivious import Ecmp, SModK
from netsim.routing.shortest import Rerouted, Shortest
from netsim.routing.spread import Spreading
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology
from netsim.topology.structure.kind import machine_kind
from netsim.topology.switches import SWITCHES, switch_of

TABLE = "accuracy.json"
FEW, MANY, ONE, STEPS, ANY = "few at once", "many at once", "one with all", "in steps", "mixed"
"""How jobs talk: a sender has few open messages, or many; one rank has most; steps; some of all."""
PACKET_BYTES = 4096.0  # of the packet simulations
OWNED = "wraparound"
"""Routing of jobs that own links: on these alone."""
FEWEST_JOBS = 20
"""Jobs of a comparison that is quoted for one way to talk; with fewer, that of all ways is."""
LEAST_BIAS, MOST_BIAS = 0.9, 1.1
"""Between these a bias may be chance: some 150 jobs stand behind it."""
MIXES = (FEW, MANY, ONE, STEPS, ANY)
_TALK = {
    FEW: "send few messages at once",
    MANY: "send many messages at once",
    ONE: "let one rank talk to all others",
    STEPS: "communicate in steps",
}
_NOTHING_TO_COMPARE = {
    "null": "Model null is an infinite network: there is nothing to compare with packets.",
    "assumed": "Model assumed states what jobs lose: there is nothing to compare with packets.",
}
_ROUTINGS: Mapping[type, str] = {
    DModK: "d-mod-k",
    SModK: "s-mod-k",
    Ecmp: "ecmp",
    LeastLoaded: "least-loaded",
    Shortest: "shortest",
    DimensionOrder: "dimension-order",
    Minimal: "minimal",
    Valiant: "valiant",
    LFT: "loaded tables",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A model beside packet-level simulations of one kind of network.

    Parameters
    ----------
    machine : str
        As `netsim.topology.structure.kind.machine_kind` names it.
    routing : str
        As `routing_kind` names it.
    ranks_per_node : int
        Ranks of a job on each of its nodes, or the fewest.
    fairness : str
        What a link is shared evenly among.
    buffer_bytes : float
        Buffer of a port that the model was told; 0 where the fabric states none.
    load : str
        What the jobs do.
    model : str
        The contention model.
    nodes : int
        Nodes of the machine, or of the smallest.
    cases, jobs : int
        Scenes, and jobs in all of them.
    mean_error, p90_error, worst_error : float
        Relative errors of the interference; 0.01 is one per cent.
    contended_error : float
        Mean over the jobs whose true interference is above 1.05.
    bias : float
        Sum of (predicted - 1) / sum of (true - 1); below 1 the model understates.
    rank : float
        Spearman's rank correlation.
    source : str
        The command that measured it.
    most_nodes : int, optional
        Nodes of the largest machine, where there were several.
    most_ranks : int, optional
        Ranks of a job on each of its nodes at most, where jobs of several numbers were taken.
    mix : str, optional
        How the jobs talk: `FEW`, `MANY`, `ONE`, `STEPS`, or `ANY` for all together.
    """

    machine: str
    routing: str
    ranks_per_node: int
    fairness: str
    buffer_bytes: float
    load: str
    model: str
    nodes: int
    cases: int
    jobs: int
    mean_error: float
    p90_error: float
    worst_error: float
    contended_error: float
    bias: float
    rank: float
    source: str
    most_nodes: int | None = None
    most_ranks: int | None = None
    mix: str = ANY

    def holds_for(self, routing: str, ranks: int) -> bool:
        """Tell whether jobs of so many ranks a node under a routing were compared."""
        most = self.most_ranks or self.ranks_per_node
        return self.routing == routing and self.ranks_per_node <= ranks <= most


@dataclass(frozen=True, slots=True)
class Setting:
    """
    What a comparison must have in common with a result to say something about it.

    Parameters
    ----------
    model, fairness : str
        As in an experiment.
    machine : str
        As `netsim.topology.structure.kind.machine_kind` names it.
    routings : tuple of str
        As `routing_kind` names them; jobs that own links may be routed otherwise than others.
    ranks_per_node : tuple of int
        The numbers that occur.
    buffer_bytes : float
        Buffer of a port; 0 where the fabric states none.
    mix : str, optional
        How most of its jobs talk, as in a comparison.
    """

    model: str
    fairness: str
    machine: str
    routings: tuple[str, ...]
    ranks_per_node: tuple[int, ...]
    buffer_bytes: float
    mix: str = ANY

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> "Setting":
        """
        Take a setting back from JSON.

        `known`: as from `to_dict`.
        """
        return cls(
            model=known["model"],
            fairness=known["fairness"],
            machine=known["machine"],
            routings=tuple(known["routings"]),
            ranks_per_node=tuple(known["ranks_per_node"]),
            buffer_bytes=known["buffer_bytes"],
            mix=known.get("mix", ANY),  # older results do not say
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}


def routing_kind(routing: Routing, *, owned: bool = False) -> str:
    """
    Return what a routing is called where its errors are looked up.

    Result: its key in `ROUTINGS`; ``wraparound`` and ``d-mod-k`` for the two halves of ``jigsaw``.
    """
    if isinstance(routing, Rerouted):
        return f"{routing_kind(routing.inner, owned=owned)} round failures"
    if isinstance(routing, Wraparound):
        return OWNED if owned else "d-mod-k"
    if isinstance(routing, Spreading):
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
    mix: str = ANY,
) -> Setting:
    """
    Return what a result is computed with.

    `routing`: finds the way of each flow; None: no network is simulated. `owned`: for jobs that
    communicate: whether they own links; default: none of them does. `options`: those of the model,
    of which `packets` has the table `[switch]` and its stepping. `mix`: how most jobs talk.
    """
    buffer_bytes, told = topology.buffer_bytes, options or {}
    if model == "packets":
        found = switch_of(topology, told.get("switch"))
        buffer_bytes = found.buffer_bytes
        fairness = fairness if found == SWITCHES["codes"] else "of other switches"
        fairness += ", without barriers" if told.get("stepping") == "rank" else ""
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
        mix=mix,
    )


@cache
def comparisons(model: str | None = None) -> tuple[Comparison, ...]:
    """Return the comparisons with packets that were made, all or those of a model."""
    return tuple(Comparison(**row) for row in _rows() if model in (None, row["model"]))


@cache
def _rows() -> list[dict[str, Any]]:
    """Return the table of comparisons."""
    text = Path(__file__).with_name(TABLE).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def compared(setting: Setting) -> tuple[Comparison, ...]:
    """
    Return the comparisons that hold for a result.

    Result: at least one for each routing and number of ranks of the setting; of jobs that talk as
    its own do if there were `FEWEST_JOBS`, else of all jobs with so many ranks, else of all; none
    at all where that is not to be had.
    """
    like = [
        row
        for row in comparisons(setting.model)
        if (row.model, row.fairness, row.machine, row.buffer_bytes)
        == (setting.model, setting.fairness, setting.machine, setting.buffer_bytes)
    ]
    wanted = [(way, ranks) for way in setting.routings for ranks in setting.ranks_per_node]
    every = [row for row in like if row.mix == ANY]
    for rows in (
        [row for row in like if ANY != row.mix == setting.mix and row.jobs >= FEWEST_JOBS],
        [row for row in every if row.most_ranks is None],
        [row for row in every if row.most_ranks is not None],
    ):
        if wanted and all(any(row.holds_for(*one) for row in rows) for one in wanted):
            return tuple(row for row in rows if any(row.holds_for(*one) for one in wanted))
    return ()


def known_accuracy(setting: Setting) -> dict[str, Any]:
    """Return what is known of the error of a result, for JSON."""
    return setting.to_dict() | {
        "compared_with_packets": [asdict(row) for row in compared(setting)],
        "accuracy": accuracy_sentence(setting),
    }


def accuracy_sentence(setting: Setting) -> str:
    """
    Say how far off a result may be, or that nobody knows.

    Result: a sentence.

    Examples
    --------
    >>> mesh = Setting("fluid", "per-sender", "mesh", ("dimension-order",), (1,), 0.0)
    >>> accuracy_sentence(mesh).split(" on a ")[0]
    'No error is known: model fluid was never compared with packets'
    """
    if setting.model in _NOTHING_TO_COMPARE:
        return _NOTHING_TO_COMPARE[setting.model]
    rows = compared(setting)
    if not rows:
        where = _where(setting, _ranks(setting.ranks_per_node))
        never = f"model {setting.model} was never compared with {_judge(setting.model)}"
        return f"No error is known: {never} on {where}."
    errors = _span([f"{100 * row.mean_error:.1f}" for row in rows])
    bias = _span([f"{row.bias:.2f}" for row in rows])
    nodes = _span([str(n) for row in rows for n in (row.nodes, row.most_nodes) if n])
    talk = f", jobs that {_TALK[rows[0].mix]}" if rows[0].mix in _TALK else ""
    return (
        f"Model {setting.model} was compared with {_judge(setting.model)} on "
        f"{sum(row.jobs for row in rows):,} jobs {_like(setting, rows)}: mean error {errors} %, "
        f"bias {bias}{_tendency(rows)} ({_where(setting, _compared_ranks(rows))}{talk}, "
        f"{nodes} nodes)."
    )


def _judge(model: str) -> str:
    """Return what a model is compared with."""
    return "packets of another program" if model == "packets" else "packets"


def _like(setting: Setting, rows: Sequence[Comparison]) -> str:
    """Say whether the jobs of comparisons talk like those of a result, or what else they do."""
    if rows[0].mix == setting.mix:
        return "like yours"
    return f"of all patterns, as too few {_TALK[setting.mix]} like yours"


def accuracy_details(setting: Setting) -> str:
    """
    Say what else a reader must know who relies on a result.

    Result: one or two sentences: the worst job of the comparisons and what no model at all is
    worth, or what the model was compared on; empty where there is nothing to compare.
    """
    if setting.model in _NOTHING_TO_COMPARE:
        return ""
    if rows := compared(setting):
        worst = max(row.worst_error for row in rows)
        none = compared(replace(setting, model="null"))
        without = _span([f"{100 * row.mean_error:.1f}" for row in none])
        return (
            f"{100 * worst:.0f} % is the error of the worst job: read distributions, not one job. "
            f"{without} % is the mean error of predicting no interference at all."
        )
    kinds = {
        f"{row.machine} with {row.routing} routing, {_ranks((row.ranks_per_node,))}"
        for row in comparisons(setting.model)
        if row.mix == ANY and row.most_ranks is None
    }
    if not kinds:
        return f"Model {setting.model} was never compared with {_judge(setting.model)}."
    return f"Model {setting.model} was compared on: {'; '.join(sorted(kinds))}."


def _where(setting: Setting, ranks: str) -> str:
    """Describe a network in words; `ranks`: those of the jobs on a node."""
    article = "an" if setting.machine.startswith(tuple("aeiou")) else "a"
    parts = [
        f"{article} {setting.machine} with {' and '.join(setting.routings)} routing",
        ranks,
        f"port buffers of {setting.buffer_bytes:,.0f} bytes"
        if setting.buffer_bytes
        else "no port buffers stated",
    ]
    if setting.fairness != "per-sender":
        parts.append(f"fairness {setting.fairness}")
    return ", ".join(parts)


def _ranks(numbers: Sequence[int]) -> str:
    """Write how many ranks jobs have on a node."""
    return f"{' or '.join(map(str, numbers))} rank{'' if tuple(numbers) == (1,) else 's'} a node"


def _compared_ranks(rows: Sequence[Comparison]) -> str:
    """Write how many ranks the jobs of comparisons had on a node."""
    wide = [(row.ranks_per_node, row.most_ranks) for row in rows if row.most_ranks is not None]
    if wide:
        return f"{min(low for low, _ in wide)} to {max(most for _, most in wide)} ranks a node"
    return _ranks(sorted({row.ranks_per_node for row in rows}))


def _span(written: Iterable[str]) -> str:
    """Write least and greatest of some numbers."""
    ordered = sorted(set(written), key=float)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _tendency(rows: Iterable[Comparison]) -> str:
    """Say to which side a model errs, where all comparisons agree and it is no chance."""
    bias = [row.bias for row in rows]
    low, high = min(bias) < LEAST_BIAS, max(bias) > MOST_BIAS
    if low == high:
        return "" if low else ", so what isolation gains comes out about right"
    side = "understates" if low else "overstates"
    firm = max(bias) < LEAST_BIAS or min(bias) > MOST_BIAS
    return f", so it {'rather ' if firm else ''}{side} what isolation gains" + (
        "" if firm else " or is about right"
    )
