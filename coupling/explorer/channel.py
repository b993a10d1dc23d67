"""What page and server tell each other, and how one open page follows its address."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from math import isfinite
from urllib.parse import parse_qsl, quote

from bokeh.core.properties import Int, String
from bokeh.document import Document
from bokeh.model import DataModel

from coupling.explorer.figures import INKS, Figure, dress

BY = ("slowdown", "pattern", "user", "allocator", "job")
"""By what bars are coloured."""
_MOST_LETTERS = 4000  # of an address


@dataclass(frozen=True, slots=True)
class Address:
    """What is being looked at."""

    # run, beside: names of the run, and of a second one below it; empty for the first, and for
    # none
    run: str = ""
    beside: str = ""
    by: str = BY[0]  # One of `BY`
    # begin_s, end_s: time that is shown; by default all
    begin_s: float | None = None
    end_s: float | None = None
    # low, high: nodes that are shown; by default all
    low: float | None = None
    high: float | None = None
    job: str = ""  # Id of the chosen job
    cable: str = ""  # Name of the chosen link
    at_s: float | None = None  # Moment at which the fabric is shown; by default the whole run

    def written(self) -> str:
        """
        Write the address.

        >>> Address(run="a b", begin_s=0.5, job="7").written()
        'run=a%20b&from=0.5&job=7'
        """
        return "&".join(
            f"{key}={quote(_value_text(value), safe='>.:,')}"
            for key, value in zip(_KEYS, astuple(self), strict=True)
            if value not in ("", None) and (key, value) != ("by", BY[0])
        )


_KEYS = ("run", "beside", "by", "from", "to", "low", "high", "job", "cable", "at")
_NAMES = tuple(field.name for field in fields(Address))
_NUMBERS = ("begin_s", "end_s", "low", "high", "at_s")


def _value_text(value: str | float) -> str:
    """Write a value: numbers as short as they are the same when they are read back."""
    # a moment rounded down may be one before its job began
    return value if isinstance(value, str) else repr(float(value)).removesuffix(".0")


def read_address(text: str, runs: Iterable[str] | None = None) -> Address:
    """Read an address as typed; what is missing, unknown or no number is left out."""
    given = dict(parse_qsl(text[:_MOST_LETTERS].removeprefix("#"), max_num_fields=50))
    known = None if runs is None else set(runs)
    found: dict[str, str | float] = {}
    for key, name in zip(_KEYS, _NAMES, strict=True):
        value = given.get(key, "")
        if name in _NUMBERS:
            number = _read_number(value)
            if number is not None:
                found[name] = number
        elif value and _value_fits(name, value, known):
            found[name] = value
    return _ordered_parts(Address(**found))  # type: ignore[arg-type]  # each by its name


def changed(address: Address, changes: Mapping[str, str], runs: Iterable[str]) -> Address:
    """Return an address with some parts changed; an empty text takes a part out."""
    given = dict(parse_qsl(address.written())) | {
        key: value for key, value in changes.items() if isinstance(value, str)
    }
    text = "&".join(f"{key}={quote(value)}" for key, value in given.items() if value)
    return read_address(text, runs)


def _value_fits(name: str, value: str, runs: set[str] | None) -> bool:
    """Say whether a field can have a value."""
    if name in ("run", "beside"):
        return runs is None or value in runs
    return name != "by" or value in BY


def _read_number(text: str) -> float | None:
    """Read a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _ordered_parts(address: Address) -> Address:
    """Leave out parts that end before they begin."""
    begin_s, end_s, low, high = address.begin_s, address.end_s, address.low, address.high
    if begin_s is not None and end_s is not None and not begin_s < end_s:
        address = replace(address, begin_s=None, end_s=None)
    if low is not None and high is not None and not low < high:
        address = replace(address, low=None, high=None)
    return address


_SOON_MS = 15  # within which changes are drawn together


class Channel(DataModel):
    """What page and server tell each other besides figures."""

    address = String("")  # from the page: what to show, as [number, address] in JSON
    wish = String("")  # from the page: what to show otherwise, as [number, values] in JSON
    theme = String("light")  # from the page
    shown = String("")  # to the page: what is shown, as an address
    details = String("")  # to the page: HTML of the panel
    pointed = String("")  # to the page: what is under the pointer
    key = String("")  # to the page: HTML of the key of colours
    moment = String("")  # to the page: the moment at which the fabric is shown
    missing = String("")  # to the page: what the network's pictures cannot show
    step = Int(0)  # from the page: counts up for the next job, down for the one before
    drawn = Int(0)  # to the page: pictures so far


class Follower:
    """
    One open page: it follows the address, and the address follows it.

    It is made before a page is opened, for figures take long to make; `begin` gives it the page.
    """

    document: Document
    """Bokeh's side of the page, from `begin` on."""

    def __init__(self, runs: Collection[str]) -> None:
        self.names = runs
        self.address = Address()
        self.channel = Channel(name="channel")
        self._due = False
        self.channel.on_change("address", lambda _attr, _old, new: self._on_address(new))
        self.channel.on_change("wish", lambda _attr, _old, new: self._on_wish(new))
        self.channel.on_change("step", lambda _attr, old, new: self.step(new - old))
        self.channel.on_change("theme", lambda _attr, _old, _new: self.dress())

    @property
    def plots(self) -> list[Figure]:
        """Return all figures."""
        raise NotImplementedError

    def follow(self, address: Address) -> None:
        """Show what an address says."""
        raise NotImplementedError

    def step(self, by: int) -> None:
        """Choose the next job, or the one before."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw every picture."""
        raise NotImplementedError

    def begin(self, document: Document) -> None:
        """Put the figures into a page."""
        self.document = document
        self.plots[0].tags = [self.channel]
        with self.document.models.freeze():
            for plot in self.plots:
                self.document.add_root(plot)

    def soon(self) -> None:
        """Draw shortly, once for all that has changed by then."""
        if self.channel.address and not self._due:  # not before the page has said what it wants
            self._due = True
            self.document.add_timeout_callback(self._draw_due, _SOON_MS)

    def dress(self) -> None:
        """Colour the figures as the page is."""
        if self.channel.theme in INKS:
            self.together(lambda: dress(self.plots, self.channel.theme))

    def together(self, draw: Callable[[], None]) -> None:
        """Draw in one message; its models are collected once, not after each new glyph."""
        if self.document.callbacks.hold_value is not None:  # part of a larger picture
            draw()
            return
        self.document.hold("combine")
        try:
            with self.document.models.freeze():
                draw()
        finally:
            self.document.unhold()

    def _draw_due(self) -> None:
        """Draw what the address says."""
        self._due = False
        self.together(self.draw)

    def _on_address(self, message: str) -> None:
        """Show what the page's address asks for."""
        found = _decode_message(message)
        if isinstance(found, str):
            self.together(lambda: self.follow(read_address(found, self.names)))

    def _on_wish(self, message: str) -> None:
        """Show something otherwise."""
        found = _decode_message(message)
        if isinstance(found, dict):
            self.together(lambda: self.follow(changed(self.address, found, self.names)))


def _decode_message(message: str) -> object:
    """Return what the page said; None for nonsense."""
    try:
        _, found = json.loads(message)
    except (ValueError, TypeError):
        return None
    return found
