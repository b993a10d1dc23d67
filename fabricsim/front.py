"""The functions that people type: each takes a name, a path, fields or the object itself."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coupling.calibration.calibrate import calibrate
from coupling.calibration.runs import calibrate_runs
from coupling.errors import CouplingError
from coupling.experiments import engine
from coupling.experiments.engine import Progress
from coupling.experiments.experiment import Experiment
from coupling.replays.replay import replay
from coupling.results.result import Result
from coupling.site.now import now
from coupling.site.placing import place
from coupling.site.whatif import whatif
from coupling.snapshots import estimate as estimating
from coupling.snapshots import verify as verifying
from coupling.snapshots.estimate import Estimate
from coupling.snapshots.snapshot import Snapshot, read_snapshot
from coupling.snapshots.verify import Verification
from coupling.sweeps.spec import Spec
from coupling.sweeps.sweep import Sweep, run_sweep
from netsim.errors import NetsimError
from netsim.formats.importers.graphs import from_networkx, is_graph
from netsim.routing.base import Routing
from netsim.routings import make_routing
from netsim.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.switches import with_default_switch
from patterns.base import Pattern
from patterns.errors import PatternError
from patterns.registry import make_pattern
from scheduler.errors import SchedulerError
from scheduler.workload.base import Workload
from scheduler.workload.registry import make_workload

__all__ = [
    "FabricsimError",
    "calibrate",
    "calibrate_runs",
    "estimate",
    "now",
    "pattern",
    "place",
    "read_log",
    "replay",
    "routing",
    "run",
    "topology",
    "verify",
    "whatif",
]

FabricsimError = (CouplingError, NetsimError, PatternError, SchedulerError)
"""What `except` catches for any input that is wrong."""

Moment = Snapshot | Mapping[str, Any] | str | Path


def estimate(snapshot: Moment, *, blame: bool = True) -> Estimate:
    """
    Estimate how much placed jobs slow each other down.

    Parameters
    ----------
    snapshot : Snapshot, mapping, str or Path
        Jobs on a fabric: the object, the fields of a snapshot file, or the file.
    blame : bool, default True
        Whether to share lost time out among the jobs.

    Returns
    -------
    Estimate
        Times and slowdowns of every job, loads of links, candidates ranked.

    Raises
    ------
    CouplingError
        If a field is unknown, missing or wrong.
    """
    return estimating.estimate(_moment(snapshot), blame=blame)


def verify(
    snapshot: Moment,
    *,
    any_routing: bool = False,
    exhaustive: bool = False,
    allow_unknown: bool = False,
) -> Verification:
    """
    Check that placed jobs are isolated and that their partitions are non-blocking.

    Parameters
    ----------
    snapshot : Snapshot, mapping, str or Path
        Jobs on a fabric: the object, the fields of a snapshot file, or the file.
    any_routing : bool, default False
        Ask about isolation under every minimal routing instead of the one in force.
    exhaustive : bool, default False
        Try many more leaf-to-leaf flow matrices.
    allow_unknown : bool, default False
        Let a question without an answer pass.

    Returns
    -------
    Verification
        A verdict per job, with certificate or witness.

    Raises
    ------
    CouplingError
        If a field is unknown, missing or wrong.
    """
    return verifying.verify(
        _moment(snapshot),
        any_routing=any_routing,
        exhaustive=exhaustive,
        allow_unknown=allow_unknown,
    )


def run(
    experiment: Experiment | str | Path, *changes: str, progress: Progress | None = None
) -> Result:
    """
    Run one experiment and keep the result in memory.

    Parameters
    ----------
    experiment : Experiment, str or Path
        The object, or an experiment file.
    *changes : str
        Fields to set over those of the file, e.g. ``"scheduler.allocator=ta"``.
    progress : callable, optional
        Called now and then with what is running, jobs ended and jobs in all.

    Returns
    -------
    Result
        Tables and summary. `run_campaign` runs all that an experiment compares and writes it.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If a name, value or file is wrong; nothing has been run then.
    """
    if isinstance(experiment, (str, Path)):
        experiment = Experiment.read(experiment, changes)
    elif changes:
        raise CouplingError("run: expected an experiment file where fields are to be set.")
    return engine.run(experiment, progress)


def sweep(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    varied: Mapping[str, Any] | None = None,
    *,
    folder: str | Path | None = None,
    workers: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """
    Run an experiment over lists of values.

    Parameters
    ----------
    experiment : Experiment, mapping, str or Path
        The experiment, its tables, or its file.
    varied : mapping, optional
        What the table ``[sweep]`` holds (experiment.md), e.g. ``{"run.seed": range(5)}``;
        default: that of the file.
    folder : str or Path, optional
        Where to keep the cells; those that are there are not run again. Default: in memory.
    workers : int, default 1
        Processes. From a script, call this below ``if __name__ == "__main__":`` with more than 1.
    dask : str, optional
        Address of a Dask scheduler, whose workers see the same files.
    progress : callable, optional
        Called with what is done, how many cells are done, and how many there are.

    Returns
    -------
    Sweep
        Its cells; `Sweep.compare` says how the policies differ.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If a name, value or file is wrong, or cells can never run; nothing has been run then.
    """
    if isinstance(experiment, (str, Path)):
        spec = Spec.read(experiment, varied=varied)
    else:
        spec = Spec.make(experiment, varied if varied is not None else {})
    if folder is not None:
        return run_sweep(spec, folder, workers=workers, dask=dask, progress=progress)
    with TemporaryDirectory(prefix="fabricsim-sweep-") as desk:
        return run_sweep(spec, desk, workers=workers, dask=dask, progress=progress)


def read_log(path: str | Path, *, format: str | None = None, **filters: Any) -> Workload:  # noqa: A002, ANN401 (the key of experiment files)
    """
    Read a job log.

    Parameters
    ----------
    path : str or Path
        The log.
    format : str, optional
        Key of `scheduler.READERS`; default: as the name ends, else ``"swf"``.
    **filters
        Fields of the table ``[workload]`` (docs/reference/experiment.md), e.g. ``max_nodes=1024``.

    Returns
    -------
    Workload
        Jobs, and what was dropped.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or a field is unknown or wrong.
    """
    given = {} if format is None else {"format": format}
    return make_workload({"path": str(path), **given, **filters}, source="read_log")


def topology(spec: Any = None, **fields: Any) -> Topology:  # noqa: ANN401 (a graph has no type)
    """
    Build a fabric, or read it from a file.

    Parameters
    ----------
    spec : str, Path, mapping, networkx.Graph or Topology, optional
        Name of a machine, kind of fabric (with its fields as keywords), file, all fields, or a
        graph (with the keywords of `from_networkx`).
    **fields
        Fields of the table ``[topology]`` (docs/reference/topologies.md), e.g. ``radix=18``.

    Returns
    -------
    Topology
        The fabric.

    Raises
    ------
    TopologyError
        If a name, field or file is wrong.

    Examples
    --------
    >>> topology("fat-tree", radix=8).n_nodes
    128
    """
    if isinstance(spec, Topology) and not fields:
        return spec
    if is_graph(spec):
        return with_default_switch(from_networkx(spec, **fields))
    if isinstance(spec, Path):
        return make_topology({"kind": "file", "path": str(spec), **fields})
    if isinstance(spec, Mapping):
        return make_topology({**spec, **fields})
    if spec is not None and not fields:
        return make_topology(spec)
    return make_topology(fields if spec is None else {"kind": spec, **fields})


def routing(spec: str | Mapping[str, Any], fabric: Topology, *, seed: int = 1) -> Routing:
    """
    Make a routing for a fabric.

    Parameters
    ----------
    spec : str or mapping
        Key of `netsim.ROUTINGS`, or a table with ``name`` and options.
    fabric : Topology
        The fabric.
    seed : int, default 1
        For routings that draw.

    Returns
    -------
    Routing
        The routing.

    Raises
    ------
    RoutingError
        If the name or an option is unknown, or the routing does not fit the fabric.
    """
    return make_routing(spec, fabric, seed)


def pattern(name: str, **options: Any) -> Pattern:  # noqa: ANN401 (options of any kind)
    """
    Make a communication pattern.

    Parameters
    ----------
    name : str
        Key of `patterns.PATTERNS`.
    **options
        Its options, e.g. ``nbytes=1e6``.

    Returns
    -------
    Pattern
        Who talks to whom, over ranks.

    Raises
    ------
    PatternError
        If the name or an option is unknown or wrong.
    """
    return make_pattern({"name": name, **options})


def _moment(snapshot: Moment) -> Snapshot | Mapping[str, Any]:
    """Read a snapshot that is given as a file."""
    return read_snapshot(snapshot) if isinstance(snapshot, (str, Path)) else snapshot
