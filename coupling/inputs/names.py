"""What can be named, with a line about each: allocators, routings, patterns and so on."""

from collections.abc import Callable, Mapping
from html import escape
from inspect import getdoc
from typing import Any

from coupling.inputs.plugins import REGISTRIES, load_installed
from netsim.topology.machines import MACHINES
from scheduler.workload.registry import GENERATORS

_LINES: Mapping[str, Mapping[str, str]] = {  # of those whose makers have none
    "topologies": {
        "aries-edison-like": "dragonfly like Edison, Cray XC30",
        "aries-theta-like": "dragonfly like Theta, Cray XC40",
        "bgq-5d": "5D torus of a Blue Gene/Q",
        "cab": "fat-tree of Cab, 1,296 nodes",
        "fattree-10648": "full fat-tree of 10,648 nodes",
        "hpn-segment": "segment of Alibaba's HPN, 1,024 GPUs in two planes",
        "llama3-roce-24k": "Meta's RoCE cluster of 24,576 GPUs, 7:1 above pods",
        "superpod-4su": "DGX SuperPOD of 4 scalable units, 1,024 GPUs",
        "superpod-16su": "DGX SuperPOD of 16 scalable units, 4,096 GPUs",
        "hector": "3D torus of HECToR, Cray XE6",
        "hopper": "3D torus of Hopper, Cray XE6",
        "pinot": "fat-tree of Pinot, 2,592 nodes",
        "synth-1024": "full fat-tree of 1,024 nodes (Smith21)",
        "synth-2662": "full fat-tree of 2,662 nodes (Smith21)",
        "synth-5488": "full fat-tree of 5,488 nodes (Smith21)",
        "thunder-1458": "full fat-tree of 1,458 nodes (Smith21)",
    },
    "routings": {
        "d-mod-k": "fat-tree, up-port by destination",
        "s-mod-k": "fat-tree, up-port by source",
        "ecmp": "fat-tree, up-ports at random, one path for each flow",
        "least-loaded-per-job": "fat-tree, minimal path with the fewest flows of its own job",
        "shortest": "a shortest path on any fabric",
        "jigsaw": "on links that a job owns, else d-mod-k",
        "dimension-order": "torus or HyperX, one dimension after the other",
        "minimal": "dragonfly, direct to the other group",
        "valiant": "dragonfly, by a random group in between",
        "adaptive": "switches choose the path of each packet by queues",
        "spray": "switches send packets round robin over all shortest paths",
    },
}
_REGISTRY = {"models": "contention_models"}


class Names(dict[str, str]):
    """Names with a line about each, shown one below the other."""

    def __repr__(self) -> str:
        """Return a line for each."""
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {line}".rstrip() for name, line in self.items())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = (
            f"<tr><td>{escape(name)}</td><td>{escape(line)}</td></tr>"
            for name, line in self.items()
        )
        return f"<table>{''.join(rows)}</table>"


def names_of(kind: str) -> Names:
    """Return a line for each name of a kind, installed plug-ins included."""
    load_installed()
    registry: Mapping[str, Any] = REGISTRIES.get(_REGISTRY.get(kind, kind), GENERATORS)
    names = [*sorted(registry), *(sorted(MACHINES) if kind == "topologies" else ())]
    lines = _LINES.get(kind, {})
    return Names({name: lines.get(name) or _first_line(registry[name]) for name in names})


def _first_line(made: Callable[..., object]) -> str:
    """Return the first line of a docstring."""
    return (getdoc(made) or "").partition("\n")[0].rstrip(".").replace("`", "")
