"""What the commands `trace inspect`, `trace convert` and `trace generate` do."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import ExperimentError
from coupling.inputs.files import write_whole
from coupling.report.columns import text_lines, text_of
from coupling.report.log import terminal_parts, trace_html
from coupling.results.formatting import listing
from fabricsim.checking import unknown
from scheduler.workload import GENERATORS, READERS, Workload, make_workload
from scheduler.workload.registry import format_of
from scheduler.workload.statistics import trace_numbers
from scheduler.workload.writers import write_trace


def run_inspect(
    path: Path,
    form: str | None,
    filters: Mapping[str, Any],
    n_nodes: int | None,
    html: Path | None,
    *,
    as_json: bool,
) -> None:
    """
    Say what a job log holds.

    `path`: the log; ``-`` is standard input. `form`: its format; None: as the name ends. `filters`:
    fields of `scheduler.workload.Filters`; None: the default.
    """
    workload = _read(path, form, filters)
    numbers = trace_numbers(workload, n_nodes)
    if html is not None:
        write_whole(html, trace_html(workload, numbers))
    if as_json:
        print_json(numbers)
    else:
        sys.stdout.write(text_of(*terminal_parts(numbers)))


def run_convert(
    path: Path, out: Path, form: str | None, filters: Mapping[str, Any], *, as_json: bool
) -> None:
    """
    Write a job log in another format.

    `path`: the log; ``-`` is standard input. `form`: format of the log; None: as its name ends.
    `filters`: fields of `scheduler.workload.Filters`; None: the default.
    """
    _write(_read(path, form, filters), out, as_json=as_json)


def run_generate(generator: str, out: Path, arguments: Mapping[str, Any], *, as_json: bool) -> None:
    """
    Write a synthetic job log.

    `generator`: a key of `scheduler.workload.GENERATORS`.
    """
    if generator not in GENERATORS:
        raise ExperimentError(f"trace generate: {unknown('generator', generator, GENERATORS)}")
    table = {"generator": generator, **_given(arguments)}
    _write(make_workload(table, source="trace generate"), out, as_json=as_json)


def _read(path: Path, form: str | None, filters: Mapping[str, Any]) -> Workload:
    """Read a log; its name says the format where nobody does."""
    table = {"path": str(path), "format": form or _guess(path), **_given(filters)}
    if isinstance(arrivals := table.get("arrivals"), str) and arrivals not in ("log", "zero"):
        table["arrivals"] = _factor(arrivals)
    return make_workload(table, source=str(path))


def _guess(path: Path) -> str:
    """Return the format that the end of a name stands for."""
    found = format_of(path)
    if found is None:
        raise ExperimentError(
            f"{path}: the name does not tell the format; expected --format, one of "
            f"{', '.join(READERS)}."
        )
    return found


def _factor(text: str) -> float:
    """Read the factor on submit times."""
    try:
        return float(text)
    except ValueError:
        raise ExperimentError(
            f"--arrivals: expected log, zero or a positive factor, got {text!r}."
        ) from None


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the options that were not given."""
    return {key: value for key, value in options.items() if value is not None}


def _write(workload: Workload, out: Path, *, as_json: bool) -> None:
    """Write a workload and say what became of it."""
    if not workload.jobs:
        reasons = listing([f"{count:,} {reason}" for reason, count in workload.dropped.items()])
        raise ExperimentError(f"{workload.source}: no job is left to write ({reasons}).")
    lost = write_trace(workload, out)
    if as_json:
        counts = {"jobs": len(workload.jobs), "dropped_by_reason": dict(workload.dropped)}
        print_json({"source": workload.source, "file": str(out), **counts, "lost": lost})
        return
    lines = [f"{out}: {len(workload.jobs):,} jobs from {workload.source}"]
    lines += [f"dropped: {count:,} {reason}" for reason, count in workload.dropped.items()]
    lines += [f"not in the file: {what}" for what in lost]
    sys.stdout.write(text_of(text_lines(*lines)))
