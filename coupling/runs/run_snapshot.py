"""A moment of a run: jobs, their nodes and links, as a snapshot."""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.errors import CouplingError, ExperimentError, ResultError
from coupling.inputs.fabric import build_topology
from coupling.inputs.snapshot import snapshot_from
from coupling.results.manifest import NOT_AGAIN
from coupling.results.result import Result, owned_links
from coupling.runs.stored import Stored
from fabricsim.checking import unknown
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology


def moment(stored: Stored, at_s: float, run: str | None = None) -> dict[str, Any]:
    """Return the jobs of one moment as a snapshot document, without what they sent."""
    place = place_of(stored, run)
    result = Result.load(place)
    if why_not := stored.manifest.get(NOT_AGAIN):
        raise ResultError(f"{stored.folder}: its links are unknown: {why_not}.")
    experiment = stored.experiment.located()
    topology = build_topology(experiment.topology, place, partial(_fabric_error, place))
    running = _running_rows(result.jobs, at_s, place)
    _refuse_broken_fabric(result.extras.get("events"), at_s, place)
    document: dict[str, Any] = {"topology": experiment.topology}
    if experiment.routing is not None:
        document["routing"] = experiment.routing
    try:
        document["jobs"] = _snapshot_jobs(running, result.partitions, topology)
        snapshot_from(document | {"topology": topology}, "snapshot", place)
    except (CouplingError, TopologyError) as error:
        raise ResultError(f"{place}: its tables do not fit its fabric: {error}") from None
    return document


def _fabric_error(place: Path, what: str) -> ExperimentError:
    """Make the error of a fabric that cannot be built again."""
    return ExperimentError(f"{place} topology: {what}")


def place_of(stored: Stored, run: str | None) -> Path:
    """Return the directory of a run."""
    names = [variant.label for variant in stored.experiment.variants()]
    if run is None and len(names) > 1:
        raise ResultError(f"{stored.folder}: expected --run and one of {', '.join(names)}.")
    if run is not None and run not in names:
        raise ResultError(f"--run: {unknown('run', run, names)}")
    return stored.places[0 if run is None else names.index(run)]


def _running_rows(jobs: pd.DataFrame, at_s: float, place: Path) -> pd.DataFrame:
    """Return the rows of jobs that ran at a moment."""
    running = jobs[(jobs["start_s"] <= at_s) & (at_s < jobs["end_s"])]
    if running.empty:
        raise ResultError(
            f"{place}: no job runs at {at_s:g} s; jobs run from {jobs['start_s'].min():g} s "
            f"to {jobs['end_s'].max():g} s."
        )
    return running


def _refuse_broken_fabric(events: pd.DataFrame | None, at_s: float, place: Path) -> None:
    """Refuse a moment at which switches or cables are down: routes then were others."""
    down: dict[str, None] = {}
    if events is not None:
        of_parts = events[(events["n_nodes"] == 0) & (events["time_s"] <= at_s)]
        for action, what in zip(of_parts["action"], of_parts["what"], strict=True):
            if action in ("down", "failed"):
                down[str(what)] = None
            elif action in ("up", "resume", "repaired"):
                down.pop(str(what), None)
    if down:
        raise ResultError(
            f"{place}: expected a moment at which no switch and no cable is down, got {at_s:g} s "
            f"with {', '.join(down)}."
        )


def _snapshot_jobs(
    running: pd.DataFrame, partitions: pd.DataFrame, topology: Topology
) -> list[Any]:
    """Return jobs as a snapshot has them, by name."""
    owned, jobs = owned_links(partitions), []
    for number, hosts in zip(running["id"].tolist(), running["nodes"].tolist(), strict=True):
        nodes = topology.names.nodes([str(hosts)])
        job = {"id": number, "nodes": [topology.vertex_name(node) for node in nodes]}
        links = owned(number)
        if links is not None:
            if links.max(initial=-1) >= topology.n_links:
                raise TopologyError(f"job {number} owns link {links.max()}.")
            job["links"] = [topology.link_name(link) for link in links.tolist()]
        jobs.append(job)
    return jobs
