"""What a job of a snapshot sends in an iteration: a pattern, explicit steps, or a training."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import cast

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.aicb import read_aicb
from coupling.inputs.files import Table
from fabricsim.checking import brief
from netsim.common.errors import UnitError
from netsim.common.units import parse_size
from patterns.base import LEAST_BYTES, MOST_BYTES, Pattern
from patterns.errors import PatternError
from patterns.phases import DIMENSIONS, REPLICAS, Part, Phase, Phases, sizes_of
from patterns.placed import OPERATIONS, checked_collective
from patterns.registry import make_pattern
from scheduler.traffic import RankFlows, rank_flows
from scheduler.workload.profile import located
from scheduler.workload.training import read_model, read_seconds

_MESSAGE = 3  # source, destination, bytes


def job_flows(table: Table, n_ranks: int, folder: Path) -> RankFlows | None:
    """Read the messages of an iteration (``pattern`` or ``steps``); None where there are none."""
    pattern, steps = table.raw("pattern"), table.raw("steps")
    if pattern is not None and steps is not None:
        raise table.fault("pattern", "expected either pattern or steps, got both.")
    if pattern is not None:
        return _by_name(table, pattern, n_ranks, folder)
    if steps is not None:
        return _explicit_messages(table, steps, n_ranks)
    return None


def message_bytes(value: object) -> float:
    """Read bytes: a number, or a text such as ``"1 MiB"``."""
    expected = f"a size from {LEAST_BYTES:g} to {MOST_BYTES:g} bytes"
    try:
        nbytes = parse_size(value)  # type: ignore[arg-type]  # it refuses other types
    except OverflowError:
        nbytes = float("inf")
    if not LEAST_BYTES <= nbytes <= MOST_BYTES:
        raise UnitError(f"expected {expected}, got {brief(value)}.")
    return nbytes


def _by_name(table: Table, spec: object, n_ranks: int, folder: Path) -> RankFlows:
    """Return the messages of a pattern."""
    try:
        if isinstance(spec, str):
            pattern = make_pattern(spec)
        elif isinstance(spec, Mapping):
            pattern = make_pattern(located(spec, folder))
        elif is_dataclass(spec) and not isinstance(spec, type) and hasattr(spec, "steps"):
            pattern = cast(Pattern, spec)
        else:
            raise table.error(
                "pattern", "the name of a pattern, or a table with its name and options"
            )
        flows = rank_flows(pattern, n_ranks)
    except (PatternError, UnitError) as error:
        raise table.fault("pattern", str(error)) from None
    except (MemoryError, OverflowError):
        raise table.fault("pattern", "its messages do not fit in memory.") from None
    sizes = flows.nbytes
    if sizes.size and not (sizes.min() >= LEAST_BYTES and sizes.max() <= MOST_BYTES):
        wrong = sizes.min() if sizes.min() < LEAST_BYTES else sizes.max()
        raise table.fault(
            "pattern",
            f"expected messages of {LEAST_BYTES:g} to {MOST_BYTES:g} bytes, got {wrong:g}.",
        )
    return flows


def _explicit_messages(table: Table, steps: object, n_ranks: int) -> RankFlows:
    """Return the messages of explicit steps; empty steps take no time."""
    if not isinstance(steps, list):
        raise table.error("steps", "a list of steps, each a list of [source, destination, bytes]")
    step: list[int] = []
    rows: list[tuple[int, int, float]] = []
    for number, messages in enumerate(steps):
        if not isinstance(messages, list):
            raise table.fault(
                f"steps[{number}]",
                "expected a list of [source rank, destination rank, bytes], "
                f"got {brief(messages)}.",
            )
        for place, message in enumerate(messages):
            rows.append(_read_message(table, f"steps[{number}][{place}]", message, n_ranks))
            step.append(number)
    src, dst, nbytes = zip(*rows, strict=True) if rows else ((), (), ())
    return RankFlows(
        np.array(step, dtype=np.int64),
        np.array(src, dtype=np.int64),
        np.array(dst, dtype=np.int64),
        np.array(nbytes, dtype=np.float64),
    )


def _read_message(
    table: Table, place: str, message: object, n_ranks: int
) -> tuple[int, int, float]:
    """Return source, destination and bytes of one message."""
    if not isinstance(message, list) or len(message) != _MESSAGE:
        raise table.fault(
            place, f"expected [source rank, destination rank, bytes], got {brief(message)}."
        )
    src, dst, size = message
    for rank in (src, dst):
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < n_ranks:
            raise table.fault(place, f"expected ranks 0..{n_ranks - 1}, got {brief(rank)}.")
    try:
        return src, dst, message_bytes(size)
    except UnitError as error:
        raise table.fault(place, str(error)) from None


_MOST_SIZE = 10**6
_NAMES = (*DIMENSIONS, "ep", REPLICAS)


def training_flows(table: Table, n_ranks: int, folder: Path) -> tuple[RankFlows, float] | None:
    """
    Read ``model``, ``phases`` and ``parallel``, or ``aicb``; None where a job has none.

    Result: messages of ranks on a host each, and the computation that none runs beside.
    """
    model, phases = table.raw("model"), table.raw("phases")
    parallel, aicb = table.raw("parallel"), table.raw("aicb")
    if model is None and phases is None and aicb is None:
        if parallel is not None:
            raise table.fault("parallel", "expected phases beside it, they are missing.")
        return None
    for key in ("pattern", "steps", "comm_fraction", "compute_s"):
        if table.raw(key) is not None:
            raise table.fault(key, "expected none beside a model or phases, which say what it is.")
    stated = {"model": model, "phases": phases, "aicb": aicb}
    kinds = [name for name, value in stated.items() if value is not None]
    if len(kinds) > 1 or (parallel is not None and phases is None):
        raise table.fault(kinds[0], "expected one of model, phases (with parallel) and aicb.")
    (key,) = kinds
    try:
        if key == "aicb":
            found = read_aicb(folder / table.text("aicb"), n_ranks)
            found.check(n_ranks)
        elif key == "phases":
            found = _phases(table, phases, parallel or {})
            found.check(n_ranks)
        else:
            found = read_model(Table(model, table.inner("model"), SnapshotError)).phases()
        flows = rank_flows(found, n_ranks)
        compute_s = found.exposed_compute_s(n_ranks)
    except PatternError as error:
        raise table.fault(key, str(error)) from None
    if not found.compute_s() and not flows.src.size:
        raise table.fault(key, "expected some computation or communication, there is none.")
    return flows, compute_s


def _phases(table: Table, phases: object, parallel: object) -> Phases:
    """Read explicit phases."""
    sizes = Table(parallel, table.inner("parallel"), SnapshotError)
    given = {
        name: sizes.integer(name, least=1, most=_MOST_SIZE)
        for name in (*DIMENSIONS, "ep")
        if name in sizes
    }
    order = sizes.names("order") or DIMENSIONS
    sizes.finish()
    if sorted(order) != sorted(DIMENSIONS):
        raise sizes.error("order", f"each of {', '.join(DIMENSIONS)} once")
    if not isinstance(phases, list) or not phases:
        raise table.error("phases", "a list of phases")
    rows = [
        _phase(Table(entry, table.inner(f"phases[{at}]"), SnapshotError))
        for at, entry in enumerate(phases)
    ]
    return Phases(tuple(rows), sizes_of(given), tuple(order), given.get("ep", 1))


def _phase(table: Table) -> Phase:
    """Read a phase."""
    entries = table.raw("collectives", [])
    if not isinstance(entries, list):
        raise table.error("collectives", "a list of collectives")
    hidden = table.flag("hidden", default=False)
    compute_s = read_seconds(table, "compute_s", required=hidden)
    parts = tuple(
        _part(Table(entry, table.inner(f"collectives[{at}]"), SnapshotError))
        for at, entry in enumerate(entries)
    )
    if hidden and not parts:
        raise table.fault("hidden", "expected collectives beside the computation, there are none.")
    table.finish()
    return Phase(compute_s, parts, hidden)


def _part(table: Table) -> Part:
    """Read a collective of groups, or sends between neighbours."""
    over = table.names("over")
    unknown = [name for name in over if name not in _NAMES]
    if unknown:
        raise table.error("over", f"a list of {', '.join(_NAMES)}, or none for all")
    operation = table.text("operation", choices=(*OPERATIONS, "send"))
    nbytes, times = _bytes(table, "nbytes"), table.integer("times", 1, least=1, most=_MOST_SIZE)
    if operation == "send":
        if len(over) != 1:
            raise table.error("over", "one dimension, along which neighbours send")
        found = Part(over, None, nbytes, times)
    else:
        algorithm = table.text("algorithm", "auto")
        collective = checked_collective(operation, algorithm, nbytes, 0)
        hot = table.number("hot", 1.0, 1.0)
        if hot > 1.0 and operation != "all-to-all":
            raise table.fault("hot", f"expected it of an all-to-all, got one of {operation}.")
        found = Part(over, collective, nbytes, times, hot)
    table.finish()
    return found


def _bytes(table: Table, key: str) -> float:
    """Read a positive amount of data."""
    try:
        nbytes = parse_size(table.raw(key))
    except (UnitError, TypeError):
        nbytes = 0.0
    if nbytes < LEAST_BYTES:
        raise table.error(key, "bytes, above 0")
    return nbytes
