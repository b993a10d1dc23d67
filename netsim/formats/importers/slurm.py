"""Slurm's `topology.conf`: trees of switches, and blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fabricsim.checking.inputs import read_text
from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist
from netsim.formats.importers.hierarchy import Group, block_sketch, tree_sketch
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology

FORM = "slurm-conf"
_SWITCH = {"switchname", "switches", "nodes", "linkspeed", "level"}
_BLOCK = {"blockname", "nodes", "blocksizes", "blocksize", "blockindex"}
_AGGREGATED = {"aggregatedblock", "nodes", "blocksize", "blockindex"}
_MOST_INCLUDES = 100  # files of one configuration; more is a loop of files that include others
_COMMENT = re.compile(r"(?<!\\)#.*")
_ESCAPED = re.compile(r"\\(.)")
_INCLUDE = re.compile(r"\s*include\s+(\S.*?)\s*", re.IGNORECASE)
_PAIR = re.compile(r'\s*([\w.]+)\s*=\s*(?:"([^"]*)"|([^\s"]\S*))(?=\s|$)')
_COMMAND = re.compile(r"[^=]*[$#%>]\s*(?:sudo\s+)?(?:\S*/)?scontrol\s[^=]*", re.IGNORECASE)


@dataclass(slots=True)
class _ConfigLines:
    """What the lines of a configuration say, and what is not used of them."""

    switches: list[Group] = field(default_factory=list)
    blocks: list[Group] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    shown_sizes: set[str] = field(default_factory=set)  # those that scontrol shows
    names: int = 0
    speeds: int = 0


def read_slurm_conf(text: str, source: str, settings: Settings) -> Topology:
    """
    Read `topology.conf`, or what ``scontrol show topology`` prints.

    As Slurm's own parser (``src/common/parse_config.c``): keys in any letter case, ``#`` starts a
    comment, a backslash at the end of a line joins the next one, values may stand in ``"``, and
    ``Include FILE`` reads another file, relative to this one. ``LinkSpeed`` has no unit in Slurm
    and is not used.
    """
    read = _ConfigLines()
    prompts = 0
    if (first := text.lstrip().partition("\n")[0]) and _COMMAND.fullmatch(first.rstrip("\r")):
        text, prompts = text.replace(first, "", 1), 1
    files = [source]
    for place, fields in _config_lines(text, source, files):
        _take_line(read, fields, place)
    if read.switches and read.blocks:
        raise TopologyError(
            f"{read.blocks[0].place}: a block, but {read.switches[0].place} has a switch."
        )
    if not (read.switches or read.blocks):
        raise TopologyError(f"{source}: expected lines 'SwitchName=...' or 'BlockName=...'.")
    if read.blocks:
        if read.shown_sizes and not read.sizes:
            read.sizes = block_sizes(sorted(read.shown_sizes, key=int), source)
        sketch = block_sketch(read.blocks, read.sizes, source, FORM)
    else:
        sketch = tree_sketch(read.switches, source, FORM)
    sketch.included = sorted(set(files[1:]))
    if read.speeds:
        sketch.assumed.append("LinkSpeed is not used: Slurm gives it no unit")
    if prompts:
        sketch.assumed.append("the first line, a command, is left out")
    return sketch.build(settings)


def _take_line(read: _ConfigLines, fields: dict[str, str], place: str) -> None:
    """Take note of one line."""
    if "switchname" in fields:
        _require_known(fields, _SWITCH, place)
        group = Group(
            _single_name(fields["switchname"], place),
            place,
            names_in(fields.get("nodes", ""), place, read.names),
            names_in(fields.get("switches", ""), place, read.names),
        )
        read.switches.append(group)
        read.names += len(group.nodes) + len(group.switches)
        read.speeds += "linkspeed" in fields
        return
    _require_known(fields, _AGGREGATED if "aggregatedblock" in fields else _BLOCK, place)
    if "blocksizes" in fields:
        if read.sizes:
            raise TopologyError(f"{place}: block sizes again.")
        read.sizes = block_sizes(fields["blocksizes"].split(","), place)
    if "blocksize" in fields:
        block_sizes([fields["blocksize"]], place)
        read.shown_sizes.add(fields["blocksize"])
    if "blockname" in fields:
        name = _single_name(fields["blockname"], place)
        read.blocks.append(Group(name, place, names_in(fields.get("nodes", ""), place, read.names)))
        read.names += len(read.blocks[-1].nodes)


def names_in(text: str, place: str, taken: int = 0) -> tuple[str, ...]:
    """Write out a host list such as ``n[001-018]``."""
    try:
        return tuple(expand_hostlist(text, taken))
    except TopologyError as error:
        raise TopologyError(f"{place}: {error}") from None


def block_sizes(words: list[str], place: str) -> list[int]:
    """Read the sizes of blocks, the base block first."""
    if not all(re.fullmatch("[0-9]{1,9}", word.strip()) for word in words):
        raise TopologyError(
            f"{place}: block sizes: expected numbers, got {','.join(words)[:40]!r}."
        )
    sizes = [int(word) for word in words]
    if not sizes or sizes[0] < 1:
        raise TopologyError(f"{place}: block sizes: expected numbers from 1.")
    for small, large in pairwise(sizes):
        ratio = large // sizes[0]
        if large <= small or large % sizes[0] or ratio & (ratio - 1):
            raise TopologyError(
                f"{place}: block sizes: expected powers of two times {sizes[0]}, growing, "
                f"got {large} after {small}."
            )
    return sizes


def _config_lines(text: str, source: str, read: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Iterate over lines that say something; `read` bounds the files that are included."""
    carried, start = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        said = _COMMENT.sub("", line).rstrip()
        start = start if carried else number
        said = said.lstrip() if carried.endswith(",") else said
        if said.endswith("\\") and not said.endswith("\\\\"):
            carried += said[:-1]
            continue
        whole, carried = _ESCAPED.sub(r"\1", carried + said), ""
        place = f"{source}:{start}"
        if (match := _INCLUDE.fullmatch(whole)) is not None and "=" not in whole:
            yield from _included_lines(match[1].strip('"'), place, source, read)
        elif whole.strip():
            yield place, _line_fields(whole, place)
    if carried.strip():
        raise TopologyError(f"{source}:{start}: the line goes on, but the file ends.")


def _included_lines(
    name: str, place: str, source: str, read: list[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Iterate over the lines of a file that another includes."""
    path = str(Path(source).parent / name)
    if len(read) > _MOST_INCLUDES:
        raise TopologyError(f"{place}: expected at most {_MOST_INCLUDES} files included, got more.")
    read.append(path)
    try:
        text = read_text(path, TopologyError)
    except TopologyError as error:
        raise TopologyError(f"{place}: Include: {error}") from None
    yield from _config_lines(text, path, read)


def _line_fields(line: str, place: str) -> dict[str, str]:
    """Read a line such as ``SwitchName=s1 Nodes=n[1-4]``."""
    fields: dict[str, str] = {}
    at, text = 0, line.rstrip()
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None:
            got = text[at:].strip()[:40]
            raise TopologyError(f"{place}: expected key=value, got {got!r}.")
        key, value = match[1].lower(), match[2] if match[3] is None else match[3]
        if key in fields:
            raise TopologyError(f"{place}: {match[1]!r} twice in one line.")
        fields[key] = "" if value == "(null)" else value
        at = match.end()
    return fields


def _require_known(fields: dict[str, str], known: set[str], place: str) -> None:
    """Refuse keys that Slurm does not have."""
    unknown = sorted(set(fields) - known)
    if unknown:
        raise TopologyError(
            f"{place}: unknown key {unknown[0][:40]!r}; choose from {', '.join(sorted(known))}."
        )


def _single_name(text: str, place: str) -> str:
    """Refuse a list where one name stands."""
    if set(text) & set("[],"):
        raise TopologyError(f"{place}: expected one name, got {text[:40]!r}.")
    return text
