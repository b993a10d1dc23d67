"""The command `ebb`: the effective bisection bandwidth of a fabric."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import remark_now_and_then, write_answer
from coupling.cli.topology import Format, TopologyName
from coupling.errors import SnapshotError


@of.with_groups
def ebb(
    topology: TopologyName,
    routing: of.Routing = None,
    lft: Annotated[
        Path | None, typer.Option("--lft", help="Instead: loaded tables, of dump_lfts or OpenSM.")
    ] = None,
    fabric: Annotated[
        Path | None, typer.Option("--fabric", help="ibnetdiscover output that the tables are of.")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Random pairings.")] = 50,
    seed: of.Seed = 1,
    form: Format = None,
    name_map: of.NameMap = None,
    host_pattern: of.HostPattern = None,
    *,
    forms: of.AnswerForms,
) -> None:
    """
    Effective bisection bandwidth: what random pairs of hosts get.

    All pairs exchange data at once. The worst links come with it.

    Example:

      fabricsim ebb cab --routing ecmp
    """
    from coupling.inputs.fabric import described, left_open, topology_of, with_names
    from coupling.inputs.files import Table, require_one_stdin
    from coupling.report.phases import ebb_answer
    from coupling.site.ebb import effective_bisection
    from netsim.common.errors import NetsimError

    if lft is not None and routing is not None:
        raise SnapshotError("expected --routing or --lft, got both.")
    if fabric is not None and lft is None:
        raise SnapshotError("--fabric: expected beside --lft, the tables of that fabric.")
    inputs = {"FABRIC": topology, "--lft": lft, "--fabric": fabric, "--name-map": name_map}
    require_one_stdin(inputs)
    spec, folder = described(topology, form)
    spec = with_names(spec, name_map, host_pattern, topology)
    built = topology_of(Table({"topology": spec}, f"{topology}:", SnapshotError), folder)
    tables = {"lft": str(lft)} | ({} if fabric is None else {"fabric": str(fabric)})
    try:
        found = effective_bisection(
            built,
            tables if lft is not None else routing,
            samples=samples,
            seed=seed,
            progress=remark_now_and_then(f"{{:,}} of {samples:,} pairings"),
            assumed=left_open(spec),
        )
    except NetsimError as error:
        place = topology if lft is None else "--lft"
        raise SnapshotError(f"{place}: {error}") from None
    write_answer(found, lambda rows: ebb_answer(found, topology, page=rows is None), **vars(forms))
