"""What a training job of a snapshot does in an iteration: a model, or its phases."""

from pathlib import Path

from coupling.errors import SnapshotError
from coupling.inputs.aicb import read_aicb
from coupling.inputs.files import Table
from netsim.common.errors import UnitError
from netsim.common.units import parse_size
from patterns.base import LEAST_BYTES
from patterns.errors import PatternError
from patterns.phases import DIMENSIONS, REPLICAS, Part, Phase, Phases, sizes_of
from patterns.placed import checked_collective
from scheduler.traffic import RankFlows, rank_flows
from scheduler.workload.training import read_model, read_seconds

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
    operation = table.text("operation")
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
