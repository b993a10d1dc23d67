"""The stored fabrics and tables of OpenSM on ibsim, as this project reads them."""

import gzip
import json

import numpy as np

from netsim.flows.partition import Partition
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump
from netsim.infiniband.order import read_ca_order
from netsim.infiniband.tree_wiring import wire_fat_tree

FABRICS = ("ft2_4x4", "ft2_6x3", "ft3_r4", "ft3_r8", "ft3_r8_drop4")


def text(shared, path):
    return gzip.decompress(shared(f"reference/opensm/{path}.gz").read_bytes()).decode()


def wiring(shared, name, *, ordered=False):
    order = read_ca_order(text(shared, f"{name}/ca-order.dump")) if ordered else None
    fabric = read_ibnetdiscover(text(shared, f"{name}/ibnetdiscover.txt"), name)
    return wire_fat_tree(fabric, ca_order=order)


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
