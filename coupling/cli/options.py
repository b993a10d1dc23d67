"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from coupling.errors import SnapshotError
from fabricsim.checking.outputs import declare_output


def output(path: Path | None) -> Path | None:
    """Refuse an output that would destroy an input, or a stored result (callback of options)."""
    if path is not None and str(path) != "-":
        declare_output(path)
    return path


def table_output(path: Path | None) -> Path | None:
    """Refuse a table of another format as well."""
    if path is not None and path.suffix not in (".csv", ".parquet"):
        raise SnapshotError(f"--out {path}: expected a name that ends in .csv or .parquet.")
    return output(path)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]
NewFile = Annotated[
    Path, typer.Option("--out", callback=output, help="File to write, - for standard output.")
]
Page = Annotated[
    Path | None,
    typer.Option("--html", callback=output, help="Also write a page with pictures to this file."),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--out", callback=table_output, help="Also write the table: .csv or .parquet."),
]
Top = Annotated[int, typer.Option("--top", min=1, help="Jobs and cables that are shown.")]
Why = Annotated[bool, typer.Option("--why", help="List what was assumed.")]

FullTable = Annotated[bool, typer.Option("--all", help="Print all columns of the table.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a field, e.g. --set workload.n_jobs=100; repeatable."),
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes on this machine.")]

ResultFolder = Annotated[Path, typer.Argument(help="Result directory of run.")]
ResultFolders = Annotated[list[Path], typer.Argument(help="Result directories of run.")]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", help="Run to compare with, e.g. first-free or FOLDER/first-free."),
]
RunName = Annotated[
    str | None,
    typer.Option("--run", help="Allocator of the run; by default all that are compared."),
]

SnapshotFile = Annotated[Path, typer.Argument(help="Snapshot (JSON), - for standard input.")]
Wiring = Annotated[Path, typer.Option("--fabric", help="Output of ibnetdiscover on the fabric.")]
NameMap = Annotated[
    Path | None, typer.Option("--name-map", help="Better names for GUIDs (InfiniBand).")
]
HostPattern = Annotated[
    str | None,
    typer.Option("--host-pattern", help="What the host is in names of adapters (InfiniBand)."),
]
Fabric = Annotated[
    str,
    typer.Option(
        "--topology", help="topology.conf, output of ibnetdiscover, a machine, or any other fabric."
    ),
]
Routing = Annotated[
    str | None, typer.Option("--routing", help="Instead of the usual one of the fabric.")
]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", help="How jobs communicate (TOML); default: five patterns."),
]
Unknown = Annotated[
    str,
    typer.Option("--unknown", help="Hosts missing from the fabric: skip them, or stop."),
]
TimeZone = Annotated[
    str | None,
    typer.Option("--timezone", help="Of times without an offset, such as Europe/Paris."),
]
Samples = Annotated[
    int, typer.Option("--samples", min=1, help="Samples of patterns and fractions.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]


@dataclass(frozen=True)
class SiteJobs:
    """The running jobs of a site, and how they communicate: keywords of `read_site`."""

    squeue: Annotated[
        Path | None, typer.Option("--squeue", help="Output of squeue --json, - for standard input.")
    ] = None
    sacct: Annotated[
        Path | None, typer.Option("--sacct", help="Instead: output of sacct -X -P, with --at.")
    ] = None
    at: Annotated[
        str | None,
        typer.Option("--at", help="Moment, on the clock of the records: 2024-05-30T09:00."),
    ] = None
    name_map: NameMap = None
    host_pattern: HostPattern = None
    profile: ProfileFile = None
    unknown: Unknown = "skip"


@dataclass(frozen=True)
class AnswerForms:
    """How an answer is written besides as text: keywords of `outputs.write_answer`."""

    html: Page = None
    as_json: AsJson = False


@dataclass(frozen=True)
class LogFilters:
    """The format of a job log, and which of its jobs are taken."""

    form: Annotated[
        str | None,
        typer.Option("--format", help="swf, sacct, squeue-json, csv, ...; default by the name."),
    ] = None
    processors_per_node: Annotated[
        int | None,
        typer.Option("--processors-per-node", help="Nodes = ceil(processors / this); default 1."),
    ] = None
    max_nodes: Annotated[int | None, typer.Option("--max-nodes", help="Drop larger jobs.")] = None
    scale_nodes: Annotated[
        int | None, typer.Option("--scale-nodes", help="Factor on all sizes.")
    ] = None
    arrivals: Annotated[
        str | None, typer.Option("--arrivals", help="log, zero, or a factor on submit times.")
    ] = None
    window: Annotated[
        tuple[str, str] | None,
        typer.Option("--window", help="Keep jobs submitted between two times: seconds, or '2 h'."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", help="Names of columns, with commas, of a file without a header."
        ),
    ] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """
    Show each field of a parameter that is a dataclass, such as `SiteJobs`, as an option.

    Result: a command for typer; it hands the fields on as one object.
    """
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group: Any = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[parameter.name] = group
            options += inspect.signature(group, eval_str=True).parameters.values()
        else:
            options.append(parameter)

    @wraps(command)
    def called(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{own.name: given.pop(own.name) for own in fields(group)})
        command(**given)

    keywords = [own.replace(kind=inspect.Parameter.KEYWORD_ONLY) for own in options]
    vars(called)["__signature__"] = inspect.Signature(keywords)
    called.__annotations__ = {own.name: own.annotation for own in options}
    return called
