"""Training jobs as AICB and SimAI write them: a text file with a line for each layer."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fabricsim.checking import brief
from patterns.errors import PatternError
from patterns.phases import Part, Phase, Phases
from patterns.placed import Collective, require_groups

_POLICY = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
_COLUMNS = 12  # name, dependency, three of each pass, time of the update
_NS = 1e-9

_OPERATIONS = {
    "ALLREDUCE": "allreduce",
    "ALLGATHER": "allgather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}
_GROUPS = {"_EP": "ep", "_DP_EP": "edp"}
_KIND = re.compile(rf"({'|'.join(_OPERATIONS)})({'|'.join(_GROUPS)})?")

_Call = tuple[str, str, float]  # operation, dimension, bytes


@dataclass(frozen=True, slots=True)
class _Header:
    """Sizes of the first line."""

    tp: int
    ep: int
    pp: int
    vpp: int
    ga: int  # micro-batches
    ranks: int
    pp_bytes: float  # of a send between stages


@dataclass(slots=True)
class _Layers:
    """What the layers take and send in an iteration, summed."""

    forward_s: float = 0.0
    backward_s: float = 0.0
    beside_s: float = 0.0  # backward, of the layers before the last whose gradients are sent


def read_aicb(path: Path, n_ranks: int) -> Phases:
    """
    Read a workload, for a job of so many ranks.

    Collectives of the forward pass and of input gradients follow their layer; those of weight
    gradients run beside the backward pass of the layers that are left. Computation is in
    nanoseconds; the time of the update is not used. A pipeline has its bubble, and sends as
    `patterns.phases.Model` has them.
    """
    lines = [line.split() for line in _text(path).splitlines() if line.strip()]
    header = _header(lines[0] if lines else [])
    if header.ranks != n_ranks:
        raise PatternError(
            f"all_gpus: expected {n_ranks}, the ranks of the job, got {header.ranks}."
        )
    dp = require_groups("tp x pp", n_ranks, header.tp * header.pp) or 1
    stated = int(lines[1][0]) if len(lines) > 1 and lines[1][0].isdecimal() else -1
    if stated < 1 or stated != len(lines) - 2:
        raise PatternError(f"line 2: expected the number of layers, got {_second(lines)}.")
    sizes = {"tp": header.tp, "ep": header.ep, "dp": dp, "edp": max(1, dp // header.ep)}
    layers, calls = _summed(lines[2:], sizes)
    return _phases(header, layers, calls, sizes)


def _text(path: Path) -> str:
    """Return what a file says."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise PatternError(f"expected a text file of AICB, {path} cannot be read.") from None


def _second(lines: list[list[str]]) -> str:
    """Say what stands where the number of layers should."""
    stated = brief(" ".join(lines[1])) if len(lines) > 1 else "nothing"
    return f"{stated} before {max(0, len(lines) - 2)}"


def _header(words: list[str]) -> _Header:
    """Read the first line."""
    if not words or words[0] != _POLICY:
        raise PatternError(
            f"line 1: expected a workload that begins with {_POLICY}, got "
            f"{brief(words[0]) if words else 'nothing'}."
        )
    found = dict(re.findall(r"(\w+):?\s+([0-9]+)", " ".join(words[1:])))
    names = {"tp": "model_parallel_NPU_group", "ranks": "all_gpus"}
    values = {}
    for own in ("tp", "ep", "pp", "vpp", "ga", "ranks"):
        name = names.get(own, own)
        if int(found.get(name, 0)) < 1:
            raise PatternError(f"line 1: {name}: expected a whole number from 1, it is missing.")
        values[own] = int(found[name])
    nbytes = float(found.get("pp_comm", 0))
    if values["pp"] > 1 and not nbytes:
        raise PatternError(f"line 1: pp_comm: expected bytes beside pp = {values['pp']}.")
    return _Header(**values, pp_bytes=nbytes)


def _summed(
    rows: list[list[str]], sizes: dict[str, int]
) -> tuple[_Layers, tuple[Counter[_Call], Counter[_Call]]]:
    """Sum the layers; collectives that a layer waits for, and those of weight gradients."""
    layers, waited, beside = _Layers(), Counter[_Call](), Counter[_Call]()
    for at, words in enumerate(rows):
        where = f"line {at + 3}"
        if len(words) != _COLUMNS:
            raise PatternError(f"{where}: expected {_COLUMNS} columns, got {len(words)}.")
        numbers = [words[column] for column in (1, 2, 4, 5, 7, 8, 10)]
        if not all(re.fullmatch(r"-?[0-9]{1,18}", number) for number in numbers):
            raise PatternError(f"{where}: expected whole numbers of time and bytes.")
        if not -1 <= int(words[1]) < at:
            raise PatternError(
                f"{where}: dependency {words[1]} of layer {at}: expected -1 or an earlier layer; "
                "a missing or later one would never start."
            )
        forward, inputs, weights = (int(words[column]) * _NS for column in (2, 5, 8))
        sent = [
            _call(where, words[column], int(words[column + 1]), default, sizes)
            for column, default in ((3, "tp"), (6, "tp"), (9, "dp"))
        ]
        waited.update(call for call in sent[:2] if call is not None)
        if sent[2] is not None:
            layers.beside_s = layers.backward_s  # of the layers before this one
            beside[sent[2]] += 1
        layers.forward_s += forward
        layers.backward_s += inputs + weights
    return layers, (waited, beside)


def _call(where: str, kind: str, nbytes: int, default: str, sizes: dict[str, int]) -> _Call | None:
    """Read a collective; None where nothing is sent."""
    if kind == "NONE" or not nbytes:
        return None
    match = _KIND.fullmatch(kind)
    if match is None or nbytes < 0:
        known = ", ".join((*_OPERATIONS, "NONE"))
        raise PatternError(
            f"{where}: expected {known} (also with _EP, _DP_EP) and bytes, got {kind} {nbytes}."
        )
    group = _GROUPS.get(match[2] or "", default)
    if sizes[group] == 1:
        raise PatternError(f"{where}: {kind}: a group over {group} has one rank.")
    operation = _OPERATIONS[match[1]]
    each = nbytes / sizes[group] if operation == "all-to-all" else float(nbytes)
    return operation, group, each


def _phases(
    header: _Header,
    layers: _Layers,
    calls: tuple[Counter[_Call], Counter[_Call]],
    sizes: dict[str, int],
) -> Phases:
    """Put the phases of an iteration together."""
    waited, beside = (tuple(map(_part, own, own.values())) for own in calls)
    sends: tuple[Part, ...] = ()
    computed_s = layers.forward_s + layers.backward_s
    bubble_s = computed_s * (header.pp - 1) / (header.vpp * header.ga)
    phases = []
    if header.pp > 1:  # one send of each way waits; the others run beside computation
        waited = (*waited, Part(("pp",), None, header.pp_bytes))
        sends = (Part(("pp",), None, header.pp_bytes, header.vpp * header.ga - 1),)
    beside_s = layers.beside_s if beside else 0.0
    rest_s = computed_s - beside_s
    if sends and sends[0].times:
        phases.append(Phase(rest_s, sends, hidden=True))
        rest_s = 0.0
    phases.append(Phase(rest_s + bubble_s, waited))
    if beside:
        phases.append(Phase(beside_s, beside, hidden=True))
    parallel = (("tp", sizes["tp"]), ("pp", header.pp))
    return Phases(tuple(phases), parallel, ("tp", "cp", "dp", "pp"), header.ep)


def _part(call: _Call, times: int) -> Part:
    """Return a collective that is called so often."""
    operation, group, nbytes = call
    return Part((group,), Collective(operation, "auto", nbytes), nbytes, times)
