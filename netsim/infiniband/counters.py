"""Port counters as `perfquery`, `ibqueryerrors`, `ibdiagnet` and UFM print them."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite

from netsim.common.errors import NetsimError

FULL = 2**32 - 1
"""Where a counter of 32 bits stops (InfiniBand Architecture Specification 1, section 16.1.3.5)."""

_NAMES = {
    "xmitdata": "sent",
    "rcvdata": "received",
    "xmitwait": "waited",
    "symbolerrorcounter": "errors",
    "linkerrorrecoverycounter": "errors",
    "linkdownedcounter": "errors",
    "xmitdiscards": "discards",
    "xmitdiscard": "discards",
}
# older perfquery leaves out "Port", and says "Xmt"
_OLD = {"xmtdata": "xmitdata", "xmtwait": "xmitwait", "xmtdiscards": "xmitdiscards"}
_EXTENDED = re.compile(r"(extended|ext)$")
_PORT = {"portselect", "portnumber", "portnum", "port"}
_PERFQUERY = re.compile(
    r"#\s*Port (extended )?counters:\s*(?:Lid (\d{1,9})|DR path.*|GUID 0x([0-9a-fA-F]{1,16}))"
    r"\s+port (\w+)"
)
_COUNTER = re.compile(r"(\w+):\.*(\S+)?\s*$")
_PM = re.compile(r"Port=(\d{1,9})\s+Lid=(\w{1,9})\s+GUID=(?:0x)?([0-9a-fA-F]{1,16})\b")
_PM_ENTRY = re.compile(r"(\w+)=(\S+)\s*$")
_QUERIED = re.compile(r"\s*GUID 0x([0-9a-fA-F]{1,16}) port (\w+):(.*)$")
_BRACKET = re.compile(r"\[(\w+) == (\d{1,30})\b[^\]]*\]")
_DIGITS = 30
_NARROW = 32  # bits
_UNKNOWN = {"", "na", "n/a", "err", "nan", "-1", "overflow", "none", "-"}
_FORMS = (
    "perfquery -x, ibqueryerrors --counters, ibdiagnet2.pm, ibdiagnet2.db_csv, "
    "CSV with node_guid and port_num"
)


@dataclass(frozen=True, slots=True)
class Count:
    """A counter that was read."""

    value: int
    bits: int  # 64, or 32 for one that stops at `FULL`


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of one port."""

    place: str  # file and line
    # how the file names the device: ``("lid", 3)``, ``("guid", 0x2c9...)``; or ``("link", name)``
    # of a directed link, where a file names these
    device: tuple[str, int | str]
    port: int  # of the device
    # ``sent`` and ``received`` (words of 4 bytes), ``waited`` (ticks), ``errors`` (symbol errors,
    # recoveries and breakdowns of the link), ``discards``; those that the file has
    counts: Mapping[str, Count]
    at_s: float | None = None  # when it was read, seconds since 1970


def read_counters(text: str, name: str = "counters") -> tuple[Reading, ...]:
    """
    Read the counters of ports from perfquery, ibqueryerrors, ibdiagnet or UFM.

    ``perfquery -x`` of one or more ports, ``ibqueryerrors --counters`` or ``--data``, ibdiagnet's
    .pm and .db_csv, UFM's CSV. Of blocks of 32 and 64 bits of a port, the wider counters.
    """
    found: dict[tuple[tuple[str, int | str], int], Reading] = {}
    for reading in _file_readings(text, name):
        key = reading.device, reading.port
        before = found.get(key)
        found[key] = reading if before is None else _merged_blocks(before, reading)
    if not any("sent" in own.counts or "received" in own.counts for own in found.values()):
        raise NetsimError(f"{name}: expected counters PortXmitData of ports ({_FORMS}), got none.")
    return tuple(found.values())


def _file_readings(text: str, name: str) -> Iterable[Reading]:
    """Read a file of any form."""
    if "START_PM_INFO" in text:
        return _from_rows(_counter_section(text), name)
    if _PERFQUERY.search(text):
        return _from_perfquery(text, name)
    if _PM.search(text):
        return _from_pm(text, name)
    if any(map(_QUERIED.match, text.splitlines())):
        return _from_queries(text, name)
    return _from_rows(enumerate(text.splitlines(), start=1), name)


def _device_called(reading: Reading) -> str:
    """Name a device as its file does."""
    kind, which = reading.device
    return f"{kind} 0x{which:016x}" if kind == "guid" else f"{kind} {which}"


def _merged_blocks(one: Reading, other: Reading) -> Reading:
    """Put the blocks of 32 and 64 bits of one port together: of each counter the wider."""
    counts = dict(one.counts)
    for what, count in other.counts.items():
        known = counts.get(what)
        if known is not None and known.bits == count.bits:
            raise NetsimError(
                f"{other.place}: expected each port once, got port {other.port} of "
                f"{_device_called(other)} again (first in {one.place})."
            )
        if known is None or count.bits > known.bits:
            counts[what] = count
    return replace(one, counts=counts)


def _from_perfquery(text: str, name: str) -> Iterator[Reading]:
    """Read blocks of perfquery."""
    begun: tuple[str, tuple[str, int | str], int, int] | None = None
    entries: dict[str, tuple[str, str]] = {}
    for number, line in enumerate([*text.splitlines(), "# end"], start=1):
        place = f"{name}:{number}"
        if line.startswith("#"):
            if begun is not None:
                yield _port_reading(begun[0], begun[1], begun[2], entries, begun[3])
            begun, entries = _block_head(line, place), {}
        elif begun is not None and (match := _COUNTER.match(line.strip())) is not None:
            entries[match[1]] = place, match[2] or ""


def _block_head(line: str, place: str) -> tuple[str, tuple[str, int | str], int, int] | None:
    """Return place, device, port and bits that the head of a block states; None: another table."""
    match = _PERFQUERY.match(line)
    if match is None:
        return None
    if not match[4].isdecimal() or len(match[4]) > _DIGITS or match[4] == "255":
        return None  # the sum over all ports
    if match[2]:
        device: tuple[str, int | str] = ("lid", int(match[2]))
    elif match[3]:
        device = ("guid", int(match[3], 16))
    else:
        raise NetsimError(f"{place}: expected a LID or GUID, got a directed route.")
    return place, device, int(match[4]), 64 if match[1] else 32


def _from_pm(text: str, name: str) -> Iterator[Reading]:
    """Read blocks of ibdiagnet2.pm, whose values are hexadecimal."""
    begun: tuple[str, int, int] | None = None
    entries: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{name}:{number}"
        head = _PM.match(line.strip())
        if head is not None:
            if begun is not None:
                yield _port_reading(begun[0], ("guid", begun[1]), begun[2], entries)
            begun, entries = (place, int(head[3], 16), int(head[1])), {}
        elif begun is not None and (match := _PM_ENTRY.match(line.strip())) is not None:
            entries[match[1]] = place, match[2]
    if begun is not None:
        yield _port_reading(begun[0], ("guid", begun[1]), begun[2], entries)


def _from_queries(text: str, name: str) -> Iterator[Reading]:
    """Read lines of ibqueryerrors."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _QUERIED.match(line)
        if match is None or not match[2].isdecimal() or len(match[2]) > _DIGITS:
            continue  # a heading, or the sum over all ports
        place = f"{name}:{number}"
        entries = {key: (place, value) for key, value in _BRACKET.findall(match[3])}
        yield _port_reading(place, ("guid", int(match[1], 16)), int(match[2]), entries)


def _counter_section(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of the table of counters in a db_csv."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("END_PM_INFO"):
            return
        if inside:
            yield number, line
        inside |= line.startswith("START_PM_INFO")


def _from_rows(lines: Iterable[tuple[int, str]], name: str) -> list[Reading]:
    """Read a row for each port; a column that holds more than 32 bits has 64."""
    header: list[str] = []
    found: list[Reading] = []
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        place = f"{name}:{number}"
        try:
            values = [value.strip() for value in next(csv.reader([line], strict=True))]
        except csv.Error as error:
            raise NetsimError(f"{place}: expected CSV: {error}.") from None
        if not header:
            header = [_plain_name(value) for value in values]
            _require_header(header, name)
        elif len(values) != len(header):
            raise NetsimError(f"{place}: expected {len(header)} values, got {len(values)}.")
        else:
            found.append(_row_reading(dict(zip(header, values, strict=True)), place))
    if any(map(_EXTENDED.search, header)):
        return found
    wide = {what for own in found for what, count in own.counts.items() if count.bits > _NARROW}
    return [replace(own, counts=_widened_counters(own.counts, wide)) for own in found]


def _widened_counters(counts: Mapping[str, Count], wide: set[str]) -> dict[str, Count]:
    """Give some counters 64 bits."""
    return {
        what: Count(count.value, 64) if what in wide else count for what, count in counts.items()
    }


def _require_header(header: list[str], name: str) -> None:
    """Demand columns that name a port."""
    named = "link" in header or (
        {"nodeguid", "portguid", "lid"} & set(header) and _PORT & set(header)
    )
    if not named:
        raise NetsimError(f"{name}: expected counters of ports ({_FORMS}), got none of these.")


def _row_reading(row: Mapping[str, str], place: str) -> Reading:
    """Return the reading of a row of a table."""
    entries = {key: (place, value) for key, value in row.items()}
    at_s = _read_time(row.get("timestamp", ""), place)
    if row.get("link"):
        return replace(_port_reading(place, ("link", row["link"]), 0, entries), at_s=at_s)
    port = next(row[key] for key in row if key in _PORT)
    if not port.isdecimal() or len(port) > _DIGITS:
        raise NetsimError(f"{place}: port: expected a number, got {port[:40]!r}.")
    for key in ("nodeguid", "portguid", "lid"):
        if row.get(key):
            number = _whole_number(row[key], place, key, hexadecimal=key != "lid")
            if number is not None:
                device = ("lid" if key == "lid" else "guid", number)
                return replace(_port_reading(place, device, int(port), entries), at_s=at_s)
    raise NetsimError(f"{place}: node_guid: expected a GUID, it is missing.")


def _read_time(text: str, place: str) -> float | None:
    """Read a time: seconds since 1970, or thousandths or millionths of them."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None  # a date; its clock is not stated
    if not isfinite(value) or value < 0:
        raise NetsimError(f"{place}: timestamp: expected seconds since 1970, got {text[:40]!r}.")
    for unit in (1e6, 1e3):
        if value > 1e8 * unit:  # 1973, in seconds
            return value / unit
    return value


def _port_reading(
    place: str,
    device: tuple[str, int | str],
    port: int,
    entries: Mapping[str, tuple[str, str]],
    bits: int | None = None,
) -> Reading:
    """Return a port's counters; without `bits`, they have 32 unless a value is more."""
    counts: dict[str, Count] = {}
    for key, (where, text) in entries.items():
        plain = _plain_name(key)
        short = _EXTENDED.sub("", plain).removeprefix("port")
        what = _NAMES.get(_OLD.get(short, short))
        value = None if what is None else _whole_number(text, where, key)
        if what is None or value is None:
            continue
        wide = bits == 64 or _EXTENDED.search(plain) is not None or value > FULL  # noqa: PLR2004
        count = Count(value, 64 if wide else _NARROW)
        known = counts.get(what)
        if known is not None and what == "errors" and known.bits == count.bits:
            count = Count(known.value + value, count.bits)
        elif known is not None and known.bits > count.bits:
            continue
        counts[what] = count
    return Reading(place, device, port, counts)


def _plain_name(key: str) -> str:
    """Return a name in small letters, without what stands between its words."""
    return re.sub(r"[^a-z0-9]", "", key.lower())


def _whole_number(text: str, place: str, key: str, *, hexadecimal: bool = False) -> int | None:
    """Read a whole number, also as 0x...; None where the file says that it is not known."""
    plain = text.strip().lower()
    if plain in _UNKNOWN:
        return None
    try:
        if plain.startswith("0x") or hexadecimal:
            value = int(plain.removeprefix("0x"), 16)
        else:
            value = int(plain) if plain.isdecimal() else int(float(plain))
    except (ValueError, OverflowError):
        value = -1
    if value < 0 or len(plain) > _DIGITS:
        raise NetsimError(f"{place}: {key}: expected a whole number, got {text[:40]!r}.")
    return value
