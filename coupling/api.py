"""The functions that people type: each takes a name, a path, fields or the object itself."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from coupling.calibration.calibrate import calibrate
from coupling.calibration.runs import calibrate_runs
from coupling.errors import ResultError, SnapshotError
from coupling.inputs.experiment import Experiment, require_experiment
from coupling.inputs.experiment_fields import is_frame
from coupling.inputs.fabric import described, is_fabric_file
from coupling.inputs.files import located, read_json
from coupling.inputs.names import Names, names_of
from coupling.inputs.snapshot import Snapshot, read_snapshot
from coupling.replay.replay import replay
from coupling.results.result import Result
from coupling.runs import engine
from coupling.runs.engine import Progress
from coupling.site import ebb as bisecting
from coupling.site import estimate as estimating
from coupling.site import verify as verifying
from coupling.site.ebb import EffectiveBisection
from coupling.site.estimate import Estimate
from coupling.site.flows import Flows, answer_flows
from coupling.site.now import now
from coupling.site.place import place
from coupling.site.verify import Verification
from coupling.site.whatif import whatif
from coupling.sweep.spec import Spec
from coupling.sweep.sweep import Sweep, run_sweep
from fabricsim.checking import choice, path_of, plain, wrong
from fabricsim.checking.errors import FabricsimError, public
from fabricsim.checking.outputs import require_apart
from netsim.common.atomic_write import replace_file
from netsim.formats.importers.graphs import from_networkx, is_graph
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.switches import with_default_switch
from patterns.base import Pattern
from patterns.registry import make_pattern
from scheduler.workload.base import Workload
from scheduler.workload.registry import make_workload
from scheduler.workload.table import from_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FabricsimError",
    "allocators",
    "calibrate",
    "calibrate_runs",
    "ebb",
    "estimate",
    "flows",
    "models",
    "now",
    "pattern",
    "patterns",
    "place",
    "queues",
    "read_log",
    "replay",
    "routing",
    "routings",
    "run",
    "sweep",
    "topologies",
    "topology",
    "verify",
    "whatif",
    "write_report",
]

Moment = Snapshot | Mapping[str, Any] | str | Path


@public
def estimate(
    snapshot: Moment | None = None,
    *,
    blame: bool | None = None,
    **fields: Any,  # noqa: ANN401 (of any field)
) -> Estimate:
    """
    Estimate how much placed jobs slow each other down.

    Parameters
    ----------
    snapshot : Snapshot, mapping, str or Path, optional
        Jobs on a fabric: the object, the fields of a snapshot file, or the file.
    blame : bool, optional
        Whether to attribute lost time to the jobs that cause it; default: all models but
        `packets`, which would simulate once per job.
    **fields
        Without `snapshot`: its fields as keywords, ``topology`` and ``jobs`` among them.

    Returns
    -------
    Estimate
        Times and slowdowns of every job, loads of links, candidates ranked.

    Raises
    ------
    CouplingError
        If a field is unknown, missing or wrong, or does not fit the fabric.

    Examples
    --------
    Two jobs of two nodes, one on each leaf, always communicating. Their flows up from leaf 0
    both go to even nodes, so D-mod-k lets them share one cable.

    >>> pair = {"steps": [[[0, 1, "1 MB"]]], "compute_s": 0}
    >>> scene = {
    ...     "topology": {"kind": "fat-tree", "radix": 4, "levels": 2},
    ...     "jobs": [{"id": "a", "nodes": [0, 2], **pair}, {"id": "b", "nodes": [1, 4], **pair}],
    ... }
    >>> [round(job.interference, 1) for job in estimate(scene).jobs]
    [2.0, 2.0]
    """
    return estimating.estimate(_snapshot_of(snapshot, fields), blame=blame)


@public
def verify(
    snapshot: Moment | None = None,
    *,
    any_routing: bool = False,
    permutation: Sequence[tuple[int, int]] | str | Path | None = None,
    random: int = 100,
    exhaustive: bool = False,
    allow_unknown: bool = False,
    fail: Sequence[str] = (),
    **fields: Any,  # noqa: ANN401 (of any field)
) -> Verification:
    """
    Check that placed jobs are isolated and that their partitions are non-blocking.

    Parameters
    ----------
    snapshot : Snapshot, mapping, str or Path, optional
        Jobs on a fabric: the object, the fields of a snapshot file, or the file.
    any_routing : bool, default False
        Ask about isolation under every minimal routing instead of the one in force.
    permutation : sequence of (int, int), str or Path, optional
        Flows (source, destination), at most one from and to each node, to be routed with one flow a
        link; or a file of them.
    random : int, default 100
        Random permutations to try.
    exhaustive : bool, default False
        Try up to 200,000 leaf-to-leaf flow matrices instead of 2000.
    allow_unknown : bool, default False
        Accept checks that are not decided.
    fail : sequence of str, optional
        Switches, and cables ``A>B``, that fail first: jobs keep their nodes and what works of
        their links, and the routing avoids what has failed.
    **fields
        Without `snapshot`: its fields as keywords, ``topology`` and ``jobs`` among them.

    Returns
    -------
    Verification
        A verdict per job, with certificate or witness.

    Raises
    ------
    CouplingError
        If a field is unknown, missing or wrong, or the permutation does not fit the jobs.

    Notes
    -----
    A job is isolated where none of the links that could carry traffic between any two of its
    nodes, and none that it owns, is such a link of another job.
    """
    return verifying.verify(
        _snapshot_of(snapshot, fields),
        any_routing=any_routing,
        permutation=permutation,
        random=random,
        exhaustive=exhaustive,
        allow_unknown=allow_unknown,
        fail=fail,
    )


@public
def flows(
    what: Mapping[str, Any] | str | Path | None = None,
    **fields: Any,  # noqa: ANN401 (of any field)
) -> Flows:
    """
    Route flows that start together, and share links among them until the last one ends.

    Parameters
    ----------
    what : mapping, str or Path, optional
        Fields of a file of flows (docs/reference/commands), or the file.
    **fields
        The same fields as keywords: ``topology``, ``flows``, a list of (source, destination,
        bytes); optionally ``routing``, ``fairness``, ``seed``.

    Returns
    -------
    Flows
        Routes, rates at the start, finish times, loads of links.

    Raises
    ------
    FabricsimError
        If a field is unknown, missing or wrong.

    Examples
    --------
    >>> found = flows(topology="cab", flows=[(0, 18, "1 MB"), (1, 18, "1 MB")])
    >>> found.to_frame()["rate_bytes_per_s"].tolist()
    [6250000000.0, 6250000000.0]
    """
    if isinstance(what, (str, Path)):
        folder = Path() if str(what) == "-" else Path(what).parent
        return answer_flows({**read_json(Path(what)), **fields}, str(what), folder)
    if not isinstance(what, Mapping | None):
        raise wrong("flows", "the fields of a file of flows, or the file", what, SnapshotError)
    given = plain({**(what or {}), **fields}, "flows", SnapshotError)
    return answer_flows(given, "flows", Path())


@public
def ebb(
    fabric: Any,  # noqa: ANN401 (whatever describes a fabric)
    *,
    routing: Routing | Mapping[str, Any] | str | None = None,
    samples: int = bisecting.SAMPLES,
    seed: int = 1,
) -> EffectiveBisection:
    """
    Return the effective bisection bandwidth: what random pairs of hosts get.

    Parameters
    ----------
    fabric : Topology, str, Path, mapping or networkx.Graph
        The fabric, as for `topology`.
    routing : Routing, str or mapping, optional
        The routing, its name, or a table such as ``{"lft": "dump"}``; default: the usual one.
    samples : int, default 50
        Random pairings of the hosts that take jobs.
    seed : int, default 1
        Random seed of the pairings, and of routings that use one.

    Returns
    -------
    EffectiveBisection
        Bandwidth of pairs, and the most loaded links.

    Raises
    ------
    NetsimError
        If there are fewer than two hosts, a pair has no path, or a value is wrong.

    Examples
    --------
    >>> tree = topology("fat-tree", radix=8)
    >>> round(ebb(tree, routing="ecmp").mean, 1), ebb(tree, routing="adaptive").mean
    (0.4, 1.0)
    """
    return bisecting.effective_bisection(topology(fabric), routing, samples=samples, seed=seed)


@public
def run(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    *changes: str,
    progress: Progress | None = None,
    **fields: Any,  # noqa: ANN401 (of any field)
) -> Result:
    """
    Run one experiment and keep the result in memory.

    Parameters
    ----------
    experiment : Experiment, mapping, str or Path
        The object, its tables (experiment.md), or an experiment file.
    *changes : str
        Fields to set, as the command sets them, e.g. ``"scheduler.allocator=ta"``.
    progress : callable, optional
        Called now and then with what is running, jobs ended and jobs in all.
    **fields
        Fields to set by the names of `Experiment`, e.g. ``allocator="ta"``.

    Returns
    -------
    Result
        Tables and summary. `run_campaign` runs all that an experiment compares and writes it.

    Raises
    ------
    FabricsimError
        If a name, value or file is wrong; nothing has been run then.
    """
    made = _experiment_of(experiment, changes)
    return engine.run(made.replace(**fields) if fields else made, progress)


@public
def sweep(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    varied: Mapping[str, Any] | str | None = None,
    *changes: str,
    out: str | Path | None = None,
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
        default: that of the file. A text is the first of `changes`.
    *changes : str
        Fields to set, as the command sets them, e.g. ``"scheduler.allocator=ta"``.
    out : str or Path, optional
        Directory for the cells; those that are there are not run again. Default: in memory.
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
    FabricsimError
        If a name, value or file is wrong, or cells can never run; nothing has been run then.
    """
    if isinstance(varied, str):
        changes, varied = (varied, *changes), None
    if isinstance(experiment, (str, Path)):
        spec = Spec.read(experiment, changes, varied=varied)
    else:
        if not isinstance(experiment, Mapping):
            require_experiment(experiment)
        spec = Spec.make(experiment, {} if varied is None else varied, changes=changes)
    if out is not None:
        return run_sweep(spec, out, workers=workers, dask=dask, progress=progress)
    with TemporaryDirectory(prefix="fabricsim-sweep-") as desk:
        return run_sweep(spec, desk, workers=workers, dask=dask, progress=progress)


@public
def read_log(
    path: "str | Path | pd.DataFrame",
    *,
    format: str | None = None,  # noqa: A002 (the key of experiment files)
    **filters: Any,  # noqa: ANN401 (of any filter)
) -> Workload:
    """
    Read a job log.

    Parameters
    ----------
    path : str, Path or DataFrame
        The log, or a pandas table with the columns of one (experiment.md).
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
    if is_frame(path):
        return from_frame(path, **filters)
    given = {} if format is None else {"format": format}
    return make_workload({"path": str(path), **given, **filters}, source="read_log")


@public
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
    if isinstance(spec, Path) or (isinstance(spec, str) and is_fabric_file(spec, Path())):
        found, folder = described(str(spec), fields.pop("format", None))
        spec = found if isinstance(found, str) else located(found, folder)
    if isinstance(spec, Mapping):
        return make_topology({**spec, **fields})
    if spec is not None and not fields:
        return make_topology(spec)
    return make_topology(fields if spec is None else {"kind": spec, **fields})


@public
def routing(spec: str | Mapping[str, Any], fabric: Any, *, seed: int = 1) -> Routing:  # noqa: ANN401 (whatever describes a fabric)
    """
    Make a routing for a fabric.

    Parameters
    ----------
    spec : str or mapping
        Key of `netsim.ROUTINGS`, or a table with ``name`` and options.
    fabric : Topology, str, Path, mapping or networkx.Graph
        The fabric, as for `topology`.
    seed : int, default 1
        Random seed, for routings that use one.

    Returns
    -------
    Routing
        The routing.

    Raises
    ------
    RoutingError
        If the name or an option is unknown, or the routing does not fit the fabric.
    """
    return make_routing(spec, topology(fabric), seed)


@public
def pattern(name: str | Mapping[str, Any], **options: Any) -> Pattern:  # noqa: ANN401 (options of any kind)
    """
    Make a communication pattern.

    Parameters
    ----------
    name : str or mapping
        One of `patterns()`, or a table with ``name`` and options.
    **options
        Its options, e.g. ``nbytes=1e6``.

    Returns
    -------
    Pattern
        Messages between ranks, step by step.

    Raises
    ------
    PatternError
        If the name or an option is unknown or wrong.
    """
    return make_pattern({**(name if isinstance(name, Mapping) else {"name": name}), **options})


def _names_function(kind: str, what: str, example: str) -> Callable[[], Names]:
    """Return the function that lists names of a kind."""

    def listed() -> Names:
        return names_of(kind)

    listed.__name__ = listed.__qualname__ = kind
    listed.__doc__ = f"""
    Return the names of {what}.

    Returns
    -------
    dict of str to str
        A line about each; installed plug-ins are among them.

    Examples
    --------
    >>> "{example}" in {kind}()
    True
    """
    return public(listed)


allocators = _names_function("allocators", "allocators: where jobs run", "jigsaw")
queues = _names_function("queues", "queue policies: which jobs start", "easy")
patterns = _names_function("patterns", "communication patterns of jobs", "ring")
topologies = _names_function("topologies", "kinds of fabric and named machines", "torus")
routings = _names_function("routings", "routings: the paths of flows", "d-mod-k")
models = _names_function(
    "models", "contention models: how jobs that share links slow each other down", "packets"
)


def _experiment_of(
    experiment: Experiment | Mapping[str, Any] | str | Path, changes: Sequence[str]
) -> Experiment:
    """Return an experiment, read or made where its file or its tables came, with changes."""
    if isinstance(experiment, (str, Path)):
        return Experiment.read(experiment, changes)
    if isinstance(experiment, Mapping):
        experiment = Experiment.from_tables(experiment, "experiment", Path(), "experiment")
    require_experiment(experiment)
    return experiment.replace(*changes) if changes else experiment


def _snapshot_of(
    snapshot: Moment | None, fields: Mapping[str, Any]
) -> Snapshot | Mapping[str, Any]:
    """Return a snapshot, read where a file came, or its fields."""
    if isinstance(snapshot, (str, Path)):
        snapshot = read_snapshot(snapshot)
    if not fields:
        return {} if snapshot is None else snapshot
    if isinstance(snapshot, Snapshot):
        raise wrong("fields", "none beside a snapshot", sorted(fields), SnapshotError)
    return {**(snapshot or {}), **fields}


@public
def write_report(
    results: Sequence[Result],
    experiment_tables: Mapping[str, Any],
    manifest: Mapping[str, Any],
    path: Path,
    *,
    baseline: str | None = None,
    notes: Sequence[str] = (),
    fabrics: Mapping[str, Topology] | None = None,
) -> None:
    """
    Write a report of one or more runs of an experiment.

    Parameters
    ----------
    results : sequence of Result
        The runs, at least one, each with its own name.
    experiment_tables : mapping
        As from `coupling.inputs.experiment.Experiment.tables`.
    manifest : mapping
        Where the results come from; the only source of dates.
    path : Path
        The HTML file; replaced if it exists.
    baseline : str, optional
        Name of the run to compare with, empty for none; by default as for `find_baseline`.
    notes : sequence of str, optional
        Shown first: what a reader must know about these runs.
    fabrics : mapping of str to Topology, optional
        Fabric of each run, by its name, for maps of its links; without one, the names of the links
        say what they can.

    Raises
    ------
    ResultError
        If there is no run, none of the baseline's name, or the file cannot be written: also where
        it is an input of the runs, or a file of a stored result.

    Notes
    -----
    The file needs no other one and no network. Equal input gives equal bytes.
    """
    from coupling.report.report import report_html  # noqa: PLC0415 (draws; Matplotlib is slow to load)

    if not results:
        raise ResultError(f"{path}: expected at least one run to report, got none.")
    path = path_of("path", path, error=ResultError)
    if baseline:
        choice("baseline", baseline, [result.name for result in results], error=ResultError)
    text = report_html(
        results,
        experiment_tables,
        manifest,
        baseline=baseline,
        notes=notes,
        fabrics=fabrics,
    )
    try:
        require_apart(path, *manifest.get("inputs_sha256", {}))
        replace_file(path, text)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror}.") from error
