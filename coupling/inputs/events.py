"""The table [events]: what happens to the machine during a run, and what becomes of jobs."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.files import Table
from fabricsim.checking.inputs import read_text
from fabricsim.checking.units import DURATION, quantity
from netsim.common.errors import NetsimError
from netsim.topology.base import Topology
from netsim.topology.outage import exclude, fail, require_outside
from scheduler.events import ACTIONS, DrawnFailures, FailurePolicy, MachineEvent, MachineEvents
from scheduler.footprint import Footprint, join_masks
from scheduler.geometry import Geometry
from scheduler.machine import Window

WINDOWS = ("maintenance", "reservation")
KINDS = ("node", "switch", "cable")
REPAIR_S = 4 * 3600.0
"""Mean time of a repair where none is stated, in seconds."""
_SPAWNED = 2**16  # key of the seed of failures; parts of a run are numbered from 0
_ON_FAILURE = ("requeue", "end")
_COLUMNS = ("time", "action", "what", "until", "users")


@dataclass(frozen=True, slots=True, eq=False)
class EventPlan:
    """What happens in every simulation of a run."""

    listed: tuple[MachineEvent, ...]
    windows: tuple[Window, ...]
    # arguments of `DrawnFailures`
    chances: tuple[tuple[Sequence[int] | Sequence[str], float, float, int], ...]
    policy: FailurePolicy
    topology: Topology

    @property
    def of_routes(self) -> bool:
        """Whether switches or cables go down."""
        drawn = any(isinstance(things[0], str) for things, *_ in self.chances)
        return drawn or any(event.parts for event in self.listed)

    def begin(self) -> MachineEvents:
        """Return what happens in one simulation."""
        drawn = [DrawnFailures(*chance) for chance in self.chances]
        without = lru_cache(maxsize=4)(partial(_without, self.topology))
        return MachineEvents(
            self.listed, self.windows, drawn, self.policy, lambda parts: without(tuple(parts))
        )


def _without(topology: Topology, parts: tuple[str, ...]) -> Topology:
    """Return a fabric without some switches and cables."""
    cables = [part for part in parts if ">" in part]
    return fail(topology, cables, [part for part in parts if ">" not in part])


_TIMES = (
    *("requeue_delay", "checkpoint"),
    *(f"{kind}_{what}" for kind in KINDS for what in ("mtbf", "repair")),
)


def check_events(table: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Check the table as far as that needs no fabric; return it as it was given."""
    own = Table(table, place)
    if "path" in own and not own.text("path"):
        raise own.error("path", "the path of a table of events")
    own.text("on_failure", "requeue", choices=_ON_FAILURE)
    own.integer("max_requeues", 100, 0)
    own.integer("seed", 1, 0)
    for key in _TIMES:
        if key in own:
            _seconds(own, key, place)
    for kind in KINDS:
        if f"{kind}_repair" in own and f"{kind}_mtbf" not in own:
            raise own.error(f"{kind}_mtbf", f"a time beside {kind}_repair")
    entries = own.raw("list", [])
    if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        example = '{time = 60, action = "down", what = "n0"}'
        raise own.error("list", f"a list of tables such as {example}")
    own.finish()
    return dict(table)


def _seconds(table: Table, key: str, place: str) -> float:
    """Return a positive time."""
    found = quantity(table.raw(key), DURATION, ExperimentError, f"{place} {key}")
    if not found > 0:
        raise table.error(key, "a positive time such as '2 h'")
    return found


def plan_events(
    given: Mapping[str, Any], topology: Topology, source: str, folder: Path, seed: int
) -> EventPlan:
    """Read the events of an experiment, for its fabric; `seed`: where the table states none."""
    place = f"{source}: [events]"
    table = Table(given, place)
    rows = [(f"{place} list[{at}]", own) for at, own in enumerate(given.get("list", ()))]
    if "path" in given:
        rows += _rows(folder / str(given["path"]))
    listed, windows = list[MachineEvent](), list[Window]()
    for where, row in rows:
        _read(Table(row, where), where, topology, listed, windows)
    policy = FailurePolicy(
        requeue=given.get("on_failure", "requeue") == "requeue",
        most=given.get("max_requeues", 100),
        **{
            field: _seconds(table, key, place)
            for key, field in (("requeue_delay", "delay_s"), ("checkpoint", "checkpoint_s"))
            if key in given
        },
    )
    chances = []
    for at, kind in enumerate(KINDS):
        if f"{kind}_mtbf" in given:
            repair = f"{kind}_repair"
            repair_s = _seconds(table, repair, place) if repair in given else REPAIR_S
            own = np.random.SeedSequence(given.get("seed", seed), spawn_key=(_SPAWNED, at))
            mtbf_s, things = _seconds(table, f"{kind}_mtbf", place), _things(kind, topology)
            chances.append((things, mtbf_s, repair_s, int(own.generate_state(1)[0])))
    return EventPlan(tuple(listed), tuple(windows), tuple(chances), policy, topology)


def _things(kind: str, topology: Topology) -> Sequence[int] | Sequence[str]:
    """Return what may fail by chance."""
    if kind == "node":
        nodes: list[int] = topology.usable_nodes.tolist()
        return nodes
    if kind == "switch":
        ends = np.unique(topology.link_head[: topology.n_fabric_links])  # none inside hosts
        return [topology.vertex_name(vertex) for vertex in ends[ends >= topology.n_nodes].tolist()]
    between = (topology.link_tail >= topology.n_nodes) & (topology.link_head >= topology.n_nodes)
    once = between & (topology.link_tail < topology.link_head)
    return [topology.link_name(link) for link in np.flatnonzero(once).tolist()]


def _rows(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Read a table of events, comma-separated: time, action, what, until, users."""
    lines = csv.DictReader(StringIO(read_text(path, ExperimentError)))
    unknown = [name for name in lines.fieldnames or () if name.strip() not in _COLUMNS]
    if unknown or not lines.fieldnames:
        got = repr(unknown[0]) if unknown else "none"
        raise ExperimentError(f"{path}:1: expected columns of {', '.join(_COLUMNS)}, got {got}.")
    found = list[tuple[str, Mapping[str, Any]]]()
    for row in lines:
        where = f"{path}:{lines.line_num}"
        if None in row or None in row.values():
            raise ExperimentError(f"{where}: expected {len(lines.fieldnames)} fields.")
        cells: dict[str, Any] = {
            key.strip(): value.strip() for key, value in row.items() if value.strip()
        }
        for key in ("time", "until"):
            if key in cells and cells[key].replace(".", "", 1).isdecimal():
                cells[key] = float(cells[key])
        if "users" in cells:
            names = cells["users"].split()
            cells["users"] = [int(user) if user.isdecimal() else user for user in names]
        found.append((where, cells))
    return found


def _read(
    row: Table,
    place: str,
    topology: Topology,
    listed: list[MachineEvent],
    windows: list[Window],
) -> None:
    """Read one event or window."""
    row.require("time", "action", "what")
    at_s = quantity(row.raw("time"), DURATION, ExperimentError, f"{place} time")
    action, what = row.text("action", choices=(*ACTIONS, *WINDOWS)), row.text("what")
    try:
        nodes, parts = _meant(what, topology, whole=action in (*WINDOWS, "drain"))
    except NetsimError as error:
        raise ExperimentError(f"{place} what: {error}") from error
    if action in WINDOWS:
        if "until" not in row:
            raise row.error("until", "a time after its start")
        until_s = quantity(row.raw("until"), DURATION, ExperimentError, f"{place} until")
        if not until_s > at_s:
            raise row.error("until", "a time after its start")
        users = []
        if action == "reservation":
            users = row.raw("users", None)
            if not isinstance(users, list) or not users or any(type(u) is not int for u in users):
                raise row.error("users", "a list of numbers of users")
        geometry = Geometry.of(topology)
        masks = sorted(geometry.masks(nodes).items())
        taken = Footprint(join_masks(geometry.nodes_per_leaf, masks))
        windows.append(Window(at_s, until_s, taken, frozenset(users)))
    else:
        if action == "resume":  # of a drained switch, of all its nodes
            nodes = sorted({*nodes, *_meant(what, topology, whole=">" not in what)[0]})
        listed.append(MachineEvent(at_s, action, tuple(nodes), tuple(parts), what))
    row.finish()


def _meant(what: str, topology: Topology, *, whole: bool) -> tuple[list[int], list[str]]:
    """Return nodes, and switches and cables, by name; `whole`: the nodes of switches."""
    if ">" in what:
        if whole:
            raise NetsimError(f"expected nodes or switches, got the cable {what!r}.")
        require_outside(topology, topology.names.links([what]), [])
        return [], [what]
    vertices = topology.names.vertices([what])
    nodes = [vertex for vertex in vertices if vertex < topology.n_nodes]
    switches = [topology.vertex_name(vertex) for vertex in vertices if vertex >= topology.n_nodes]
    if not whole:
        require_outside(topology, [], vertices)
    elif switches:
        left = exclude(topology, switches).usable_nodes
        nodes += np.setdiff1d(topology.usable_nodes, left).tolist()
        if not nodes:
            raise NetsimError(f"expected nodes, or a switch that all of some need, got {what!r}.")
        return nodes, []
    return nodes, switches
