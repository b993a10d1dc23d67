"""Build the parts of an experiment: fabric and workload with its communication."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coupling.errors import ExperimentError
from coupling.experiment import Experiment
from netsim.topology import make_topology
from netsim.topology.base import Topology
from scheduler.workload import (
    DEFAULT_PROFILE,
    GENERATORS,
    READERS,
    Profile,
    Workload,
    assign,
    limit_nodes,
    profile_from,
    read_profile,
)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """
    Fabric and workload of an experiment.

    Parameters
    ----------
    topology : Topology
        The machine.
    workload : Workload
        Jobs with their communication; those larger than the machine are dropped.
    estimates : {"requested", "runtime"}
        What backfilling may know.
    hashes : mapping of str to str
        SHA-256 of every file that was read.
    """

    topology: Topology
    workload: Workload
    estimates: str
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_nodes(self) -> int:
        """Nodes that take jobs."""
        return self.topology.usable_nodes.size


def assemble(experiment: Experiment) -> Parts:
    """
    Read and build what an experiment names.

    Parameters
    ----------
    experiment : Experiment
        The experiment.

    Returns
    -------
    Parts
        Fabric and workload.

    Raises
    ------
    ExperimentError, TopologyError, WorkloadError, PatternError
        If a file cannot be read, or a name or value is wrong.
    """
    topology = make_topology(experiment.topology)
    workload = limit_nodes(read_workload(experiment), topology.usable_nodes.size)
    if not workload.jobs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in workload.dropped.items())
        raise ExperimentError(f"{workload.source}: no job is left to run ({reasons or 'empty'}).")
    hashes = {workload.source: workload.sha256} if workload.sha256 else {}
    profile, profile_hashes = _profile(experiment)
    jobs = assign(workload.jobs, profile, experiment.seed)
    fallback = "requested" if workload.has_requested else "runtime"
    return Parts(
        topology,
        replace(workload, jobs=jobs),
        experiment.estimates or fallback,
        {**hashes, **profile_hashes},
    )


def read_workload(experiment: Experiment) -> Workload:
    """
    Read the job log, or draw it.

    Parameters
    ----------
    experiment : Experiment
        Its ``[workload]`` table is looked at.

    Returns
    -------
    Workload
        Jobs without communication.

    Raises
    ------
    ExperimentError, WorkloadError
        If the table is wrong or the log cannot be read.
    """
    options = dict(experiment.workload)
    where = f"{experiment.name}: [workload]"
    if "generator" in options:
        return _call(GENERATORS, options.pop("generator"), options, f"{where} generator")
    path = options.pop("path", None)
    if not isinstance(path, str):
        raise ExperimentError(f"{where} path: expected the path of a job log, got {path!r}.")
    place = path if path == "-" else str(experiment.resolve(path))
    return _call(READERS, options.pop("format", "swf"), options, f"{where} format", place)


def _call(
    registry: Mapping[str, Any], name: object, options: Mapping[str, Any], where: str, *args: str
) -> Workload:
    """Call a reader or generator; unknown names and options are errors that list the choices."""
    if not isinstance(name, str) or name not in registry:
        choices = ", ".join(sorted(registry))
        raise ExperimentError(f"{where}: expected one of {choices}, got {name!r}.")
    workload: Workload = registry[name](*args, **options)
    return workload


def _profile(experiment: Experiment) -> tuple[Profile, Mapping[str, str]]:
    """Return the communication profile and the hash of its file."""
    tables = experiment.communication
    if tables is None:
        return DEFAULT_PROFILE, {}
    if "profile" not in tables:
        return profile_from(tables, f"{experiment.name}: [communication]"), {}
    path = tables["profile"]
    if len(tables) > 1 or not isinstance(path, str):
        raise ExperimentError(
            f'{experiment.name}: [communication] expected either profile = "FILE" or the '
            "fields of a profile."
        )
    place = experiment.resolve(path)
    profile = read_profile(place)
    return profile, {str(place): hashlib.sha256(place.read_bytes()).hexdigest()}
