"""Fabrics that lost something, for tests: the same devices and ports, without some."""

import hashlib
import random
from dataclasses import replace

import numpy as np
from ib_fabrics import tree_fabric

from netsim.infiniband.discover import IbFabric
from netsim.topology.fattree import build_fat_tree

SHAPES = {
    "two levels": ((4, 4), (1, 4), (1, 1)),
    "two levels, parallel cables": ((4, 6), (1, 2), (1, 2)),
    "radix 6": ((3, 3, 6), (1, 3, 3), (1, 1, 1)),
    "parallel cables": ((3, 3, 4), (1, 3, 1), (1, 1, 3)),
    "tapered": ((4, 2, 3), (1, 2, 2), (1, 1, 2)),
}


def tree_of(name):
    return build_fat_tree(*SHAPES[name], 12.5e9)


def hosts_of(tree, *leaves):
    m = tree.nodes_per_leaf
    return [f"n{leaf * m + slot}" for leaf in leaves for slot in range(m)]


def damages(tree):
    """Return what may be lost, by name: devices, and cables as (switch, port)."""
    m, last, top = tree.nodes_per_leaf, tree.n_leaves - 1, tree.levels
    roots = tree.counts[-1]
    found = {
        "nothing": ((), ()),
        "nodes": (("n1", f"n{m + 1}"), ()),
        "nodes of the first leaf": (hosts_of(tree, 0), ()),
        "nodes of the second leaf": (hosts_of(tree, 1), ()),
        "nodes of the last leaf": (hosts_of(tree, last), ()),
        "nodes of two leaves": (hosts_of(tree, 1, last), ()),
        "a cable of a leaf": ((), (("s1.1", m + 2),)),
        "a cable of the first leaf": ((), (("s1.0", m + 1),)),
        "the first root": ((f"s{top}.0",), ()),
        "the last root": ((f"s{top}.{roots - 1}",), ()),
        "some of each": ((*hosts_of(tree, 1), f"s{top}.1", f"n{2 * m}"), (("s1.0", m + 1),)),
    }
    if top > 2:
        below = tree.children[1] * tree.parallel[1]
        found |= {
            "a cable of an L2 switch": ((), (("s2.1", below + 1),)),
            "an L2 switch": (("s2.1",), ()),
            "a leaf": (("s1.1", *hosts_of(tree, 1)), ()),
        }
    return found


def damaged(fabric, lost=(), cut=()):
    """Take devices out by name, and cables by (name, port) of an end."""
    number = {device.name: i for i, device in enumerate(fabric.devices)}
    cables = dict(fabric.cables)
    for name, port in cut:
        if (number[name], port) in cables:  # the device at its other end may be lost as well
            del cables[cables.pop((number[name], port))]
    gone = {number[name] for name in lost}
    cables = {a: b for a, b in cables.items() if not {a[0], b[0]} & gone}
    kept = sorted({i for i, _ in cables})
    new = {i: n for n, i in enumerate(kept)}
    return IbFabric(
        tuple(fabric.devices[i] for i in kept),
        {(new[i], p): (new[j], q) for (i, p), (j, q) in cables.items()},
        {},
    )


def damaged_tree(tree, lost=(), cut=(), seed=None):
    """Return the fabric of a tree without some devices and cables, with random GUIDs for a seed."""
    fabric = damaged(tree_fabric(tree), lost, cut)
    if seed is None:
        return fabric
    rng = np.random.default_rng(seed)
    guids = (16 * rng.choice(2**40, len(fabric.devices), replace=False)).tolist()
    devices = tuple(
        replace(device, guid=guid, port_guid=guid + (not device.is_switch))
        for device, guid in zip(fabric.devices, guids, strict=True)
    )
    return replace(fabric, devices=devices)


def with_shuffled_ports(fabric, seed):
    """Plug the cables of every switch into its ports in another order."""
    rng, moved = random.Random(seed), {}  # noqa: S311 (a test, no secret)
    for i, device in enumerate(fabric.devices):
        ports = sorted(port for end, port in fabric.cables if end == i)
        others = rng.sample(ports, len(ports)) if device.is_switch else ports
        moved |= {(i, a): (i, b) for a, b in zip(ports, others, strict=True)}
    return replace(fabric, cables={moved[a]: moved[b] for a, b in fabric.cables.items()})


def roots_of(fabric, tree):
    """Return the devices at the top, by name."""
    return [
        i for i, device in enumerate(fabric.devices) if device.name.startswith(f"s{tree.levels}.")
    ]


def nodes_of(fabric):
    return [i for i, device in enumerate(fabric.devices) if not device.is_switch]


def by_name(fabric, tables):
    """Return all entries as lines of switch, target and port, and the order of the nodes."""
    name = [device.name for device in fabric.devices]
    lines = [
        f"{name[switch]} {name[target]} {port}"
        for switch, ports in tables.ports.items()
        for target, port in ports.items()
    ]
    return lines, ["-" if node < 0 else name[node] for node in tables.order]


def print_of(lines, order):
    """Return what is recorded of tables: entries as lines of switch, target and port."""
    text = "\n".join(sorted(lines))
    return {
        "entries": len(lines),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "ca_order": " ".join(order),
    }
