"""The stored fabrics and tables of OpenSM on ibsim, as this project reads them."""

import gzip
import json
from dataclasses import replace

import numpy as np
from ib_fabrics import read_ca_order

from netsim.flows.partition import Partition
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump
from netsim.infiniband.wiring import wire_fat_tree

FABRICS = ("ft2_4x4", "ft2_6x3", "ft3_r4", "ft3_r8", "ft3_r8_drop4")


def text(shared, path):
    return gzip.decompress(shared(f"reference/opensm/{path}.gz").read_bytes()).decode()


def wiring(shared, name, *, ordered=False):
    """Return a stored fabric, its nodes numbered by the order that OpenSM dumped if so wanted."""
    fabric = read_ibnetdiscover(text(shared, f"{name}/ibnetdiscover.txt"), name)
    wired = wire_fat_tree(fabric)
    if not ordered:
        return wired
    place = {lid: d for d, lid in enumerate(read_ca_order(text(shared, f"{name}/ca-order.dump")))}
    nodes = wired.device[: wired.topology.n_nodes].tolist()
    order = np.array([place[fabric.devices[i].lid] if i >= 0 else -1 for i in nodes])
    return replace(wired, topology=replace(wired.topology, order=order))


def dump(shared, name, engine="ftree"):
    return read_lft_dump(text(shared, f"{name}/lfts.{engine}.dump"))


def described(wired):
    """Return the vertex of every device's description."""
    there = [(v, i) for v, i in enumerate(wired.device.tolist()) if i >= 0]
    return {wired.fabric.devices[i].name: v for v, i in there}


def demo7(shared, wired):
    """Return the partition of 7 nodes and 7 cables of the demonstration, on a wiring of ft2_4x4."""
    job = json.loads(shared("reference/opensm/demo7/ft2_4x4_job7.json").read_text())
    vertex, tree = described(wired), wired.topology
    ends = zip(tree.link_tail.tolist(), tree.link_head.tolist(), strict=True)
    link = {pair: number for number, pair in enumerate(ends)}
    cables = [(vertex[a], vertex[b]) for a, b in job["cables"]]
    links = [link[pair] for a, b in cables for pair in ((a, b), (b, a))]
    return Partition(np.array([vertex[name] for name in job["nodes"]]), np.array(links))
