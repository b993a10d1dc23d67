"""What page and server tell each other, and how one open page follows its address."""

import json
from collections.abc import Callable, Collection

from bokeh.core.properties import Int, String
from bokeh.document import Document
from bokeh.model import DataModel

from coupling.explorer.address import Address, changed, read_address
from coupling.explorer.figures import INKS, Figure, dress

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
