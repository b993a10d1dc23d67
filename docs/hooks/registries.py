"""Fill `<!-- registry: NAME -->` on pages with what is registered: names, options, first lines."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.contention_models import CONTENTION_MODELS
from netsim.formats.exporters.registry import WRITERS
from netsim.formats.importers.registry import FORMATS
from netsim.routings import ROUTINGS
from netsim.topologies import TOPOLOGIES
from netsim.topology.machines import MACHINES
from patterns.registry import PATTERNS
from scheduler.allocators import ALLOCATORS
from scheduler.queues import POLICIES
from scheduler.workload.registry import GENERATORS, READERS
from scheduler.workload.slurm import COLUMNS as SACCT_COLUMNS
from scheduler.workload.table import COLUMNS

REGISTRIES: Mapping[str, Mapping[str, Any]] = {
    "allocators": ALLOCATORS,
    "queues": POLICIES,
    "patterns": PATTERNS,
    "topologies": TOPOLOGIES,
    "machines": MACHINES,
    "routings": ROUTINGS,
    "contention models": CONTENTION_MODELS,
    "readers": READERS,
    "generators": GENERATORS,
    "fabric formats": FORMATS,
    "export formats": WRITERS,
}
NAMES = re.compile(r"<!-- columns: (\w+) -->")
API = re.compile(r"<!-- api: (\w+) -->")
OURS = {"netsim", "patterns", "scheduler", "coupling", "fabricsim"}
COLUMN_NAMES = {"table": COLUMNS, "sacct": SACCT_COLUMNS}
PLACE = re.compile(r"<!-- registry: ([a-z ]+) -->")
SILENT = {"self", "topology", "fairness", "path", "fields", "common", "args", "kwargs"} | {
    *("_seed", "text", "source", "settings", "routing")
}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put tables in the place of marks; the generator of the site calls this for every page."""
    markdown = PLACE.sub(lambda match: table(REGISTRIES[match[1]]), markdown)
    markdown = NAMES.sub(lambda match: columns(COLUMN_NAMES[match[1]]), markdown)
    return API.sub(lambda match: api(match[1]), markdown)


def columns(names: Mapping[str, Sequence[str]]) -> str:
    """Return the names under which a table may hold what is read."""
    lines = ["| what | columns, in order of preference |", "| --- | --- |"]
    lines += [
        f"| {what} | {', '.join(f'`{name}`' for name in own)} |" for what, own in names.items()
    ]
    return "\n".join(lines)


def api(package: str) -> str:
    """Return marks for the descriptions of all public names of a package."""
    names = importlib.import_module(package).__all__
    return "\n\n".join(f"::: {home(package, name)}" for name in names)


def home(package: str, name: str) -> str:
    """Return where a public name is defined, so that its source is found."""
    made = getattr(importlib.import_module(package), name)
    module = getattr(made, "__module__", None)
    own = isinstance(module, str) and module.partition(".")[0] in OURS
    return f"{module}.{name}" if own and hasattr(sys.modules[module], name) else f"{package}.{name}"


def table(registry: Mapping[str, Any]) -> str:
    """Return a registry as a Markdown table."""
    lines = ["| name | what it is | options and their defaults |", "| --- | --- | --- |"]
    for name, entry in sorted(registry.items()):
        lines.append(f"| `{name}` | {summary(entry)} | {options(entry)} |")
    return "\n".join(lines)


def summary(entry: object) -> str:
    """Return the first line of a docstring; of a table its fields."""
    if isinstance(entry, Mapping):
        fields = ", ".join(f"`{key}` = {value}" for key, value in entry.items())
        return fields.replace("|", "\\|")
    text = inspect.getdoc(_class_behind(entry)) or ""
    if text.startswith(f"{getattr(entry, '__name__', '')}("):  # a dataclass without one
        text = ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _class_behind(entry: object) -> object:
    """Return the class that a maker of routings makes; anything else as it is."""
    for made in (
        entry,
        *(cell.cell_contents for cell in getattr(entry, "__closure__", None) or ()),
    ):
        owner = getattr(made, "__self__", None)
        if inspect.isclass(owner):
            return owner
    return entry


def options(entry: Callable[..., object] | object) -> str:
    """Return the options of an entry with their defaults."""
    if not callable(entry):
        return ""
    try:
        found = inspect.signature(entry).parameters.values()
    except ValueError:
        return ""
    shown = []
    for parameter in found:
        if parameter.name in SILENT or parameter.kind is parameter.VAR_KEYWORD:
            continue
        default = parameter.default
        if default is parameter.empty:
            shown.append(f"`{parameter.name}` (needed)")
        else:
            told = repr(default) if "factory" not in repr(default) else "..."
            shown.append(f"`{parameter.name}` = {told}".replace("|", "\\|"))
    return ", ".join(shown)
