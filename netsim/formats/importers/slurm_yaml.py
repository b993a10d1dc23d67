"""Slurm's `topology.yaml`: several topologies by name, of which the default one is read."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NoReturn

import yaml

from netsim.common.errors import TopologyError
from netsim.formats.importers.hierarchy import Group, block_sketch, tree_sketch
from netsim.formats.importers.sketch import Settings, Sketch
from netsim.formats.importers.slurm import block_sizes, names_in
from netsim.topology.base import Topology

FORM = "slurm-yaml"
_MOST = 2**20  # letters, 20,000 switches; the library needs 300 bytes for a letter at worst
_NAMED = frozenset({"topology"})
_TOPOLOGY = {"topology", "cluster_default", "tree", "block"}


def read_slurm_yaml(text: str, source: str, settings: Settings) -> Topology:
    """Read the first topology with ``cluster_default: true``, or the first of all."""
    if len(text) > _MOST:
        raise TopologyError(f"{source}: expected YAML of at most {_MOST // 2**20} MiB, got more.")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise TopologyError(f"{source}{line}: expected YAML: {reason}.") from None
    except RecursionError:
        raise TopologyError(f"{source}: values inside each other too deeply.") from None
    reader = _Reader(source)
    topologies = [reader.table(entry) for entry in reader.entries(root)]
    if not topologies:
        raise TopologyError(f"{source}: expected a list of topologies, got none.")
    default = [t for t in topologies if reader.word(t, "cluster_default").lower() == "true"]
    chosen = (default or topologies)[0]
    sketch = reader.sketch(chosen)
    if len(topologies) > 1:
        name = reader.word(chosen, "topology")
        sketch.assumed.insert(0, f"of {len(topologies)} topologies in the file, {name!r}")
    return sketch.build(settings)


class _Reader:
    """Reads YAML nodes, which know their lines; repeated keys are refused, not overwritten."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken = 0  # names in the host lists so far

    def sketch(self, topology: dict[str, yaml.Node]) -> Sketch:
        """Draw a topology."""
        kinds: dict[str, Callable[[yaml.Node], Sketch]] = {"tree": self._tree, "block": self._block}
        found = [kind for kind in kinds if kind in topology]
        other = sorted(set(topology) - _TOPOLOGY)
        if len(found) != 1 or other:
            got = ", ".join([*found, *other]) or "neither"
            at = topology[(other or found or ["topology"])[0]]
            self._fault(at, f"expected a topology with 'tree' or 'block', got {got}")
        return kinds[found[0]](topology[found[0]])

    def _tree(self, node: yaml.Node) -> Sketch:
        """Draw a tree."""
        groups = []
        for entry in self.entries(self.table(node, {"switches"}, {"switches"})["switches"]):
            table = self.table(entry, {"switch", "nodes", "children"}, {"switch"})
            nodes, children = (self._names(table, key) for key in ("nodes", "children"))
            groups.append(Group(self.word(table, "switch"), self._place(entry), nodes, children))
        return tree_sketch(groups, self._source, FORM)

    def _block(self, node: yaml.Node) -> Sketch:
        """Draw blocks."""
        table = self.table(node, {"block_sizes", "blocks"}, {"blocks"})
        sizes = []
        if "block_sizes" in table:
            at = table["block_sizes"]
            words = [self._text(entry) for entry in self.entries(at)]
            sizes = block_sizes(words, self._place(at))
        blocks = []
        for entry in self.entries(table["blocks"]):
            block = self.table(entry, {"block", "nodes"}, {"block", "nodes"})
            nodes = self._names(block, "nodes")
            blocks.append(Group(self.word(block, "block"), self._place(entry), nodes))
        return block_sketch(blocks, sizes, self._source, FORM)

    def table(
        self,
        node: yaml.Node,
        known: AbstractSet[str] | None = None,
        needed: AbstractSet[str] = _NAMED,
    ) -> dict[str, yaml.Node]:
        """Read a mapping."""
        if not isinstance(node, yaml.MappingNode):
            self._fault(node, "expected a mapping")
        table: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self._text(key)
            if name in table:
                self._fault(key, f"{name!r} again in one mapping")
            if known is not None and name not in known:
                self._fault(
                    key, f"unknown key {name[:40]!r}; choose from {', '.join(sorted(known))}"
                )
            table[name] = value
        for name in sorted(needed - set(table)):
            self._fault(node, f"key {name!r} is missing")
        return table

    def entries(self, node: yaml.Node | None) -> list[yaml.Node]:
        """Read a sequence."""
        if not isinstance(node, yaml.SequenceNode):
            self._fault(node, "expected a list")
        return list(node.value)

    def word(self, table: dict[str, yaml.Node], key: str) -> str:
        """Read a text; empty where the key is absent."""
        return self._text(table[key]) if key in table else ""

    def _names(self, table: dict[str, yaml.Node], key: str) -> tuple[str, ...]:
        """Read a host list; empty where the key is absent."""
        if key not in table:
            return ()
        names = names_in(self.word(table, key), self._place(table[key]), self._taken)
        self._taken += len(names)
        return names

    def _text(self, node: yaml.Node) -> str:
        """Read a scalar as it is written."""
        if not isinstance(node, yaml.ScalarNode):
            self._fault(node, "expected a text or number")
        return str(node.value)

    def _place(self, node: yaml.Node | None) -> str:
        """Return file and line."""
        return f"{self._source}:{node.start_mark.line + 1}" if node else self._source

    def _fault(self, node: yaml.Node | None, what: str) -> NoReturn:
        """Refuse a node."""
        raise TopologyError(f"{self._place(node)}: {what}.")
