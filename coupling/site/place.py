"""Place: the best nodes for one more job on a machine as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from math import comb, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.places import known_nodes
from coupling.site.availability import Availability, NodeHold, links_between
from coupling.site.placement_options import EarliestFit, PlacementOption, Placing
from coupling.site.placement_search import SWAPS, Held, Search, by_name, new_number, order_of
from coupling.site.site import Site, known_names, profile_of, read_site
from coupling.site.state import DrawnTraffic, SiteState
from coupling.site.verify import verify
from fabricsim.checking import number, whole
from fabricsim.checking.errors import public
from netsim.common.arrays import Ints
from netsim.common.errors import NetsimError
from netsim.common.hostlist import fold_hostlist
from netsim.topology.base import Topology
from netsim.topology.rails import node_bandwidth
from patterns.errors import PatternError
from patterns.registry import make_pattern
from scheduler.allocators import ALLOCATORS, make_allocator
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.errors import SchedulerError
from scheduler.job import Job
from scheduler.workload.communication import assign

MOST_TRIED = 500
"""Placements up to which all are tried."""
_NBYTES = 1e6
FRACTION = 0.3


@public
def place(
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    squeue: Path | str | None = None,
    *,
    nodes: int,
    pattern: str | Mapping[str, Any] | None = None,
    comm_fraction: float | None = None,
    isolated: bool = False,
    exclude: str | Sequence[str] = (),
    samples: int = 50,
    seed: int = 1,
    **site: Any,  # noqa: ANN401 (those of `now`)
) -> Placing:
    """
    Find the best nodes for one more job on a machine as it is.

    Parameters
    ----------
    topology : str, Path, mapping or Topology
        The fabric.
    squeue : Path or str, optional
        Output of ``squeue --json``.
    nodes : int
        Nodes that the job needs, each with one rank.
    pattern : str or mapping, optional
        Its pattern: a key of `patterns.PATTERNS`, or its table; default: drawn from the profile.
    comm_fraction : float, optional
        Share of the time in which it communicates; default 0.3 beside a pattern.
    isolated : bool, default False
        It shall own links that no other job sends over.
    exclude : str or sequence of str, optional
        Nodes that take no jobs, by name or list of names: drained or down.
    samples : int, default 50
        How often patterns and fractions are drawn from the profile.
    seed : int, default 1
        Of the samples.
    **site
        Further arguments of `now`.

    Returns
    -------
    Placing
        Placements, best first; where there is none, when there will be one at the latest.

    Raises
    ------
    FabricsimError
        If a file or option is wrong.
    """
    here = read_site(topology, squeue, samples=samples, seed=seed, idle=True, **site)
    return place_on(
        here,
        nodes,
        rules=site.get("profile"),
        pattern=pattern,
        comm_fraction=comm_fraction,
        isolated=isolated,
        exclude=(exclude,) if isinstance(exclude, str) else tuple(exclude),
        seed=seed,
    )


def place_on(
    site: Site,
    nodes: int,
    *,
    rules: object = None,
    pattern: str | Mapping[str, Any] | None = None,
    comm_fraction: float | None = None,
    isolated: bool = False,
    exclude: Sequence[str] = (),
    seed: int = 1,
) -> Placing:
    """Find the best nodes for one more job of a site."""
    scene, topology = site.scene, site.scene.topology
    whole("nodes", nodes, 1, topology.usable_nodes.size, error=SnapshotError)
    job = Job(new_number(scene), 0.0, nodes, 1.0, 1.0)
    sent = _new_traffic(scene, job, (pattern, comm_fraction), rules, seed)
    out, skipped = known_names(site, exclude, "--exclude")
    room = _free_capacity(site, out, links=isolated)
    allocators, refused = _fitting_allocators(topology, isolating=isolated)
    if isolated and not allocators:
        raise SnapshotError(
            f"--isolated: {topology.summary}: no isolating allocator knows this fabric: "
            f"{next(iter(refused.values()), 'it is no fat-tree')}"
        )
    free = room.cluster(links=isolated).free_nodes()
    proposed, complete = _placement_candidates(job, room, allocators, free, isolated=isolated)
    search = Search(scene, room, sent, isolated=isolated)
    found = {held: names for held, names in proposed.items() if search.joins(held[0])}
    later = None
    if not found:
        fit = room.first_fit(job, allocators, links=isolated)
        later = _earliest_fit(room, fit, site, topology)
    asked = [(names, held) for held, names in found.items()]
    options = sorted(search.options(asked), key=order_of) if asked else []
    tried = len(options)
    if options and not isolated and not complete:
        swapped = search.swaps(options[0], free, seed)
        tried += SWAPS
        options = [swapped, *options] if swapped is not None else options
    proofs = [_require_isolated(site, own) for own in options] if isolated else options
    return Placing(
        source=scene.source,
        topology=topology,
        nodes=nodes,
        free=free.size,
        connected=max((np.isin(free, own).sum().item() for own in room.connected), default=0),
        isolated=isolated,
        options=tuple(own for own in proofs if not isolated or own.certified),
        tried=tried,
        all_tried=bool(options) and complete,
        later=later,
        samples=len(scene.samples),
        refused=refused,
        assumed=site.assumed,
        remarks=(*site.remarks, *skipped),
    )


def _new_traffic(
    scene: SiteState,
    job: Job,
    given: tuple[str | Mapping[str, Any] | None, float | None],
    rules: object,
    seed: int,
) -> list[DrawnTraffic | None]:
    """Return what the new job sends in each sample. `given`: its pattern and fraction."""
    pattern, fraction = given
    if job.n_nodes == 1:
        return [None] * len(scene.samples)
    if pattern is None:
        if fraction is not None:
            raise SnapshotError("--comm-fraction: expected --pattern beside it, it is missing.")
        slowest = float(node_bandwidth(scene.topology).min())
        drawn = []
        for each in np.random.SeedSequence(seed).generate_state(len(scene.samples)).tolist():
            (own,) = assign([job], profile_of(rules), each, node_bandwidth=slowest)
            sends = own.communication
            drawn.append(
                None
                if sends is None
                else DrawnTraffic(sends.pattern, sends.fraction, None, sends.iteration_s)
            )
        return drawn
    share = number(
        "--comm-fraction", FRACTION if fraction is None else fraction, 0.0, 1.0, error=SnapshotError
    )
    table = {"name": pattern, "nbytes": _NBYTES} if isinstance(pattern, str) else dict(pattern)
    try:
        made = make_pattern(table)
    except PatternError as error:
        raise SnapshotError(f"--pattern: {error}") from None
    return [DrawnTraffic(made, share)] * len(scene.samples)


def _free_capacity(site: Site, exclude: Sequence[object], *, links: bool) -> Availability:
    """Return what jobs leave free."""
    scene, topology = site.scene, site.scene.topology
    held = []
    for own in site.held:
        nodes = known_nodes(own.job, topology, scene.source)
        used = np.empty(0, dtype=np.int64)
        if links and nodes.size > 1:
            try:
                used = links_between(topology, scene.routing, nodes)
            except NetsimError as error:
                raise SnapshotError(f"{scene.source}: job {own.job.id}: {error}") from None
        held.append(NodeHold(own.job.id, nodes, own.end_s, used))
    try:
        out = topology.names.nodes(exclude) if exclude else []
    except NetsimError as error:
        raise SnapshotError(f"--exclude: {error}") from None
    return Availability(topology, held, np.array(out, dtype=np.int64))


def _fitting_allocators(
    topology: Topology, *, isolating: bool
) -> tuple[dict[str, Allocator], dict[str, str]]:
    """Return the allocators that know a fabric, and why others do not."""
    probe, empty = Job(0, 0.0, 1, 1.0, 1.0), Cluster(topology)
    known: dict[str, Allocator] = {}
    refused: dict[str, str] = {}
    for name in ALLOCATORS:
        try:
            made = make_allocator(name, {}, 1)
            if getattr(made, "isolating", False) != isolating:
                continue
            made.allocate(probe, empty)
        except (SchedulerError, NetsimError) as error:
            refused[name] = str(error)
            continue
        known[name] = made
    return known, refused


def _placement_candidates(
    job: Job, room: Availability, allocators: Mapping[str, Allocator], free: Ints, *, isolated: bool
) -> tuple[dict[Held, list[str]], bool]:
    """Return placements with their allocators, and whether these are all that there are."""
    found: dict[Held, list[str]] = {}
    for name, allocation in room.proposals(job, allocators, links=isolated):
        part = allocation.partition()
        links = () if part.links is None else tuple(np.sort(part.links).tolist())
        nodes = by_name(part.nodes.tolist(), room.topology)
        found.setdefault((nodes, links), []).append(name)
    sets = room.connected if room.parted else (free,)
    sets = tuple(np.intersect1d(own, free) for own in sets)
    complete = not isolated and sum(comb(own.size, job.n_nodes) for own in sets) <= MOST_TRIED
    for own in sets if complete else ():
        for each in combinations(by_name(own.tolist(), room.topology), job.n_nodes):
            found.setdefault((each, ()), [])
    return found, complete


def _require_isolated(site: Site, option: PlacementOption) -> PlacementOption:
    """Check that a placement is isolated among the jobs that run, and non-blocking."""
    verification = verify(document_of(site, option), allow_unknown=True)
    job = next(job for job in verification.jobs if job.id == "new")
    holds = job.passed and job.rearrangeable.holds is True
    return replace(option, certified=holds, proof=str(job.rearrangeable.status.value))


def document_of(site: Site, option: PlacementOption) -> dict[str, Any]:
    """Return the jobs that hold nodes, and the new one with its links, as a snapshot."""
    scene = site.scene
    jobs: list[dict[str, Any]] = []
    for own in site.held:
        nodes = known_nodes(own.job, scene.topology, scene.source)
        if nodes.size:
            jobs.append({"id": own.job.id, "nodes": nodes.tolist(), "shared": True})
    new = {"id": "new", "nodes": list(option.nodes), "links": list(option.owned)}
    return {"topology": scene.topology, "jobs": [*jobs, new]}


def _earliest_fit(
    room: Availability,
    fit: Any,  # noqa: ANN401 (an allocator's own)
    site: Site,
    topology: Topology,
) -> EarliestFit | None:
    """Return when there will be room at the latest."""
    if fit is None:
        return None
    end_s, name, allocation, ended = fit
    if not isfinite(end_s):
        return None
    nodes = by_name(set(allocation.nodes().tolist()), topology)
    date = datetime.fromtimestamp(end_s, UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return EarliestFit(
        end_s,
        max(0.0, end_s - site.looked_s),
        f"{date}Z" if site.zoned else date,
        name,
        fold_hostlist(topology.vertex_name(node) for node in nodes),
        tuple(own.id for own in room.holding[:ended]),
    )
