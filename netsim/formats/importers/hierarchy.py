"""Hierarchies: which switch is under which, as Slurm lists them, and the cables this stands for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import Sketch


@dataclass(frozen=True, slots=True)
class Group:
    """A switch and what the file puts under it."""

    name: str
    place: str  # where it stands, for messages: file and line
    # nodes, switches: nodes, or switches, under it. Where both are given, the nodes are those below
    # the switches.
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


def tree_sketch(groups: Sequence[Group], source: str, form: str) -> Sketch:
    """
    Draw a tree of switches, in the order of the file.

    A switch listed under several others has a cable to each. One listed under a single switch has
    as many cables to it as the fullest switch of its height has nodes below: the file does not say
    how many, and this many limit no flow.
    """
    by_name: dict[str, Group] = {}
    for group in groups:
        if group.name in by_name:
            first = by_name[group.name].place
            raise TopologyError(f"{group.place}: switch {group.name!r} again, first in {first}.")
        by_name[group.name] = group
        _check_switch(group)
    for group in groups:
        unknown = [name for name in group.switches if name not in by_name]
        if unknown:
            raise TopologyError(f"{group.place}: switch {unknown[0]!r} has no line of its own.")
    height = _switch_heights(by_name)
    _check_below(by_name, height)
    groups = [replace(group, nodes=()) if group.switches else group for group in groups]
    by_name = {group.name: group for group in groups}
    sketch = Sketch(source, form)
    for group in sorted(groups, key=lambda group: height[group.name]):  # stable: leaves first
        sketch.add_switch(group.name)
    for group in groups:
        for node in group.nodes:
            if node in by_name:
                raise TopologyError(f"{group.place}: {node!r} is a switch, expected a node.")
            sketch.add_node(node)
            sketch.join(node, group.name)
    _join_switches(sketch, by_name, height)
    _say_several(sketch, groups)
    return sketch


def _check_below(by_name: dict[str, Group], height: dict[str, int]) -> None:
    """Demand that nodes listed with switches are those below them, as scontrol shows."""
    below: dict[str, set[str]] = {}
    for name in sorted(by_name, key=height.__getitem__):
        group = by_name[name]
        found = set[str]().union(*(below[child] for child in group.switches))
        below[name] = found if group.switches else set(group.nodes)
        wrong = sorted(found.symmetric_difference(group.nodes))
        if group.nodes and group.switches and wrong:
            raise TopologyError(
                f"{group.place}: switch {name!r} has nodes and switches under it; expected the "
                f"nodes below these switches, got others ({wrong[0]!r} first)."
            )


def _say_several(sketch: Sketch, groups: Sequence[Group]) -> None:
    """Say which nodes are under several switches: Slurm warns of them."""
    over: dict[str, list[str]] = {}
    for group in groups:
        for node in group.nodes:
            over.setdefault(node, []).append(group.name)
    several = [f"{node} under {' and '.join(own)}" for node, own in over.items() if len(own) > 1]
    if several:
        shown = "; ".join(several[:5]) + ("; ..." if len(several) > 5 else "")  # noqa: PLR2004 (a line)
        sketch.assumed.append(
            f"nodes under several switches ({len(several)}: {shown}) have a link to each; Slurm "
            f"warns of them, most are slips"
        )


def block_sketch(blocks: Sequence[Group], sizes: Sequence[int], source: str, form: str) -> Sketch:
    """Draw blocks of nodes, and blocks of blocks."""
    groups = list(blocks)
    level, step = [block.name for block in blocks], 1  # step: base blocks under each of the level
    taken = set(level)
    too_large: Sequence[int] = ()
    for at, size in enumerate(sizes[1:], start=1):
        if len(level) == 1:
            too_large = sizes[at:]
            break
        ratio = size // sizes[0]
        under: dict[int, list[str]] = {}
        for i, name in enumerate(level):
            under.setdefault(i * step // ratio, []).append(name)
        level, step = [_unused_name(f"aggregated{size}-{i}", taken) for i in under], ratio
        groups += [
            Group(name, "the block sizes", switches=tuple(below))
            for name, below in zip(level, under.values(), strict=True)
        ]
    if len(level) > 1:
        root = _unused_name("all-blocks", taken)
        groups.append(Group(root, "the blocks", switches=tuple(level)))
    sketch = tree_sketch(groups, source, form)
    added = len(groups) - len(blocks)
    if added:
        sketch.assumed.insert(
            0,
            f"switches above the blocks ({added}): one for every aggregated block of consecutive "
            f"blocks, one above all",
        )
    if too_large:
        listed = ", ".join(map(str, too_large))
        sketch.assumed.append(f"block sizes beyond the machine ({listed}): left out")
    return sketch


def _unused_name(name: str, taken: set[str]) -> str:
    """Return a name that no block has, and take it."""
    while name in taken:
        name += "+"
    taken.add(name)
    return name


def _check_switch(group: Group) -> None:
    """Demand that a switch has a name, and nodes or switches under it, each once."""
    if not group.name:
        raise TopologyError(f"{group.place}: expected the name of a switch or block.")
    if not (group.nodes or group.switches):
        raise TopologyError(
            f"{group.place}: switch {group.name!r} must have nodes or switches under it, got "
            f"nothing."
        )
    twice = _first_repeat(group.nodes) or _first_repeat(group.switches)
    if twice is not None:
        raise TopologyError(f"{group.place}: {twice!r} is listed twice under {group.name!r}.")


def _first_repeat(names: Iterable[str]) -> str | None:
    """Return the first name that came before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _switch_heights(by_name: dict[str, Group]) -> dict[str, int]:
    """Return how many switches lie under each on the longest way down, itself counted."""
    height: dict[str, int] = {}
    waiting = {name: len(group.switches) for name, group in by_name.items()}
    above: dict[str, list[str]] = {name: [] for name in by_name}
    for name, group in by_name.items():
        for child in group.switches:
            above[child].append(name)
    ready = [name for name, count in waiting.items() if not count]
    while ready:
        name = ready.pop()
        height[name] = 1 + max((height[child] for child in by_name[name].switches), default=0)
        for parent in above[name]:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    for name, group in by_name.items():
        if name not in height:
            raise TopologyError(f"{group.place}: switch {name!r} is below itself.")
    return height


def _join_switches(sketch: Sketch, by_name: dict[str, Group], height: dict[str, int]) -> None:
    """Draw the cables between switches, and say which were assumed."""
    parents: dict[str, list[str]] = {name: [] for name in by_name}
    below: dict[str, set[str]] = {}
    for name in sorted(by_name, key=height.__getitem__):
        group = by_name[name]
        below[name] = set(group.nodes).union(*(below[child] for child in group.switches))
        for child in group.switches:
            parents[child].append(name)
    fullest: dict[int, int] = {}
    for name, nodes in below.items():
        fullest[height[name]] = max(fullest.get(height[name], 0), len(nodes))
    single = [name for name in by_name if len(parents[name]) == 1]
    many = [name for name in by_name if len(parents[name]) > 1]
    for name in by_name:
        count = fullest[height[name]] if len(parents[name]) == 1 else 1
        for parent in parents[name]:
            sketch.join(name, parent, count=count)
    if single:
        sketch.assumed.append(
            f"uplinks of switches with one parent ({len(single)}): as many cables as the fullest "
            f"switch of the level has nodes below (no taper)"
        )
    if many:
        sketch.assumed.append(
            f"uplinks of switches with several parents ({len(many)}): one cable to each"
        )
    roots = [name for name in by_name if not parents[name]]
    fake = [
        name
        for name in roots
        if by_name[name].switches and all(len(parents[c]) == 1 for c in by_name[name].switches)
    ]
    if fake:
        sketch.fake_roots += fake
        sketch.assumed.append(
            f"{', '.join(fake[:5])}: a single switch above all its children stands for whatever "
            f"network joins them"
        )
    if len(roots) > 1 and not many:
        sketch.assumed.append(
            f"{len(roots)} switches have no parent ({roots[0]} and {roots[1]} first): nothing "
            f"joins them"
        )
