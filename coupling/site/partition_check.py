"""What forbids tables of their own for the jobs of a snapshot: which job breaks what, and where."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from coupling.inputs.snapshot import JobId, PlacedJob, Snapshot
from netsim.common.arrays import Ints
from netsim.common.errors import PartitionError, RoutingError
from netsim.flows.isolation import minimal_links, shared_links
from netsim.flows.partition import on_tree
from netsim.infiniband.lft import LFT
from netsim.nonblocking.conditions import broken_conditions
from netsim.nonblocking.verdict import Status, rearrangeable
from netsim.routing.base import RankRouting
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service

_BATCH = 200_000  # flows routed at once: tens of MB


def reached_links(snapshot: Snapshot, job: PlacedJob, *, any_routing: bool) -> Iterator[Ints]:
    """Yield the directed links that a job owns and those that it can use, with repeats."""
    topology, partition = snapshot.topology, job.partition
    ways = RankRouting(topology, snapshot.routing)
    if partition.links is not None:
        yield partition.links
    nodes = np.unique(partition.nodes)
    rows = max(1, _BATCH // nodes.size)
    for first in range(0, nodes.size, rows):
        some = nodes[first : first + rows]
        ends = np.repeat(some, nodes.size), np.tile(nodes, some.size)
        if any_routing:
            yield minimal_links(topology, *ends)
        else:
            yield ways.of_nodes(*ends, partition)[0].links


_NAMED = 3  # links that a sentence names


def owned_links(job: PlacedJob) -> Ints:
    """Return the links that a job owns. Result (k,): directed links; none where it owns none."""
    links = job.partition.links
    return np.empty(0, dtype=np.int64) if links is None else links


def partition_faults(snapshot: Snapshot, tree: FatTree, *, allow_unknown: bool) -> list[str]:
    """Check the partitions of jobs that own links, before any table is made."""
    owners = [job for job in snapshot.jobs if job.partition.links is not None]
    faults = [*_shared_nodes(snapshot), *_shared_cables(snapshot)]
    for job in owners:
        faults += _misplaced_links(snapshot, tree, job) or _why_unroutable(snapshot, tree, job)
    if not faults:  # whether they block is asked of partitions that are sound otherwise
        for job in owners:
            faults += _blocked_permutation(tree, job, allow_unknown=allow_unknown)
    return faults


def traffic_faults(snapshot: Snapshot, tables: LFT) -> list[str]:
    """Check that under new tables no job sends over what another owns."""
    under = replace(snapshot, routing=tables)
    faults, reach = [], []
    for job in under.jobs:
        try:
            parts = list(reached_links(under, job, any_routing=False))
        except (RoutingError, PartitionError) as error:
            faults.append(f"job {job.id} cannot be routed: {error}".rstrip("."))
            parts = []
        reach.append(np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts])))
    own = [set(owned_links(job).tolist()) for job in under.jobs]
    pairs: dict[tuple[JobId, JobId], list[int]] = {}
    for link, members in shared_links(reach).items():
        for owner in (place for place in members if link in own[place]):
            for other in (place for place in members if place != owner):
                pair = under.jobs[other].id, under.jobs[owner].id
                pairs.setdefault(pair, []).append(link)
    faults += [
        f"job {other} sends over {_link_names(under, links)}, which job {owner} owns"
        for (other, owner), links in pairs.items()
    ]
    return faults


def _link_names(snapshot: Snapshot, links: list[int]) -> str:
    """Name some links."""
    names = [snapshot.topology.link_name(link) for link in links[:_NAMED]]
    more = f" and {len(links) - _NAMED} more" if len(links) > _NAMED else ""
    return f"{', '.join(names)}{more}"


def _shared_nodes(snapshot: Snapshot) -> Iterator[str]:
    """Find nodes of owners that other jobs have too: a destination has one entry."""
    holders: dict[int, PlacedJob] = {}
    for job in snapshot.jobs:
        for node in np.unique(job.partition.nodes).tolist():
            other = holders.setdefault(node, job)
            own = job.partition.links is not None or other.partition.links is not None
            if other is not job and own:
                name = snapshot.topology.vertex_name(node)
                yield f"jobs {other.id} and {job.id} both have node {name}"
                break


def _shared_cables(snapshot: Snapshot) -> Iterator[str]:
    """Find links that two jobs own."""
    pairs: dict[tuple[JobId, JobId], list[int]] = {}
    for link, members in shared_links([owned_links(job) for job in snapshot.jobs]).items():
        first, *others = (snapshot.jobs[place].id for place in members)
        for other in others:
            pairs.setdefault((first, other), []).append(link)
    for (a, b), links in pairs.items():
        yield f"jobs {a} and {b} both own {_link_names(snapshot, links)}"


def _misplaced_links(snapshot: Snapshot, tree: FatTree, job: PlacedJob) -> list[str]:
    """Find links of a job that are not there, or serve none of its nodes."""
    own = owned_links(job)
    gone = own[~links_in_service(tree)[own]]
    if gone.size:
        return [f"job {job.id} owns {_link_names(snapshot, gone.tolist())}: no cable there"]
    try:
        stray = on_tree(tree, job.partition).stray
    except PartitionError as error:
        return [f"job {job.id}: {error}".rstrip(".")]
    if stray.size:
        names = _link_names(snapshot, np.sort(stray).tolist())
        return [f"job {job.id} owns {names}, under which it has no node"]
    return []


def _why_unroutable(snapshot: Snapshot, tree: FatTree, job: PlacedJob) -> list[str]:
    """Say why a job's nodes cannot reach each other on its links."""
    try:
        for _ in reached_links(
            replace(snapshot, routing=Wraparound.on(tree)), job, any_routing=False
        ):
            pass
    except (RoutingError, PartitionError) as error:
        return [f"job {job.id}: {error}".rstrip(".")]
    return []


def _blocked_permutation(tree: FatTree, job: PlacedJob, *, allow_unknown: bool) -> list[str]:
    """Say where a partition blocks some permutation, or that nothing shows it does not."""
    verdict = rearrangeable(tree, job.partition, n_random=1)
    if verdict.holds or (allow_unknown and verdict.status is not Status.BLOCKED):
        return []
    reasons = [f"({b.condition}) {b.reason}" for b in broken_conditions(tree, job.partition)]
    why = f": {reasons[0]}".rstrip(".") if reasons else ""
    if verdict.status is Status.BLOCKED:
        return [f"job {job.id} can block itself{why}"]
    return [f"job {job.id} is not shown to be non-blocking (--allow-unknown lets it pass){why}"]
