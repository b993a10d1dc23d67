"""InfiniBand fabrics as `ibnetdiscover` prints them: reader and writer."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from netsim.common.errors import TopologyError

_DEVICE = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d{1,9})\s+"([^"]+)"\s*(?:#(.*))?')
_EXTERNAL = r"(?:\[ext\s+\d+\])?"  # the number on the outside of a chassis, with -g
_PORT = re.compile(
    rf"\[(\d{{1,9}})\]{_EXTERNAL}\s*+(?:\(([0-9a-fA-F]{{1,16}})\))?\s*+"
    rf'"([^"]+)"\s*+(?:\[(\d{{1,9}})\])?{_EXTERNAL}\s*+(?:\([0-9a-fA-F]{{1,16}}\))?\s*+'
    r"((?:[a-z]+\s*+=\s*+\w++\s*+)*+)(?:#(.*))?"
)
_REPORTED = re.compile(
    r"(SW|CA|RT)\s+(\d{1,9})\s+(\d{1,9})\s+0x([0-9a-fA-F]{1,16})\s+(\S+)\s+(\S+)\s+"
    r"(?:-\s+(?:SW|CA|RT)\s+\d+\s+(\d{1,9})\s+0x([0-9a-fA-F]{1,16})\s+"
    r"\(\s*'(.*)'\s+-\s+'.*'\s*\)|'(.*)')"
)
_LISTED = re.compile(r"(?:Ca|Switch|Router)\s*:\s*0x[0-9a-fA-F]{1,16}\s+ports\b")
_GUID = re.compile(r"(?:[SHR]-|0x)?([0-9a-fA-F]{1,16})")
_GUID_LINE = re.compile(
    r"(switch|ca|hca|rt)guids?\s*=\s*0x([0-9a-fA-F]{1,16})(?:\(([0-9a-fA-F]{1,16})\))?"
)
_RATE = re.compile(r"\b(\d+x[A-Z]+\d*)(?=\s|$)")
_UNSAID = re.compile(r"(?:\?\?|\d+x)(?:\?\?\?|[A-Z]+\d*)(?=\s|$)")
_IGNORED = (
    "vendid=",
    "devid=",
    "sysimgguid=",
    "DR path",
    "#",
    "Chassis ",
    "Hostname:",
    "width=",
    "speed=",
)
_HEADING = "Non-Chassis Nodes"
_PROMPT = re.compile(
    r"(?:.*\bibnetdiscover\b.*|\[?[\w.+-]+@[\w.-]+[ :][^\"]*[$#%>]\s*(?:exit|logout)?)"
)
_WARNING = re.compile(r"(?:ibwarn:|src/\w+\.c:)")
_LOOKED_AT = 20_000  # letters by which a ports report is known
_LONGEST = 10_000  # letters of a line, which a pattern may read several times
_FIRST_GUIDS = {"Switch": 0x100000, "Hca": 0x200000, "Rt": 0x300000}  # those of ibsim

Port = tuple[int, int]
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Device:
    """A switch, channel adapter or router."""

    guid: int
    name: str
    n_ports: int
    is_switch: bool  # whether it forwards packets by LID
    lid: int  # LID of a switch's port 0 or of the first port in use; 0 where the file gives none
    port_guid: int
    # adapters that a host with several is: their ports are its own, in this order
    members: tuple["Device", ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class IbFabric:
    """Devices and the cables between their ports."""

    devices: tuple[Device, ...]  # in the order of the file
    cables: dict[Port, Port]  # (device, port) to (device, port), each cable from both ends
    # (device, port) to width and speed, such as ``"4xQDR"``, where the file gives them
    rates: dict[Port, str]
    # what was left out or changed while the file was read, a phrase each
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _DeviceBlock:
    """One device while its block is read."""

    line: int
    id: str
    guid: int
    name: str
    n_ports: int
    is_switch: bool
    lid: int
    port_guid: int
    ports: list[tuple[int, int, Key, str]] = field(default_factory=list)  # line, port, peer, rate


@dataclass(slots=True)
class _FileReading:
    """A file while it is read: its blocks, and how many lines are not used, by what they are."""

    name: str
    blocks: list[_DeviceBlock] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    said_guid: tuple[str, int, int] | None = None
    next_guid: dict[str, int] = field(default_factory=lambda: dict(_FIRST_GUIDS))


def read_ibnetdiscover(text: str, name: str = "ibnetdiscover") -> IbFabric:
    """
    Read `ibnetdiscover` output, also with -g, -f or -p, or an ibsim network file.

    Devices of ibsim's own files are known by name; their GUIDs are those that ibsim gives them.
    """
    reading = _FileReading(name)
    if any(_REPORTED.match(line.strip()) for line in text[:_LOOKED_AT].splitlines()):
        _read_report(text, reading)
    else:
        _read_blocks(text, reading)
    blocks = reading.blocks
    if not blocks:
        raise TopologyError(f"{name}: no device in it; expected the output of ibnetdiscover.")
    number = _device_numbers(blocks, name)
    cables: dict[Port, Port] = {}
    rates: dict[Port, str] = {}
    lines: dict[Port, int] = {}
    for i, block in enumerate(blocks):
        for line, port, (peer, peer_port), rate in block.ports:
            if peer not in number:
                raise TopologyError(f"{name}:{line}: peer {peer} has no block of its own.")
            if (i, port) in cables:
                raise TopologyError(f"{name}:{line}: port {port} is listed twice.")
            cables[i, port], lines[i, port] = (number[peer], peer_port), line
            if rate:
                rates[i, port] = rate
    _check_ends(blocks, cables, lines, name)
    _check_rates(blocks, cables, rates, lines, name)
    devices = tuple(
        Device(b.guid, b.name, b.n_ports, b.is_switch, b.lid, b.port_guid) for b in blocks
    )
    remarks = tuple(
        f"{what} ({count}) are left out" for what, count in reading.unused.items() if count
    )
    return IbFabric(devices, cables, rates, remarks)


def _device_numbers(blocks: list[_DeviceBlock], name: str) -> dict[str, int]:
    """Return the number of each device by what cables call it; refuse one that comes twice."""
    number: dict[str, int] = {}
    guids: dict[int, _DeviceBlock] = {}
    for i, block in enumerate(blocks):
        first = guids.setdefault(block.guid, block)
        if first is not block or block.id in number:
            first = first if first is not block else blocks[number[block.id]]
            raise TopologyError(
                f"{name}:{block.line}: device {block.guid:016x} again, first in line {first.line}."
            )
        number[block.id] = i
    return number


def _read_blocks(text: str, reading: _FileReading) -> None:
    """Part the file into the blocks of its devices."""
    for number, line in _numbered_lines(text, reading.name):
        if (match := _GUID_LINE.match(line)) is not None:
            kind = {"switch": "Switch", "rt": "Rt"}.get(match[1], "Hca")
            reading.said_guid = kind, int(match[2], 16), int(match[3] or match[2], 16)
        elif line.startswith(_IGNORED) or line == _HEADING:
            continue
        elif (match := _DEVICE.fullmatch(line)) is not None:
            reading.blocks.append(_begin_device(reading, number, match))
        elif (match := _PORT.fullmatch(line)) is not None and reading.blocks:
            _add_port(reading, number, match)
        else:
            _leave_out(reading, number, line)


def _leave_out(reading: _FileReading, number: int, line: str) -> None:
    """Count a line of the terminal; refuse one that means something else."""
    if _WARNING.match(line):
        reading.unused["warnings of the tool"] += 1
    elif _PROMPT.fullmatch(line):
        reading.unused["lines of a terminal"] += 1
    elif _LISTED.match(line):
        raise TopologyError(
            f"{reading.name}:{number}: a list of devices; expected their cables too: run "
            f"ibnetdiscover without -l, -H, -S and -R."
        )
    else:
        raise TopologyError(
            f"{reading.name}:{number}: expected a device or port, got {line[:60]!r}."
        )


def _begin_device(reading: _FileReading, number: int, match: re.Match[str]) -> _DeviceBlock:
    """Begin the block of a device."""
    kind = {"Ca": "Hca"}.get(match[1], match[1])
    comment, ports = match[4] or "", int(match[2])
    said, reading.said_guid = reading.said_guid, None
    found = _GUID.fullmatch(match[3])
    if found is not None:
        guid = int(found[1], 16)
        port_guid = said[2] if said and said[0] == kind else 0
    else:  # a name of ibsim, which counts GUIDs up from those that the file says
        if said and said[0] == kind:
            reading.next_guid[kind] = said[1]
        guid = port_guid = reading.next_guid[kind]
        reading.next_guid[kind] += 1 if kind == "Switch" else ports + 1
    is_switch = kind == "Switch"
    return _DeviceBlock(
        line=number,
        id=_device_key(match[3]),
        guid=guid,
        name=_quoted_text(comment) or ("" if found else match[3]),
        n_ports=ports,
        is_switch=is_switch,
        lid=_comment_lid(comment) if is_switch else 0,
        port_guid=port_guid if is_switch else 0,
    )


def _device_key(id_: str) -> str:
    """Return what a device is known by: the 16 digits of its GUID, or its name."""
    found = _GUID.fullmatch(id_)
    return found[1].lower().zfill(16) if found else id_


def _numbered_lines(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Iterate over numbered lines that are not blank."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > _LONGEST:
            raise TopologyError(
                f"{name}:{number}: expected a line of at most {_LONGEST:,} letters, got more."
            )
        if stripped := line.strip():
            yield number, stripped


def _add_port(reading: _FileReading, line: int, match: re.Match[str]) -> None:
    """Add a port line to its device."""
    block = reading.blocks[-1]
    port, comment = int(match[1]), match[6] or ""
    _check_port(block, port, f"{reading.name}:{line}")
    if not block.is_switch and not block.ports:
        block.lid = _comment_lid(comment.split('"')[0])
        block.port_guid = int(match[2], 16) if match[2] else block.port_guid
    if match[5]:
        reading.unused["options of ports in ibsim, as w= and s="] += 1
    bare = re.sub(r'"[^"]*"', "", comment)
    rate = _RATE.search(bare)
    if rate is None and _UNSAID.search(bare):
        reading.unused["rates that ibnetdiscover does not know"] += 1
    peer = _device_key(match[3]), int(match[4] or 1)  # ibsim's usual port is 1
    block.ports.append((line, port, peer, rate[1] if rate else ""))


def _check_port(block: _DeviceBlock, port: int, place: str) -> None:
    """Refuse a port that the device has not."""
    if not 1 <= port <= block.n_ports:
        raise TopologyError(f"{place}: port {port} of a device of {block.n_ports} ports.")


def _read_report(text: str, reading: _FileReading) -> None:
    """
    Read a ports report (-p): a line for each port, those of a device in turn, the last port first.

    The report has the GUIDs of ports alone: that of an adapter is its first port's.
    """
    last: tuple[str, str, int] | None = None  # kind, description and port of the line before
    owner: dict[str, str] = {}  # a block by the GUIDs of its ports
    for number, line in _numbered_lines(text, reading.name):
        match = _REPORTED.fullmatch(line)
        if match is None:
            if not line.startswith("#"):
                _leave_out(reading, number, line)
            continue
        kind, port, guid = match[1], int(match[3]), int(match[4], 16)
        described = match[9] if match[9] is not None else match[10]
        begins = last is None or last[:2] != (kind, described) or port >= last[2]
        if begins or (kind == "SW" and reading.blocks[-1].guid != guid):
            id_, is_switch = f"{guid:016x}", kind == "SW"
            reading.blocks.append(
                _DeviceBlock(number, id_, guid, described, port, is_switch, 0, guid)
            )
        block = reading.blocks[-1]
        owner[f"{guid:016x}"] = block.id
        if not block.is_switch:
            block.guid = block.port_guid = guid
        block.lid, last = int(match[2]) or block.lid, (kind, described, port)
        if match[8] is not None:
            rate = match[5] + match[6]
            known = _RATE.fullmatch(rate) is not None
            reading.unused["rates that ibnetdiscover does not know"] += not known
            peer = f"{int(match[8], 16):016x}", int(match[7])
            block.ports.append((number, port, peer, rate if known else ""))
    for block in reading.blocks:
        block.ports = [
            (line, port, (owner.get(peer, peer), far), rate)
            for line, port, (peer, far), rate in block.ports
        ]


def _quoted_text(comment: str) -> str:
    """Return the first quoted text of a comment."""
    match = re.search(r'"([^"]*)"', comment)
    return match[1] if match else ""


def _comment_lid(comment: str) -> int:
    """Return the LID that a comment gives, 0 where it gives none."""
    match = re.search(r"\blid (\d{1,9})\b", re.sub(r'"[^"]*"', "", comment))
    return int(match[1]) if match else 0


def _check_ends(
    blocks: list[_DeviceBlock], cables: dict[Port, Port], lines: dict[Port, int], name: str
) -> None:
    """Demand that every cable is listed from both ends alike."""
    for end, other in cables.items():
        if cables.get(other) != end:
            block, peer = blocks[end[0]], blocks[other[0]]
            raise TopologyError(
                f"{name}:{lines[end]}: port {end[1]} of {block.name!r} leads to port {other[1]} of "
                f"{peer.name!r}, whose own line does not lead back."
            )


def _check_rates(
    blocks: list[_DeviceBlock],
    cables: dict[Port, Port],
    rates: dict[Port, str],
    lines: dict[Port, int],
    name: str,
) -> None:
    """Demand that both ends of a cable have the same width and speed, where both are given."""
    for end, rate in rates.items():
        other = cables[end]
        if rates.get(other, rate) != rate:
            raise TopologyError(
                f"{name}:{lines[end]}: port {end[1]} of {blocks[end[0]].name!r} has {rate}, the "
                f"other end of its cable (line {lines[other]}) {rates[other]}; expected the same."
            )
