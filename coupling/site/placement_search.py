"""Search: placements of one more job, rated by what it and the others lose."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from coupling.errors import SnapshotError
from coupling.site.availability import Availability, links_between
from coupling.site.drawn_traffic import JobLoads
from coupling.site.now import HOURS
from coupling.site.outcome import Outcome, solve
from coupling.site.placement_options import PlacementOption
from coupling.site.state import DrawnTraffic, SiteJob, SiteState
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError, RoutingError
from netsim.common.hostlist import fold_hostlist
from netsim.flows.partition import Partition
from netsim.topology.multipath import as_built

SWAPS = 24
"""Swaps of a node for another that are tried, from the best placement of the allocators."""
_DIGITS = 6  # of node-hours: smaller differences are rounding
Held = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes, and links that are owned."""


def new_number(scene: SiteState) -> int:
    """Return a number that no job has."""
    return 1 + max((job.number for job in scene.jobs), default=0)


def order_of(own: PlacementOption) -> tuple[float, int, int, tuple[int, ...]]:
    """Return what placements are sorted by: least loss, among equals the most compact."""
    return round(own.lost_node_hours, _DIGITS), own.switches, own.fragments, own.nodes


class Search:
    """Rates placements of one more job by what it and the others lose."""

    def __init__(
        self,
        scene: SiteState,
        room: Availability,
        sent: Sequence[DrawnTraffic | None],
        *,
        isolated: bool,
    ) -> None:
        self.scene, self._room, self._sent = scene, room, sent
        self._isolated = isolated
        self._built = as_built(scene.topology)
        self._loads = JobLoads(scene)
        before = solve(scene, self._loads)
        self._others = _lost_node_hours(scene, before)
        self._before = before

    def joins(self, held: Sequence[int]) -> bool:
        """Say whether all nodes reach each other, also by the routing of a job without links."""
        nodes = np.array(held, dtype=np.int64)
        if not self._room.joins(nodes):
            return False
        if self._isolated or nodes.size == 1:
            return True
        try:
            links_between(self.scene.topology, self.scene.routing, nodes)
        except RoutingError:
            return False
        except NetsimError as error:
            raise SnapshotError(f"{self.scene.source}: {error}") from None
        return True

    def option(self, names: Sequence[str], held: Held) -> PlacementOption:
        """Rate one placement."""
        nodes = np.array(held[0], dtype=np.int64)
        number_ = new_number(self.scene)
        new = SiteJob(number_, "new", "", "", nodes, Partition(nodes, None))
        jobs = (*self.scene.jobs, new)
        samples = tuple(
            dict(sample) | ({} if own is None else {number_: own})
            for sample, own in zip(self.scene.samples, self._sent, strict=True)
        )
        scene = replace(self.scene, jobs=jobs, samples=samples)
        loads = JobLoads(scene)
        loads.keep(self._loads.known)
        after = solve(scene, loads)
        own = after.network_slowdown[:, -1]
        others = _lost_node_hours(scene, after)[:, :-1] - self._others
        spread = np.quantile(own, (0.05, 0.5, 0.95)).tolist()
        to_others = float(others.sum(axis=1).mean())
        lost = HOURS * nodes.size * float((1.0 - 1.0 / own).mean())
        worst = (after.network_slowdown[:, :-1] / self._before.network_slowdown).mean(axis=0)
        hurt = int(worst.argmax()) if worst.size and worst.max() > 1.0 + 1e-9 else None
        topology = self.scene.topology
        nodelist = fold_hostlist(topology.vertex_name(node) for node in held[0])
        links, first = self._built.node_links
        own_links = np.concatenate([links[first[node] : first[node + 1]] for node in held[0]])
        return PlacementOption(
            allocators=tuple(names),
            nodes=held[0],
            switches=np.unique(self._built.link_head[own_links]).size,
            fragments=1 + nodelist.count(","),
            nodelist=nodelist,
            network_slowdown=spread[1],
            low=spread[0],
            high=spread[2],
            own_node_hours=lost,
            others_node_hours=to_others,
            most_hurt=None if hurt is None else self.scene.jobs[hurt].id,
            most_hurt_by=1.0 if hurt is None else float(worst[hurt]),
            links=tuple(topology.link_name(link) for link in held[1]),
            owned=held[1],
        )

    def swaps(self, best: PlacementOption, free: Ints, seed: int) -> PlacementOption | None:
        """Try to better a placement by other nodes; None where that does not help."""
        draw = np.random.default_rng(seed)
        found = best
        for _ in range(SWAPS):
            rest = np.setdiff1d(free, np.array(found.nodes))
            if not rest.size:
                break
            out, new = draw.choice(np.array(found.nodes)), draw.choice(rest)
            nodes = tuple(sorted({*found.nodes, int(new)} - {int(out)}))
            if self.joins(nodes):
                found = min(found, self.option(["swaps"], (nodes, ())), key=order_of)
        return None if found is best else found


def _lost_node_hours(scene: SiteState, found: Outcome) -> Floats:
    """Return the node-hours that each job loses in a day, (D, J)."""
    hours: Floats = HOURS * np.array([job.nodes.size for job in scene.jobs], dtype=np.float64)
    return hours * (1.0 - 1.0 / found.network_slowdown)
