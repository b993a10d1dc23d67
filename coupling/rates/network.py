"""NetworkRateModel: running jobs slow each other down through the links they share."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from coupling.errors import CouplingError
from fabricsim.checking import shortened, wrong
from netsim.common.errors import RoutingError
from netsim.flows.contention import ContentionModel
from netsim.flows.partition import Partition
from netsim.fluid.model import Fluid
from netsim.registries.accuracy import hot_spot, hot_spot_senders
from netsim.registries.routings import on_changed
from netsim.routing.base import Routing
from netsim.topology.base import Topology, require_topology
from scheduler.job import Job
from scheduler.rates import JobRate, JobRates
from scheduler.traffic import (
    PlacedTraffic,
    TrafficOf,
    communicating_nodes,
    most_saturating,
    pattern_class,
)

_THROUGH_ONE_SWITCH = 2  # links of such a way; they belong to its ends


class PlacedJob(Protocol):
    """A job on its nodes, and on its own links where it has some."""

    @property
    def job(self) -> Job:
        """Return the job."""

    def partition(self) -> Partition:
        """Return its nodes and owned links."""


class CompletedWork(NamedTuple):
    """What became of a job: reference seconds of work done, and seconds lost to others."""

    work_s: float
    interference_delay_s: float


class NetworkRateModel:
    """
    A rate model that asks the network.

    Parameters
    ----------
    topology : Topology
        The fabric.
    routing : Routing
        Finds the way of each flow.
    model : ContentionModel or None
        Predicts interference; None: an infinite network (the model `null`), on which
        interference and placement factor are 1.
    of_alone : bool, default False
        Run times of jobs are those alone on their placement, which then costs them nothing more;
        otherwise those on an ideal one.

    Attributes
    ----------
    topology, routing, model
        As given.
    entered : dict of int to PlacedTraffic
        Jobs that came onto the network at the last change.
    completed_work : dict of int to CompletedWork
        Of jobs that left at the last change, where their flows were simulated; elsewhere it follows
        from their rates.
    owned : set of bool
        Whether jobs own links, of those that communicated so far.
    on_common_links : bool
        Whether a job that owns no links has sent from switch to switch.
    traffic_classes : dict of str to float
        Node-seconds of communication by traffic class, of the jobs that came so far.
    """

    def __init__(
        self,
        topology: Topology,
        routing: Routing,
        model: ContentionModel | None,
        *,
        of_alone: bool = False,
    ) -> None:
        require_topology(topology, CouplingError)
        if not callable(getattr(routing, "routes", None)):
            raise wrong("routing", "a Routing (see make_routing)", routing, CouplingError)
        if model is not None and not callable(getattr(model, "solve", None)):
            raise wrong("model", "a ContentionModel or None", model, CouplingError)
        self.topology, self.routing, self.model = topology, routing, model
        self.entered: dict[int, PlacedTraffic] = {}
        self.completed_work: dict[int, CompletedWork] = {}
        self.owned: set[bool] = set()
        self.on_common_links = False
        self.traffic_classes: dict[str, float] = {}
        self.hot_spot = ""
        self._of_alone = of_alone
        self._n_latency_bound = self._n_exposed = 0  # before routes last changed
        self._traffic_of = TrafficOf(topology, routing)
        self._placement_factor: dict[int, float] = {}  # of the jobs on the network

    def __repr__(self) -> str:
        name = shortened(self.topology.name)
        return f"<NetworkRateModel on {name}: {len(self._placement_factor)} jobs>"

    @property
    def latency_bound(self) -> int:
        """Jobs so far that run as if silent, since latency takes all their communication time."""
        return self._n_latency_bound + self._traffic_of.latency_bound

    @property
    def exposed(self) -> int:
        """Jobs so far whose collectives take longer than the computation beside them."""
        return self._n_exposed + self._traffic_of.exposed

    def rewire(self, topology: Topology) -> None:
        """
        Route the jobs that enter from now on by a fabric; no job is on the network.

        Parameters
        ----------
        topology : Topology
            The same fabric after other failures.
        """
        self._n_latency_bound, self._n_exposed = self.latency_bound, self.exposed
        self.topology, self.routing = topology, on_changed(self.routing, topology)
        self._traffic_of = TrafficOf(topology, self.routing)

    def change(
        self, ended: Sequence[PlacedJob], started: Sequence[PlacedJob], now_s: float
    ) -> Mapping[int, JobRate]:
        """Take the changes of one instant and return the rates that changed."""
        del now_s
        for allocation in ended:
            self._remove_job(allocation.job.id)
        self.entered = {}
        for allocation in started:
            self._enter_job(allocation)
        interference = {allocation.job.id: 1.0 for allocation in started}
        if self.model is None:
            return JobRates(list(interference), list(interference.values()), [1.0] * len(started))
        interference.update(self.model.solve())
        alone = self._placement_factor
        jobs = list(interference)
        return JobRates(jobs, list(interference.values()), [alone.get(job, 1.0) for job in jobs])

    def traffic(self, job: Job, partition: Partition) -> PlacedTraffic | None:
        """
        Return what a job puts on the network.

        Parameters
        ----------
        job : Job
            The job.
        partition : Partition
            Where it runs.

        Returns
        -------
        PlacedTraffic or None
            None where that is nothing.
        """
        if _is_silent(job):
            return None
        placed = self._traffic_of(job.communication, partition)
        if placed is not None and self._of_alone:  # an iteration is as long as the log has it
            return PlacedTraffic(placed.traffic, placed.alone_s, placed.alone_s)
        return placed

    def _enter_job(self, allocation: PlacedJob) -> None:
        """Put a job on the network."""
        job = allocation.job
        if _is_silent(job):  # without a look at its nodes and links
            return
        partition = allocation.partition()
        try:
            placed = self.traffic(job, partition)
        except RoutingError as error:
            raise RoutingError(f"job {job.id}: {error}") from None
        if placed is None:
            return
        self._note_owned(partition, placed)
        self.entered[job.id] = placed
        self._note_traffic_class(job, partition, placed)
        self._note_hot_spot(job, partition, placed)
        self._placement_factor[job.id] = placed.placement_factor
        if isinstance(self.model, Fluid):  # traffic made here need not be checked
            self.model.add(job.id, self.model.demand_of.of_checked(placed.traffic))
        elif self.model is not None:
            self.model.start(job.id, placed.traffic)

    def _note_owned(self, partition: Partition, placed: PlacedTraffic) -> None:
        """Remember whether a job owns links, or sends over those of all."""
        self.owned.add(partition.links is not None)
        if partition.links is None and not self.on_common_links:
            lengths = np.diff(placed.traffic.routes.indptr)
            self.on_common_links = bool((lengths > _THROUGH_ONE_SWITCH).any())

    def _note_traffic_class(self, job: Job, partition: Partition, placed: PlacedTraffic) -> None:
        """Remember the traffic class of a job."""
        assert job.communication is not None  # noqa: S101 (it has traffic)
        n_ranks = job.n_nodes if partition.gpus is None else partition.nodes.size
        kind = pattern_class(job.communication.pattern, n_ranks)
        node_s = job.runtime_s * communicating_nodes(placed)
        self.traffic_classes[kind] = self.traffic_classes.get(kind, 0.0) + node_s

    def _note_hot_spot(self, job: Job, partition: Partition, placed: PlacedTraffic) -> None:
        """Remember a receiver that the senders of a job saturate, if no others were more."""
        assert job.communication is not None  # noqa: S101 (it has traffic)
        fewest = hot_spot_senders(self.hot_spot)
        if (
            partition.gpus is None
            and self.topology.endpoints.one_each
            and most_saturating(job.communication.pattern, job.n_nodes) <= fewest
        ):
            return  # without a look at its flows
        self.hot_spot = hot_spot(self.topology, (placed.traffic,), self.hot_spot)

    def _remove_job(self, job: int) -> None:
        """Take a job off the network."""
        if self._placement_factor.pop(job, None) is not None and self.model is not None:
            self.model.end(job)


def _is_silent(job: Job) -> bool:
    """Say whether a job sends nothing wherever it is."""
    return job.communication is None or job.n_nodes == 1
