"""Setup: what a run is made of, from the names that its experiment holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from math import inf
from typing import cast

from coupling.errors import ExperimentError
from coupling.inputs.experiment import Experiment
from coupling.inputs.fabric import build_routing
from coupling.inputs.files import error_context
from coupling.rates.base import RateSource, RunInput
from coupling.rates.rate_models import rate_model
from coupling.rates.simulated import FlowLevelRates
from coupling.runs.assembly import RunParts
from netsim.registries.contention_models import refuse_renamed
from netsim.registries.routings import usual_routing
from netsim.routing.base import Routing
from netsim.routing.multipath import MultipathRouting, as_routed, require_paths
from scheduler.allocators import make_allocator
from scheduler.allocators.base import Allocator, fits_by_count
from scheduler.allocators.baselines import FirstFree
from scheduler.machine import QueuePolicy, ask_allocator
from scheduler.queues import POLICIES, make_policy
from scheduler.queues.pinned import Pinned
from scheduler.sharing import Sharing, refuse_many_sizes, require_molding, require_sharing


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What a run is made of; an allocator and a queue are fresh for each simulation."""

    experiment: Experiment  # What is run
    parts: RunParts  # Fabric and workload
    routing: Routing  # Finds the way of each flow
    rates: RateSource  # How jobs slow each other down

    @classmethod
    def of(cls, experiment: Experiment, parts: RunParts) -> "Setup":
        """Make the network of a run."""
        routing = _make_paths(experiment, parts)
        scene = RunInput(
            as_routed(parts.topology, routing),
            routing,
            parts.workload.jobs,
            experiment.model,
            experiment.fairness,
            experiment.model_options,
            experiment.all_seeds["model"],
            of_alone=experiment.runtime_means == "alone",
            links=experiment.links_timeline,
        )
        with error_context(f"{experiment.source}: [network]"):
            refuse_renamed(experiment.model, "model", ExperimentError)
            if experiment.model == "flow-level":
                require_paths(scene.topology, "model 'flow-level' needs", ExperimentError)
            return cls(experiment, parts, routing, rate_model(experiment.model)(scene))

    def policy(self, free_from_s: float | None = None) -> QueuePolicy:
        """Make the queue policy; those without a window ignore the one of the experiment."""
        policy, record = _make_queue(self.experiment), self.parts.record
        if record is None:
            return policy
        from_s = self.parts.free_from_s if free_from_s is None else free_from_s
        return Pinned(record.pins, policy, from_s)

    def ends_s(self, free_from_s: float | None = None) -> Mapping[int, float]:
        """Return when jobs end whatever their rate: those that a record has ended by then."""
        from_s = self.parts.free_from_s if free_from_s is None else free_from_s
        pins = {} if self.parts.record is None else self.parts.record.pins
        return {job: pin.end_s for job, pin in pins.items() if pin.end_s <= from_s}

    def allocator(self) -> Allocator:
        """Make the allocator."""
        return _make_placer(self.experiment)

    def uncoupled_allocator(self) -> Allocator:
        """Make an allocator with the same schedule on an infinite network."""
        # Where only the number of free nodes decides, the first free ones take half the time.
        allocator, experiment = self.allocator(), self.experiment
        counts = (
            fits_by_count(allocator)
            and not self.parts.cluster().geometry.in_parts
            and self.parts.node is None
            and self.parts.record is None
            and experiment.queue in POLICIES
            and "switches" not in experiment.queue_options
        )
        return FirstFree() if counts else allocator


def check_parts(experiment: Experiment, parts: RunParts) -> None:
    """Make every part that a run will need, so that errors show before anything is run."""
    with error_context(f"{experiment.source}: [scheduler]"):
        queue = _make_queue(experiment)
        if parts.node is not None:
            require_sharing(queue)
        require_molding(parts.workload.jobs, parts.cluster(), queue)
        if "limits" in experiment.queue_options:
            for job in parts.workload.jobs:
                refuse_many_sizes(job, "limits of users")
        _check_sizes(_make_placer(experiment), parts)
    setup = Setup.of(experiment, parts)
    if isinstance(setup.rates, FlowLevelRates):
        with error_context(f"{experiment.source}: [network]"):
            setup.rates.require_affordable(setup.allocator())
        if parts.events is not None and parts.events.policy.checkpoint_s < inf:
            raise ExperimentError(
                f"{experiment.source}: [events] checkpoint: expected a model other than "
                "flow-level, whose jobs begin again."
            )
    if parts.node is not None and experiment.model == "hop-cost-ratio":
        raise ExperimentError(
            f"{experiment.source}: [network] model {experiment.model!r}: expected jobs that do "
            "not share nodes ([scheduler] node)."
        )
    if parts.events is not None and parts.events.of_routes:
        fixed = not isinstance(setup.routing, MultipathRouting)
        if not fixed or isinstance(setup.rates, FlowLevelRates):
            got = f"routing {experiment.routing!r}" if not fixed else "model 'flow-level'"
            raise ExperimentError(
                f"{experiment.source}: [events]: switches and cables go down, which needs a "
                f"routing by fixed paths and a model other than flow-level, got {got}."
            )
    if experiment.links_timeline and not setup.rates.emergent:
        raise ExperimentError(
            f"{experiment.source}: [run] links_timeline: expected a model that simulates a "
            f"network, got {experiment.model!r}."
        )


def baseline_slowdowns(experiment: Experiment, parts: RunParts) -> Mapping[int, float] | None:
    """Return slowdowns under Baseline by job id; None where only a simulation finds them."""
    seed = experiment.all_seeds["model"]
    known = rate_model(experiment.model)
    return known.baseline_slowdowns(parts.workload.jobs, experiment.model_options, seed)


def _make_queue(experiment: Experiment) -> QueuePolicy:
    options = dict(experiment.queue_options)
    factory = POLICIES.get(experiment.queue)
    if experiment.window is not None and factory and "window" in signature(factory).parameters:
        options["window"] = experiment.window
    return make_policy(experiment.queue, options)


def _make_placer(experiment: Experiment) -> Allocator:
    seed = experiment.all_seeds["allocator"]
    return make_allocator(experiment.allocator, experiment.allocator_options, seed)


def _make_paths(experiment: Experiment, parts: RunParts) -> Routing:
    """Make the routing: the one named, or the usual one of the fabric."""
    named, fabric = experiment.routing, parts.topology

    def fault(what: str) -> ExperimentError:
        return ExperimentError(f"{experiment.source}: [network] routing: {what}")

    spec = usual_routing(fabric, owned=True) if named is None else named
    return build_routing(spec, fabric, experiment.folder, experiment.all_seeds["routing"], fault)


def _check_sizes(allocator: Allocator, parts: RunParts) -> None:
    """Try a job of each size on the empty machine: what never fits must show before a long run."""
    empty = parts.cluster()
    jobs = parts.workload.jobs
    if parts.node is not None:
        allocator = cast("Allocator", Sharing(allocator))
    if parts.record is not None:
        pins = parts.record.pins
        jobs = tuple(job for job in jobs if pins[job.id].start_s >= parts.free_from_s)
    sizes = (own for job in jobs for own in (job, *(job.at_size(n) for n, _ in job.sizes)))
    for job in {(job.n_nodes, empty.share_of(job)): job for job in sizes}.values():
        if ask_allocator(allocator, job, empty) is None:
            raise ExperimentError(
                f"job {job.id} of {job.n_nodes} nodes does not fit under allocator "
                f"{allocator.name!r}, even on the empty machine"
                + ("; drop such jobs with workload.max_nodes." if parts.record is None else ".")
            )
