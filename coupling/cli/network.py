"""The commands about a snapshot, a table of routes or a fabric: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.outputs import output

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]
NameMap = Annotated[
    Path | None,
    typer.Option("--name-map", help="Better names for GUIDs (InfiniBand)."),
]
Page = Annotated[
    Path | None,
    typer.Option("--html", callback=output, help="Also write a page with pictures to this file."),
]
SnapshotFile = Annotated[Path, typer.Argument(help="Snapshot (JSON), - for standard input.")]


def estimate(
    snapshot: SnapshotFile,
    model: Annotated[
        str | None,
        typer.Option(
            help="Instead of the snapshot's: fluid, flow-level, packets; for "
            "comparison null, hop-cost."
        ),
    ] = None,
    fairness: Annotated[
        str | None, typer.Option(help="per-sender or per-flow, instead of the snapshot's.")
    ] = None,
    blame: Annotated[
        bool,
        typer.Option(help="Attribute lost time to jobs; some models then predict once per job."),
    ] = True,
    html: Page = None,
    as_json: AsJson = False,
) -> None:
    """
    Estimate how much placed jobs slow each other down.

    Example:

      fabricsim estimate examples/placed_jobs.json --model flow-level
    """
    from coupling.cli.do.estimate import run_estimate

    run_estimate(snapshot, model, fairness, html, blame=blame, as_json=as_json)


def flows(
    file: Annotated[Path, typer.Argument(help="Flows (JSON), - for standard input.")],
    html: Page = None,
    as_json: AsJson = False,
) -> None:
    """
    Rates, finish times and link loads of given flows.

    Example:

      fabricsim flows examples/three_flows.json
    """
    from coupling.cli.do.estimate import run_flows

    run_flows(file, html, as_json=as_json)


def verify(
    snapshot: SnapshotFile,
    any_routing: Annotated[
        bool, typer.Option("--any-routing", help="Isolation under every minimal routing.")
    ] = False,
    permutation: Annotated[
        Path | None, typer.Option(help="File of flows 'source destination' to be routed.")
    ] = None,
    random: Annotated[int, typer.Option(min=0, help="Random permutations to try.")] = 100,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Try all permutations, up to 200,000 kinds.")
    ] = False,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Accept checks that are not decided.")
    ] = False,
    html: Page = None,
    as_json: AsJson = False,
) -> None:
    """
    Check that jobs are isolated and partitions non-blocking.

    Exit status 1 when a check says no or has no answer.

    Example:

      fabricsim verify examples/partitions.json
    """
    from coupling.cli.do.verify import run_verify

    passed = run_verify(
        snapshot,
        any_routing=any_routing,
        permutation=permutation,
        random=random,
        exhaustive=exhaustive,
        allow_unknown=allow_unknown,
        html=html,
        as_json=as_json,
    )
    if not passed:
        raise typer.Exit(1)


def export(
    snapshot: SnapshotFile,
    fabric: Annotated[Path, typer.Option(help="Output of ibnetdiscover on the fabric.")],
    out: Annotated[
        Path, typer.Option(callback=output, help="File to write, - for standard output.")
    ],
    base: Annotated[
        Path | None, typer.Option(help="Dump of the tables in force; default D-mod-k.")
    ] = None,
    name_map: NameMap = None,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown", help="Let partitions pass that nothing shows to be non-blocking."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    r"""
    Write routing tables that keep each job's traffic on the links it owns, once all checks pass.

    Example:

      fabricsim lft export partitions.json --fabric ibnetdiscover.txt \
        --out tables.lft
    """
    from coupling.cli.do.lft import run_export

    run_export(snapshot, fabric, out, base, name_map, allow_unknown=allow_unknown, as_json=as_json)


def load(
    dump: Annotated[Path, typer.Argument(help="Dump of OpenSM, - for standard input.")],
    fabric: Annotated[Path, typer.Option(help="Output of ibnetdiscover on the fabric.")],
    name_map: NameMap = None,
    as_json: AsJson = False,
) -> None:
    """
    Read routing tables and walk them between all nodes.

    Exit status 1 where not all reach each other.

    Example:

      fabricsim lft load opensm-lfts.dump --fabric ibnetdiscover.txt
    """
    from coupling.cli.do.lft import run_load

    if not run_load(dump, fabric, name_map, as_json=as_json):
        raise typer.Exit(1)


def check(
    snapshot: SnapshotFile,
    fabric: Annotated[Path, typer.Option(help="Output of ibnetdiscover on the fabric.")],
    base: Annotated[Path, typer.Option(help="Dump of the tables that are loaded now.")],
    name_map: NameMap = None,
    as_json: AsJson = False,
) -> None:
    r"""
    Check that the loaded tables keep jobs apart.

    Exit status 1 where jobs share links, leave those that they own, or packets can block for good.

    Example:

      fabricsim lft check partitions.json --fabric ibnetdiscover.txt \
        --base opensm-lfts.dump
    """
    from coupling.cli.do.lft import run_check

    if not run_check(snapshot, fabric, base, name_map, as_json=as_json):
        raise typer.Exit(1)


def inspect(
    topology: Annotated[
        str,
        typer.Argument(
            help="Machine name; JSON or TOML file with a topology; topology file of another format."
        ),
    ],
    form: Annotated[
        str | None, typer.Option("--format", help="Format of a topology file; default guessed.")
    ] = None,
    name_map: NameMap = None,
    html: Page = None,
    svg: Annotated[
        Path | None,
        typer.Option(callback=output, help="Also draw the fabric alone, into this SVG file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Describe a fabric: parts, irregularities, unreachable nodes.

    Exit status 1 where some nodes cannot be reached.

    Example:

      fabricsim topology inspect cab
    """
    from coupling.cli.do.topology import run_inspect

    if not run_inspect(topology, form, name_map, html, svg, as_json=as_json):
        raise typer.Exit(1)


def convert(
    topology: Annotated[
        str,
        typer.Argument(
            help="Machine name; JSON or TOML file with a topology; topology file of another format."
        ),
    ],
    to: Annotated[str, typer.Option(help="graphml, edge-csv, simgrid-xml or slurm-conf.")],
    out: Annotated[
        Path, typer.Option(callback=output, help="File to write, - for standard output.")
    ],
    form: Annotated[
        str | None, typer.Option("--format", help="Format of a topology file; default guessed.")
    ] = None,
    routing: Annotated[
        str | None, typer.Option(help="Write its routes too (simgrid-xml): d-mod-k, minimal, ...")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Write a fabric in another format.

    Example:

      fabricsim topology convert cab --to edge-csv --out cab.csv
    """
    from coupling.cli.do.topology import run_convert

    run_convert(topology, form, to, out, routing, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(estimate)
    app.command()(flows)
    app.command()(verify)
    lft = typer.Typer(help="Routing tables in the form that OpenSM loads.", no_args_is_help=True)
    lft.command()(export)
    lft.command()(load)
    lft.command()(check)
    topology = typer.Typer(help="Fabrics: what is in them; other formats.", no_args_is_help=True)
    topology.command()(inspect)
    topology.command()(convert)
    app.add_typer(lft, name="lft")
    app.add_typer(topology, name="topology")
