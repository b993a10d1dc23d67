"""OpenSM's order of the channel adapters: the numbers that D-mod-k divides."""

from collections.abc import Sequence
from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.infiniband.discover import IbFabric
from netsim.topology.fattree import FatTree


def read_ca_order(text: str) -> list[int]:
    """Read LIDs from lines ``0x<lid> <name>`` of `opensm-ftree-ca-order.dump`; 0xFFFF: a dummy."""
    order = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.split()[:1]
        if not word:
            continue
        try:
            order.append(int(word[0], 16))
        except ValueError:
            raise TopologyError(f"ca-order:{number}: expected a LID, got {word[0]!r}.") from None
    return order


def opensm_order(fabric: IbFabric, tree: FatTree, device: Ints) -> Ints:
    """
    Return each node's number d in OpenSM's ftree (n_nodes,), -1 for missing nodes.

    Counting starts at the leaf whose GUID is least when its bytes are read backwards (GUIDs are
    keys in network byte order); at every level the subtree of that leaf comes first and its
    siblings follow by port. On each leaf the present nodes count in port order, and every leaf
    takes as many numbers as the fullest. Found by comparison with the ca-order of OpenSM 3.3.23 on
    fabrics with random GUIDs.
    """
    there = device[: tree.n_nodes] >= 0
    on_leaf = there.reshape(-1, tree.nodes_per_leaf)
    guid = {
        x: fabric.devices[int(device[tree.n_nodes + x])].guid
        for x in np.flatnonzero(on_leaf.any(axis=1)).tolist()
    }
    start = min(guid, key=lambda x: guid[x].to_bytes(8, "little"))

    # subtrees from the top down; that of the first leaf comes before its siblings
    sizes = [prod(tree.children[1:level]) for level in range(tree.levels, 0, -1)]
    keys = {x: [-1 if x // n == start // n else x // n for n in sizes] for x in guid}
    order = np.full(tree.n_nodes, -1, dtype=np.int64)
    width = int(on_leaf.sum(axis=1).max())
    for rank, leaf in enumerate(sorted(guid, key=keys.__getitem__)):
        nodes = leaf * tree.nodes_per_leaf + np.flatnonzero(on_leaf[leaf])
        order[nodes] = rank * width + np.arange(nodes.size)
    return order


def given_order(fabric: IbFabric, tree: FatTree, device: Ints, ca_order: Sequence[int]) -> Ints:
    """Return each node's number d (n_nodes,) in a dumped ca-order, -1 for missing nodes."""
    place = {lid: d for d, lid in enumerate(ca_order)}
    order = np.full(tree.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(device[: tree.n_nodes] >= 0).tolist():
        i = int(device[node])
        lid = fabric.devices[i].lid
        if lid not in place:
            name = fabric.devices[i].name
            raise TopologyError(f"{name!r}, LID {lid}, is not in the ca-order.")
        order[node] = place[lid]
    return order
