"""OpenSM's dump of forwarding tables: what `opensm -R file -U FILE` loads and `-D 0x43` writes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from netsim.common.errors import RoutingError
from netsim.infiniband.discover import Device
from netsim.infiniband.lft import LFT
from netsim.infiniband.wiring import Wiring

_HEADER = re.compile(r"Unicast lids .*\bguid 0x([0-9a-fA-F]{1,16})(?=\s)")
_ENTRY = re.compile(
    r"0x([0-9a-fA-F]{1,4})\s+"
    r"(?:(\d{1,3})\b(?:.*?portguid 0x([0-9a-fA-F]{1,16}))?|:?\s*UNREACHABLE\b)"
)
_TRAILER = re.compile(r"\s*\d+ (?:valid )?lids dumped")
NO_PATH = 255
"""OpenSM's port number for "no route"."""


@dataclass(frozen=True, slots=True, eq=False)
class LftDump:
    """Forwarding tables by LID, as a file holds them."""

    # node GUID of a switch to {LID: output port}; port 0 is the switch itself
    ports: dict[int, dict[int, int]]
    # node GUID of a switch to {LID: port GUID of the destination}, where the file says
    port_guids: dict[int, dict[int, int]]


def read_lft_dump(text: str, name: str = "LFT dump") -> LftDump:
    """Read a dump of OpenSM or of `dump_fts` (`dump_lfts.sh`)."""
    ports: dict[int, dict[int, int]] = {}
    guids: dict[int, dict[int, int]] = {}
    for block in _switch_blocks(text, name):
        if block.switch in ports:
            raise RoutingError(f"{block.place}: switch 0x{block.switch:016x} again.")
        own: dict[int, int] = {}
        known: dict[int, int] = {}
        for place, line in block.entries:
            match = _ENTRY.match(line)
            if match is None:
                raise _no_entry(place, line)
            lid = int(match[1], 16)
            if lid in own:
                raise RoutingError(f"{place}: LID 0x{lid:04x} again.")
            own[lid] = int(match[2] or NO_PATH)
            if match[3]:
                known[lid] = int(match[3], 16)
        ports[block.switch], guids[block.switch] = own, known
    if not ports:
        raise RoutingError(f"{name}: no forwarding table; expected lines 'Unicast lids ...'.")
    return LftDump(ports, guids)


@dataclass(frozen=True, slots=True, eq=False)
class _SwitchBlock:
    """The lines of one switch: where they begin, and those of entries with their places."""

    place: str
    switch: int
    entries: list[tuple[str, str]]


def _switch_blocks(text: str, name: str) -> Iterator[_SwitchBlock]:
    """Part a dump into the blocks of its switches, and demand that each is whole."""
    block: _SwitchBlock | None = None
    place = name
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{name}:{number}"
        if line.startswith("Unicast lids"):
            if block is not None:
                raise _cut_off(place, block)
            match = _HEADER.match(line)
            if match is None:
                raise RoutingError(
                    f"{place}: expected 'guid 0x...' of the switch in {line[:70]!r}."
                )
            block = _SwitchBlock(place, int(match[1], 16), [])
        elif line.startswith("0x"):
            if block is None:
                raise _no_entry(place, line)
            block.entries.append((place, line))
        elif block is not None and _TRAILER.match(line):
            yield block
            block = None
    if block is not None:
        raise _cut_off(place, block)


def _no_entry(place: str, line: str) -> RoutingError:
    """Return the error for a line that is no entry of a switch."""
    return RoutingError(f"{place}: expected '0x<lid> <port>' of a switch, got {line[:50]!r}.")


def _cut_off(place: str, block: _SwitchBlock) -> RoutingError:
    """Return the error for a block that lacks its last line, and so perhaps more."""
    first = block.place.rpartition(":")[2]
    return RoutingError(
        f"{place}: the table of switch 0x{block.switch:016x} from line {first} is cut off: "
        f"expected '... lids dumped' at its end."
    )


def write_lft_dump(dump: LftDump, wiring: Wiring) -> str:
    """Write tables in the form that OpenSM loads."""
    devices = wiring.fabric.devices
    by_lid = devices_by_lid(devices)
    last = max(by_lid)
    lines = []
    for switch in sorted((d for d in devices if d.is_switch), key=lambda d: d.lid):
        if switch.guid not in dump.ports:
            raise RoutingError(f"no table of {switch.name!r} (0x{switch.guid:016x}) to write.")
        lines.append(
            f"Unicast lids [0-{last}] of switch Lid {switch.lid} "
            f"guid 0x{switch.guid:016x} ('{switch.name}'):"
        )
        lines += _entry_lines(switch, dump.ports[switch.guid], by_lid)
        lines.append(f"{last} lids dumped")
    return "\n".join([*lines, ""])


def tables_of(dump: LftDump, wiring: Wiring) -> LFT:
    """Turn a dump into tables over the links of a topology: entries towards hosts, not switches."""
    topology, devices = wiring.topology, wiring.fabric.devices
    out = np.full((topology.n_switches, topology.endpoints.size), -1, dtype=np.int32)
    vertex = {devices[i].guid: v for v, i in enumerate(wiring.device.tolist()) if i >= 0}
    adapters = _adapters(wiring)
    end_of_lid = {device.lid: end for end, device in adapters.items()}
    end_of_guid = {device.port_guid: end for end, device in adapters.items() if device.port_guid}
    tail, port = topology.link_tail.tolist(), wiring.port.tolist()
    link_at = {(tail[link], own): link for link, own in enumerate(port) if own > 0}
    for guid, ports in dump.ports.items():
        if vertex.get(guid, -1) < topology.n_nodes:
            raise RoutingError(f"the fabric has no switch 0x{guid:016x}.")
        v = vertex[guid]
        for lid, own in ports.items():
            end = end_of_guid.get(dump.port_guids[guid].get(lid, 0), end_of_lid.get(lid))
            if end is None or own == NO_PATH:
                continue
            if (v, own) not in link_at:
                name = devices[int(wiring.device[v])].name
                raise RoutingError(
                    f"LID 0x{lid:04x} leaves {name!r} by port {own}: no cable there."
                )
            out[v - topology.n_nodes, end] = link_at[v, own]
    return LFT(topology, out)


def _adapters(wiring: Wiring) -> dict[int, Device]:
    """Return the adapter that each endpoint is; of one with several cables the first is."""
    topology, devices = wiring.topology, wiring.fabric.devices
    points, found, taken = topology.endpoints, dict[int, Device](), set[tuple[int, int]]()
    for end, node in enumerate(points.node.tolist()):
        i, link = int(wiring.device[node]), int(points.link[end])
        if i < 0 or (link < 0 and devices[i].members):
            continue
        device, place = devices[i], 0
        port = int(wiring.port[link]) if device.members else 0
        while device.members and port > device.members[place].n_ports:
            port -= device.members[place].n_ports
            place += 1
        if (node, place) not in taken:
            taken.add((node, place))
            found[end] = device.members[place] if device.members else device
    return found


def _entry_lines(switch: Device, ports: dict[int, int], by_lid: dict[int, Device]) -> Iterator[str]:
    """Iterate over the lines of one switch's table."""
    for lid, port in sorted(ports.items()):
        target = by_lid.get(lid)
        if target is None:
            raise RoutingError(f"the fabric has no LID 0x{lid:04x}, entry of {switch.name!r}.")
        if not 0 <= port <= switch.n_ports:
            raise RoutingError(f"{switch.name!r} has {switch.n_ports} ports, no port {port}.")
        kind = "Switch" if target.is_switch else "Channel Adapter"
        yield f"0x{lid:04x} {port:03d} # {kind} portguid 0x{target.port_guid:016x}: '{target.name}'"


def devices_by_lid(devices: tuple[Device, ...]) -> dict[int, Device]:
    """Return devices by LID."""
    found: dict[int, Device] = {}
    for device in devices:
        if device.lid <= 0 or found.setdefault(device.lid, device) is not device:
            raise RoutingError(
                f"{device.name!r} (0x{device.guid:016x}) has LID {device.lid}, "
                f"expected a LID of its own above 0: take ibnetdiscover from the running fabric."
            )
    return found
