"""FORMATS: topology files by format, which is guessed from the contents where it is not named."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fabricsim.checking import unknown
from fabricsim.checking.inputs import read_text
from fabricsim.checking.registry import Registry
from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology

_LOOKED_AT = 20_000  # letters by which the format is known

Reader = Callable[[str, str, Settings], Topology]


def read_topology(
    path: Path | str,
    form: str | None = None,
    settings: Settings | None = None,
    names: Path | str | None = None,
) -> Topology:
    """
    Read a fabric from a file.

    Parameters
    ----------
    path : Path or str
        The file; one that gzip has packed is read as it is.
    form : str, optional
        A key of `FORMATS`; guessed from the contents when absent.
    settings : Settings, optional
        What the user says besides the file.
    names : Path or str, optional
        A map of GUIDs to better names.

    Returns
    -------
    Topology
        The fabric, with its `origin`.

    Raises
    ------
    TopologyError
        If a file cannot be read, or the format is unknown or not the one named.

    Examples
    --------
    >>> sorted(FORMATS)[:3]
    ['accasim', 'aries-links', 'edge-csv']
    """
    text, source = read_text(path, TopologyError), str(path)
    if form is None:
        form = guess_format(text, source)
    if form not in FORMATS:
        raise TopologyError(unknown("format", form, sorted(FORMATS)))
    wanted = settings or Settings()
    if wanted.host_pattern is not None and form != "ibnetdiscover":
        what = "expected output of ibnetdiscover, which alone names adapters"
        raise TopologyError(f"{source}: host_pattern: {what}, got format {form!r}.")
    if names is not None:
        from netsim.formats.importers.infiniband import read_name_map  # noqa: PLC0415 (few need it)

        wanted = replace(wanted, names=read_name_map(read_text(names, TopologyError), str(names)))
    return FORMATS[form](text, source, wanted)


def guess_format(text: str, source: str) -> str:
    """Return the format of a file, a key of `FORMATS`, from its first lines."""
    head = text[:_LOOKED_AT]
    for form, mark in _MARKS.items():
        if re.search(mark, head, flags=re.IGNORECASE | re.MULTILINE):
            return form
    raise TopologyError(f"{source}: unknown format; name one of {', '.join(sorted(FORMATS))}.")


FORMATS: Registry[Reader] = Registry(
    {
        "slurm-conf": "netsim.formats.importers.slurm:read_slurm_conf",
        "slurm-yaml": "netsim.formats.importers.slurm_yaml:read_slurm_yaml",
        "ibnetdiscover": "netsim.formats.importers.infiniband:read_infiniband",
        "aries-links": "netsim.formats.importers.aries:read_aries",
        "node-map": "netsim.formats.importers.nodemap:read_node_map",
        "node-csv": "netsim.formats.importers.csv_tables:read_node_csv",
        "graphml": "netsim.formats.importers.graphs:read_graphml",
        "edge-csv": "netsim.formats.importers.csv_tables:read_edge_csv",
        "accasim": "netsim.formats.importers.accasim:read_accasim",
        "simgrid-xml": "netsim.formats.importers.simgrid:read_simgrid",
    }
)

_FIRST_LINE = r"\A(?:[ \t]*(?:#[^\n]*)?\n)*[^\n#]*"  # after blank lines and comments
_MARKS = {  # looked for in this order, in any letter case
    "graphml": r"<graphml\b",
    "simgrid-xml": r"<platform\b",
    "accasim": r'\A\s*\{[^\0]*"resources"\s*:',
    "ibnetdiscover": r'^(switchguid=|caguid=|(Switch|H?Ca|Rt)\s+\d+\s+"|(SW|CA)\s+\d+\s+\d+\s+0x)'
    r"|^(Ca|Switch|Router)\s*: 0x",
    "aries-links": r"\)\s+(green|black|blue|ptile)\s+->",
    "slurm-conf": r"^[ \t]*((SwitchName|BlockName|BlockSizes)\s*=|Include[ \t]+[^=\s]+\s*$)",
    "slurm-yaml": r"^[- \t]*(topology|tree|block|cluster_default)\s*:",
    "node-map": r"\A\s*\d+[ \t]+\d+[ \t]*\n\s*\S+([ \t]+\d+){2,}",
    "node-csv": _FIRST_LINE + r"\b(leaf_switch|leaf|l1_switch|edge_switch)\b",
    "edge-csv": _FIRST_LINE + r"\b(source|from|src|tail|a)\b[^\n]*[,;\t]",
}
