"""Verify: isolation of jobs from each other, and whether their partitions are non-blocking."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import JobId, PlacedJob, Snapshot, require_snapshot
from coupling.site.partition_check import reached_links
from fabricsim.checking import brief, flag, whole, wholes, wrong
from fabricsim.checking.documents import json_value, parse_json
from fabricsim.checking.inputs import read_text
from netsim.common.arrays import Ints, Tabled
from netsim.common.errors import NetsimError, PartitionError, RoutingError, TopologyError
from netsim.flows.host_tree import HostTree, host_tree
from netsim.flows.isolation import shared_links
from netsim.flows.partition import Partition
from netsim.nonblocking.conditions import Breach, broken_conditions
from netsim.nonblocking.exact import ExactRouter, Witness
from netsim.nonblocking.router import PermutationRouter
from netsim.nonblocking.static_table import TableReport, static_table_report
from netsim.nonblocking.verdict import Certificate, Status, Verdict, rearrangeable
from netsim.registries.routings import on_changed
from netsim.routing.multipath import as_routed, single_paths
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.multipath import as_built
from netsim.topology.outage import fail as without
from netsim.topology.routes import Routes

_ENDS = 2
_LONGEST = 10_000  # characters of a line: shlex takes time by the square of a word's length
Pairs = Sequence[tuple[int, int]]
RANDOM = 100  # permutations tried by default
_MOST_RANDOM = 1_000_000
_FEW_MATRICES, _ALL_MATRICES = 2_000, 200_000  # leaf-to-leaf flow matrices tried one by one


def read_permutation(path: Path, topology: Topology) -> list[tuple[int, int]]:
    """Read pairs of source and destination, as lines or JSON; ``-`` is standard input."""
    text = read_text(path, SnapshotError)
    if text.lstrip().startswith("["):
        return _from_json(text, path, topology)
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > _LONGEST and not line.lstrip().startswith("#"):
            raise SnapshotError(
                f"{path}:{number}: expected two names, got a line of {len(line):,} characters."
            )
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise SnapshotError(f"{path}:{number}: expected two names, got: {error}.") from None
        if words:
            pairs.append(_read_pair(words, f"{path}:{number}", topology))
    if not pairs:
        raise SnapshotError(f"{path}: expected lines 'source destination', got none.")
    return pairs


def _from_json(text: str, path: Path, topology: Topology) -> list[tuple[int, int]]:
    """Read a JSON list of pairs."""
    entries = parse_json(text, str(path), SnapshotError)
    return [_read_pair(entry, f"{path}: [{i}]", topology) for i, entry in enumerate(entries)]


def _read_pair(ends: object, place: str, topology: Topology) -> tuple[int, int]:
    """Return source and destination."""
    if not isinstance(ends, list) or len(ends) != _ENDS:
        raise SnapshotError(f"{place}: expected source and destination, got {brief(ends)}.")
    try:
        return topology.names.node(ends[0]), topology.names.node(ends[1])
    except TopologyError as error:
        raise SnapshotError(f"{place}: {error}") from None


def flows_by_job(snapshot: Snapshot, permutation: Pairs) -> dict[JobId, tuple[Ints, Ints]]:
    """Part the flows of a permutation by the job whose nodes they join."""
    members = [(job.id, set(job.partition.nodes.tolist())) for job in snapshot.jobs]
    parts: dict[JobId, list[tuple[int, int]]] = {}
    for pair in permutation:
        ends = wholes("permutation", pair, 0, error=SnapshotError)
        if len(ends) != _ENDS:
            raise wrong("permutation", "pairs of source and destination", pair, SnapshotError)
        src, dst = ends
        owner = next((job for job, nodes in members if src in nodes and dst in nodes), None)
        if owner is None:
            name = snapshot.topology.vertex_name
            raise SnapshotError(
                f"permutation: expected nodes of one job, got {name(src)} to {name(dst)}."
            )
        parts.setdefault(owner, []).append((src, dst))
    arrays = {job: np.array(pairs, dtype=np.int64).T for job, pairs in parts.items()}
    return {job: (src, dst) for job, (src, dst) in arrays.items()}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which of Jigsaw's conditions a partition breaks."""

    broken: tuple[Breach, ...] | None  # Conditions that are broken; None where they do not apply
    reason: str = ""  # Why they do not apply; empty where they do

    @property
    def holds(self) -> bool | None:
        """Whether none is broken; None where they do not apply."""
        return None if self.broken is None else not self.broken


@dataclass(frozen=True, slots=True, eq=False)
class JobVerdict:
    """What the checks say of one job."""

    id: JobId  # The job
    unroutable: str  # Why the routing cannot connect the job's nodes; empty where it can
    shares: dict[int, list[JobId]]  # Directed links that other jobs use or own too, and which
    conditions: Conditions  # Which of Jigsaw's conditions the partition breaks
    rearrangeable: Verdict  # Whether the partition is rearrangeable non-blocking
    # How shifts and random permutations fare under the routing in force; None where it cannot
    # connect the nodes
    static_table: TableReport | None
    # Whether the permutation given can be routed; None where none was given
    permutation: Verdict | None

    @property
    def isolated(self) -> bool:
        """Whether no other job uses or owns a link of this one."""
        return not self.shares

    @property
    def passed(self) -> bool:
        """Whether no check said no; a broken condition counts unless all permutations go."""
        blocked = any(verdict.holds is False for verdict in self._permutation_verdicts)
        unproven = bool(self.conditions.broken) and not self.rearrangeable.holds
        return self.isolated and not (self.unroutable or blocked or unproven)

    @property
    def answered(self) -> bool:
        """Whether every question has an answer."""
        return all(verdict.holds is not None for verdict in self._permutation_verdicts)

    @property
    def _permutation_verdicts(self) -> list[Verdict]:
        """Answers on permutations: all, and the one given."""
        given = [] if self.permutation is None else [self.permutation]
        return [self.rearrangeable, *given]


@dataclass(frozen=True, slots=True, eq=False)
class Verification(Tabled):
    """
    What the checks say of all jobs.

    Parameters
    ----------
    topology : Topology
        The fabric.
    jobs : tuple of JobVerdict
        In the order of the snapshot.
    allow_unknown : bool
        Whether a question without an answer is let pass.
    """

    topology: Topology
    jobs: tuple[JobVerdict, ...]
    allow_unknown: bool = False

    def __repr__(self) -> str:
        return f"<Verification: {len(self.jobs)} jobs, {'passed' if self.passed else 'not passed'}>"

    @property
    def passed(self) -> bool:
        """Whether no check said no, and each has an answer unless that is let pass."""
        answered = self.allow_unknown or all(job.answered for job in self.jobs)
        return answered and all(job.passed for job in self.jobs)

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the verdicts; None where a question has no answer."""
        return [
            {
                "id": job.id,
                "isolated": job.isolated,
                "shared_links": len(job.shares),
                "conditions": job.conditions.holds,
                "rearrangeable": job.rearrangeable.holds,
            }
            for job in self.jobs
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim verify --json` prints."""
        return {"passed": self.passed, "jobs": [self._job_fields(job) for job in self.jobs]}

    def _job_fields(self, job: JobVerdict) -> dict[str, Any]:
        """Return the fields of one job."""
        name = self.topology.link_name
        fields: dict[str, Any] = {
            "id": job.id,
            "isolated": job.isolated,
            "shares": [{"link": name(link), "with": ids} for link, ids in job.shares.items()],
            "conditions": {
                "holds": job.conditions.holds,
                "broken": json_value(job.conditions.broken or ()),
            },
            "rearrangeable": self._verdict_fields(job.rearrangeable),
            "static_table": json_value(job.static_table),
        }
        if job.conditions.broken is None:
            fields["conditions"]["reason"] = job.conditions.reason
        if job.unroutable:
            fields["unroutable"] = job.unroutable
        if job.permutation is not None:
            fields["permutation"] = self._verdict_fields(job.permutation)
        return fields

    def _verdict_fields(self, verdict: Verdict) -> dict[str, Any]:
        """Return a verdict with what proves it."""
        vertex, link = self.topology.vertex_name, self.topology.link_name
        fields: dict[str, Any] = {
            "holds": verdict.holds,
            "status": str(verdict.status),
            "method": verdict.method,
        }
        if verdict.witness is not None:
            witness = verdict.witness
            ends = zip(witness.src.tolist(), witness.dst.tolist(), strict=True)
            fields["witness"] = {
                "flows": [[vertex(a), vertex(b)] for a, b in ends],
                "evidence": witness.evidence,
                "weights": {link(e): weight for e, weight in witness.weights.items()},
            }
        elif verdict.certificate is not None:
            own = verdict.certificate
            ends = zip(own.src.tolist(), own.dst.tolist(), strict=True)
            fields["certificate"] = {
                "flows": [[vertex(a), vertex(b)] for a, b in ends],
                "routes": [
                    [link(e) for e in own.routes.of_flow(i).tolist()] for i in range(own.src.size)
                ],
            }
        return fields


def after_failures(snapshot: Snapshot, failed: Sequence[str]) -> Snapshot:
    """Return a snapshot after switches and cables have failed; refuse the loss of a job's nodes."""
    cables = [name for name in failed if ">" in name]
    before = as_built(snapshot.topology)
    try:
        topology = without(before, cables, [name for name in failed if ">" not in name])
        routing = on_changed(snapshot.routing, topology)
    except NetsimError as error:
        raise SnapshotError(f"{snapshot.source}: fail: {error}") from None
    lost = np.setdiff1d(before.usable_nodes, topology.usable_nodes)
    for job in snapshot.jobs:
        gone = np.intersect1d(job.partition.nodes, lost)
        if gone.size:
            raise SnapshotError(
                f"{snapshot.source}: fail: job {job.id} loses {gone.size} of its nodes, "
                f"{topology.vertex_name(int(gone[0]))} among them: it ends, and has no partition."
            )
    return replace(snapshot, topology=as_routed(topology, routing), routing=routing)


def verify(
    snapshot: Snapshot | Mapping[str, Any],
    *,
    any_routing: bool = False,
    permutation: Pairs | str | Path | None = None,
    random: int = RANDOM,
    exhaustive: bool = False,
    allow_unknown: bool = False,
    fail: Sequence[str] = (),
) -> Verification:
    """Check isolation and non-blocking partitions; see `fabricsim.verify`."""
    snapshot = require_snapshot(snapshot)
    whole("random", random, 0, _MOST_RANDOM, error=SnapshotError)
    flag("exhaustive", exhaustive, error=SnapshotError)
    flag("any_routing", any_routing, error=SnapshotError)
    if fail:
        snapshot = after_failures(snapshot, fail)
    try:
        single_paths(snapshot.routing, "verify needs", RoutingError)
    except RoutingError as error:
        raise SnapshotError(f"{snapshot.source}: {error}") from None
    if snapshot.topology.half_duplex:
        raise SnapshotError(
            f"{snapshot.source}: verify needs full-duplex cables; both directions of some cables "
            f"of the fabric ({snapshot.topology.summary}) share one capacity."
        )
    checks = _Checks(snapshot, random, _ALL_MATRICES if exhaustive else _FEW_MATRICES)
    if isinstance(permutation, (str, Path)):
        permutation = read_permutation(Path(permutation), snapshot.topology)
    given = flows_by_job(snapshot, () if permutation is None else permutation)
    reach = [checks.reach(job, any_routing=any_routing) for job in snapshot.jobs]
    shared = shared_links(reach)
    ids = [job.id for job in snapshot.jobs]
    shares: list[dict[int, list[JobId]]] = [{} for _ in ids]
    for link, members in shared.items():
        for member in members:
            shares[member][link] = [ids[other] for other in members if other != member]
    return Verification(
        snapshot.topology,
        tuple(
            checks.judge(job, own, given.get(job.id))
            for job, own in zip(snapshot.jobs, shares, strict=True)
        ),
        allow_unknown,
    )


class _Checks:
    """Checks of single jobs."""

    def __init__(self, snapshot: Snapshot, n_random: int, matrices: int) -> None:
        self._snapshot = snapshot
        self._n_random = n_random
        self._matrices = matrices
        self._hosts: HostTree | None = None
        self._why_no_tree = ""
        topology = snapshot.topology
        if isinstance(topology, GpuCluster):
            try:
                self._hosts = host_tree(topology)
            except TopologyError as error:
                self._why_no_tree = str(error).rstrip(".")
        elif not isinstance(topology, FatTree):
            self._why_no_tree = f"the conditions are about fat-trees, not {topology.summary}"

    def reach(self, job: PlacedJob, *, any_routing: bool) -> Ints:
        """Return the links that a job owns or can use, as far as it can be routed."""
        marked = np.zeros(self._snapshot.topology.n_links, dtype=np.bool_)
        try:
            for links in reached_links(self._snapshot, job, any_routing=any_routing):
                marked[links] = True
        except (RoutingError, PartitionError):
            pass  # `judge` says that and why it cannot be routed
        return np.flatnonzero(marked)

    def judge(
        self,
        job: PlacedJob,
        shares: dict[int, list[JobId]],
        given: tuple[Ints, Ints] | None,
    ) -> JobVerdict:
        """Return the verdict on one job."""
        broken, verdict, permutation = None, None, None
        try:
            tree, partition, reason = self._on_tree(job)
            if tree is not None:
                broken = broken_conditions(tree, partition)
                found = rearrangeable(
                    tree,
                    partition,
                    n_random=self._n_random,
                    seed=self._snapshot.seed,
                    exhaustive_limit=self._matrices,
                )
                verdict = self._named(found, partition)
                if given is not None:
                    answer = self._routed(tree, partition, given, legal=not broken)
                    permutation = self._named(answer, partition)
        except NetsimError as error:
            raise SnapshotError(f"{self._snapshot.source}: job {job.id}: {error}") from None
        if given is not None and permutation is None:
            permutation = Verdict(Status.NOT_ASKED, reason)
        table, unroutable = self._table_verdict(job)
        return JobVerdict(
            id=job.id,
            unroutable=unroutable,
            shares=shares,
            conditions=Conditions(None if broken is None else tuple(broken), reason),
            rearrangeable=verdict or Verdict(Status.NOT_ASKED, reason),
            static_table=table,
            permutation=permutation,
        )

    def _table_verdict(self, job: PlacedJob) -> tuple[TableReport | None, str]:
        """Return how permutations fare under the routing in force, or why it cannot route."""
        snapshot = self._snapshot
        try:
            table = static_table_report(
                snapshot.topology,
                snapshot.routing,
                job.partition,
                n_random=self._n_random,
                seed=snapshot.seed,
            )
        except (RoutingError, PartitionError) as error:
            return None, str(error)
        return table, ""

    def _on_tree(self, job: PlacedJob) -> tuple[FatTree | None, Partition, str]:
        """Return the tree that the conditions are about and what a job has of it, or why not."""
        topology, partition = self._snapshot.topology, job.partition
        if self._why_no_tree:
            return None, partition, self._why_no_tree
        if self._hosts is not None:
            tree, partition = self._hosts.tree, self._hosts.folded(partition)
        else:
            assert isinstance(topology, FatTree)  # noqa: S101 (asked in the beginning)
            tree = topology
        if tree.levels > 3 or tree.ports[0] != 1:  # noqa: PLR2004 (levels)
            why = (
                f"the conditions need a tree of 2 or 3 levels with one link per node, "
                f"not {topology.summary}"
            )
            return None, partition, why
        leaves = np.unique(partition.nodes // tree.nodes_per_leaf)
        if partition.links is None and leaves.size > 1:
            return None, partition, "not asked, as the job owns no links"
        return tree, partition, ""

    def _named(self, verdict: Verdict, partition: Partition) -> Verdict:
        """Return a verdict with the links of the fabric: on a GPU cluster those of adapter 0."""
        topology = self._snapshot.topology
        speed = topology.capacity[: topology.n_fabric_links]
        if verdict.holds and speed.min(initial=np.inf) < speed.max(initial=0.0):
            unequal = "; that is one flow a link, and links differ in speed"
            verdict = replace(verdict, method=verdict.method + unequal)
        if self._hosts is None:
            return verdict
        link, size = self._hosts.link, topology.n_links
        owned = slice(0) if partition.links is None else partition.links
        n_lost = int(self._hosts.lost[:, owned].any(axis=1).sum())
        each = f"{verdict.method}; alike by each of {link.shape[0] - n_lost} endpoints of a host"
        if n_lost:
            each += f", {n_lost} more have lost links"
        verdict = replace(verdict, method=each)
        if (own := verdict.certificate) is not None:
            routes = Routes(own.routes.indptr, link[0][own.routes.links], size)
            verdict = replace(verdict, certificate=replace(own, routes=routes))
        if (shown := verdict.witness) is not None:
            weights = {int(link[0][at]): weight for at, weight in shown.weights.items()}
            verdict = replace(verdict, witness=replace(shown, weights=weights))
        return verdict

    def _routed(
        self, tree: FatTree, partition: Partition, flows: tuple[Ints, Ints], *, legal: bool
    ) -> Verdict:
        """Route the permutation given, or show that it cannot be done."""
        src, dst = flows
        answer: Routes | Witness | None
        if legal:
            answer = PermutationRouter(tree, partition).routes(src, dst)
        else:
            answer = ExactRouter(tree, partition).decide(src, dst)
        if isinstance(answer, Witness):
            method = f"{answer.evidence}: it cannot be routed"
            return Verdict(Status.BLOCKED, method, witness=answer)
        if answer is None:
            method = "neither routed nor shown impossible within the time limit"
            return Verdict(Status.UNDECIDED, method)
        method = "routed with one flow per link"
        return Verdict(Status.ROUTED, method, Certificate(src, dst, answer))
