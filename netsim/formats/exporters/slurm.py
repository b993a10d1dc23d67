"""Slurm's `topology.conf` of a tree of switches."""

from netsim.common.errors import TopologyError
from netsim.common.hostlist import fold_hostlist
from netsim.formats.exporters.drawing import draw
from netsim.formats.exporters.tables import Written
from netsim.topology.base import Topology
from netsim.topology.levels import vertex_levels


def write_slurm_conf(topology: Topology) -> Written:
    """Write `topology.conf`, leaves first, and what Slurm does not know of the fabric."""
    drawing = draw(topology)
    level = vertex_levels(topology).tolist()
    below: dict[int, list[int]] = {v: [] for v in drawing.vertices if drawing.kind(v) == "switch"}
    parents: dict[int, int] = {}
    for bundle in drawing.bundles:
        low, high = sorted((bundle.a, bundle.b), key=lambda v: level[v])
        if level[low] == level[high] or level[low] < 0:
            names = f"{topology.vertex_name(low)} and {topology.vertex_name(high)}"
            raise TopologyError(
                f"topology.conf holds trees of switches, but {names} of {topology.name} are joined "
                f"on one level."
            )
        if low not in below[high]:
            below[high].append(low)
            parents[low] = parents.get(low, 0) + 1
    lines = []
    for switch in sorted(below, key=lambda v: (level[v], v)):
        key = "Nodes" if level[switch] == 1 else "Switches"
        names = fold_hostlist(topology.vertex_name(v) for v in sorted(below[switch]))
        lines.append(f"SwitchName={topology.vertex_name(switch)} {key}={names}")
    remarks = ["capacities are not in the file"]
    if any(len(bundle.links) > 1 for bundle in drawing.bundles):
        remarks.append("parallel cables are not in the file")
    several = sum(count > 1 for v, count in parents.items() if v in below)
    if several:
        remarks.append(f"switches under several others ({several}): Slurm takes any of them")
    return "\n".join(lines) + "\n", (*drawing.remarks, *remarks)
