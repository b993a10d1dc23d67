"""Replay: a record as it was; freed from a time on; and with something changed from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.errors import ExperimentError, ResultError, SnapshotError
from coupling.inputs.experiment import Experiment, set_field
from coupling.inputs.fabric import described, left_open, with_names
from coupling.inputs.record import NO_ZONE
from coupling.replay.answers import Bias, Gain, QueueFit, Replay, Waits, gains
from coupling.results.result import Result
from coupling.results.summary import size_class
from coupling.runs.assembly import RunInputs, RunParts, assemble
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import Progress, run_parts, schedule_alone, with_reference_runtimes
from coupling.runs.result_directory import claimed, holds_results
from coupling.runs.setup import check_parts
from coupling.site.site import NO_PROFILE
from coupling.stopping import require_callable, shielded
from fabricsim.checking import flag, path_of, whole, wrong
from fabricsim.checking.errors import public
from netsim.common.arrays import Floats
from netsim.common.errors import NetsimError
from netsim.registries.routings import usual_routing
from netsim.topology.base import Topology
from netsim.topology.switches import assumptions_of
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import SchedulerError
from scheduler.job import Job
from scheduler.workload.match import name_of

if TYPE_CHECKING:
    pass
WINDOWS = (0, 10, 50, 200)
ESTIMATES = ("requested", "runtime")
SWITCHES = ("1@5", "1@60")
"""Limits that are tried: one leaf switch for 5 minutes, and for an hour."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
LEAST_S = 60.0
"""Waits are compared by their ratio from about here on: below, a minute counts little."""
Tried = Callable[[int, int], None]
RECORDED, FREED, THEN = "recorded", "freed", "then"
"""Folders of the results of a replay that frees the queue."""
MOST_SEEDS = 1_000
_MAY_CHANGE = ("scheduler.", "network.")
_USUAL = "slurm-best-fit"


def free_jobs(parts: RunParts) -> list[Job]:
    """Return the jobs that a freed queue starts."""
    record = parts.record
    if record is None:
        return []
    pins = record.pins
    return [job for job in parts.workload.jobs if pins[job.id].start_s >= parts.free_from_s]


def fit_queue(
    experiment: Experiment, parts: RunParts, fixed: frozenset[str], tried: Tried | None = None
) -> Waits:
    """Find the queue settings under which simulated waits come nearest to recorded ones."""
    # One setting after the other is chosen, the best of those before taken. Run times are as
    # recorded, so that the network counts as it was.
    jobs = free_jobs(parts)
    recorded = _recorded_waits(parts, jobs)
    found: dict[tuple[object, ...], tuple[float, Floats]] = {}
    best, order = _own_settings(experiment, parts), list[QueueFit]()
    steps = list(_setting_choices(fixed))
    total = 1 + sum(len(values) for _, values in steps)

    def look(fit: QueueFit) -> QueueFit:
        key = fit.window, fit.estimates, fit.switches
        if key not in found:
            waits = _simulated_waits(with_queue(experiment, fit), parts, jobs)
            found[key] = _wait_error(recorded, waits), waits
            order.append(replace(fit, error=found[key][0]))
            if tried is not None:
                tried(len(order), total)
        return replace(fit, error=found[key][0])

    best = look(best)
    for name, values in steps:
        others = [look(replace(best, **{name: value})) for value in values]
        best = min([best, *others], key=lambda fit: fit.error)
    simulated = found[best.window, best.estimates, best.switches][1]
    return Waits(
        len(jobs),
        best,
        tuple(order),
        {
            share: (float(np.quantile(recorded, share)), float(np.quantile(simulated, share)))
            for share in QUANTILES
        },
        (float(recorded.mean()), float(simulated.mean())),
        tuple(_mean_biases(jobs, recorded, simulated)),
    )


def with_queue(experiment: Experiment, fit: QueueFit) -> Experiment:
    """Return an experiment with settings of the queue."""
    options = dict(experiment.queue_options)
    if fit.switches is not None:
        options["switches"] = fit.switches
    return replace(experiment, window=fit.window, estimates=fit.estimates, queue_options=options)


def _own_settings(experiment: Experiment, parts: RunParts) -> QueueFit:
    """Return the settings that an experiment has."""
    switches = experiment.queue_options.get("switches")
    own = None if switches is None else str(switches)
    return QueueFit(experiment.window, experiment.estimates or parts.estimates, own, 0.0)


def _setting_choices(fixed: frozenset[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield what is tried of each setting."""
    for name, values in (("estimates", ESTIMATES), ("window", WINDOWS), ("switches", SWITCHES)):
        if name not in fixed:
            yield name, values


def _recorded_waits(parts: RunParts, jobs: Sequence[Job]) -> Floats:
    """Return recorded waits."""
    record = parts.record
    assert record is not None  # noqa: S101 (for the type)
    return np.array([record.pins[job.id].start_s - record.submit_s[job.id] for job in jobs])


def _simulated_waits(experiment: Experiment, parts: RunParts, jobs: Sequence[Job]) -> Floats:
    """Return the waits of a freed queue, every run time as recorded."""
    estimates = experiment.estimates or parts.estimates
    schedule = schedule_alone(experiment, replace(parts, estimates=estimates))
    start_s: Mapping[int, float] = {own.job.id: own.start_s for own in schedule.records}
    submit_s = {} if parts.record is None else parts.record.submit_s
    return np.array([start_s[job.id] - submit_s[job.id] for job in jobs])


def _wait_error(recorded: Floats, simulated: Floats) -> float:
    """Return how far waits are from recorded ones."""
    return float(np.abs(np.log((simulated + LEAST_S) / (recorded + LEAST_S))).mean())


def _mean_biases(jobs: Sequence[Job], recorded: Floats, simulated: Floats) -> Iterator[Bias]:
    """Yield mean waits by size class and by partition."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    sizes = size_class(pd.Series([job.n_nodes for job in jobs])).astype(str).to_numpy()
    partitions = np.array([name_of(job, "queue") or "-" for job in jobs])
    for of, groups in (("size", sizes), ("partition", partitions)):
        for group in dict.fromkeys(sorted(groups.tolist(), key=_by_number)):
            here = groups == group
            means = float(recorded[here].mean()), float(simulated[here].mean())
            yield Bias(of, group, int(here.sum()), *means)


def _by_number(group: str) -> tuple[int, str]:
    """Sort size classes by their first number, names by letters."""
    first = group.partition("-")[0].rstrip("+")
    return (int(first), "") if first.isdecimal() else (0, group)


@public
def replay(
    log: Path | str,
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    *,
    free_from: str | None = None,
    then: Sequence[str] = (),
    changes: Sequence[str] = (),
    out: Path | str | None = None,
    name_map: Path | str | None = None,
    host_pattern: str | None = None,
    profile: Any = None,  # noqa: ANN401 (a file or its tables)
    unknown: str = "skip",
    timezone: str | None = None,
    seeds: int = 5,
    seed: int = 1,
    fit: bool = True,
    resume: bool = False,
    progress: Progress | None = None,
) -> Replay:
    """
    Replay what ran on a machine, and what might have run.

    Parameters
    ----------
    log : Path or str
        Output of ``sacct -X -P``, or of ``squeue --json``, with node lists.
    topology : str, Path, mapping or Topology
        The fabric: ``topology.conf``, output of ``ibnetdiscover``, or whatever else describes one.
    free_from : str, optional
        From this time on, on the clock of the record, the queue is free.
    then : sequence of str, optional
        What is otherwise from then on: ``scheduler.allocator=jigsaw``, any field of ``[scheduler]``
        or ``[network]``.
    changes : sequence of str, optional
        Fields for all runs, such as ``scheduler.window=20`` or ``network.model=fluid``; what
        is given here is not fitted.
    out : Path or str, optional
        Where to write results: new or empty. Default: in memory only.
    name_map : Path or str, optional
        Better names for GUIDs of an InfiniBand fabric.
    host_pattern : str, optional
        Regular expression for the host in the name of an adapter; its first group if it has one.
    profile : Path, str or mapping, optional
        How jobs communicate; by default five patterns with equal chance.
    unknown : {"skip", "stop"}
        Whether jobs go on without hosts that the fabric has not, or such a host is an error.
    timezone : str, optional
        IANA name of the zone of times without an offset.
    seeds : int, default 5
        How often communication is drawn, for the intervals of gains.
    seed : int, default 1
        The first of them.
    fit : bool, default True
        Look for the settings of the queue that fit the record best.
    resume : bool, default False
        Go on with a replay that was killed, in `out`: results that are there and belong
        to the same inputs are kept.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.

    Returns
    -------
    Replay
        Results, waits recorded and simulated, gains with intervals.

    Raises
    ------
    FabricsimError
        If a file or option is wrong; nothing has been written then.
    """
    require_callable(progress)
    whole("seeds", seeds, 1, MOST_SEEDS, error=SnapshotError)
    whole("seed", seed, 0, error=SnapshotError)
    flag("resume", resume, error=SnapshotError)
    place = None if out is None else path_of("out", out, error=SnapshotError)
    if resume and place is None:
        raise SnapshotError("resume: expected out, a directory to go on with, it is missing.")
    if then and free_from is None:
        raise SnapshotError("--then: expected --free-from beside it, it is missing.")
    spec, begin, assumed = _fabric_table(topology, name_map, host_pattern)
    if profile is None:
        assumed = (*assumed, NO_PROFILE)
    tables = _record_tables(log, spec, (unknown, timezone), profile, seed)
    for change in changes:
        _require_setting(change, "--set")
        set_field(tables, change)
    work = _Work(begin, place, progress, resume=resume)
    base = work.experiment(tables)
    parts = assemble(base, work.inputs)
    if free_from is None:
        recorded = work.run(base, parts, "")
        return _fixed_answer(recorded, parts, assumed, place)
    if "allocator" not in tables.get("scheduler", {}):
        tables.setdefault("scheduler", {})["allocator"] = _usual_allocator(parts.topology)
    freed = work.experiment({**tables, "replay": {**tables["replay"], "free_from": free_from}})
    parts = assemble(freed, work.inputs)
    other = _changed_experiment(work, freed, then, parts.topology)
    for each in (freed, other):
        check_parts(each, parts)
    with work.claimed(changed=bool(then)):
        waits = _fit_settings(freed, parts, changes, progress) if fit else None
        if waits is not None:
            freed, other = with_queue(freed, waits.best), _with_queue_of(other, waits, then)
        recorded = work.run(base, assemble(base, work.inputs), RECORDED)
        runs = work.both(freed, other if then else None, seeds)
    gained: tuple[Gain, ...] = ()
    if then:
        gained = tuple(gains(runs[0], runs[1], [job.id for job in free_jobs(parts)]))
    answer = _fixed_answer(recorded, parts, assumed, place)
    return replace(
        answer,
        freed=runs[0][0],
        then=runs[1][0] if then else None,
        free_from=free_from,
        changes=tuple(then),
        waits=waits,
        gains=gained,
        seeds=seeds,
    )


def _record_tables(
    log: Path | str,
    spec: object,
    reading: tuple[str, str | None],
    profile: object,
    seed: int,
) -> dict[str, Any]:
    """Return the tables of a record as it was. `reading`: unknown hosts, and the time zone."""
    if str(log) == "-":
        raise SnapshotError("-: expected a file, which is read several times, got standard input.")
    unknown, timezone = reading
    tables: dict[str, Any] = {
        "topology": spec,
        "workload": {"path": str(Path(log).absolute())},
        "replay": {"unknown": unknown} | ({} if timezone is None else {"timezone": timezone}),
        "run": {"seed": seed, "self_check": False},
    }
    if profile is not None:
        tables["communication"] = _profile_table(profile)
    return tables


class _Work:
    """Runs experiments, in memory or into folders, and keeps what they have in common."""

    def __init__(
        self, begin: Path, folder: Path | None, progress: Progress | None, *, resume: bool
    ) -> None:
        self.inputs = RunInputs()
        self._begin, self._folder, self._progress = begin, folder, progress
        self._resume = resume

    def experiment(self, tables: Mapping[str, Any]) -> Experiment:
        """Make an experiment of its tables."""
        return Experiment.from_tables(tables, "replay", self._begin, "replay")

    @contextmanager
    def claimed(self, *, changed: bool) -> Iterator[None]:
        """Keep others out of the folder of several runs; refuse one that holds other results."""
        if self._folder is None:
            yield
            return
        with claimed(self._folder):
            holds_results(self._folder, RECORDED, resume=self._resume)
            if (self._folder / THEN).exists() and not changed:
                raise ResultError(
                    f"{self._folder}: holds a result {THEN}, for which --then is missing; "
                    "choose another directory with --out."
                )
            yield

    def run(self, experiment: Experiment, parts: RunParts, name: str) -> Result:
        """Run an experiment once, and write it where there is a folder."""
        if self._folder is not None:
            place = self._folder / name if name else self._folder
            resume = self._resume and place.exists()
            return run_campaign(experiment, place, resume=resume, progress=self._progress).results[
                0
            ]
        return self._in_memory(experiment, parts)

    def both(
        self, freed: Experiment, then: Experiment | None, seeds: int
    ) -> tuple[list[Result], list[Result]]:
        """Run what is free, and what is otherwise, with some seeds; the first is written."""
        found: tuple[list[Result], list[Result]] = [], []
        for more in range(seeds if then is not None else 1):
            one = replace(freed, seed=freed.seed + more)
            parts = assemble(one, self.inputs)
            if self._folder is not None and not more:
                found[0].append(self.run(one, parts, FREED))
                if then is not None:
                    found[1].append(self.run(then, parts, THEN))
                continue
            with shielded(self._progress) as report:
                done = with_reference_runtimes(one, parts, report)
            found[0].append(self._in_memory(one, done))
            if then is not None:
                other = replace(then, seed=then.seed + more)
                found[1].append(
                    self._in_memory(
                        other, replace(done, estimates=other.estimates or done.estimates)
                    )
                )
        return found

    def _in_memory(self, experiment: Experiment, parts: RunParts) -> Result:
        """Run an experiment whose reference run times are known."""
        with shielded(self._progress) as report:
            return run_parts(experiment, parts, report)


def _fabric_table(
    topology: object, name_map: Path | str | None, host_pattern: str | None
) -> tuple[Any, Path, tuple[str, ...]]:
    """Return the description of a fabric, where its paths begin, and what it leaves open."""
    if isinstance(topology, (Topology, Mapping)):
        spec, begin = topology, Path()
    elif isinstance(topology, (str, Path)):
        spec, begin = described(str(topology), None)
    else:
        raise wrong("topology", "a file, a machine or a Topology", topology, SnapshotError)
    spec = with_names(spec, name_map, host_pattern, f"{topology!s:.80}")
    return spec, begin.absolute(), left_open(spec)


def _profile_table(profile: object) -> dict[str, Any]:
    """Return the table of a profile."""
    if isinstance(profile, Mapping):
        return dict(profile)
    if isinstance(profile, (str, Path)):
        return {"profile": str(Path(profile).absolute())}
    raise wrong("profile", "a file or its tables", profile, SnapshotError)


def _require_setting(change: str, option: str) -> None:
    """Refuse what is no setting of scheduler or network: others would make it another record."""
    key = change.partition("=")[0].strip()
    if not key.startswith(_MAY_CHANGE) and key != "workload.estimates":
        raise ExperimentError(
            f"{option} {change}: expected a field of [scheduler] or [network], or "
            "workload.estimates."
        )


def _usual_allocator(topology: Topology) -> str:
    """Return the allocator that most sites have: Slurm's, where it knows the fabric."""
    try:
        probe = Job(0, 0.0, 1, 1.0, 1.0)
        make_allocator(_USUAL, {}, 1).allocate(probe, Cluster(topology))
    except (SchedulerError, NetsimError):
        return "first-free"
    return _USUAL


def _changed_experiment(
    work: _Work, freed: Experiment, then: Sequence[str], fabric: Topology
) -> Experiment:
    """Return an experiment with fields changed; what jobs did is what they did without that."""
    tables = freed.tables()
    tables["run"].pop("seeds", None)
    for change in then:
        _require_setting(change, "--then")
        set_field(tables, change)
    named = {change.partition("=")[0].strip() for change in then}
    if "scheduler.allocator" in named and not any(
        "scheduler.allocator_options" in name for name in named
    ):
        tables["scheduler"].pop("allocator_options", None)  # they are the other allocator's
    if any(name.startswith("network.routing") for name in named):
        was = freed.routing or usual_routing(fabric, owned=True)
        tables["replay"] = {**tables["replay"], "routing": was}
    return work.experiment(tables)


def _fit_settings(
    freed: Experiment, parts: RunParts, changes: Sequence[str], progress: Progress | None
) -> Waits:
    """Look for the settings of the queue that are not given."""
    given = {change.partition("=")[0].strip().removeprefix("scheduler.") for change in changes}
    fixed = {name.removeprefix("workload.").removeprefix("queue_options.") for name in given}
    with shielded(progress) as report:
        return fit_queue(
            freed, parts, frozenset(fixed), lambda done, of: report("queue settings", done, of)
        )


def _with_queue_of(other: Experiment, waits: Waits, then: Sequence[str]) -> Experiment:
    """Return an experiment with the fitted settings of the queue that it does not change."""
    named = {change.partition("=")[0].strip() for change in then}
    fitted = with_queue(other, waits.best)
    return replace(
        fitted,
        window=other.window if "scheduler.window" in named else fitted.window,
        estimates=other.estimates if "workload.estimates" in named else fitted.estimates,
        queue_options=other.queue_options
        if any(name.startswith("scheduler.queue_options") for name in named)
        else fitted.queue_options,
    )


def _fixed_answer(
    recorded: Result, parts: RunParts, assumed: tuple[str, ...], folder: Path | None
) -> Replay:
    """Return the answer about a record that nothing frees."""
    record = parts.record
    counts = {} if record is None else record.counts
    if record is not None and not record.zone:
        assumed = (*assumed, NO_ZONE)
    return Replay(
        recorded,
        None,
        None,
        "",
        (),
        None,
        (),
        1,
        counts,
        (*assumed, *assumptions_of(parts.topology)),
        folder,
    )
