"""Search: placements of one more job, rated by what it and the others lose."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from coupling.errors import SnapshotError
from coupling.site.availability import Availability, links_between
from coupling.site.drawn_traffic import JobLoad, JobLoads
from coupling.site.now import HOURS
from coupling.site.outcome import empty_model
from coupling.site.placement_options import PlacementOption
from coupling.site.state import DrawnTraffic, SiteJob, SiteState
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError, RoutingError
from netsim.common.hostlist import fold_hostlist, natural_key
from netsim.flows.partition import Partition
from netsim.fluid.tables import Solution
from netsim.topology.base import Topology
from netsim.topology.multipath import as_built

SWAPS = 24
"""Swaps of a node for another that are tried, from the best placement of the allocators."""
_MOST_KEPT = 1 << 22  # links times samples of which solutions are kept, about 2 GB
_ROUNDS = 2  # in which they are tried, each from the best so far
_DIGITS = 6  # of node-hours: smaller differences are rounding
Held = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes, and links that are owned."""


def new_number(scene: SiteState) -> int:
    """Return a number that no job has."""
    return 1 + max((job.number for job in scene.jobs), default=0)


def order_of(own: PlacementOption) -> tuple[float, int, int, tuple[int, ...]]:
    """Return what placements are sorted by: least loss, among equals the most compact."""
    return round(own.lost_node_hours, _DIGITS), own.switches, own.fragments, own.nodes


def by_name(nodes: Iterable[int], topology: Topology) -> tuple[int, ...]:
    """Put nodes in the order of their names, in which Slurm fills those of ``--nodelist``."""
    return tuple(sorted(nodes, key=lambda node: natural_key(topology.vertex_name(node))))


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
        self._drawn, _ = JobLoads(scene).all_samples()
        self._model = empty_model(scene)
        self._place = {job.number: at for at, job in enumerate(scene.jobs)}
        self._keeps = len(scene.samples) * scene.topology.n_links <= _MOST_KEPT
        self._solved: dict[int, tuple[Solution, Floats]] = {}

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

    def options(self, asked: Sequence[tuple[Sequence[str], Held]]) -> list[PlacementOption]:
        """Rate placements, given with the names of their allocators."""
        # Sample by sample: the jobs that run are solved once, and each placement from there.
        new = [self._loads_at(held) for _, held in asked]
        shape = len(self._drawn), len(self.scene.jobs)
        before = np.ones(shape)
        after = np.ones((len(asked), shape[0], shape[1] + 1))
        number_ = new_number(self.scene)
        place = self._place | {number_: shape[1]}
        for row, here in enumerate(self._drawn):
            before[row] = self._solve(row)
            factor = np.ones(shape[1])
            factor[[self._place[job] for job in here.jobs]] = here.placement_factor
            factors = factor.tolist()
            for each, loads in zip(after, new, strict=True):
                each[row, :-1], load = before[row], loads[row]
                if load is None:
                    continue
                found = self._model.trial((), {number_: load.demand})
                for n, ratio in found.items():
                    own = load.placement_factor if n == number_ else factors[place[n]]
                    each[row, place[n]] = ratio * own
        return [
            self._option(names, held, before, each)
            for (names, held), each in zip(asked, after, strict=True)
        ]

    def _solve(self, row: int) -> Floats:
        """Let the jobs that there are run in the model; return the slowdown of each (J,)."""
        if row in self._solved:
            solution, slowdown = self._solved[row]
            self._model.go_back(solution)
            return slowdown
        here = self._drawn[row]
        here.start(self._model)
        found = self._model.solve()
        slowdown = np.ones(len(self.scene.jobs))
        at = [self._place[job] for job in here.jobs]
        slowdown[at] = here.placement_factor * np.array([found[job] for job in here.jobs])
        if self._keeps:
            self._solved[row] = self._model.solution(), slowdown
        return slowdown

    def _loads_at(self, held: Held) -> list[JobLoad | None]:
        """Return what the new job puts on the links on some nodes, by sample."""
        number_, nodes = new_number(self.scene), np.array(held[0], dtype=np.int64)
        new = SiteJob(number_, "new", "", "", nodes, Partition(nodes, None))
        samples = tuple({} if own is None else {number_: own} for own in self._sent)
        drawn, _ = JobLoads(replace(self.scene, jobs=(new,), samples=samples)).all_samples()
        return [here.get(number_) for here in drawn]

    def _option(
        self, names: Sequence[str], held: Held, before: Floats, after: Floats
    ) -> PlacementOption:
        """Sum up one placement. `before`, `after`: network slowdowns (D, J), (D, J + 1)."""
        nodes = np.array(held[0], dtype=np.int64)
        own = after[:, -1]
        others = self._lost_node_hours(after[:, :-1]) - self._lost_node_hours(before)
        spread = np.quantile(own, (0.05, 0.5, 0.95)).tolist()
        to_others = float(others.sum(axis=1).mean())
        lost = HOURS * nodes.size * float((1.0 - 1.0 / own).mean())
        worst = (after[:, :-1] / before).mean(axis=0)
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
        for _ in range(_ROUNDS):
            rest = np.setdiff1d(free, np.array(found.nodes))
            if not rest.size:
                break
            others = set[tuple[int, ...]]()
            for _ in range(SWAPS // _ROUNDS):
                out, new = draw.choice(np.array(found.nodes)), draw.choice(rest)
                others.add(by_name({*found.nodes, int(new)} - {int(out)}, self.scene.topology))
            joined = [(("swaps",), (nodes, ())) for nodes in sorted(others) if self.joins(nodes)]
            found = min([found, *self.options(joined)], key=order_of)
        return None if found is best else found

    def _lost_node_hours(self, network_slowdown: Floats) -> Floats:
        """Return the node-hours that each job loses in a day, (D, J)."""
        nodes = np.array([job.nodes.size for job in self.scene.jobs], dtype=np.float64)
        hours: Floats = HOURS * nodes * (1.0 - 1.0 / network_slowdown)
        return hours
