"""What can be looked at: the runs of results, each laid out when it is first asked for."""

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coupling.errors import CouplingError, ResultError
from coupling.explorer.bars import Bars, bars_of
from coupling.explorer.panel import Pattern, pattern_of
from coupling.inputs.experiment import Experiment
from coupling.report.plots.layout import wiring_of
from coupling.report.plots.style import palette
from coupling.results.columns import finished
from coupling.results.explained import waits_of
from coupling.results.framed import nodes_used
from coupling.results.over_time import binned
from coupling.results.picture_values import (
    TIMELINE,
    LinkLoads,
    begin_of,
    hosts_of,
    load_of,
    node_names,
    slowdown_scale,
    zone_of,
)
from coupling.results.result import Result
from coupling.runs.assembly import RunInputs
from coupling.runs.given_objects import drawable_fabrics
from coupling.runs.job_history import JobHistories, JobHistory, Use
from coupling.runs.stored import Stored, line_up
from coupling.sweep.plan import CellRunner
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import NetsimError, TopologyError
from netsim.topology.base import Topology
from patterns.errors import PatternError
from scheduler.errors import SchedulerError

_KEPT = 500  # answers


@dataclass(frozen=True, slots=True)
class Failed:
    """What cannot be worked out."""

    why: str  # A line


class Worker:
    """A thread that works out one thing at a time; answers are remembered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[Hashable, Any] = {}
        self._waiting: list[Callable[[], None]] = []
        self._busy = False

    def ask(self, key: Hashable, work: Callable[[], Any], on_ready: Callable[[], None]) -> Any:  # noqa: ANN401
        """Return an answer, or None until `on_ready` is called in the worker's thread."""
        with self._lock:
            if key in self._found:
                return self._found[key]
            self._waiting.append(on_ready)
            if not self._busy:
                self._busy = True
                # A daemon: ending the server does not wait for an answer.
                threading.Thread(target=self._work_off, args=(key, work), daemon=True).start()
            return None

    def _work_off(self, key: Hashable, work: Callable[[], Any]) -> None:
        """Compute a result and notify all that wait."""
        answer: Any = Failed("it could not be worked out.")
        try:
            answer = work()
        except (CouplingError, NetsimError, PatternError, SchedulerError) as error:
            answer = Failed(str(error))
        finally:
            with self._lock:
                self._found[key] = answer
                for old in list(self._found)[:-_KEPT]:
                    del self._found[old]
                waiting, self._waiting, self._busy = self._waiting, [], False
            for on_ready in waiting:
                on_ready()


TITLES: Mapping[str, str] = {
    "utilization": "nodes in use",
    "queued": "jobs waiting",
    "mean_interference": "interference",
    "lost": "node time lost",
}
"""What is shown, from the top."""


def series_of(
    jobs: pd.DataFrame, timeline: pd.DataFrame, n_nodes: int, edges: Floats
) -> dict[str, Floats]:
    """Return the mean of each number of `TITLES` in bins between `edges`; nan where unknown."""
    found = {name: binned(timeline, name, edges) for name in TITLES if name in timeline}
    return found | {"lost": lost_share(jobs, n_nodes, edges)}


def lost_share(jobs: pd.DataFrame, n_nodes: int, edges: Floats) -> Floats:
    """Return the share of node time lost to interference in each bin."""
    # Spread evenly over a run: the job table does not say when a job was held up.
    start, end, lost = (
        jobs[name].to_numpy(dtype=float) for name in ("start_s", "end_s", "interference_delay_s")
    )
    nodes, run = nodes_used(jobs).astype(float), end - start
    rate = np.zeros(run.size)
    np.divide(nodes * lost, run, out=rate, where=run > 0)
    since = _integral_until(start, rate, edges) - _integral_until(end, rate, edges)
    share: Floats = np.diff(since) / (n_nodes * np.diff(edges))
    return np.maximum(share, 0.0)  # rounding


def _integral_until(time_s: Floats, rate: Floats, edges: Floats) -> Floats:
    """Return the integral of rates that all begin at their time, up to each edge."""
    order = np.argsort(time_s, kind="stable")
    time_s, rate = time_s[order], rate[order]
    place = np.searchsorted(time_s, edges)
    sums = np.concatenate([[0.0], np.cumsum(rate)])[place]
    moments = np.concatenate([[0.0], np.cumsum(rate * time_s)])[place]
    total: Floats = sums * edges - moments
    return total


_BINS = 1200  # of the overview
_MOST_USERS = 2000  # jobs whose links are looked at for the users of one
OnReady = Callable[[], None]


@dataclass(frozen=True, eq=False)
class ViewedRun:
    """A run, laid out to be looked at."""

    # name, colour: what it is called and drawn in
    name: str
    colour: str
    result: Result  # Its tables
    jobs: pd.DataFrame  # Jobs that ran
    row: dict[int, int]  # Row of each job by its id
    names: tuple[str, ...]  # Of all nodes
    # node, owner: every node that a job had, and the row of the job, by job
    node: Ints
    owner: Ints
    bars: Bars  # Jobs on nodes over time
    topology: Topology | None  # Its fabric, where it can still be built
    load: LinkLoads  # What its links carried
    link: dict[str, int]  # Row of each link by its name

    @cached_property
    def waits(self) -> pd.DataFrame | None:
        """Return why jobs waited; None where that is not recorded."""
        return waits_of(self.result, self.name) if "waits" in self.result.extras else None

    @cached_property
    def wired(self) -> Topology | None:
        """Return the fabric, or what the names of its links tell; None where it is unknown."""
        found = self.topology or wiring_of(self.result.links)
        fits = found is not None and found.n_links == len(self.result.links)
        return found if fits else None

    def nodes_of(self, row: int) -> Ints:
        """Return the nodes of a job."""
        first, last = np.searchsorted(self.owner, [row, row + 1])
        return self.node[first:last]


@dataclass(slots=True, eq=False)
class RunView:
    """Runs to look at."""

    # title, about: what it is
    title: str
    about: str
    results: dict[str, Result]  # The runs by name
    fabrics: dict[str, Topology]  # Fabrics by name of the run, as far as they can be built
    # What was run and the manifest of its result, by name of the run
    sources: dict[str, tuple[Experiment, Mapping[str, Any]]] = field(default_factory=dict)
    colours: dict[str, str] = field(init=False)
    begin_unix_s: float | None = field(init=False)
    zone: str = field(init=False)
    end_s: float = field(init=False)
    scale: float = field(init=False)
    _runs: dict[str, ViewedRun] = field(init=False, default_factory=dict)
    _series: dict[str, dict[str, Floats]] = field(init=False, default_factory=dict)
    _worker: Worker = field(init=False, default_factory=Worker)
    _lives: dict[str, JobHistories] = field(init=False, default_factory=dict)
    _computed: dict[str, float] = field(init=False, default_factory=dict)
    _inputs: RunInputs = field(init=False, default_factory=RunInputs)

    def __post_init__(self) -> None:
        """Note what all runs share."""
        runs = list(self.results.values())
        if not runs:
            return
        self.colours = palette(list(self.results))
        self.begin_unix_s, self.zone = begin_of(runs), zone_of(runs)
        ends = [float(_jobs_that_ran(run.jobs)["end_s"].max()) for run in runs]
        self.end_s = max((end for end in ends if end > 0), default=1.0)
        self.scale = slowdown_scale(runs)

    @property
    def edges(self) -> Floats:
        """Return the bounds of the bins of the overview."""
        edges: Floats = np.linspace(0.0, self.end_s, _BINS + 1)
        return edges

    @property
    def names(self) -> list[str]:
        """Return what can be chosen."""
        return list(self.results)

    def overview(self, names: Sequence[str]) -> Sequence[str]:
        """Return the runs whose numbers are drawn when some are looked at: all."""
        del names
        return self.names

    def ready(self, names: Sequence[str], on_ready: OnReady) -> str:
        """Return what has to be awaited before runs can be shown; then `on_ready` is called."""
        del names, on_ready
        return ""

    def prepare(self) -> None:
        """Lay out what a page shows first, so that none waits for it."""
        self.run(next(iter(self.results)))
        for name in self.results:
            self.series(name)

    def run(self, name: str) -> ViewedRun:
        """Return a run laid out."""
        if name not in self._runs:
            self._runs[name] = _laid_out(
                name, self.colours[name], self.results[name], self.fabrics.get(name)
            )
        return self._runs[name]

    def series(self, name: str) -> dict[str, Floats]:
        """Return the numbers of a run over time, in the bins of `edges`."""
        if name not in self._series:
            result = self.results[name]
            nodes = int(result.summary.get("nodes") or 1)
            self._series[name] = series_of(
                _jobs_that_ran(result.jobs), result.timeline, nodes, self.edges
            )
        return self._series[name]

    def life(self, name: str, job: int, on_ready: OnReady) -> JobHistory | Failed | None:
        """Return the history of a job; None until `on_ready` is called, from another thread."""
        found: JobHistory | Failed | None = self._worker.ask(
            ("life", name, job), lambda: self._lives_of(name).life(job), on_ready
        )
        return found

    def flows(self, name: str, job: int, on_ready: OnReady) -> Pattern | str | Failed | None:
        """Return the traffic between a job's ranks, a text where there is none; None: not known."""

        def work() -> Pattern | str:
            found = self._lives_of(name).flows(job)
            return "It sends nothing." if found is None else pattern_of(*found) or ""

        found: Pattern | str | Failed | None = self._worker.ask(
            ("flows", name, job), work, on_ready
        )
        return found

    def users(
        self, name: str, link: int, window: tuple[float, float], on_ready: OnReady
    ) -> list[Use] | Failed | None:
        """Return the jobs that used a link in a time; None: not known yet."""

        def work() -> list[Use] | Failed:
            found = self._lives_of(name).users(link, *window, _MOST_USERS)
            if found is None:
                return Failed(
                    f"More than {_MOST_USERS:,} jobs ran in this time: zoom in, or choose a moment."
                )
            return found

        found: list[Use] | Failed | None = self._worker.ask(
            ("users", name, link, window), work, on_ready
        )
        return found

    def load_over_time(self, name: str, on_ready: OnReady) -> str:
        """Compute link loads over time that a run lacks; return what is awaited, or why not."""
        run = self.run(name)
        if not run.load.why_not or TIMELINE in run.result.extras:
            return run.load.why_not
        work = partial(self._rerun_timeline, name, on_ready)
        found = self._worker.ask(("load", name), work, on_ready)
        if found is None:
            done = (
                f": {self._computed[name]:.0%}"
                if name in self._computed
                else self._time_taken(name)
            )
            return f"Load over time is being computed{done}."
        if isinstance(found, Failed):
            return f"Load over time cannot be computed: {found.why}"
        self._runs[name] = replace(run, load=load_of(run.result.links, found))
        return self._runs[name].load.why_not

    def how_to_load(self, name: str) -> str:
        """Say how to see the load over time; empty where it is drawn, or cannot be."""
        run = self.run(name)
        if not run.load.why_not or TIMELINE in run.result.extras or name not in self.sources:
            return run.load.why_not
        return (
            "Load over time was not recorded: play, or choose a moment, to compute it"
            f"{self._time_taken(name)}."
        )

    def _time_taken(self, name: str) -> str:
        """Say how long a run took."""
        cpu_s = float(self.results[name].cost.get("cpu_coupled_s") or 0.0)
        return f" (the run took {cpu_s:.2g} s)" if cpu_s else ""

    def _rerun_timeline(self, name: str, on_progress: OnReady) -> pd.DataFrame:
        """
        Run again with links over time, and see that it is the same run.

        `on_progress`: called every second.
        """
        since_s = time.monotonic()

        def progress(_what: str, done: int, jobs: int) -> None:
            nonlocal since_s
            if time.monotonic() - since_s >= 1.0:
                since_s, self._computed[name] = time.monotonic(), done / jobs
                on_progress()

        self._lives_of(name)  # refuses files that changed
        experiment = replace(self.sources[name][0], links_timeline=True, self_check=False)
        again, before = CellRunner().run(experiment, progress), self.results[name]
        times = ["start_s", "end_s"]
        if not np.array_equal(again.jobs[times], before.jobs[times], equal_nan=True):
            raise ResultError("run again, its jobs have other times: versions have changed.")
        if TIMELINE not in again.extras:
            raise ResultError("no job used the network.")
        return again.extras[TIMELINE]

    def _lives_of(self, name: str) -> JobHistories:
        """Return the network of a run, built again once."""
        if name not in self._lives:
            if name not in self.sources:
                raise ResultError("the run cannot be made again: its experiment is not known.")
            experiment, manifest = self.sources[name]
            self._lives[name] = JobHistories(experiment, manifest, self.results[name], self._inputs)
        return self._lives[name]


def exhibit_of(folders: Sequence[Path]) -> RunView:
    """Open result directories."""
    stored = [Stored.open(folder) for folder in folders]
    lineup = line_up(stored)
    each = iter(lineup.results)
    fabrics = drawable_fabrics(
        (campaign.experiment, list(islice(each, len(campaign.places)))) for campaign in stored
    )
    about = stored[0].manifest
    variants = [
        (variant, campaign.manifest)
        for campaign in stored
        for variant in campaign.experiment.variants()
    ]
    if all(_jobs_that_ran(result.jobs).empty for result in lineup.results):
        raise ResultError(f"{folders[0]}: expected a job that ran, found none to look at.")
    return RunView(
        title=" and ".join(str(campaign.manifest["name"]) for campaign in stored),
        about=f"{about['fabric']}, {about['jobs']:,} jobs",
        results={result.name: result for result in lineup.results},
        fabrics=fabrics,
        sources=dict(zip((result.name for result in lineup.results), variants, strict=True)),
    )


def _jobs_that_ran(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs that ran, with numbers for all that is drawn."""
    jobs = finished(jobs)
    drawn = jobs[["start_s", "end_s", "network_slowdown", "interference_delay_s"]].to_numpy(
        dtype=float
    )
    there: pd.DataFrame = jobs.loc[np.isfinite(drawn).all(axis=1)].reset_index(drop=True)
    return there


def _laid_out(name: str, colour: str, result: Result, topology: Topology | None) -> ViewedRun:
    """Lay out a run."""
    jobs = _jobs_that_ran(result.jobs)
    names = tuple(node_names(result, topology))
    try:
        owner, node = hosts_of(jobs["nodes"], names)
    except TopologyError as error:
        raise CouplingError(f"{name}: jobs.parquet: nodes: {error}") from None
    start, end = (jobs[column].to_numpy(dtype=float) for column in ("start_s", "end_s"))
    return ViewedRun(
        name=name,
        colour=colour,
        result=result,
        jobs=jobs,
        row={int(job): row for row, job in enumerate(jobs["id"].tolist())},
        names=names,
        node=node,
        owner=owner,
        bars=bars_of(owner, node, len(names), start, end),
        topology=topology,
        load=load_of(result.links, result.extras.get(TIMELINE)),
        link={str(link): row for row, link in enumerate(result.links["link"].tolist())},
    )
