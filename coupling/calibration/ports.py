"""Ports: what the links of a fabric carried between two readings of their counters."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.fabric import read_wiring, require_same
from fabricsim.checking.inputs import read_text
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError
from netsim.infiniband.counters import FULL, Count, Reading, read_counters
from netsim.infiniband.wiring import Wiring
from netsim.topology.base import Topology

WORD = 4.0
"""Bytes of a unit of PortXmitData and PortRcvData."""
_MOST = 1.05
"""Of what a cable carries at most; what counts more was reset, or the time is wrong."""
_FORM = "ibnetdiscover"
_RESET = "ports whose counters went back: reset, or wrapped at 32 bits"
_FULL = "ports whose 32-bit counter is full (read perfquery -x)"
_UNSEEN = "ports whose 32-bit counter may have gone round unseen (read perfquery -x)"
_TOO_MUCH = "ports that count more than their cable carries: reset, or another time apart"
_ONE = "ports of one reading alone"
_LOST = _RESET, _FULL, _UNSEEN, _TOO_MUCH  # that carried something
_STRANGE = "ports that the fabric has not"
_PEER = "ports without counters, read at their other ends"


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What M directed links carried."""

    link: Ints  # (M,): ascending
    rate: Floats  # (M,): bytes per second
    # (M,): share of the time that the port had to wait with something to send; nan where not known
    waited: Floats
    switch: Ints  # (M,): vertex whose counters are read: readings of one device are late together
    # Links that counted symbol errors, recoveries or breakdowns between the readings
    errors: tuple[tuple[int, int], ...]
    notes: Mapping[str, int]
    seconds: float  # Between the two readings, median


def measured(
    before: Path | str,
    after: Path | str,
    topology: Topology,
    *,
    seconds: float | None = None,
    tick_s: float | None = None,
) -> Measured:
    """Read counters twice and return what links carried between; `tick_s`: of PortXmitWait."""
    # Without `seconds` the files state the time; without `tick_s` it is that of a word of 4 bytes.
    first, second = (_read_counters(path) for path in (before, after))
    ends = _Ends(topology)
    notes: Counter[str] = Counter()
    known = {(own.device, own.port): own for own in first}
    strange = sum(ends.link(own) is None for own in first)
    rows = _Rows(topology, tick_s, notes)
    for late in second:
        link = ends.link(late)
        early = known.pop((late.device, late.port), None)
        if link is None:
            notes[_STRANGE] += bool(late.port)
        elif early is None:
            notes[_ONE] += 1
        else:
            rows.add(
                link, ends.back(late), early, late, _seconds_apart(early, late, seconds, str(after))
            )
    notes[_ONE] += sum(ends.link(own) is not None for own in known.values())
    if not rows.rate and strange == len(first):
        if first[0].device[0] != "link" and not ends.wired:
            raise SnapshotError(
                f"{before}: expected counters by link (CSV with a column link), or a fabric as "
                f"ibnetdiscover prints it: the fabric ({topology.summary}) has no InfiniBand ports."
            )
        raise SnapshotError(
            f"{before}: expected ports of the fabric ({topology.summary}), got none that it "
            "has; the first is "
            f"{first[0].device[1]!r} port {first[0].port}."
        )
    return rows.done(str(after))


def _read_counters(path: Path | str) -> tuple[Reading, ...]:
    """Read a file of counters."""
    try:
        return read_counters(read_text(path, SnapshotError), str(path))
    except NetsimError as error:
        raise SnapshotError(str(error)) from None


def _seconds_apart(early: Reading, late: Reading, seconds: float | None, name: str) -> float:
    """Return the seconds between two readings of a port."""
    if early.at_s is None or late.at_s is None:
        if seconds is None:
            raise SnapshotError(
                f"{name}: expected --seconds, the time between the two readings: counters lack it."
            )
        return seconds
    if late.at_s <= early.at_s:
        raise SnapshotError(
            f"{late.place}: expected a reading after that of {early.place}, got one "
            f"{early.at_s - late.at_s:g} s before it."
        )
    return late.at_s - early.at_s


class _Ends:
    """Finds the directed link that begins at a port."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._device: dict[tuple[str, int | str], int] = {}
        self._link: dict[tuple[int, int], int] = {}
        self._cables: Mapping[tuple[int, int], tuple[int, int]] = {}
        origin = topology.origin
        if origin is not None and origin.form == _FORM:
            wiring, _ = read_wiring(Path(origin.source), like=topology)
            require_same(wiring, topology, origin.source)
            self._learn_ports(wiring)

    def _learn_ports(self, wiring: Wiring) -> None:
        """Learn the devices and ports of a fabric."""
        for number, device in enumerate(wiring.fabric.devices):
            for guid in (device.guid, device.port_guid):
                if guid:
                    self._device["guid", guid] = number
            if device.lid:
                self._device["lid", device.lid] = number
        tails = wiring.device[wiring.topology.link_tail].tolist()
        self._link = {
            (device, port): link
            for link, (device, port) in enumerate(zip(tails, wiring.port.tolist(), strict=True))
            if device >= 0 and port > 0
        }
        self._cables = wiring.fabric.cables

    @property
    def wired(self) -> bool:
        """Whether the fabric has InfiniBand ports."""
        return bool(self._link)

    def link(self, reading: Reading) -> int | None:
        """Return the link on which a port sends; None where the fabric has none."""
        kind, which = reading.device
        if kind == "link":
            try:
                return self._topology.link_number(str(which))
            except NetsimError:
                return None
        return self._link.get((self._device.get(reading.device, -1), reading.port))

    def back(self, reading: Reading) -> int | None:
        """Return the link from which a port receives."""
        device = self._device.get(reading.device, -1)
        other = self._cables.get((device, reading.port))
        return None if other is None else self._link.get(other)


class _Rows:
    """Gathers readings of ports."""

    def __init__(self, topology: Topology, tick_s: float | None, notes: Counter[str]) -> None:
        self._topology, self._tick_s, self._notes = topology, tick_s, notes
        self.rate: dict[int, float] = {}
        self._waited: dict[int, float] = {}
        self._switch: dict[int, int] = {}
        self._errors: Counter[int] = Counter()
        self._received: dict[int, tuple[float, int]] = {}
        self._seconds: list[float] = []

    def add(
        self, link: int, back: int | None, early: Reading, late: Reading, seconds: float
    ) -> None:
        """Take two readings of a port that sends on a link."""
        topology = self._topology
        capacity = float(topology.capacity[link])
        words = capacity * seconds / WORD
        sent = self._counter_growth("sent", early, late, words)
        if sent is not None:
            self.rate[link] = WORD * sent / seconds
            self._switch[link] = int(topology.link_tail[link])
            waited = _tick_growth(early, late, "waited")
            ticks = seconds / self._tick_s if self._tick_s else words
            if waited is not None and waited <= _MOST * ticks:
                self._waited[link] = min(waited / ticks, 1.0)
        received = None if back is None else self._counter_growth("received", early, late, words)
        if back is not None and received is not None:
            self._received[back] = WORD * received / seconds, int(topology.link_tail[link])
        if sent is not None or received is not None:
            self._seconds.append(seconds)
        self._errors[link] += _tick_growth(early, late, "errors") or 0

    def _counter_growth(self, what: str, early: Reading, late: Reading, most: float) -> int | None:
        """Return by how much a counter grew; None where that is not known."""
        one, other = early.counts.get(what), late.counts.get(what)
        if one is None or other is None:
            return None
        why = _why_unknown(one, other, most)
        if not why:
            return other.value - one.value
        self._notes[why] += what == "sent"
        return None

    def done(self, name: str) -> Measured:
        """Return what was gathered; the other end of a cable replaces missing counters."""
        for own, (rate, switch) in self._received.items():
            if own not in self.rate:
                self.rate[own], self._switch[own] = rate, switch
                self._notes[_PEER] += 1
        silent = not any(self.rate.values()) and any(self._notes[why] for why in _LOST)
        if silent or not self.rate:
            reasons = ", ".join(f"{count:,} {why}" for why, count in self._notes.items() if count)
            raise SnapshotError(
                f"{name}: expected ports whose counters can be compared, got none "
                f"{'but of idle links ' if self.rate else ''}({reasons})."
            )
        if not any(self.rate.values()):
            raise SnapshotError(
                f"{name}: expected counters of a later reading, got the same value as before for "
                f"each of {len(self.rate):,} links."
            )
        link = np.array(sorted(self.rate), dtype=np.int64)
        gone = self._topology.absent
        there = self._topology.n_links - (0 if gone is None else gone.size)
        self._notes["directed links without counters"] = there - link.size
        return Measured(
            link,
            np.array([self.rate[own] for own in link.tolist()]),
            np.array([self._waited.get(own, nan) for own in link.tolist()]),
            np.array([self._switch[own] for own in link.tolist()], dtype=np.int64),
            tuple((own, count) for own, count in sorted(self._errors.items()) if count > 0),
            {what: count for what, count in self._notes.items() if count},
            float(np.median(self._seconds)) if self._seconds else nan,
        )


def _why_unknown(early: Count, late: Count, most: float) -> str:
    """Return why two values of a counter do not give its growth; empty where they do."""
    narrow = min(early.bits, late.bits) < 64  # noqa: PLR2004 (bits)
    if narrow and FULL in (early.value, late.value):
        return _FULL
    if late.value < early.value:
        return _RESET
    if narrow and most > FULL:
        return _UNSEEN
    return _TOO_MUCH if late.value - early.value > _MOST * most else ""


def _tick_growth(early: Reading, late: Reading, what: str) -> int | None:
    """Return by how much a counter of ticks or events grew; None where it is not known."""
    one, other = early.counts.get(what), late.counts.get(what)
    if one is None or other is None or other.value < one.value or other.value == FULL:
        return None
    return other.value - one.value
