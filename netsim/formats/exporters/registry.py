"""WRITERS: fabrics as files of other tools, by format."""

from collections.abc import Callable
from pathlib import Path

from fabricsim.checking import unknown
from fabricsim.checking.outputs import require_apart
from fabricsim.checking.registry import Registry
from netsim.common.atomic_write import replace_file
from netsim.common.errors import TopologyError
from netsim.formats.exporters.writers import Written
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster


def convert(
    topology: Topology, form: str, path: Path | str, routing: Routing | None = None
) -> tuple[str, ...]:
    """
    Write a fabric to a file.

    Parameters
    ----------
    topology : Topology
        The fabric.
    form : str
        A key of `WRITERS`.
    path : Path or str
        The file; on failure the old one, or none, is left.
    routing : Routing, optional
        Routes to write, in the format ``simgrid-xml`` only.

    Returns
    -------
    tuple of str
        What the file does not hold, or its reader will see otherwise.

    Raises
    ------
    TopologyError
        If the format is unknown or cannot hold the fabric, or the file cannot be written: it is
        one of a stored result, or the fabric was read from it.
    """
    text, remarks = written(topology, form, routing)
    origin = topology.origin
    try:
        if origin is not None:
            require_apart(path, origin.source, *origin.included)
        replace_file(path, text)
    except OSError as error:
        raise TopologyError(f"{path}: cannot be written: {error.strerror}.") from None
    return remarks


def written(topology: Topology, form: str, routing: Routing | None = None) -> Written:
    """
    Return a fabric as text.

    `form`: a key of `WRITERS`. `routing`: routes to write, in the format ``simgrid-xml`` only.
    Result: `text`: contents of the file; `remarks`: what the file does not hold, or its reader will
    see otherwise.

    Examples
    --------
    >>> from netsim.registries.topologies import make_topology
    >>> tree = make_topology({"kind": "fat-tree", "children": [2, 2], "parents": [1, 1]})
    >>> print(written(tree, "slurm-conf")[0])
    SwitchName=s1.0 Nodes=n[0-1]
    SwitchName=s1.1 Nodes=n[2-3]
    SwitchName=s2.0 Switches=s1.[0-1]
    <BLANKLINE>
    """
    remarks: tuple[str, ...] = ()
    if isinstance(topology, GpuCluster):
        if routing is not None:
            raise TopologyError("routes: a GPU cluster is written without; leave the routing out.")
        topology = topology.between_hosts()
        remarks = ("GPUs and links inside hosts are not in the file",)
    if form not in WRITERS:
        raise TopologyError(unknown("format", form, sorted(WRITERS)))
    if routing is not None and form != "simgrid-xml":
        raise TopologyError(f"format {form!r} holds no routes; write 'simgrid-xml'.")
    text, more = WRITERS[form](topology, *([] if routing is None else [routing]))
    return text, remarks + more


WRITERS: Registry[Callable[..., Written]] = Registry(
    {
        "edge-csv": "netsim.formats.exporters.writers:write_edge_csv",
        "graphml": "netsim.formats.exporters.writers:write_graphml",
        "simgrid-xml": "netsim.formats.exporters.writers:write_simgrid",
        "slurm-conf": "netsim.formats.exporters.writers:write_slurm_conf",
    }
)
