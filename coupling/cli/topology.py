"""The commands `topology inspect` and `topology convert`."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, write_answer
from coupling.errors import SnapshotError
from coupling.terminal_text import remark

TopologyName = Annotated[
    str,
    typer.Argument(
        help="Machine name; JSON or TOML file with a topology; topology file of another format."
    ),
]
Format = Annotated[
    str | None, typer.Option("--format", help="Format of a topology file; default guessed.")
]


def inspect(
    topology: TopologyName,
    form: Format = None,
    name_map: of.NameMap = None,
    host_pattern: of.HostPattern = None,
    html: of.Page = None,
    svg: Annotated[
        Path | None,
        typer.Option(callback=of.output, help="Also draw the fabric alone, into this SVG file."),
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Describe a fabric: parts, irregularities, unreachable nodes.

    Exit status 1 where some nodes cannot be reached.

    Example:

      fabricsim topology inspect cab
    """
    from coupling.inputs.fabric import described, left_open, topology_of, with_names
    from coupling.inputs.files import Table, write_whole
    from coupling.report.fabric import fabric_answer
    from netsim.topology.structure.inspect import inspect_topology

    spec, folder = described(topology, form)
    spec = with_names(spec, name_map, host_pattern, topology)
    fabric = topology_of(Table({"topology": spec}, f"{topology}:", SnapshotError), folder)
    found = inspect_topology(fabric, left_open(spec))
    if svg is not None:
        from coupling.report.pictures import inspected

        write_whole(svg, inspected(found).file("svg").decode("utf-8"))
    write_answer(
        found,
        lambda rows: fabric_answer(found, topology, page=rows is None),
        html=html,
        as_json=as_json,
    )
    if found.lost.nodes.size or found.lost.n_pairs:
        raise typer.Exit(1)


def convert(
    topology: TopologyName,
    to: Annotated[str, typer.Option(help="graphml, edge-csv, simgrid-xml or slurm-conf.")],
    out: of.NewFile,
    form: Format = None,
    routing: Annotated[
        str | None, typer.Option(help="Write its routes too (simgrid-xml): d-mod-k, minimal, ...")
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Write a fabric in another format.

    Example:

      fabricsim topology convert cab --to edge-csv --out cab.csv
    """
    from coupling.inputs.fabric import described, left_open, topology_of
    from coupling.inputs.files import Table, write_whole
    from netsim.common.errors import NetsimError
    from netsim.formats.exporters.registry import written
    from netsim.registries.routings import make_routing
    from netsim.topology.switches import assumptions_of

    spec, folder = described(topology, form)
    fabric = topology_of(Table({"topology": spec}, f"{topology}:", SnapshotError), folder)
    try:
        chosen = None if routing is None else make_routing(routing, fabric)
        text, remarks = written(fabric, to, chosen)
    except NetsimError as error:
        raise SnapshotError(f"{topology}: {error}") from None
    write_whole(out, text)
    assumed = [*left_open(spec), *assumptions_of(fabric)]
    if as_json and str(out) != "-":
        print_json({"out": str(out), "format": to, "assumed": assumed, "remarks": list(remarks)})
    for line in assumed:
        remark(f"assumed: {line}")
    for line in remarks:
        remark(f"note: {line}")
