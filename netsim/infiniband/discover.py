"""InfiniBand fabrics as `ibnetdiscover` prints them: reader and writer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from netsim.errors import TopologyError

_DEVICE = re.compile(r'(Switch|Ca|Rt)\s+(\d{1,9})\s+"[SHR]-([0-9a-fA-F]{1,16})"\s*(?:#(.*))?')
_PORT = re.compile(
    r"\[(\d{1,9})\](?:\(([0-9a-fA-F]{1,16})\))?\s+"
    r'"[SHR]-([0-9a-fA-F]{1,16})"\[(\d{1,9})\](?:\([0-9a-fA-F]{1,16}\))?\s*(?:#(.*))?'
)
_SWITCH_GUID = re.compile(r"switchguid=0x([0-9a-fA-F]{1,16})(?:\(([0-9a-fA-F]{1,16})\))?")
_IGNORED = ("vendid=", "devid=", "sysimgguid=", "caguid=", "rtguid=", "DR path", "#")

Port = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Device:
    """
    A switch, channel adapter or router.

    Parameters
    ----------
    guid : int
        Node GUID.
    name : str
        Node description.
    n_ports : int
        External ports.
    is_switch : bool
        Whether it forwards packets by LID.
    lid : int
        LID of a switch's port 0 or of the first port in use; 0 where the file gives none.
    port_guid : int
        GUID of that port.
    """

    guid: int
    name: str
    n_ports: int
    is_switch: bool
    lid: int
    port_guid: int


@dataclass(frozen=True, slots=True, eq=False)
class IbFabric:
    """
    Devices and the cables between their ports.

    Parameters
    ----------
    devices : tuple of Device
        In the order of the file.
    cables : dict
        (device, port) to (device, port), each cable from both ends.
    rates : dict
        (device, port) to width and speed, such as ``"4xQDR"``, where the file gives them.
    """

    devices: tuple[Device, ...]
    cables: dict[Port, Port]
    rates: dict[Port, str]


@dataclass(slots=True)
class _Block:
    """One device while its block is read."""

    line: int
    guid: int
    name: str
    n_ports: int
    is_switch: bool
    lid: int
    port_guid: int
    ports: list[tuple[int, int, int, int, str]] = field(default_factory=list)


def read_ibnetdiscover(text: str, name: str = "ibnetdiscover") -> IbFabric:
    """Read the output of `ibnetdiscover`, or an ibsim network file."""
    blocks = _blocks(text, name)
    number: dict[int, int] = {}
    for i, block in enumerate(blocks):
        if block.guid in number:
            first = blocks[number[block.guid]].line
            raise TopologyError(
                f"{name}:{block.line}: device {block.guid:016x} again, first in line {first}."
            )
        number[block.guid] = i
    cables: dict[Port, Port] = {}
    rates: dict[Port, str] = {}
    lines: dict[Port, int] = {}
    for i, block in enumerate(blocks):
        for line, port, peer, peer_port, rate in block.ports:
            if peer not in number:
                raise TopologyError(f"{name}:{line}: peer {peer:016x} has no block of its own.")
            if (i, port) in cables:
                raise TopologyError(f"{name}:{line}: port {port} is listed twice.")
            cables[i, port], lines[i, port] = (number[peer], peer_port), line
            if rate:
                rates[i, port] = rate
    _check_ends(blocks, cables, lines, name)
    devices = tuple(
        Device(b.guid, b.name, b.n_ports, b.is_switch, b.lid, b.port_guid) for b in blocks
    )
    return IbFabric(devices, cables, rates)


def write_ibnetdiscover(fabric: IbFabric) -> str:
    """
    Write a fabric in the form of `ibnetdiscover`, which ibsim reads too.

    Result: the file: switches first, then channel adapters.
    """
    order = sorted(range(len(fabric.devices)), key=lambda i: not fabric.devices[i].is_switch)
    ports: dict[int, list[int]] = {i: [] for i in order}
    for device, port in sorted(fabric.cables):
        ports[device].append(port)
    return "\n".join(["# Topology file", "", *(_block(fabric, i, ports[i]) for i in order)])


def _block(fabric: IbFabric, i: int, ports: list[int]) -> str:
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


def _blocks(text: str, name: str) -> list[_Block]:
    """Part the file into the blocks of its devices."""
    blocks: list[_Block] = []
    switch_port_guid = 0
    for number, line in _lines(text):
        if (match := _SWITCH_GUID.match(line)) is not None:
            switch_port_guid = int(match[2] or match[1], 16)
        elif line.startswith(_IGNORED):
            continue
        elif (match := _DEVICE.match(line)) is not None:
            comment = match[4] or ""
            block = _Block(
                line=number,
                guid=int(match[3], 16),
                name=_quoted(comment),
                n_ports=int(match[2]),
                is_switch=match[1] == "Switch",
                lid=_lid(comment) if match[1] == "Switch" else 0,
                port_guid=switch_port_guid if match[1] == "Switch" else 0,
            )
            blocks.append(block)
        elif (match := _PORT.match(line)) is not None and blocks:
            _add_port(blocks[-1], number, match, name)
        else:
            raise TopologyError(f"{name}:{number}: expected a device or port, got {line[:60]!r}.")
    if not blocks:
        raise TopologyError(f"{name}: no device in it; expected the output of ibnetdiscover.")
    return blocks


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Iterate over numbered lines that are not blank."""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped:
            yield number, stripped


def _add_port(block: _Block, line: int, match: re.Match[str], name: str) -> None:
    """Add a port line to its device."""
    port, comment = int(match[1]), match[5] or ""
    if not 1 <= port <= block.n_ports:
        raise TopologyError(f"{name}:{line}: port {port} of a device of {block.n_ports} ports.")
    if not block.is_switch and not block.ports:
        block.lid = _lid(comment.split('"')[0])
        block.port_guid = int(match[2], 16) if match[2] else 0
    rate = re.search(r"\b(\d+x[A-Z]+\d*)\s*$", comment)
    block.ports.append((line, port, int(match[3], 16), int(match[4]), rate[1] if rate else ""))


def _quoted(comment: str) -> str:
    """Return the first quoted text of a comment."""
    match = re.search(r'"([^"]*)"', comment)
    return match[1] if match else ""


def _lid(comment: str) -> int:
    """Return the LID that a comment gives, 0 where it gives none."""
    match = re.search(r"\blid (\d{1,9})\b", re.sub(r'"[^"]*"', "", comment))
    return int(match[1]) if match else 0


def _check_ends(
    blocks: list[_Block], cables: dict[Port, Port], lines: dict[Port, int], name: str
) -> None:
    """Demand that every cable is listed from both ends alike."""
    for end, other in cables.items():
        if cables.get(other) != end:
            block, peer = blocks[end[0]], blocks[other[0]]
            raise TopologyError(
                f"{name}:{lines[end]}: port {end[1]} of {block.name!r} leads to port {other[1]} of "
                f"{peer.name!r}, whose own line does not lead back."
            )
