"""Run experiments: assemble, simulate, tabulate."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from operator import attrgetter
from typing import Any

import numpy as np

from coupling.errors import ExperimentError
from coupling.inputs.experiment import Experiment, require_experiment
from coupling.rates.base import SimulationRates
from coupling.rates.hop_ledger import HopLedger
from coupling.rates.ledgers import BlameLedger, LinkLedger, NetworkLedger
from coupling.rates.link_timeline import LinkTimeline
from coupling.rates.network import NetworkRateModel
from coupling.rates.wait_ledger import WaitLedger
from coupling.results.framed import LazyTables, Table
from coupling.results.from_schedule import (
    STAY_DOWN,
    blame_table,
    event_table,
    failure_table,
    failures_in_all,
    link_table,
    link_time_table,
    partition_table,
    time_table,
    wait_table,
    waiting_by_reason,
    without_unfinished,
)
from coupling.results.job_table import as_recorded, job_table
from coupling.results.result import Result
from coupling.results.summary import network_volume, summarize, times_of_queue
from coupling.runs.assembly import RunParts, assemble
from coupling.runs.setup import Setup, baseline_slowdowns, check_parts
from coupling.stopping import few_collections, require_callable
from fabricsim.checking.documents import json_fields
from netsim.registries.accuracy import setting_of
from netsim.registries.routings import limits_of
from netsim.topology.base import Topology
from netsim.topology.multipath import spread_over_links
from netsim.topology.switches import assumed_fabric, assumed_switch
from scheduler.allocators.base import Allocator, Bounded
from scheduler.cluster import Cluster
from scheduler.events import MachineEvents
from scheduler.observer import Observer
from scheduler.rates import UncoupledRateModel
from scheduler.simulator import Schedule, simulate
from scheduler.traffic import dominant_class

Progress = Callable[[str, int, int], None]
"""Called with what is running, jobs ended and jobs in all."""

_REFERENCE = "reference run times"
_UNCOUPLED_SHARE = 0.1  # of the time of a run with a network: 0.08 to 0.18


def run(experiment: Experiment, progress: Progress | None = None) -> Result:
    """Run one experiment; its `compare` is not looked at."""
    require_experiment(experiment)
    require_callable(progress)
    parts = assemble(experiment)
    check_parts(experiment, parts)
    return run_parts(experiment, with_reference_runtimes(experiment, parts, progress), progress)


def run_parts(experiment: Experiment, parts: RunParts, progress: Progress | None = None) -> Result:
    """Run one experiment whose workload and fabric are built already."""
    setup = Setup.of(experiment, parts)
    with few_collections():
        coupled = _run_coupled(setup, progress)
        alone = _run_uncoupled(setup, progress) if _is_checked(experiment) else None
    return _result_tables(setup, coupled, alone)


def planned(experiment: Experiment) -> dict[str, float]:
    """
    Return how long the simulations of an experiment take beside each other, about.

    Keys: the names by which progress reports them, in their order.
    """
    replayed = experiment.replay is not None and "free_from" in experiment.replay
    with_reference = experiment.runtime_means == "baseline" and experiment.model != "assumed"
    found = {_REFERENCE: 1.0} if replayed or with_reference else {}
    for variant in experiment.variants():
        coupled, *uncoupled = phases(variant)
        found |= {coupled: 1.0} | dict.fromkeys(uncoupled, _UNCOUPLED_SHARE)
    return found


def phases(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the simulations of `run_parts` in their order."""
    both = (experiment.label, f"{experiment.label}, infinite network")
    return both if _is_checked(experiment) else both[:1]


def _is_checked(experiment: Experiment) -> bool:
    """Say whether the schedule is run on an infinite network as well; model `null` is that run."""
    return experiment.self_check and experiment.model != "null"


def with_reference_runtimes(
    experiment: Experiment, parts: RunParts, progress: Progress | None = None
) -> RunParts:
    """Turn the log's run times into reference run times."""
    # isolated, alone: unchanged. baseline: divided by the mean slowdown in one pass under Baseline
    # (first-free, D-mod-k), which is not iterated; the model `assumed` needs no pass.
    if parts.record is not None:
        return _recorded_work(experiment, parts, progress) if parts.free_from_s < inf else parts
    if experiment.runtime_means != "baseline":
        return parts
    factor = baseline_slowdowns(experiment, parts)
    if factor is None:
        factor = _simulated_slowdowns(experiment, parts, progress)
    jobs = tuple(
        job.at_runtime(job.runtime_s / factor.get(job.id, 1.0))  # 1: it never came
        for job in parts.workload.jobs
    )
    return replace(parts, workload=replace(parts.workload, jobs=jobs))


def _recorded_work(experiment: Experiment, parts: RunParts, progress: Progress | None) -> RunParts:
    """Take as reference run times what jobs did, under the interference that they had."""
    routing = (experiment.replay or {}).get("routing")
    as_it_was = experiment if routing is None else replace(experiment, routing=routing)
    setup = Setup.of(as_it_was, parts)
    allocator = setup.allocator()
    played = parts.cluster(), allocator, setup.rates.begin(allocator)
    watchers = _progress_observers(setup, _REFERENCE, progress)
    did = _work_by_job(_simulate_workload(setup, played, watchers, free_from_s=inf))
    jobs = tuple(replace(job, runtime_s=did[job.id]) for job in parts.workload.jobs)
    return replace(parts, workload=replace(parts.workload, jobs=jobs))


def _work_by_job(schedule: Schedule) -> dict[int, float]:
    """Return by job id what jobs did, in seconds at full rate."""
    return {record.job.id: record.work_s for record in schedule.records}


def _simulated_slowdowns(
    experiment: Experiment, parts: RunParts, progress: Progress | None
) -> Mapping[int, float]:
    """Return by job id the mean slowdown under Baseline, run times read as isolated ones."""
    baseline = replace(experiment, allocator="first-free", allocator_options={}, routing=None)
    setup = Setup.of(baseline, parts)
    allocator = setup.allocator()
    ordinary = _simulate_workload(
        setup,
        (parts.cluster(), allocator, setup.rates.begin(allocator)),
        _progress_observers(setup, _REFERENCE, progress),
    )
    return {
        record.job.id: record.interference * record.placement_factor for record in ordinary.records
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Coupled:
    """A schedule, what the links carried, which job delayed which, what it cost, and remarks."""

    schedule: Schedule
    links: LinkLedger | None  # None: jobs were not routed
    blame: BlameLedger
    cpu_s: float
    deciding_s: float
    remarks: Mapping[str, Any]
    over_time: LinkTimeline | None
    waits: WaitLedger
    cost_of_job: Mapping[int, float] | None  # of communication
    events: MachineEvents | None  # what has happened to the machine


@dataclass(frozen=True, slots=True, eq=False)
class _Uncoupled:
    """What a schedule without the network came to, and its CPU time."""

    summary: Mapping[str, Any]
    cpu_s: float


class _ProgressObserver(Observer):
    """Reports how far a simulation is."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total = progress, what, total

    def on_instant(self, n_ended: int, now_s: float) -> None:
        """Report how many jobs have ended."""
        del now_s
        self._progress(self._what, n_ended, self._total)


def _progress_observers(setup: Setup, what: str, progress: Progress | None) -> list[Observer]:
    """Return the observer that reports progress, where it is wanted; time counts from now."""
    total = len(setup.parts.workload.jobs)
    if progress is None or not total:
        return []
    progress(what, 0, total)
    return [_ProgressObserver(progress, what, total)]


def _run_coupled(setup: Setup, progress: Progress | None) -> _Coupled:
    """Simulate with the network, and watch it."""
    topology = setup.parts.topology
    cluster, allocator = setup.parts.cluster(), setup.allocator()
    pacing = setup.rates.begin(allocator)
    stopwatch, watchers = Stopwatch(), list[Observer]()
    costs = ledger = over_time = None
    if pacing.network is not None or setup.rates.placement_costs:
        costs = HopLedger(cluster)
        watchers.append(costs)
    if pacing.network is not None:
        ledger = NetworkLedger(pacing.network, attribution=setup.experiment.attribution)
        watchers.append(ledger)
        if setup.experiment.links_timeline:
            over_time = LinkTimeline(pacing.network)
            watchers.append(over_time)
    waits = WaitLedger()
    watchers += [
        waits,
        stopwatch,
        *_progress_observers(setup, phases(setup.experiment)[0], progress),
    ]
    begin_s = time.process_time()
    events = None if setup.parts.events is None else setup.parts.events.begin()
    schedule = _simulate_workload(setup, (cluster, allocator, pacing), watchers, events=events)
    cost_of_job = None if costs is None else costs.costs()
    if pacing.network is not None and ledger is not None:
        ledger.links.nbytes = spread_over_links(pacing.network.topology, ledger.links.nbytes)
    return _Coupled(
        schedule,
        None if ledger is None else ledger.links,
        BlameLedger(topology) if ledger is None else ledger.blame,
        time.process_time() - begin_s,
        stopwatch.cpu_s,
        _result_remarks(setup, pacing.network, allocator),
        over_time,
        waits,
        cost_of_job,
        events,
    )


def schedule_alone(experiment: Experiment, parts: RunParts) -> Schedule:
    """Simulate the queue alone: every job runs as long as its workload says."""
    setup = Setup.of(experiment, parts)
    played = parts.cluster(), setup.allocator(), SimulationRates(UncoupledRateModel())
    return _simulate_workload(setup, played, [])


def _run_uncoupled(setup: Setup, progress: Progress | None) -> _Uncoupled:
    """Simulate the same jobs on an infinite network."""
    begin_s = time.process_time()
    jobs, name = setup.parts.workload.jobs, phases(setup.experiment)[1]
    cluster, rates = setup.parts.cluster(), SimulationRates(UncoupledRateModel())
    played = cluster, setup.uncoupled_allocator(), rates
    events = None if setup.parts.events is None else setup.parts.events.begin()
    done = _simulate_workload(
        setup, played, _progress_observers(setup, name, progress), events=events
    )
    cpu_s = time.process_time() - begin_s
    by_id = {record.job.id: record for record in done.records}
    jobs = tuple(job for job in jobs if job.id in by_id)
    if not jobs:
        return _Uncoupled({}, cpu_s)
    start_s = np.array([by_id[job.id].start_s for job in jobs], dtype=np.float64)
    end_s = np.array([by_id[job.id].end_s for job in jobs], dtype=np.float64)
    submit_s = np.array([job.submit_s for job in jobs])
    summary = times_of_queue(
        (start_s, end_s),
        np.array([by_id[job.id].allocation.weight for job in jobs]),
        start_s - submit_s,
        end_s - submit_s,
        setup.parts.n_nodes,
    )
    return _Uncoupled(summary, cpu_s)


def _simulate_workload(
    setup: Setup,
    played: tuple[Cluster, Allocator, SimulationRates],
    watchers: Sequence[Observer],
    free_from_s: float | None = None,
    events: MachineEvents | None = None,
) -> Schedule:
    """Simulate the workload on an empty machine; a record is free from when it says, or given."""
    cluster, allocator, pacing = played
    parts = setup.parts
    return simulate(
        parts.workload.jobs,
        cluster,
        allocator,
        setup.policy(free_from_s),
        rates=pacing.rates,
        estimate_s=attrgetter("requested_s")
        if parts.estimates == "requested"
        else pacing.runtime_s,
        kill_at_limit=setup.experiment.kill_at_limit,
        ends_s=setup.ends_s(free_from_s),
        observers=watchers,
        events=events,
    )


def _result_remarks(
    setup: Setup, network: NetworkRateModel | None, allocator: Allocator
) -> dict[str, Any]:
    """Count what a reader of the result must know, and say what the network was."""
    found: dict[str, Any] = {} if network is None else {"latency_bound": network.latency_bound}
    if network is not None and network.exposed:
        found["exposed"] = network.exposed
    if network is not None and network.on_common_links and True in network.owned:
        found["on_common_links"] = True
    if isinstance(allocator, Bounded):
        found["out_of_steps"] = allocator.out_of_steps
    if assumed := assumed_switch(setup.parts.topology):
        found["assumed_switch"] = assumed
    if filled_in := assumed_fabric(setup.parts.topology):
        found["assumed_fabric"] = "; ".join(filled_in)
    if network is not None and (limits := limits_of(network.routing)):
        found["routing_limits"] = "; ".join(limits)
    setting = setting_of(  # by which the known error of the model is looked up
        setup.parts.topology,
        None if network is None else network.routing,
        model=setup.experiment.model,
        fairness=setup.experiment.fairness,
        owned=() if network is None else network.owned,
        options=setup.experiment.model_options,
        traffic_class=dominant_class(() if network is None else network.traffic_classes.items()),
        hot_spot="" if network is None else network.hot_spot,
    )
    found["network"] = json_fields(setting)
    return found


def _result_tables(setup: Setup, coupled: _Coupled, alone: _Uncoupled | None) -> Result:
    """Turn what happened into the tables of a result."""
    parts, label = setup.parts, setup.experiment.label
    workload, topology = without_unfinished(parts.workload, coupled.schedule), parts.topology
    if not workload.jobs:
        raise ExperimentError(f"{setup.experiment.source}: no job has ended: {STAY_DOWN}.")
    jobs = job_table(coupled.schedule, workload, topology, coupled.cost_of_job)
    if parts.record is not None:
        if parts.free_from_s < inf:
            did = {job.id: job.runtime_s for job in workload.jobs}
        else:
            did = _work_by_job(coupled.schedule)
        jobs = as_recorded(jobs, parts.record.submit_s, did)
    summary: dict[str, Any] = {"name": label, **summarize(jobs, parts.n_nodes)}
    if workload.begin_unix_s is not None:
        summary["log_begin_unix_s"] = workload.begin_unix_s
    summary["dropped_by_reason"] = dict(workload.dropped)
    if workload.remarks and parts.record is None:
        summary["log_remarks"] = dict(workload.remarks)
    if parts.record is not None:
        summary["replay"] = dict(parts.record.counts)
        summary["log_time_zone"] = parts.record.zone or "clock of the record"
        if parts.free_from_s < inf:
            summary["free_from_s"] = parts.free_from_s
    extras = _extra_tables(coupled, topology)
    summary |= waiting_by_reason(extras["waits"], jobs)
    summary |= coupled.remarks
    if coupled.events is not None:
        summary |= failures_in_all(coupled.schedule, coupled.events)
    events = 2 * len(coupled.schedule.records)
    cost = {"events": events, **asdict(coupled.schedule.tally), "cpu_coupled_s": coupled.cpu_s}
    cost["scheduling_ms_per_job"] = coupled.deciding_s / len(workload.jobs) * 1e3
    if alone is not None:
        summary["infinite_network"] = alone.summary
        cost["cpu_uncoupled_s"] = alone.cpu_s
        cost["contention_ms_per_event"] = (coupled.cpu_s - alone.cpu_s) / events * 1e3
    carried = coupled.links or LinkLedger(topology.n_links)
    links = link_table(carried, topology, float(summary.get("makespan_s") or 0.0))
    return Result(
        name=label,
        jobs=jobs,
        links=links,
        timeline=time_table(coupled.schedule, parts.n_nodes),
        blame=blame_table(coupled.blame),
        summary=summary | network_volume(None if coupled.links is None else links),
        cost=cost,
        partitions=partition_table(coupled.schedule, workload),
        extras=LazyTables(extras),
    )


def _extra_tables(coupled: _Coupled, topology: Topology) -> dict[str, Table]:
    """Return the tables that not every result has."""
    tables: dict[str, Table] = {"waits": wait_table(coupled.waits)}
    if coupled.over_time is not None:
        tables["links/timeline"] = link_time_table(coupled.over_time, topology)
    if coupled.events is not None:
        tables["events"] = event_table(coupled.events)
        tables["failures"] = failure_table(coupled.schedule, topology)
    return tables


class Stopwatch(Observer):
    """
    Takes the CPU time of a queue policy and its allocator.

    To read the clock of CPU time is a call of the system, as long as a short decision. So the clock
    on the wall is read around each decision, and decisions have the same share of the CPU time
    since the watch was made as of the time on the wall.
    """

    def __init__(self) -> None:
        self._decided_s = self._begin_s = 0.0
        self._made_s = time.perf_counter(), time.thread_time()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all decisions so far: Smith21, Table 3, scheduling time."""
        wall_s, cpu_s = self._made_s
        passed_s = time.perf_counter() - wall_s
        return self._decided_s * (time.thread_time() - cpu_s) / passed_s if passed_s else 0.0

    def on_decide(self, now_s: float) -> None:
        """Start the watch."""
        del now_s
        self._begin_s = time.perf_counter()

    def on_decided(self, now_s: float) -> None:
        """Stop the watch."""
        del now_s
        self._decided_s += time.perf_counter() - self._begin_s
