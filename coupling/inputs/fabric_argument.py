"""A fabric as users name it on a command line: a machine, a description, a file of a site."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coupling.errors import SnapshotError
from coupling.inputs.files import read_json
from fabricsim.checking import brief, meant
from fabricsim.checking.documents import parse_json, parse_toml
from fabricsim.checking.inputs import read_text, without_packing
from netsim.common.errors import NetsimError
from netsim.formats.importers.registry import FORMATS, guess_format
from netsim.formats.importers.sketch import Settings
from netsim.registries.topologies import TOPOLOGIES
from netsim.topology.base import Topology
from netsim.topology.machines import MACHINES
from netsim.topology.switches import with_default_switch


def is_fabric_file(what: str, folder: Path) -> bool:
    """Say whether a text names a file rather than a machine or a kind of fabric."""
    return what not in MACHINES and what not in TOPOLOGIES and (folder / what).is_file()


def described(what: str, form: str | None) -> tuple[Any, Path]:
    """Return the description of a topology that a user named, unchecked, and its folder."""
    # A machine's name, a JSON or TOML file with a topology, or a file of another format; ``-`` is
    # standard input, but not TOML.
    path = Path(what)
    if what in MACHINES:
        return what, Path()
    if what != "-" and not path.exists():
        raise SnapshotError(
            f"{what}: expected a file or a machine ({', '.join(sorted(MACHINES))})"
            f"{meant(what, MACHINES)}."
        )
    if what == "-" and form is None:
        return _from_stdin(), Path()
    ending = Path(without_packing(path.name)).suffix.lower()
    if form is None and ending in {".json", ".toml"}:
        return _topology_table(
            _read_toml(path) if ending == ".toml" else read_json(path), what
        ), path.parent
    spec = {"kind": "file", "path": path.name}
    return (spec if form is None else {**spec, "format": form}), path.parent


def _from_stdin() -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return the fabric that standard input describes: JSON, or a file of another format."""
    text = read_text("-", SnapshotError)
    if text.lstrip().startswith(("{", "[")):
        document = parse_json(text, "-", SnapshotError)
        if not isinstance(document, dict):
            raise SnapshotError(f"-: expected a JSON object, got {brief(document)}.")
        return _topology_table(document, "-")
    try:
        fabric = FORMATS[guess_format(text, "<stdin>")](text, "<stdin>", Settings())
    except NetsimError as error:
        raise SnapshotError(str(error)) from None
    return with_default_switch(fabric)


def _topology_table(document: dict[str, Any], what: str) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return the topology of a document, or the document that is one."""
    if {"topology", "kind"} <= document.keys():
        raise SnapshotError(f"{what}: expected fields of a fabric or a table topology, got both.")
    return document.get("topology", document)


def with_names(
    spec: object,
    name_map: Path | str | None,
    host_pattern: str | None,
    source: str,
) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return a description with better names for the GUIDs of its file, and its rule of hosts."""
    more = {} if name_map is None else {"name_map": str(Path(name_map).absolute())}
    more |= {} if host_pattern is None else {"host_pattern": host_pattern}
    if not more:
        return spec
    if not isinstance(spec, Mapping) or spec.get("kind") != "file":
        option = f"--{next(iter(more)).replace('_', '-')}"
        raise SnapshotError(f"{option}: expected beside a file of a fabric, got {source}.")
    return {**spec, **more}


def left_open(spec: object) -> tuple[str, ...]:
    """Return what a description of a fabric leaves open, beside what its file does."""
    if isinstance(spec, Topology):
        return ()
    if isinstance(spec, Mapping) and ("bandwidth" in spec or spec.get("kind") == "file"):
        return ()
    kind = spec.get("kind") if isinstance(spec, Mapping) else spec
    if isinstance(kind, str) and "bandwidth" in MACHINES.get(kind, {}):
        return ()
    return ("every link has 100 Gb/s in each direction: no bandwidth was given",)


def _read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return parse_toml(read_text(path, SnapshotError), str(path), SnapshotError)
