"""Slurm's `topology.conf`: trees of switches, and blocks."""

import re
from collections.abc import Iterator
from itertools import pairwise

from netsim.errors import TopologyError
from netsim.formats.importers.hierarchy import Group, block_sketch, tree_sketch
from netsim.formats.importers.sketch import Settings
from netsim.hostlist import expand_hostlist
from netsim.topology.base import Topology

FORM = "slurm-conf"
_SWITCH = {"switchname", "switches", "nodes", "linkspeed"}
_BLOCK = {"blockname", "nodes", "blocksizes"}


def read_slurm_conf(text: str, source: str, settings: Settings) -> Topology:
    """
    Read `topology.conf`.

    Keys in any letter case, ``#`` starts a comment, a backslash at the end of a line goes on with
    the next one. ``LinkSpeed`` has no unit in Slurm and is not used.
    """
    switches: list[Group] = []
    blocks: list[Group] = []
    sizes: list[int] = []
    speeds = taken = 0
    for place, fields in _lines(text, source):
        if "switchname" in fields:
            _known(fields, _SWITCH, place)
            switches.append(
                Group(
                    _name(fields["switchname"], place),
                    place,
                    names_in(fields.get("nodes", ""), place, taken),
                    names_in(fields.get("switches", ""), place, taken),
                )
            )
            taken += len(switches[-1].nodes) + len(switches[-1].switches)
            speeds += "linkspeed" in fields
        else:
            _known(fields, _BLOCK, place)
            if "blocksizes" in fields:
                if sizes:
                    raise TopologyError(f"{place}: block sizes again.")
                sizes = block_sizes(fields["blocksizes"].split(","), place)
            if "blockname" in fields:
                name = _name(fields["blockname"], place)
                blocks.append(Group(name, place, names_in(fields.get("nodes", ""), place, taken)))
                taken += len(blocks[-1].nodes)
    if switches and blocks:
        raise TopologyError(f"{blocks[0].place}: a block, but {switches[0].place} has a switch.")
    if not (switches or blocks):
        raise TopologyError(f"{source}: expected lines 'SwitchName=...' or 'BlockName=...'.")
    if blocks:
        return block_sketch(blocks, sizes, source, FORM).build(settings)
    sketch = tree_sketch(switches, source, FORM)
    if speeds:
        sketch.assumed.append("LinkSpeed is not used: Slurm gives it no unit")
    return sketch.build(settings)


def names_in(text: str, place: str, taken: int = 0) -> tuple[str, ...]:
    """
    Write out a host list.

    `text`: such as ``n[001-018]``.
    """
    try:
        return tuple(expand_hostlist(text, taken))
    except TopologyError as error:
        raise TopologyError(f"{place}: {error}") from None


def block_sizes(words: list[str], place: str) -> list[int]:
    """
    Read the sizes of blocks.

    Result: the base block first.
    """
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


def _lines(text: str, source: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Iterate over the lines that say something, with their place and fields."""
    carried, start = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.partition("#")[0].rstrip()
        start = start if carried else number
        if said.endswith("\\"):
            carried += said[:-1] + " "
            continue
        words = (carried + said).split()
        carried = ""
        if words:
            yield f"{source}:{start}", _fields(words, f"{source}:{start}")
    if carried.strip():
        raise TopologyError(f"{source}:{start}: the line goes on, but the file ends.")


def _fields(words: list[str], place: str) -> dict[str, str]:
    """Read words such as ``Nodes=n[1-4]``."""
    fields: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not value or not key:
            raise TopologyError(f"{place}: expected key=value, got {word[:40]!r}.")
        if fields.setdefault(key.lower(), value) is not value:
            raise TopologyError(f"{place}: {key!r} twice in one line.")
    return fields


def _known(fields: dict[str, str], known: set[str], place: str) -> None:
    """Refuse keys that Slurm does not have."""
    unknown = sorted(set(fields) - known)
    if unknown:
        raise TopologyError(
            f"{place}: unknown key {unknown[0][:40]!r}; choose from {', '.join(sorted(known))}."
        )


def _name(text: str, place: str) -> str:
    """Refuse a list where one name stands."""
    if set(text) & set("[],"):
        raise TopologyError(f"{place}: expected one name, got {text[:40]!r}.")
    return text
