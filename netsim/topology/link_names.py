"""Names of many links at once."""

from netsim.topology.base import Topology


def link_names(topology: Topology) -> list[str]:
    """Return the names of all directed links, in the order of their numbers."""
    vertices = list(map(topology.vertex_name, range(topology.n_nodes + topology.n_switches)))
    ends = zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True)
    names = [f"{vertices[tail]}>{vertices[head]}" for tail, head in ends]
    for link in topology.in_parallel:
        names[link] += f"#{topology.link_cable[link]}"
    return names
