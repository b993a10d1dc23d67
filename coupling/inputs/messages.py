"""What a job of a snapshot sends in an iteration: a pattern by name, or explicit steps."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import cast

import numpy as np

from coupling.inputs.files import Table
from fabricsim.checking import brief
from netsim.common.errors import UnitError
from netsim.common.units import parse_size
from patterns.base import LEAST_BYTES, MOST_BYTES, Pattern
from patterns.errors import PatternError
from patterns.registry import make_pattern
from scheduler.traffic import RankFlows, rank_flows
from scheduler.workload.profile import located

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
