"""Loaded forwarding tables: every pair is reached, they are D-mod-k, and they keep jobs apart."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from coupling.inputs.snapshot import JobId, PlacedJob, Snapshot
from coupling.results.formatting import counted
from coupling.site.partition_check import owned_links, reached_links
from fabricsim.checking import first_names
from netsim.common.arrays import Ints
from netsim.common.errors import PartitionError, RoutingError
from netsim.flows.isolation import shared_links
from netsim.infiniband.lft import LFT
from netsim.infiniband.walk import credit_loop
from netsim.infiniband.wiring import Wiring
from netsim.routing.base import Routing
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_some_names = partial(first_names, most=3)
_BATCH = 200_000  # flows routed at once: tens of MB


@dataclass(frozen=True, slots=True)
class TableIsolation:
    """What loaded tables make of jobs."""

    jobs: int  # How many were looked at
    # Links that two jobs send over, or one sends over and the other owns
    shared: Mapping[tuple[JobId, JobId], tuple[str, ...]]
    # Links that a job sends over although it owns others, not these
    outside: Mapping[JobId, tuple[str, ...]]
    unroutable: Mapping[JobId, str]  # Why the nodes of a job do not reach each other
    loop: tuple[str, ...]  # Links that can wait for each other in a circle

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.shared or self.outside or self.unroutable or self.loop)

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim lft check --json` prints."""
        return {
            "apart": self.passed,
            "jobs": self.jobs,
            "shared": [
                {"jobs": list(pair), "links": list(links)} for pair, links in self.shared.items()
            ],
            "outside": [{"job": job, "links": list(links)} for job, links in self.outside.items()],
            "unroutable": [
                {"job": job, "reason": reason} for job, reason in self.unroutable.items()
            ],
            "credit_loop": list(self.loop),
        }

    def lines(self) -> list[str]:
        """Say it in words."""
        lines = [
            f"Jobs {a} and {b} share {counted(len(links), 'link')}: {_some_names(links)}."
            for (a, b), links in self.shared.items()
        ]
        lines += [
            f"Job {job} leaves the links that it owns by {counted(len(links), 'link')}: "
            f"{_some_names(links)}."
            for job, links in self.outside.items()
        ]
        lines += [f"Job {job} is cut: {reason}" for job, reason in self.unroutable.items()]
        if self.loop:
            lines.append(
                f"Credit loop over {counted(len(self.loop), 'link')}: {_some_names(self.loop)}."
            )
        else:
            lines.append("No credit loop.")
        if not (self.shared or self.outside or self.unroutable):
            lines.insert(0, "The tables keep all jobs apart.")
        return lines


def check_jobs_apart(snapshot: Snapshot, tables: LFT) -> TableIsolation:
    """Walk the tables between the nodes of each job, and find the jobs that share links."""
    under = replace(snapshot, routing=tables)
    topology = snapshot.topology
    unroutable: dict[JobId, str] = {}
    sent = [_used_links(under, job, unroutable) for job in under.jobs]
    held = [np.union1d(own, owned_links(job)) for own, job in zip(sent, under.jobs, strict=True)]
    pairs: dict[tuple[JobId, JobId], list[str]] = {}
    for link, members in shared_links(held).items():
        name = topology.link_name(link)
        for place, a in enumerate(members):
            for b in members[place + 1 :]:
                pairs.setdefault((under.jobs[a].id, under.jobs[b].id), []).append(name)
    outside = {}
    for own, job in zip(sent, under.jobs, strict=True):
        if job.partition.links is None:
            continue
        ends = np.minimum(topology.link_tail[own], topology.link_head[own])
        stray = np.setdiff1d(own[ends >= topology.n_nodes], job.partition.links)
        if stray.size:
            outside[job.id] = tuple(topology.link_name(link) for link in stray.tolist())
    return TableIsolation(
        len(under.jobs),
        {pair: tuple(names) for pair, names in pairs.items()},
        outside,
        unroutable,
        tuple(topology.link_name(link) for link in credit_loop([tables]).tolist()),
    )


def _used_links(under: Snapshot, job: PlacedJob, unroutable: dict[JobId, str]) -> Ints:
    """Return the links that a job sends over, ascending."""
    plain = replace(job, partition=replace(job.partition, links=None))
    parts: list[Ints] = [np.empty(0, dtype=np.int64)]
    try:
        parts += reached_links(under, plain, any_routing=False)
    except (RoutingError, PartitionError) as error:
        unroutable[job.id] = str(error)
    return np.unique(np.concatenate(parts))


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What walking the tables between all nodes shows."""

    # nodes, pairs: nodes, and ordered pairs of different ones
    nodes: int
    pairs: int
    fault: str  # First pair that is not connected, and why; empty where all are
    longest_route: int  # Links of the longest route
    # Pairs whose route is that of D-mod-k; None on a fabric that is no PGFT, or where the walk
    # ended early
    pairs_as_d_mod_k: int | None


def check_tables(tables: LFT, wiring: Wiring) -> TableCheck:
    """Walk the tables between all pairs of nodes. Result: what was found, up to the first fault."""
    topology = wiring.topology
    nodes = np.flatnonzero(wiring.device[: topology.n_nodes] >= 0)
    plain: Routing | None = DModK.on(topology) if isinstance(topology, FatTree) else None
    longest, same, fault = 0, 0, ""
    rows = max(1, _BATCH // max(1, nodes.size))
    try:
        for first in range(0, nodes.size, rows):
            some = nodes[first : first + rows]
            src, dst = np.repeat(some, nodes.size), np.tile(nodes, some.size)
            src, dst = src[src != dst], dst[src != dst]
            routes = tables.routes(src, dst)
            longest = max(longest, int(routes.hops.max(initial=0)))
            if plain is not None:
                same += _equal_flows(routes, plain.routes(src, dst))
    except RoutingError as error:
        fault = str(error)
    pairs = nodes.size * (nodes.size - 1)
    counted = plain is not None and not fault
    return TableCheck(nodes.size, pairs, fault, longest, same if counted else None)


def _equal_flows(first: Routes, second: Routes) -> int:
    """Count the flows that cross the same links in both."""
    width = int(max(first.hops.max(initial=0), second.hops.max(initial=0)))
    return int((_padded_links(first, width) == _padded_links(second, width)).all(axis=1).sum())


def _padded_links(routes: Routes, width: int) -> Ints:
    """Return a row of links for each flow, -1 after the last."""
    table = np.full((routes.n_flows, width), -1, dtype=np.int64)
    row = np.repeat(np.arange(routes.n_flows), routes.hops)
    table[row, np.arange(row.size) - np.repeat(routes.indptr[:-1], routes.hops)] = routes.links
    return table
