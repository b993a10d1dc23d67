"""Where jobs of a queue run on a fabric: nodes of hosts, ranks of tasks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coupling.errors import SnapshotError
from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.entries import Entry, expand_hostlist, n_hosts

_DIGITS = 10
MOST_RANKS = 2_048
"""Ranks of a job: an all-to-all of so many is 4 million flows. More count as one on each node."""


@dataclass(frozen=True, slots=True, eq=False)
class JobPlacement:
    """A job and where it runs."""

    job: Job  # Of as many nodes as are known
    nodes: Ints  # (n,): its nodes, each once, in the order of the host list
    slots: Ints  # (ranks,): place of each rank among the nodes


@dataclass(frozen=True, slots=True, eq=False)
class JobPlacements:
    """Jobs on the nodes of a fabric, and what could not be placed."""

    jobs: tuple[JobPlacement, ...]  # In the order of the queue
    unknown: tuple[str, ...]  # Hosts that the fabric has not, each once
    # trimmed, lost: jobs that go on without some of their hosts; that have no known host
    trimmed: int
    lost: int
    one_rank: int  # Jobs whose tasks are not known, or too many: they have a rank on each node
    shared: int  # Nodes that several jobs hold
    miscounted: int = 0  # Jobs whose number of nodes is not that of their hosts, which count
    # Node time of all jobs on all their hosts, those included that the fabric has not
    asked_s: float = 0.0
    # Question after a node that is called nearly like one of the unknown hosts; or empty
    meant: str = ""


def place(jobs: Sequence[Job], topology: Topology, source: str, *, stop: bool) -> JobPlacements:
    """Find the nodes of jobs. Result: jobs and their nodes."""
    placed: list[JobPlacement] = []
    unknown: dict[str, None] = {}
    trimmed = lost = one_rank = miscounted = 0
    asked_s = 0.0
    known_as: dict[str, int] = {}
    for job in jobs:
        hosts = _job_hosts(job, source)
        for host in hosts:
            if host not in known_as:
                known_as[host] = _node_of_host(topology, host)
        miscounted += len(hosts) != job.n_nodes
        asked_s += len(hosts) * job.runtime_s
        nodes = np.array([known_as[host] for host in hosts], dtype=np.int64)
        strange = [host for host, node in zip(hosts, nodes.tolist(), strict=True) if node < 0]
        if strange and stop:
            raise SnapshotError(
                f"{source}: job {job.id}: host {strange[0]!r}: expected a node of "
                f"the fabric ({topology.summary}), whose nodes look like "
                f"{topology.vertex_name(0)!r}"
                f"{ask_meant(topology, strange[:1])} (--unknown skip leaves such hosts out)."
            )
        unknown.update(dict.fromkeys(strange))
        known = np.flatnonzero(nodes >= 0)
        trimmed += bool(strange) and bool(known.size)
        if not known.size:
            lost += 1
            continue
        slots, stated = _rank_slots(job, nodes.size)
        one_rank += not stated and known.size > 1
        placed.append(
            JobPlacement(
                replace(job, n_nodes=known.size), nodes[known], _known_ranks(slots, nodes >= 0)
            )
        )
    meant = ask_meant(topology, unknown)
    if not placed:
        raise SnapshotError(
            f"{source}: expected hosts such as {topology.vertex_name(0)!r} of the fabric "
            f"({topology.summary}), "
            f"got none that it has ({', '.join(list(unknown)[:3])}, ..."
            f"{meant})."
        )
    holders = Counter(node for own in placed for node in own.nodes.tolist())
    shared = sum(count > 1 for count in holders.values())
    return JobPlacements(
        tuple(placed),
        tuple(unknown),
        trimmed,
        lost,
        one_rank,
        shared,
        miscounted,
        asked_s,
        meant,
    )


def ask_meant(topology: Topology, hosts: Iterable[str]) -> str:
    """Ask whether a node is meant that is called nearly like one of these hosts."""
    near = next(filter(None, map(topology.names.near, hosts)), "")
    return f"; did you mean {near!r}?" if near else ""


def stated_nodes(entry: Entry) -> int:
    """Return the nodes of a job: as many as its record tells, else as its hosts are."""
    if entry.n_nodes > 0:
        return entry.n_nodes
    return n_hosts(entry.hosts, entry.place, "nodes")


def known_nodes(job: Job, topology: Topology, source: str) -> Ints:
    """Return the nodes of a job that a fabric has."""
    nodes = np.array(
        [_node_of_host(topology, host) for host in _job_hosts(job, source)], dtype=np.int64
    )
    return nodes[nodes >= 0]


def _job_hosts(job: Job, source: str) -> list[str]:
    """Write out the host list of a job."""
    try:
        return list(dict.fromkeys(expand_hostlist(job.logged_hosts)))
    except WorkloadError as error:
        raise SnapshotError(f"{source}: job {job.id}: nodes: {error}") from None


def _node_of_host(topology: Topology, host: str) -> int:
    """Return the node of a host; -1 where there is none, or several are called so."""
    try:
        vertex = topology.names.find(host)
    except TopologyError:
        return -1
    return vertex if vertex is not None and vertex < topology.n_nodes else -1


def _rank_slots(job: Job, n_nodes: int) -> tuple[Ints, bool]:
    """Return the place of each rank among the nodes, and whether the queue tells it."""
    per_node = np.fromiter(_tasks_per_node(job, n_nodes), dtype=np.int64, count=n_nodes)
    stated = per_node.min() > 0 and per_node.sum() <= MOST_RANKS
    return np.repeat(np.arange(n_nodes), per_node if stated else 1), stated


def _tasks_per_node(job: Job, n_nodes: int) -> Iterator[int]:
    """Yield the tasks of each node: as many as stated, spread evenly; 0 where none are stated."""
    extra = dict(job.extra)
    tasks = _task_count(extra.get("tasks") or extra.get("ntasks"))
    per_node = _task_count(extra.get("tasks_per_node"))
    if per_node and tasks <= n_nodes:  # sbatch --ntasks-per-node alone
        tasks = per_node * n_nodes
    some, more = divmod(tasks, n_nodes)
    for node in range(n_nodes):
        yield some + (node < more)


def _task_count(text: str | None) -> int:
    """Read a number of tasks; 0 where it is none."""
    plain = text is not None and text.isdecimal() and text.isascii() and len(text) < _DIGITS
    return int(text or 0) if plain else 0


def _known_ranks(slots: Ints, known: Bools) -> Ints:
    """Leave out the ranks of unknown nodes, and number the others anew."""
    number = np.cumsum(known) - 1
    kept: Ints = number[slots[known[slots]]]
    return kept


def array_task(job: Job) -> bool:
    """Say whether a job is a task of an array: 123_4."""
    return _part_of(job, "array_job_id", "_")


def het_part(job: Job) -> bool:
    """Say whether a job is part of a heterogeneous job: 123+1."""
    return _part_of(job, "het_job_id", "+")


def _part_of(job: Job, column: str, mark: str) -> bool:
    """Say whether a column or the number of a job tells that it is part of another."""
    extra = dict(job.extra)
    return bool(extra.get(column)) or mark in extra.get("jobid", "")
