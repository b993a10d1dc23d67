"""Run experiments: build the parts, simulate, tabulate."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from coupling.errors import ExperimentError
from coupling.experiments.assembly import Parts, assemble
from coupling.experiments.experiment import Experiment, demand_experiment
from coupling.pace.assumed import ASSUMED, AssumedPace, assumed_interference, assumption_of
from coupling.pace.hops import HopLedger
from coupling.pace.network import BlameLedger, LinkLedger, NetworkPace
from coupling.pace.stopwatch import Stopwatch
from coupling.reading.error_place import placed
from coupling.reading.fabric import routing_of
from coupling.reading.table import Table
from coupling.results.by_size import network_volume
from coupling.results.from_schedule import (
    blame_table,
    job_table,
    link_table,
    partition_table,
    time_table,
)
from coupling.results.result import Result
from coupling.results.summary import summarize
from netsim.accuracy import setting_of
from netsim.contention.base import ContentionModel
from netsim.contention_models import CONTENTION_MODELS, make_contention_model
from netsim.routing.base import Routing
from scheduler.allocators import make_allocator
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import POLICIES, make_policy
from scheduler.queues.base import QueuePolicy
from scheduler.rates import AlonePace, RateModel
from scheduler.simulator import Schedule, simulate

Progress = Callable[[str, int, int], None]
"""Called with what is running, jobs ended and jobs in all."""


def run(experiment: Experiment, progress: Progress | None = None) -> Result:
    """
    Run one experiment.

    Parameters
    ----------
    experiment : Experiment
        What to run; its `compare` is not looked at.
    progress : callable, optional
        Called now and then.

    Returns
    -------
    Result
        Tables and summary.

    Raises
    ------
    ExperimentError, SchedulerError, NetsimError, PatternError
        If a name, value or file is wrong; nothing has been run then.
    """
    demand_experiment(experiment)
    parts = assemble(experiment)
    check_parts(experiment, parts)
    return run_parts(experiment, with_reference_runtimes(experiment, parts, progress), progress)


def run_parts(experiment: Experiment, parts: Parts, progress: Progress | None = None) -> Result:
    """
    Run one experiment whose workload and fabric are built already.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    parts : Parts
        Fabric and workload.
    progress : callable, optional
        Called now and then.

    Returns
    -------
    Result
        Tables and summary.
    """
    coupled = _simulate(experiment, parts, coupled=True, progress=progress)
    summary: dict[str, Any] = {"name": experiment.label}
    jobs = job_table(
        coupled.schedule,
        parts.workload,
        parts.topology,
        coupled.cost_of_job,
    )
    summary |= summarize(jobs, parts.n_nodes)
    summary["dropped_by_reason"] = dict(parts.workload.dropped)
    summary |= coupled.remarks
    cpu = {"events": coupled.events, "cpu_coupled_s": coupled.cpu_s}
    cpu["scheduling_ms_per_job"] = coupled.deciding_s / len(parts.workload.jobs) * 1e3
    if experiment.self_check:
        alone = _simulate(experiment, parts, coupled=False, progress=progress)
        free = job_table(alone.schedule, parts.workload, parts.topology)
        keys = ("utilization_steady", "makespan_s", "mean_wait_s", "mean_turnaround_s")
        summary["infinite_network"] = {
            key: value for key, value in summarize(free, parts.n_nodes).items() if key in keys
        }
        cpu["cpu_uncoupled_s"] = alone.cpu_s
        cpu["contention_ms_per_event"] = (coupled.cpu_s - alone.cpu_s) / coupled.events * 1e3
    makespan_s = float(summary.get("makespan_s") or 0.0)
    links = link_table(coupled.ledger, parts.topology, makespan_s)
    return Result(
        name=experiment.label,
        jobs=jobs,
        links=links,
        timeline=time_table(coupled.schedule, parts.n_nodes),
        blame=blame_table(coupled.blame),
        summary=summary | network_volume(links),
        cost=cpu,
        partitions=partition_table(coupled.schedule, parts.workload),
    )


def phases(experiment: Experiment) -> tuple[str, ...]:
    """
    Return what `run_parts` calls its simulations when it reports progress.

    Parameters
    ----------
    experiment : Experiment
        What to run.

    Returns
    -------
    tuple of str
        In the order in which they run.
    """
    both = (experiment.label, f"{experiment.label}, infinite network")
    return both if experiment.self_check else both[:1]


def with_reference_runtimes(
    experiment: Experiment, parts: Parts, progress: Progress | None = None
) -> Parts:
    """
    Turn the log's run times into reference run times.

    Parameters
    ----------
    experiment : Experiment
        Its `runtime_means` says what the log's run times stand for.
    parts : Parts
        Fabric and workload as the log has it.
    progress : callable, optional
        Called now and then.

    Returns
    -------
    Parts
        Unchanged for ``"isolated"``. For ``"baseline"`` one pass under Baseline (first-free
        and D-mod-k) with the run times read as isolated ones, then each divided by the
        job's mean slowdown in that pass; the pass is not iterated. The model `assumed`
        knows that slowdown without a pass.
    """
    if experiment.runtime_means == "isolated":
        return parts
    factor = _baseline_slowdowns(experiment, parts, progress)
    jobs = tuple(
        replace(job, runtime_s=job.runtime_s / factor[job.id]) for job in parts.workload.jobs
    )
    return replace(parts, workload=replace(parts.workload, jobs=jobs))


def _baseline_slowdowns(
    experiment: Experiment, parts: Parts, progress: Progress | None
) -> dict[int, float]:
    """Return by job id the mean slowdown under Baseline, run times read as isolated ones."""
    if experiment.model == ASSUMED:
        assumption = assumption_of(experiment.model_options)
        return assumed_interference(assumption, parts.workload.jobs, experiment.all_seeds["model"])
    baseline = replace(experiment, allocator="first-free", allocator_options={}, routing=None)
    ordinary = _simulate(
        baseline, parts, coupled=True, progress=progress, label="reference run times"
    )
    return {
        record.job.id: record.interference * record.placement_factor
        for record in ordinary.schedule.records
    }


def check_parts(experiment: Experiment, parts: Parts) -> None:
    """
    Make every part that a run will need, so that errors show before anything is run.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    parts : Parts
        Fabric and workload.

    Raises
    ------
    ExperimentError, SchedulerError, NetsimError
        If a name or option is unknown or does not fit the fabric.
    """
    source = experiment.source
    with placed(f"{source}: [scheduler]"):
        _policy(experiment)
        allocator = _allocator(experiment)
        _check_sizes(allocator, parts)
    _routing(experiment, parts)
    with placed(f"{source}: [network]"):
        if experiment.model == ASSUMED:
            assumption_of(experiment.model_options)
        else:
            _model(experiment, parts)


def _check_sizes(allocator: Allocator, parts: Parts) -> None:
    """Try a job of each size on the empty machine: what never fits must show before a long run."""
    empty = Cluster(parts.topology)
    for job in {job.n_nodes: job for job in parts.workload.jobs}.values():
        if allocator.allocate(job, empty) is None:
            raise ExperimentError(
                f"job {job.id} of {job.n_nodes} nodes does not fit under allocator "
                f"{allocator.name!r}, even on the empty machine; drop such jobs with "
                "workload.max_nodes."
            )


def _policy(experiment: Experiment) -> QueuePolicy:
    """Make the queue policy; those without a window ignore the one of the experiment."""
    options = dict(experiment.queue_options)
    factory = POLICIES.get(experiment.queue)
    if experiment.window is not None and factory and "window" in signature(factory).parameters:
        options["window"] = experiment.window
    return make_policy(experiment.queue, options)


def _allocator(experiment: Experiment) -> Allocator:
    """Make the allocator."""
    seed = experiment.all_seeds["allocator"]
    return make_allocator(experiment.allocator, experiment.allocator_options, seed)


def _routing(experiment: Experiment, parts: Parts) -> Routing:
    """Make the routing: the one named, or the usual one of the fabric."""
    named = {} if experiment.routing is None else {"routing": experiment.routing}
    table = Table(named, f"{experiment.source}: [network]")
    seed = experiment.all_seeds["routing"]
    return routing_of(table, parts.topology, experiment.folder, seed, owned=True)


def _model(experiment: Experiment, parts: Parts) -> ContentionModel | None:
    """Make the contention model; None for the infinite network."""
    if experiment.model == "null" and not experiment.model_options:
        return None
    if experiment.model not in CONTENTION_MODELS:
        choices = ", ".join(sorted(CONTENTION_MODELS))
        raise ExperimentError(
            f"unknown contention model {experiment.model!r}; choose from {choices}."
        )
    return make_contention_model(
        experiment.model,
        parts.topology,
        fairness=experiment.fairness,
        options=experiment.model_options,
        seed=experiment.all_seeds["model"],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """A schedule, what the links carried, who held whom up, what it cost, and what to know."""

    schedule: Schedule
    ledger: LinkLedger
    blame: BlameLedger
    events: int
    cpu_s: float
    deciding_s: float
    remarks: Mapping[str, Any]
    cost_of_job: Mapping[int, float] | None  # of communication


def _simulate(
    experiment: Experiment,
    parts: Parts,
    *,
    coupled: bool,
    progress: Progress | None,
    label: str = "",
) -> _Outcome:
    """Simulate with or without the network."""
    cluster = Cluster(parts.topology)
    allocator = _allocator(experiment)
    ledger, blame = LinkLedger(parts.topology.n_links), BlameLedger(parts.topology)
    rates: RateModel = AlonePace()
    runtime_s = None  # of the job alone
    network = None
    if coupled and experiment.model == ASSUMED:
        rates = assumed = _assumed(experiment, parts, allocator)
        runtime_s = assumed.runtime_s
    elif coupled:
        routing = _routing(experiment, parts)
        model = _model(experiment, parts)
        network = NetworkPace(parts.topology, routing, model)
        rates, ledger, blame = network, network.ledger, network.blame
    what = label or phases(experiment)[0 if coupled else 1]
    total = len(parts.workload.jobs)
    policy = Stopwatch(_policy(experiment))
    costs = HopLedger(rates, cluster) if network is not None and not label else None
    begin_s = time.process_time()
    schedule = simulate(
        parts.workload.jobs,
        cluster,
        allocator,
        policy,
        rates=costs or rates,
        estimate_s=_requested_s if parts.estimates == "requested" else runtime_s,
        kill_at_limit=experiment.kill_at_limit,
        progress=None if progress is None else lambda done, _: progress(what, done, total),
    )
    cost_of_job = None if costs is None else costs.costs()
    cpu_s = time.process_time() - begin_s
    events = 2 * len(schedule.records)
    remarks = _remarks(network, allocator) | {"network": _setting(experiment, parts, network)}
    return _Outcome(schedule, ledger, blame, events, cpu_s, policy.cpu_s, remarks, cost_of_job)


def _remarks(network: NetworkPace | None, allocator: Allocator) -> dict[str, Any]:
    """Count what a reader of the result must know."""
    counts: dict[str, Any] = {} if network is None else {"latency_bound": network.latency_bound}
    if hasattr(allocator, "out_of_steps"):
        counts["out_of_steps"] = allocator.out_of_steps
    return counts


def _setting(
    experiment: Experiment, parts: Parts, network: NetworkPace | None
) -> Mapping[str, Any]:
    """Return what the network was, by which the known error of the model is looked up."""
    return setting_of(
        parts.topology,
        None if network is None else network.routing,
        model=experiment.model,
        fairness=experiment.fairness,
        owned=() if network is None else network.owned,
    ).to_dict()


def _assumed(experiment: Experiment, parts: Parts, allocator: Allocator) -> AssumedPace:
    """Return the rate model `assumed`."""
    assumption = assumption_of(experiment.model_options)
    return AssumedPace(parts.workload.jobs, assumption, experiment.all_seeds["model"], allocator)


def _requested_s(job: Job) -> float:
    """Let the scheduler know what the user asked for."""
    return job.requested_s
