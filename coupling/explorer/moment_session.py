"""What happens in an open page of a moment."""

from collections.abc import Mapping
from typing import Any

from bokeh.events import MouseMove, Tap

from coupling.explorer.address import Address, replaced
from coupling.explorer.channel import Follower
from coupling.explorer.figures import Figure
from coupling.explorer.moment import Moment
from coupling.explorer.moment_story import blame_of, moment_line, moment_story
from coupling.explorer.network import Fabric

_TALL = 520  # pixels of the fabric


class MomentSession(Follower):
    """One open page of a moment."""

    def __init__(self, moment: Moment) -> None:
        super().__init__(())
        self.moment = moment
        self.fabric = Fabric(height=_TALL)
        self.fabric.plot.on_event(Tap, self._tapped)
        self.fabric.plot.on_event(MouseMove, self._pointed)

    @property
    def plots(self) -> list[Figure]:
        """Return all figures."""
        return [self.fabric.plot]

    def follow(self, address: Address) -> None:
        """Show what an address says."""
        self.address = Address(job=address.job, cable=address.cable)
        self.dress()
        self.soon()

    def draw(self) -> None:
        """Draw the fabric, and say what was chosen."""
        self.channel.missing = self.fabric.draw(self.moment.look(self.address))
        self.channel.shown = self.address.written()
        self.channel.details = moment_story(self.moment, self.address)
        self.channel.drawn += 1

    def step(self, by: int) -> None:
        """Choose the next job of the snapshot, or the one before."""
        names = list(self.moment.jobs)
        if not names:
            return
        if self.address.job in self.moment.jobs:
            place = (names.index(self.address.job) + by) % len(names)
        else:
            place = 0 if by > 0 else -1
        self.address = replaced(self.address, {"job": names[place]})
        self.soon()

    def _tapped(self, event: Tap) -> None:
        """Choose the job on the node, or the cable, that was clicked."""
        if event.x is None or event.y is None:
            return
        node = self.fabric.node_at(event.x, event.y)
        if node is None:
            chosen = {"cable": self.fabric.cable_at(event.x, event.y)}
        else:
            chosen = {"job": self.moment.owner.get(node, "")}
        self.address = replaced(self.address, chosen)
        self.soon()

    def _pointed(self, event: MouseMove) -> None:
        """Say what is under the pointer."""
        if event.x is None or event.y is None:
            return
        node = self.fabric.node_at(event.x, event.y)
        topology = self.moment.snapshot.topology
        if node is None:
            self.channel.pointed = self.fabric.cable_at(event.x, event.y)
            return
        owner = self.moment.owner.get(node)
        owner_line = "idle" if owner is None else moment_line(self.moment, owner)
        self.channel.pointed = f"{topology.vertex_name(node)}: {owner_line}"


def moment_fields(moment: Moment) -> Mapping[str, Any]:
    """Return what the page of a moment holds from the begin."""
    return {"about": moment.about, "blame": blame_of(moment)}
