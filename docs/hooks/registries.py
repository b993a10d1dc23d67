"""Fill `<!-- registry: NAME -->` on pages with what is registered: names, options, first lines."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from sphinx.application import Sphinx

from coupling.cli.root import app
from netsim import CONTENTION_MODELS, MACHINES, ROUTINGS, TOPOLOGIES
from netsim.formats.exporters.registry import WRITERS
from netsim.formats.importers.registry import FORMATS
from patterns import PATTERNS
from scheduler import ALLOCATORS, GENERATORS, POLICIES, READERS
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
COLUMN_NAMES = {"table": COLUMNS, "sacct": SACCT_COLUMNS}
OPTIONS = re.compile(r"<!-- options: ([a-z -]+) -->")
PLACE = re.compile(r"<!-- registry: ([a-z ]+) -->")
SILENT = {"self", "topology", "fairness", "path", "fields", "common", "args", "kwargs"} | {
    *("_seed", "text", "source", "settings", "routing")
}


def _fill(_: Sphinx, __: str, source: list[str]) -> None:
    """Put tables in the place of marks on a page."""
    page = PLACE.sub(lambda match: table(REGISTRIES[match[1]]), source[0])
    page = NAMES.sub(lambda match: columns(COLUMN_NAMES[match[1]]), page)
    source[0] = OPTIONS.sub(lambda match: command_options(match[1].split()), page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill each page as it is read."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def command_options(words: Sequence[str]) -> str:
    """Return the arguments and options of a command as a Markdown table."""
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    lines = ["| option | meaning | default |", "| --- | --- | --- |"]
    for parameter in command.params:
        shown = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            shown = f"`{str(parameter.name).upper()}`"
        default = "" if parameter.default in (None, False, ()) else f"`{parameter.default}`"
        text = " ".join((parameter.help or "").split()).replace("\\[", "[").replace("|", "\\|")
        lines.append(f"| {shown} | {text} | {default} |")
    return "\n".join(lines)


def columns(names: Mapping[str, Sequence[str]]) -> str:
    """Return the names under which a table may hold what is read."""
    lines = ["| what | columns, in order of preference |", "| --- | --- |"]
    lines += [
        f"| {what} | {', '.join(f'`{name}`' for name in own)} |" for what, own in names.items()
    ]
    return "\n".join(lines)


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
            shown_default = repr(default) if "factory" not in repr(default) else "..."
            shown.append(f"`{parameter.name}` = {shown_default}".replace("|", "\\|"))
    return ", ".join(shown)
