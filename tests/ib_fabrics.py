"""Fabrics of trees for tests, in the form of `ibnetdiscover`, and orders that OpenSM dumped."""

from math import prod

import numpy as np

from netsim.infiniband.discover import Device, IbFabric

FIRST_GUID = 0x0002C90000000000


def tree_fabric(tree):
    """Return the fabric of a tree, for simulation: GUIDs by position, OpenSM's port order."""
    present = np.arange(tree.n_links)
    if tree.absent is not None:
        present = np.setdiff1d(present, tree.absent)
    devices = []
    number = {}
    for v in np.unique(tree.link_tail[present]).tolist():
        level, _ = tree.position(v)
        down = tree.children[level - 1] * tree.parallel[level - 1] if level else 0
        up = tree.ports[level] if level < tree.levels else 0
        guid = FIRST_GUID + 16 * (v + 1)
        number[v] = len(devices)
        name, lid = tree.vertex_name(v), number[v] + 1
        devices.append(Device(guid, name, down + up, level > 0, lid, guid + (level == 0)))
    cables = {}
    for link in present.tolist():
        level = max(step for step in range(tree.levels) if link >= tree.up_base[step])
        if link < tree.down_base[level]:
            child, q = divmod(link - tree.up_base[level], tree.ports[level])
            digit = child // prod(tree.parents[:level]) % tree.children[level]
            below = tree.children[level - 1] * tree.parallel[level - 1] if level else 0
            tail, head = (number[int(end[link])] for end in (tree.link_tail, tree.link_head))
            low = (tail, below + 1 + q)
            high = (head, digit * tree.parallel[level] + q // tree.parents[level] + 1)
            cables[low], cables[high] = high, low
    return IbFabric(tuple(devices), cables, {})


def write_ibnetdiscover(fabric):
    """Write a fabric in the form of `ibnetdiscover`: switches first, then channel adapters."""
    order = sorted(range(len(fabric.devices)), key=lambda i: not fabric.devices[i].is_switch)
    ports = {i: [] for i in order}
    for device, port in sorted(fabric.cables):
        ports[device].append(port)
    return "\n".join(["# Topology file", "", *(_block(fabric, i, ports[i]) for i in order)])


def _block(fabric, i, ports):
    """Return the lines of one device."""
    device = fabric.devices[i]
    if device.is_switch:
        title = f'Switch\t{device.n_ports} "S-{device.guid:016x}"\t\t# "{device.name}"'
        head = [
            f"switchguid=0x{device.guid:x}({device.port_guid:x})",
            f"{title} base port 0 lid {device.lid} lmc 0",
        ]
    else:
        head = [
            f"caguid=0x{device.guid:x}",
            f'Ca\t{device.n_ports} "H-{device.guid:016x}"\t\t# "{device.name}"',
        ]
    lines = [f"sysimgguid=0x{device.guid:x}", *head]
    for port in ports:
        peer_number, peer_port = fabric.cables[i, port]
        peer = fabric.devices[peer_number]
        kind, rate = "S" if peer.is_switch else "H", fabric.rates.get((i, port), "4xSDR")
        own = "" if device.is_switch else f"({device.port_guid:x})"
        own_lid = "" if device.is_switch else f"lid {device.lid} lmc 0 "
        far = "" if peer.is_switch else f"({peer.port_guid:x})"
        lines.append(
            f'[{port}]{own}\t"{kind}-{peer.guid:016x}"[{peer_port}]{far}\t\t'
            f'# {own_lid}"{peer.name}" lid {peer.lid} {rate}'
        )
    return "\n".join([*lines, ""])


def read_ca_order(text):
    """Read LIDs from lines ``0x<lid> <name>`` of `opensm-ftree-ca-order.dump`; 0xFFFF: a dummy."""
    return [int(line.split()[0], 16) for line in text.splitlines() if line.strip()]
