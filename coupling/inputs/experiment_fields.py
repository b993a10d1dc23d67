"""The fields of an experiment: where they stand in a file, and what each may hold."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.events import check_events
from coupling.inputs.fabric import described, is_fabric_file
from coupling.inputs.files import Table, located
from coupling.inputs.plugins import (
    is_object,
    label_of,
    load_file,
    load_installed,
    options_of,
    settled,
)
from fabricsim.checking import brief, meant, plain
from fabricsim.checking.inputs import read_text
from netsim.common.errors import UnitError
from netsim.common.units import parse_size
from netsim.flows.maxmin import FAIRNESS
from netsim.formats.importers.graphs import from_networkx, is_graph
from netsim.topology.base import Topology
from netsim.topology.switches import with_default_switch
from patterns.registry import PATTERNS
from scheduler.allocation import NodeUnits
from scheduler.allocators import ALIASES
from scheduler.workload.base import Workload

if TYPE_CHECKING:
    import pandas as pd


DRAWN = ("workload", "communication", "routing", "allocator", "model")
"""Parts with a seed of their own; a new one comes last, as a seed depends on the place."""


def derived_seed(seed: int, part: str) -> int:
    """Return the seed of a part of `DRAWN` that states none."""
    # Spawned by numpy's `SeedSequence`: parts and runs with neighbouring seeds are independent.
    sequence = np.random.SeedSequence(seed, spawn_key=(DRAWN.index(part),))
    return int(sequence.generate_state(1)[0])


def all_seeds(seed: int, given: Mapping[str, int]) -> dict[str, int]:
    """Return the seed of every part."""
    return {part: given.get(part, derived_seed(seed, part)) for part in DRAWN}


def given_seeds(seed: int, seeds: Mapping[str, int]) -> dict[str, int]:
    """Leave out the seeds that equal `derived_seed`."""
    return {part: own for part, own in seeds.items() if own != derived_seed(seed, part)}


MIB = 2**20
ESTIMATES = ("requested", "runtime")
RUNTIME_MEANS = ("isolated", "baseline", "alone")
UNKNOWN = ("skip", "stop")
DEFAULT_ALLOCATOR = "first-free"
DEFAULT_MODEL = "fluid"
_SAME_NAMES = {  # of keys and fields
    "scheduler": "queue queue_options window allocator allocator_options kill_at_limit node",
    "network": "routing model model_options fairness",
    "run": "seed seeds runtime_means self_check links_timeline attribution plugins",
}
_RENAMED_OPTIONS = {"scheduler": "allocator_options", "network": "model_options"}
PLACES: Mapping[str, Mapping[str, str]] = {
    **{table: {key: key for key in keys.split()} for table, keys in _SAME_NAMES.items()},
    "compare": {"allocators": "compare", "options": "compare_options"},
}
"""Field of an `Experiment` by table and key."""
PLACE_OF: Mapping[str, list[str]] = {
    field: [table, key] for table, keys in PLACES.items() for key, field in keys.items()
}
"""Table and key by field, for files without the table."""

_WHOLE = ("topology", "workload", "communication", "replay", "events")  # tables that are one field
_MAY_BE_NONE = (*_WHOLE, "window", "routing", "estimates", "node")


def fields_of(tables: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the fields of a file, unchecked, as keywords of an `Experiment`."""
    known = (*_WHOLE, *PLACES, "switch")
    top = Table(tables, source)
    for key in tables:
        if key not in known:
            hint = "; `fabricsim sweep` takes files that have it" if key == "sweep" else ""
            raise ExperimentError(
                f"{source}: unknown table [{key}]{meant(key, known)}; choose from "
                f"{', '.join(known)}{hint}."
            )
    found = {key: top.raw(key) for key in _WHOLE}
    for name, keys in PLACES.items():
        table = Table(tables.get(name, {}), f"{source}: [{name}]")
        if name in _RENAMED_OPTIONS and "options" in table:
            raise table.error("options", f"{_RENAMED_OPTIONS[name]}, as it is called now")
        found |= {field: table.raw(key) for key, field in keys.items() if key in table}
        table.finish()
    if "switch" in tables:
        found["model_options"] = _with_switch(tables, found, source)
    return found


def _with_switch(
    tables: Mapping[str, Any], fields: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Put the table [switch] among the options of the model, which must look at it."""
    options = fields.get("model_options", {})
    if fields.get("model") != "packets":
        given = {"model": fields["model"]} if "model" in fields else {}
        network = Table(given, f"{source}: [network]")
        raise network.error("model", "'packets', which alone looks at the table [switch]")
    if not isinstance(options, Mapping) or "switch" in options:
        raise Table(tables, f"{source}:").error(
            "switch", "it here or in [network.model_options] alone"
        )
    return {**options, "switch": tables["switch"]}


def checked_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Check the fields of an experiment, as far as that needs no other file."""
    source, folder = fields["source"], fields["folder"]
    top = Table({"name": fields["name"], "source": source}, "Experiment")
    names = {"source": top.text("source"), "name": top.text("name")}
    if not isinstance(folder, (str, Path)):
        raise ExperimentError(f"Experiment folder: expected a path, got {brief(folder)}.")
    folder = Path(folder)
    fields = {
        name: plain(value, f"{source}: {name}", ExperimentError) for name, value in fields.items()
    }
    plugins = _load_plugins(Table({"plugins": fields["plugins"]}, f"{source}: [run]"), folder)
    fields = _without_objects(fields)
    fields = {name: settled(value, folder, name) for name, value in fields.items()}
    found = names | {"folder": folder, "plugins": plugins} | _check_wholes(fields, source)
    scheduler, network, run, compare = (
        Table(
            {key: fields[field] for key, field in keys.items() if _is_stated(field, fields)},
            f"{source}: [{name}]",
        )
        for name, keys in PLACES.items()
    )
    found |= _check_scheduler(scheduler) | _check_network(network) | _check_run(run)
    found |= {"compare": compare.names("allocators"), "compare_options": compare.mapping("options")}
    check_compared(found, stated=found["allocator"] != DEFAULT_ALLOCATOR)
    _check_replay(found)
    return found


def _without_objects(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what Python may give in place of a table into the table or into class and options."""
    found, own = dict(fields), fields["allocator"]
    found["workload"] = _workload_table(fields["workload"])
    found["topology"] = _topology_table(fields["topology"], Path(fields["folder"]))
    found["communication"] = _communication_table(fields["communication"])
    if isinstance(fields["events"], str):
        found["events"] = {"path": fields["events"]}
    if is_object(own):
        if fields["allocator_options"]:
            what = (
                "[scheduler] allocator_options: expected none beside an allocator that is an object"
            )
            raise ExperimentError(f"{fields['source']}: {what}, got {brief(own)}.")
        found |= {"allocator": type(own), "allocator_options": options_of(own)}
    compared = fields["compare"]
    if isinstance(compared, (list, tuple)) and any(map(is_object, compared)):
        options = {type(each): options_of(each) for each in compared if is_object(each)}
        found["compare"] = [type(each) if is_object(each) else each for each in compared]
        found["compare_options"] = {**fields["compare_options"], **options}
    return found


def _workload_table(workload: object) -> object:
    """Return the table for the path of a log, jobs that were read, or a pandas table of jobs."""
    if isinstance(workload, str):
        return {"path": workload}
    if is_frame(workload):
        from scheduler.workload.table import from_frame  # noqa: PLC0415 (few give a frame)

        workload = from_frame(workload)
    if isinstance(workload, Workload):
        if workload.table is not None:
            return dict(workload.table)
        # the jobs alone, as a table of them keeps them for another run
        return {"jobs": replace(workload, dropped_jobs=(), begin_unix_s=None)}
    return workload


def _topology_table(topology: object, folder: Path) -> object:
    """Return the description for the file of a fabric, and the fabric of a graph."""
    if is_graph(topology):
        return with_default_switch(from_networkx(topology))
    if isinstance(topology, str) and is_fabric_file(topology, folder):
        spec, begin = described(str(folder / topology), None)
        return located(spec, begin)
    return topology


def _communication_table(communication: object) -> object:
    """Return the table for the path of a profile, or for the pattern of all jobs."""
    if isinstance(communication, str) and communication not in PATTERNS:
        return {"profile": communication}
    if isinstance(communication, str) or is_object(communication):
        return {"pattern": communication}
    return communication


def is_frame(value: object) -> "TypeGuard[pd.DataFrame]":
    """Say whether something is a pandas table, without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def _load_plugins(run: Table, folder: Path) -> tuple[str, ...]:
    """Load the plug-ins of the experiment and the installed ones; return the files, absolute."""
    load_installed()
    files = tuple(str((folder / name).resolve()) for name in run.names("plugins"))
    for file in files:
        load_file(file)
    return files


def _is_stated(field: str, fields: Mapping[str, Any]) -> bool:
    """Say whether a field holds something; None stands for left out in those that may be."""
    return fields[field] is not None or field not in _MAY_BE_NONE


def _check_wholes(fields: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Check the tables that are one field each."""
    given = {key: fields[key] for key in _WHOLE if _is_stated(key, fields)}
    top = Table(given, source)
    top.require("topology", "workload")
    topology, workload = top.raw("topology"), top.raw("workload")
    if not isinstance(topology, (str, Mapping, Topology)):
        raise top.error("topology", "a table [topology] or the name of a machine")
    if not isinstance(workload, Mapping):
        raise top.error("workload", "a table [workload], the path of a log, or a Workload")
    if "communication" in top and not isinstance(given["communication"], Mapping):
        raise top.error("communication", "a table [communication], a profile's path or a pattern")
    if "replay" in top:
        given["replay"] = _read_replay(Table(top.raw("replay"), f"{source}: [replay]"))
    if "events" in top:
        given["events"] = check_events(top.raw("events"), f"{source}: [events]")
        if "replay" in top:
            raise top.error("events", "none beside [replay], which takes what was recorded")
    found = dict.fromkeys(_WHOLE) | given
    return found | _split_estimates(dict(workload), fields["estimates"], f"{source}: [workload]")


def _read_replay(table: Table) -> dict[str, Any]:
    """Check how a record is replayed."""
    found = {
        "unknown": table.text("unknown", "skip", choices=UNKNOWN),
        "free_from": table.text("free_from", ""),
        "timezone": table.text("timezone", ""),
        "routing": table.raw("routing"),
    }
    if "routing" in table and not isinstance(found["routing"], (str, Mapping)):
        raise table.error("routing", "a name or a table")
    if "routing" in table and "free_from" not in table:  # what jobs did is asked for there alone
        raise table.error("free_from", "a time beside routing")
    for name, expected in (("free_from", "a time"), ("timezone", "the name of a time zone")):
        if name in table and not found[name]:
            raise table.error(name, expected)
    table.finish()
    return {key: value for key, value in found.items() if value}


def _split_estimates(workload: dict[str, Any], stated: object, place: str) -> dict[str, Any]:
    """Part what backfilling may know, which stands in the table of the workload, from the rest."""
    if stated is not None and "estimates" in workload:
        raise Table(workload, place).error("estimates", "it here or beside, not in both")
    own = workload.pop("estimates", stated)
    table = Table({} if own is None else {"estimates": own}, place)
    estimates = table.text("estimates", choices=ESTIMATES) if "estimates" in table else None
    return {"workload": workload, "estimates": estimates}


def _check_scheduler(table: Table) -> dict[str, Any]:
    """Check the times and places of jobs."""
    options = table.mapping("queue_options")
    if "window" in table and "window" in options:
        raise table.error("window", "it here or in queue_options, not in both")
    return {
        "queue": table.text("queue"),
        "queue_options": options,
        "window": table.integer("window") if "window" in table else None,
        "allocator": table.text("allocator"),
        "allocator_options": table.mapping("allocator_options"),
        "kill_at_limit": table.flag("kill_at_limit"),
        "node": _node_table(table) if "node" in table else None,
    }


def _node_table(table: Table) -> dict[str, Any]:
    """Check what a node has."""
    node = table.table("node")
    if "path" in node:
        stated = {"path": node.text("path")}
        for unit in ("cores", "gpus", "memory"):
            if unit in node:
                raise node.error(unit, "none beside path, whose file says what a node has")
        node.finish()
        return stated
    for unit in ("cores", "gpus"):
        if unit in node:
            node.integer(unit, least=1)
    if "memory" in node:
        try:
            found = parse_size(node.raw("memory"))
        except (UnitError, TypeError):
            found = 0.0
        if found < MIB:
            raise node.error("memory", "bytes, such as '256 GiB'")
    node.finish()
    stated = table.mapping("node")
    if not stated:
        raise table.error("node", "a table such as {cores = 32, memory = '256 GiB'}")
    return dict(stated)


def node_units(node: Mapping[str, Any] | None, folder: Path) -> NodeUnits | None:
    """Return what a node has, as a cluster takes it. `folder`: where relative paths start."""
    if node is None:
        return None
    if "path" in node:
        from netsim.formats.importers.accasim import node_of, read_system  # noqa: PLC0415 (rare)

        source = str(folder / node["path"])
        node = node_of(read_system(read_text(source, ExperimentError), source), source)
    memory = int(parse_size(node["memory"]) / MIB) if "memory" in node else 0
    return NodeUnits(node.get("cores", 0), node.get("gpus", 0), memory)


def _check_network(table: Table) -> dict[str, Any]:
    """Check what the network is taken for."""
    routing = table.raw("routing")
    if "routing" in table and not isinstance(routing, (str, Mapping)):
        raise table.error("routing", "a name or a table")
    return {
        "routing": routing,
        "model": table.text("model"),
        "model_options": table.mapping("model_options"),
        "fairness": table.text("fairness", choices=FAIRNESS),
    }


def _check_run(table: Table) -> dict[str, Any]:
    """Check how the run is made; seeds that follow from its own are left out."""
    seed, seeds = table.integer("seed"), table.table("seeds")
    given = {part: seeds.integer(part) for part in DRAWN if part in seeds}
    seeds.finish()
    return {
        "seed": seed,
        "seeds": given_seeds(seed, given),
        "runtime_means": table.text("runtime_means", choices=RUNTIME_MEANS),
        "self_check": table.flag("self_check"),
        "links_timeline": table.flag("links_timeline"),
        "attribution": table.flag("attribution"),
    }


def _check_replay(fields: Mapping[str, Any]) -> None:
    """Refuse what has no meaning where a record is replayed."""
    replay, source = fields["replay"], fields["source"]
    if replay is None:
        return
    if fields["node"] is not None:
        scheduler = Table({"node": fields["node"]}, f"{source}: [scheduler]")
        raise scheduler.error("node", "none beside [replay], which takes nodes as recorded")
    if fields["runtime_means"] != "isolated":
        run = Table({"runtime_means": fields["runtime_means"]}, f"{source}: [run]")
        raise run.error("runtime_means", "none beside [replay], which takes what was recorded")
    others = sorted(fields["workload"].keys() - {"path"})
    if "path" not in fields["workload"] or others:
        what = f"unknown option {others[0]!r}" if others else "path: it is missing"
        raise ExperimentError(f"{source}: [workload] {what}; beside [replay] expected path alone.")
    if fields["workload"]["path"] == "-":
        raise ExperimentError(
            f"{source}: [workload] path: expected a file, which is read several times, got '-'."
        )
    if fields["compare"] and "free_from" not in replay:
        raise ExperimentError(
            f"{source}: [replay] free_from: expected a time beside [compare], it is missing."
        )


def check_compared(fields: Mapping[str, Any], *, stated: bool) -> None:
    """Refuse an allocator or options that no compared run would use."""
    source, names = fields["source"], fields["compare"]
    own, options = fields["allocator_options"], fields["compare_options"]
    compare = Table({"allocators": names, "options": options}, f"{source}: [compare]")
    if options and not names:
        raise compare.fault("options", "expected allocators beside it, they are missing.")
    if not names:
        return
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(ALIASES.get(label_of(name), label_of(name)), name)
        if other != name:
            why = "are one allocator" if ALIASES.keys() & {name, other} else "have one label"
            raise compare.fault("allocators", f"{other!r} and {name!r} {why}; name it once.")
    among = f"one of those compared ({', '.join(names)})"
    stated_here = {"allocator": fields["allocator"], "allocator_options": own}
    scheduler = Table(stated_here, f"{source}: [scheduler]")
    if stated and fields["allocator"] not in names:
        raise scheduler.error("allocator", among)
    if own and not stated:
        raise scheduler.error(
            "allocator_options", "an allocator beside it, or [compare] options by name"
        )
    for name, table in options.items():
        if name not in names or not isinstance(table, Mapping):
            raise compare.error("options", f"tables of options named by {among}")
