"""Snapshot: jobs placed on a fabric at one moment, read from JSON and checked at the door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.fabric import routing_of, topology_of
from coupling.inputs.files import Table, node_list, read_json
from coupling.inputs.messages import job_flows, training_flows
from coupling.stopping import few_collections
from fabricsim.checking import path_of, plain, shortened, wrong
from fabricsim.checking.errors import public
from fabricsim.checking.values import MOST_WHOLE, WHOLE
from netsim.common.arrays import Ints
from netsim.common.errors import ContentionError, TopologyError, UnitError
from netsim.common.units import parse_time
from netsim.flows.maxmin import FAIRNESS
from netsim.flows.partition import Partition
from netsim.registries.contention_models import CONTENTION_MODELS, refuse_renamed
from netsim.routing.base import Routing
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service
from netsim.topology.switches import switch_of, with_switch
from patterns.base import MAPPINGS, slot_of_rank
from patterns.errors import PatternError
from scheduler.job import LEAST_FRACTION
from scheduler.traffic import RankFlows


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A job, or another placement of one, and its nodes."""

    place: str  # File and entry, for the error
    job: int | str  # Id of the job
    nodes: Ints  # (n,): node of each rank
    shared: bool  # Whether its nodes may be those of other jobs that share theirs


def require_own_nodes(
    jobs: Sequence[Holder], candidates: Sequence[Holder], topology: Topology
) -> None:
    """Refuse a node that two jobs hold, or would hold."""
    holders: dict[int, list[Holder]] = {}
    for job in jobs:
        _require_free(job, holders, topology)
        for node in set(job.nodes.tolist()):
            holders.setdefault(node, []).append(job)
    for candidate in candidates:
        _require_free(candidate, holders, topology)


def _require_free(holder: Holder, holders: dict[int, list[Holder]], topology: Topology) -> None:
    """Refuse a placement on the nodes of others."""
    for node in holder.nodes.tolist():
        for other in holders.get(node, ()):
            if other.job != holder.job and not (holder.shared and other.shared):
                raise SnapshotError(
                    f"{holder.place} nodes: node {topology.vertex_name(node)} is also of job "
                    f"{other.job}; expected each node in one job, or shared = true for both."
                )


MODELS = tuple(CONTENTION_MODELS)
_MOST_SECONDS = 1e12
_MOST_ITERATIONS = 10**9
_MOST_RANKS = 4096  # of a node; today's have hundreds of hardware threads
_MOST_NUMBER = 2**62  # of a job, for the models' arrays

JobId = int | str


@dataclass(frozen=True, slots=True, eq=False)
class PlacedJob:
    """A job of a snapshot."""

    id: JobId  # As the snapshot calls it
    number: int  # Identity for the models; it depends on the id alone
    partition: Partition  # Node of each rank, repeats allowed, and the links that the job owns
    # Messages of one iteration; None where the snapshot says nothing about them
    flows: RankFlows | None
    # Communication share of the ideal iteration; None where `compute_s` is given
    fraction: float | None
    compute_s: float | None  # Seconds of an iteration without communication
    start_s: float  # When the job starts, for the models `flow-level` and `packets`
    # Iterations that the job makes, for the models `flow-level` and `packets`
    iterations: int | None
    shared: bool = False  # Whether its nodes may be those of other jobs that share theirs
    # Whether each node repeats its messages without waiting for others, for the model `packets`
    persistent: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Another placement of a job."""

    job: JobId  # Id of the job
    partition: Partition  # Node of each rank and owned links


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """
    Jobs on a fabric, and how to look at them.

    Parameters
    ----------
    source : str
        File that it was read from, for messages.
    topology : Topology
        The fabric.
    routing : Routing
        Finds the way of each flow.
    jobs : tuple of PlacedJob
        In the order of the file.
    candidates : tuple of Candidate
        Other placements of these jobs.
    model : str
        A key of `CONTENTION_MODELS`.
    model_options : mapping of str to value
        Further keywords of the model.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow among others.
    seed : int
        Seed of what draws.
    switch : mapping, str or None
        What switches do with packets: a table, or the name of a preset. All models have its packet,
        buffer and delay; what else it says is for the model `packets`.

    Raises
    ------
    SnapshotError
        If two jobs hold a node, or a candidate one of another job, and do not share them.
    """

    source: str
    topology: Topology
    routing: Routing
    jobs: tuple[PlacedJob, ...]
    candidates: tuple[Candidate, ...] = ()
    model: str = "fluid"
    model_options: Mapping[str, Any] = field(default_factory=dict)
    fairness: str = "per-sender"
    seed: int = 1
    switch: Mapping[str, Any] | str | None = None

    def __post_init__(self) -> None:
        """Check that each node is of one job."""
        shared = {job.id: job.shared for job in self.jobs}
        jobs = [
            Holder(
                f"{self.source}: jobs[{i}] (id {job.id})", job.id, job.partition.nodes, job.shared
            )
            for i, job in enumerate(self.jobs)
        ]
        candidates = [
            Holder(f"{self.source}: candidates[{i}]", own.job, own.partition.nodes, shared[own.job])
            for i, own in enumerate(self.candidates)
        ]
        require_own_nodes(jobs, candidates, self.topology)

    def __repr__(self) -> str:
        jobs = f"{len(self.jobs)} jobs on {shortened(self.topology.name)}"
        return f"<Snapshot {shortened(self.source)!r}: {jobs}>"


@public
def read_snapshot(path: Path | str) -> Snapshot:
    """
    Read a snapshot.

    Parameters
    ----------
    path : Path or str
        A JSON file as in docs/reference/commands; ``-`` is standard input.

    Returns
    -------
    Snapshot
        Checked.

    Raises
    ------
    CouplingError
        Naming file, place and field, what came and what was expected.
    """
    path = path_of("path", path, error=SnapshotError)
    folder = Path() if str(path) == "-" else path.parent
    with few_collections():
        return snapshot_from(read_json(path), str(path), folder)


def snapshot_from(
    document: Mapping[str, Any],
    source: str = "snapshot",
    folder: Path | None = None,
) -> Snapshot:
    """Check a snapshot given as a mapping; from Python lists may be arrays."""
    table = Table(plain(document, source, SnapshotError), f"{source}:", SnapshotError)
    folder = folder or Path()
    seed = table.integer("seed", 1)
    fabric = topology_of(table, folder)
    switch = _check_switch(table, source, fabric)
    if switch is not None:
        fabric = with_switch(fabric, switch_of(fabric, switch))
    reader = _Reader(source, folder, fabric, shared=table.flag("shared", default=False))
    jobs = tuple(reader.job(entry, i) for i, entry in enumerate(_table_list(table, "jobs")))
    candidates = tuple(
        reader.candidate(entry, i) for i, entry in enumerate(_table_list(table, "candidates"))
    )
    partitions = [job.partition for job in jobs] + [other.partition for other in candidates]
    owned = any(partition.links is not None for partition in partitions)
    routing = routing_of(table, fabric, folder, seed, owned=owned)
    refuse_renamed(table.raw("model", ""), f"{source}: model", SnapshotError)
    snapshot = Snapshot(
        source=source,
        topology=as_routed(fabric, routing),
        routing=routing,
        jobs=jobs,
        candidates=candidates,
        model=table.text("model", "fluid", MODELS),
        model_options=_model_options(table),
        fairness=table.text("fairness", "per-sender", FAIRNESS),
        seed=seed,
        switch=switch,
    )
    table.finish()
    return snapshot


def _model_options(table: Table) -> dict[str, Any]:
    """Return the options of the model; files of version 0.2 call them `options`."""
    if "options" not in table:
        return table.mapping("model_options")
    if "model_options" in table:
        raise table.error("options", "it or model_options, not both")
    return table.mapping("options")


def _check_switch(table: Table, source: str, fabric: Topology) -> Mapping[str, Any] | str | None:
    """Check what switches do with packets, whichever model looks at it."""
    given: Mapping[str, Any] | str | None = table.raw("switch")
    if given is None:
        return None
    try:
        switch_of(fabric, given, f"{source}: switch")
    except ContentionError as error:
        raise SnapshotError(f"{error}") from None
    return given


class _Reader:
    """Reads jobs and candidates on one fabric."""

    def __init__(self, source: str, folder: Path, topology: Topology, *, shared: bool) -> None:
        self._source = source
        self._folder = folder
        self._topology = topology
        self._shared = shared
        self._sizes: dict[JobId, int] = {}
        self._of_gpus: set[JobId] = set()
        self._numbers: set[int] = set()

    def job(self, entry: object, place: int) -> PlacedJob:
        """Read a job."""
        table = Table(entry, f"{self._source}: jobs[{place}]", SnapshotError)
        name = table.raw("id")
        number = self._job_identity(table, name)
        table = table.renamed(f"{self._source}: jobs[{place}] (id {name})")
        partition = self._read_partition(table)
        n_ranks = self._sizes[name] = partition.nodes.size
        trained = training_flows(table, n_ranks, self._folder)
        if trained is None:
            flows = job_flows(table, n_ranks, self._folder)
            fraction, compute_s = _read_computation(table, required=flows is not None)
        else:
            (flows, compute_s), fraction = trained, None
        if flows is not None and flows.placed is not None:
            self._of_gpus.add(name)
            self._require_like_hosts(table, partition.nodes)
        iterations = None
        if table.raw("iterations") is not None:
            iterations = table.integer("iterations", least=1)
            if iterations > _MOST_ITERATIONS:
                raise table.error("iterations", f"a whole number from 1 to {_MOST_ITERATIONS:.0e}")
        start_s = 0.0 if table.raw("start_s") is None else _read_seconds(table, "start_s")
        shared = table.flag("shared", self._shared)
        persistent = table.flag("persistent", default=False)
        if persistent and (iterations is not None or fraction is not None or compute_s):
            raise table.fault(
                "persistent", "expected compute_s = 0 and no iterations, it never pauses or ends."
            )
        table.finish()
        return PlacedJob(
            *(name, number, partition, flows, fraction, compute_s, start_s, iterations, shared),
            persistent,
        )

    def _require_like_hosts(self, table: Table, nodes: Ints) -> None:
        """Refuse a job of GPUs that has more ranks on one host than on another."""
        hosts, count = np.unique(nodes, return_counts=True)
        if count.size and count.min() < count.max():
            ends = hosts[[count.argmax(), count.argmin()]].tolist()
            most, least = map(self._topology.vertex_name, ends)
            raise table.fault(
                "nodes",
                f"expected as many GPUs on each host, got {count.max()} on {most} and "
                f"{count.min()} on {least}.",
            )

    def candidate(self, entry: object, place: int) -> Candidate:
        """Read another placement of a job."""
        table = Table(entry, f"{self._source}: candidates[{place}]", SnapshotError)
        job = table.raw("job")
        if not _is_id(job) or job not in self._sizes:
            choices = ", ".join(map(repr, list(self._sizes)[:10])) or "none are given"
            raise table.error("job", f"the id of a job of the snapshot ({choices})")
        partition = self._read_partition(table)
        if partition.nodes.size != self._sizes[job]:
            raise table.fault(
                "nodes",
                f"expected a node for each of {self._sizes[job]} ranks of job {job}, "
                f"got {partition.nodes.size}.",
            )
        if job in self._of_gpus:
            self._require_like_hosts(table, partition.nodes)
        table.finish()
        return Candidate(job, partition)

    def _job_identity(self, table: Table, name: object) -> int:
        """Check an id, and return the identity for the models, which depends on it alone."""
        if not _is_id(name):
            raise table.error("id", f"{WHOLE}, or a text of printable letters")
        if name in self._sizes:
            raise table.error("id", "another id than those of earlier jobs")
        digest = int.from_bytes(sha256(str(name).encode()).digest()[:6], "big")
        number = name if isinstance(name, int) and abs(name) < _MOST_NUMBER else digest
        while number in self._numbers:  # 1 and "1", say
            number += 1
        self._numbers.add(number)
        return number

    def _read_partition(self, table: Table) -> Partition:
        """Read nodes in rank order, and owned links."""
        nodes = node_list(table, "nodes", self._topology)
        per_node = table.integer("ranks_per_node", 1, least=1)
        if per_node > _MOST_RANKS:
            raise table.error("ranks_per_node", f"a whole number from 1 to {_MOST_RANKS}")
        mapping = table.text("mapping", "block", MAPPINGS)
        if per_node > 1:
            try:
                nodes = nodes[slot_of_rank(mapping, nodes.size * per_node, per_node)]
            except PatternError as error:
                raise table.fault("ranks_per_node", f"{error}.") from None
            except MemoryError:
                raise table.fault(
                    "ranks_per_node", f"{nodes.size * per_node} ranks do not fit in memory."
                ) from None
        links = self._read_links(table)
        if links is not None:
            self._refuse_lost_ends(table, nodes)
        return Partition(nodes, links)

    def _refuse_lost_ends(self, table: Table, nodes: Ints) -> None:
        """Refuse owned links of a host of several endpoints of which one is out of service."""
        topology = self._topology
        if topology.endpoints.one_each:
            return
        links, first = topology.node_links
        lost = ~links_in_service(topology)[links]
        for node in np.unique(nodes).tolist():
            own = slice(first[node], first[node + 1])
            if lost[own].any():
                name = topology.link_name(int(links[own][lost[own]][0]))
                host = topology.vertex_name(node)
                raise table.fault(
                    "links", f"expected hosts with all endpoints in service, {host} lacks {name}."
                )

    def _read_links(self, table: Table) -> Ints | None:
        """Read the links that a job owns, by name or number."""
        value = table.raw("links")
        if value is None:
            return None
        if not isinstance(value, list):
            raise table.error("links", "a list of names or numbers of directed links, or null")
        try:
            links = self._topology.names.links(value)
        except TopologyError as error:
            raise table.fault("links", str(error)) from None
        return np.array(sorted(set(links)), dtype=np.int64)


def _table_list(table: Table, key: str) -> list[Any]:
    """Return a list of tables; `jobs` must be there."""
    value = table.raw(key, None if key == "jobs" else [])
    if not isinstance(value, list):
        raise table.error(key, "a list of objects")
    return value


def _is_id(value: object) -> bool:
    """Say whether a value can be the id of a job."""
    if isinstance(value, str):
        return bool(value) and value.isprintable()
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return -MOST_WHOLE <= value < MOST_WHOLE


def _read_computation(table: Table, *, required: bool) -> tuple[float | None, float | None]:
    """Read communication fraction or compute time, of which a communicating job has one."""
    fraction = table.raw("comm_fraction")
    compute = table.raw("compute_s")
    if fraction is not None and compute is not None:
        raise table.fault("comm_fraction", "expected either comm_fraction or compute_s, got both.")
    if fraction is not None:
        value = table.number("comm_fraction", None, 0.0, 1.0)
        if 0.0 < value < LEAST_FRACTION:
            raise table.error("comm_fraction", f"0, or a number from {LEAST_FRACTION:g} to 1")
        return value, None
    if compute is not None:
        return None, _read_seconds(table, "compute_s")
    if required:
        raise table.fault("comm_fraction", "expected comm_fraction or compute_s, both are missing.")
    return None, None


def _read_seconds(table: Table, key: str) -> float:
    """Read a time in seconds, or with a unit."""
    value = table.raw(key)
    try:
        seconds = parse_time(value)
    except (UnitError, OverflowError):
        seconds = inf
    if seconds > _MOST_SECONDS:
        raise table.error(key, f"seconds from 0 to {_MOST_SECONDS:g}, or a text such as '3 ms'")
    return seconds


def require_snapshot(snapshot: Snapshot | Mapping[str, Any]) -> Snapshot:
    """Return a snapshot, made where its fields came."""
    if isinstance(snapshot, Snapshot):
        return snapshot
    if isinstance(snapshot, Mapping):
        return snapshot_from(snapshot)
    raise wrong("snapshot", "a Snapshot (see read_snapshot) or its fields", snapshot, SnapshotError)
