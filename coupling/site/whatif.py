"""What if: jobs before and after a change, and which failure would hurt most."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError, Stopped
from coupling.inputs.snapshot import Snapshot, read_snapshot, require_snapshot
from coupling.site.changes import ChangedState, Changes, changed
from coupling.site.comparison import (
    CUT_OFF,
    DISCONNECTED,
    DRAINED,
    ENDED,
    MOVED,
    SLOWED,
    STOPPED,
    Failure,
    JobChange,
    LeafChange,
    Ranking,
    WhatIf,
)
from coupling.site.drawn_traffic import JobLoad, JobLoads
from coupling.site.now import HOURS, lost_hours, spread
from coupling.site.outcome import Outcome, solve
from coupling.site.site import Site, known_names, read_site, site_of_snapshot
from coupling.site.state import SiteState
from coupling.stopping import Progress, shielded
from fabricsim.checking import wrong
from fabricsim.checking.errors import public
from netsim.common.arrays import Floats, Ints
from netsim.fluid.model import Fluid
from netsim.routing.shortest import Shortest
from netsim.routing.updown import LeastLoadedPerJob
from netsim.topology.base import Topology
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import links_in_service
from netsim.topology.multipath import as_built
from netsim.topology.outage import leaf_tapers

_MOST_KEPT = 1 << 21  # links times samples of which solutions are kept, about 3 GB


@public
def whatif(
    snapshot: Snapshot | Mapping[str, Any] | str | Path | None = None,
    *,
    fail: str | Sequence[str] = (),
    drain: str | Sequence[str] = (),
    add_cables: str | Sequence[str] = (),
    routing: str | None = None,
    taper: float | None = None,
    move: str | Sequence[str] = (),
    seed: int = 1,
    **site: Any,  # noqa: ANN401 (those of `now`)
) -> WhatIf:
    """
    Compare jobs before and after a change.

    Parameters
    ----------
    snapshot : Snapshot, mapping, str or Path, optional
        Jobs on a fabric: the object, the fields of a snapshot file, or the file.
    fail : str or sequence of str
        Switches, nodes and cables (``tail>head``) that fail.
    drain : str or sequence of str
        Nodes, or switches for all their nodes, whose jobs have ended.
    add_cables : str or sequence of str
        Cables between switches: ``A>B``, or ``A>B*4`` for four.
    routing : str, optional
        Another routing.
    taper : float, optional
        Capacity from the nodes of every leaf / capacity to other switches.
    move : str or sequence of str
        Other nodes of jobs: ``JOB=NODES``.
    seed : int, default 1
        Of the samples, and of another routing that samples.
    **site
        Instead of a snapshot: arguments of `now` (``topology``, ``squeue``, ...).

    Returns
    -------
    WhatIf
        Both, job by job; jobs on lost nodes are listed, not an error.

    Raises
    ------
    FabricsimError
        If a file, name or option is wrong.
    """
    changes = Changes(
        _several_texts(fail),
        _several_texts(drain),
        _several_texts(add_cables),
        routing,
        taper,
        _several_texts(move),
    )
    if not changes.texts or (snapshot is None) == ("topology" not in site):
        raise SnapshotError("whatif: expected a change, and a snapshot or topology with squeue.")
    if snapshot is None:
        return whatif_of(read_site(seed=seed, **site), changes, seed)
    if site:
        raise SnapshotError(f"whatif: expected no {', '.join(site)} beside a snapshot.")
    if isinstance(snapshot, (str, Path)):
        snapshot = read_snapshot(snapshot)
    return whatif_of(site_of_snapshot(require_snapshot(snapshot)), changes, seed)


def _several_texts(values: str | Sequence[str]) -> tuple[str, ...]:
    """Return one text or several as several."""
    several = (values,) if isinstance(values, str) else values
    if not isinstance(several, (list, tuple)) or not all(isinstance(own, str) for own in several):
        raise wrong("whatif", "a name, or a list of names", values, SnapshotError)
    return tuple(several)


def whatif_of(site: Site, changes: Changes, seed: int = 1) -> WhatIf:
    """Compare the jobs of a site before and after a change."""
    drain, skipped = known_names(site, changes.drain, "--drain")
    if skipped and not drain:
        raise SnapshotError(f"--drain: expected nodes of the fabric, got {changes.drain[0]!r}.")
    if skipped:
        changes = replace(changes, drain=tuple(map(str, drain)))
    made = changed(site.scene, changes, seed)
    before, after = solve(made.before), solve(made.after)
    jobs = _job_changes(made, before, after)
    order = {CUT_OFF: 0, DISCONNECTED: 1, STOPPED: 1, DRAINED: 2}
    jobs.sort(key=lambda job: (order.get(job.status, 3), -(job.change or 0.0), str(job.id)))
    hours_before, hours_after = _hours_of_those_that_go_on(made, before, after)
    cut_off_hours = _cut_off_hours(jobs)
    return WhatIf(
        source=site.scene.source,
        topology=site.scene.topology,
        changes=changes.texts,
        jobs=tuple(jobs),
        leaves=_leaf_tapers(site.scene.topology, made.after.topology),
        samples=len(site.scene.samples),
        lost_before=spread(hours_before),
        lost_after=spread(hours_after),
        lost_more=spread(hours_after - hours_before + cut_off_hours),
        cut_off_hours=cut_off_hours,
        assumed=site.assumed,
        remarks=(*site.remarks, *skipped, *made.remarks),
    )


def rank_failures(site: Site, kind: str, progress: Progress | None = None) -> Ranking:
    """Let each part of a kind fail alone, and rank what that does; stopped: those tried so far."""
    scene = site.scene
    failing = _Failures(scene)
    names, idle, remarks = _single_failures(scene, failing.before, kind)
    failures: list[Failure] = []
    try:
        with shielded(progress) as report:
            for name, parts in names.items():
                failures.append(failing.of_part(name, parts))
                report(kind, len(failures), len(names))
    except Stopped:
        remarks.append(f"Stopped: {len(failures):,} of {len(names):,} failures tried.")
    failures.sort(key=lambda own: (-own.lost_node_hours, -own.cut_off, -own.slowed, own.what))
    return Ranking(
        scene.source,
        scene.topology,
        kind,
        tuple(failures),
        idle,
        len(scene.samples),
        site.assumed,
        (*site.remarks, *remarks),
        stopped=len(failures) < len(names),
    )


class _Failures:
    """Lets parts fail one by one, each from the solution of the jobs as they run now."""

    def __init__(self, scene: SiteState) -> None:
        self._scene = scene
        kept = len(scene.samples) * scene.topology.n_links <= _MOST_KEPT
        self._models: list[Fluid] | None = [] if kept else None
        loads = JobLoads(scene)
        self.before = solve(scene, loads, models=self._models)
        self._drawn, _ = loads.all_samples()

    def of_part(self, name: str, parts: tuple[str, ...]) -> Failure:
        """Let one part fail."""
        made = changed(self._scene, Changes(fail=parts))
        after = self._after(made)
        jobs = _job_changes(made, self.before, after)
        hours_before, hours_after = _hours_of_those_that_go_on(made, self.before, after)
        more = spread(hours_after - hours_before + _cut_off_hours(jobs))
        return Failure(
            name,
            sum(job.status in ENDED for job in jobs),
            sum(job.change is not None and job.change > 1.0 + SLOWED for job in jobs),
            more.median,
            more.low,
            more.high,
            tuple(job for job in jobs if job.before_s is not None and job.is_touched),
        )

    def _after(self, made: ChangedState) -> Outcome:
        """Solve what a failure changes."""
        built, damaged = made.before.topology, made.after.topology
        if self._models is None or not np.array_equal(built.capacity, damaged.capacity):
            return solve(made.after, detail=False)  # links that stand for several have fewer
        before, jobs = self.before, made.before.jobs
        touched = self._touched(made)
        few = tuple(job for job in made.after.jobs if job.number in touched)
        drawn, apart = JobLoads(replace(made.after, jobs=few)).all_samples()
        kept = {job.number for job in made.after.jobs}
        place = {job.number: at for at, job in enumerate(jobs)}
        at = [place[job.number] for job in made.after.jobs]
        gone, sends = {job.number for job in jobs} - kept | apart, {job.number for job in few}
        factor, interference, together_s = (
            own.copy() for own in (before.factor, before.interference, before.together_s)
        )
        for row, (now, model) in enumerate(zip(self._drawn, self._models, strict=True)):
            new = {n: own for n, own in drawn[row].items() if not _equal_loads(own, now.get(n))}
            left = [n for n in now if n in gone or n in new or (n in sends and n not in drawn[row])]
            found = model.trial(left, {n: own.demand for n, own in new.items()})
            away = [place[n] for n in left if n not in new]
            factor[row, away] = interference[row, away] = 1.0
            for n, ratio in found.items():
                load = new.get(n) or now[n]
                interference[row, place[n]] = ratio
                factor[row, place[n]] = load.placement_factor
                together_s[row, place[n]] = ratio * load.demand.iteration_s
        still = {jobs[own].number for own in before.apart} & kept - touched
        return replace(
            before,
            factor=factor[:, at],
            interference=interference[:, at],
            together_s=together_s[:, at],
            apart=frozenset(
                own for own, job in enumerate(made.after.jobs) if job.number in apart | still
            ),
        )

    def _touched(self, made: ChangedState) -> set[int]:
        """Return the jobs whose messages may take other paths: over failed links, or all."""
        scene = made.before
        if (
            isinstance(scene.routing, (Shortest, LeastLoadedPerJob))
            or not scene.topology.endpoints.one_each
        ):
            return {job.number for job in scene.jobs}
        failed = links_in_service(scene.topology) & ~links_in_service(made.after.topology)
        places = np.unique(self.before.job[failed[self.before.link]]).tolist()
        return {scene.jobs[place].number for place in (*places, *self.before.apart)}


def _equal_loads(new: JobLoad, old: JobLoad | None) -> bool:
    """Say whether a job puts the same on the same links."""
    if old is None or (new.ideal_s, new.alone_s) != (old.ideal_s, old.alone_s):
        return False
    pairs = (
        (new.demand.records, old.demand.records, ("link",)),
        (new.demand.entries, old.demand.entries, ("drain_s", "weight", "offered", "blocked")),
    )
    return all(np.array_equal(a[name], b[name]) for a, b, names in pairs for name in names)


def _cut_off_hours(jobs: Sequence[JobChange]) -> float:
    """Return the node-hours a day of jobs that are cut off or disconnected."""
    return HOURS * sum(job.nodes for job in jobs if job.status in ENDED)


def _hours_of_those_that_go_on(
    made: ChangedState, before: Outcome, after: Outcome
) -> tuple[Floats, Floats]:
    """Return the node-hours lost in a day before and after, (D,), by jobs that run after."""
    going = {job.number for at, job in enumerate(made.after.jobs) if at not in after.apart}
    return (
        _lost_hours(made.before, before, going).sum(axis=1),
        _lost_hours(made.after, after, going).sum(axis=1),
    )


def _single_failures(
    scene: SiteState, before: Outcome, kind: str
) -> tuple[dict[str, tuple[str, ...]], int, list[str]]:
    """
    Return what may fail, and how many cables or adapters carry nothing and are not tried.

    The former as the parts of each name; last, what is left out.
    """
    topology = scene.topology
    if kind in {"rail", "NIC"}:
        return *_rails_or_nics(topology, before, kind), []
    works = np.flatnonzero(links_in_service(topology))
    tail, head = topology.link_tail[works], topology.link_head[works]
    between = works[(tail >= topology.n_nodes) & (head >= topology.n_nodes)]
    if kind == "switch":
        stand_ins = np.array(topology.origin.fake_roots if topology.origin else (), dtype=np.int64)
        switches = np.setdiff1d(tail[tail >= topology.n_nodes], stand_ins).tolist()
        names = ", ".join(topology.vertex_name(switch) for switch in stand_ins.tolist())
        remarks = [f"Not tried, as they stand for a network that the file does not show: {names}."]
        return _tried_switches(topology, switches), 0, remarks if names else []
    one_way = between[between < topology.reverse[between]]
    used = np.zeros(topology.n_links, dtype=np.bool_)
    used[before.link] = True
    busy = one_way[used[one_way] | used[topology.reverse[one_way]]]
    tried = [topology.link_name(link) for link in busy.tolist()]
    return {name: (name,) for name in tried}, one_way.size - busy.size, []


def _tried_switches(topology: Topology, switches: list[int]) -> dict[str, tuple[str, ...]]:
    """Return switches by name; on a GPU cluster with tier, rail and unit, without inner ones."""
    if not isinstance(topology, GpuCluster):
        return {name: (name,) for name in map(topology.vertex_name, switches)}
    last = topology.n_nodes + topology.tree.n_switches
    return {
        topology.switch_words(own): (topology.vertex_name(own),) for own in switches if own < last
    }


def _rails_or_nics(
    topology: Topology, before: Outcome, kind: str
) -> tuple[dict[str, tuple[str, ...]], int]:
    """Return the rails of a GPU cluster as their leaves, or its adapters in use as their cables."""
    if not isinstance(topology, GpuCluster) or (kind == "rail" and topology.fabric == "clos"):
        rails = " with rails" if kind == "rail" else ""
        raise SnapshotError(
            f"--each-{kind.lower()}: expected a GPU cluster{rails}, got {topology.summary}."
        )
    hosts, tried = topology.hosts, {}
    if kind == "rail":
        for rail in range(hosts.nics):
            leaves = topology.switches_of_rail(rail).tolist()
            tried[f"rail {rail}"] = tuple(map(topology.vertex_name, leaves))
        return tried, 0
    used = np.zeros(topology.n_links, dtype=np.bool_)
    used[before.link] = True
    links = topology.node_links[0]
    busy = (used[links] | used[topology.reverse[links]]).reshape(-1, hosts.planes, hosts.nics)
    ports = links.reshape(busy.shape)
    for host, nic in np.argwhere(busy.any(axis=1)).tolist():
        cables = tuple(map(topology.link_name, ports[host, :, nic].tolist()))
        tried[f"NIC {nic} of {topology.vertex_name(host)}"] = cables
    return tried, topology.n_nodes * hosts.nics - len(tried)


def _lost_hours(scene: SiteState, found: Outcome, going: set[int]) -> Floats:
    """Return the node-hours that some of the jobs lose in a day, (D, J)."""
    kept = np.array([job.number in going for job in scene.jobs], dtype=np.bool_)
    lost: Floats = sum(lost_hours(scene, found), np.zeros(1))[:, kept]
    return lost


def _job_changes(made: ChangedState, before: Outcome, after: Outcome) -> list[JobChange]:
    """Return every job before and after."""
    place = {job.number: at for at, job in enumerate(made.after.jobs)}
    cluster = made.before.topology
    in_seconds = isinstance(cluster, GpuCluster)
    stops = isinstance(cluster, GpuCluster) and cluster.hosts.on_failure in {"abort", "plane"}
    apart = STOPPED if stops else DISCONNECTED
    rows, slow_before, slow_after = [], before.network_slowdown, after.network_slowdown
    middle_before = np.median(slow_before, axis=0).tolist()
    middle_after = np.median(slow_after, axis=0).tolist()
    goes_on = np.array([place.get(job.number, -1) for job in made.before.jobs], dtype=np.int64)
    ratios = slow_after[:, goes_on] / slow_before if place else slow_before  # of some: not used
    low, middle, high = np.quantile(ratios, (0.05, 0.5, 0.95), axis=0).tolist()
    for at, job in enumerate(made.before.jobs):
        if at in before.apart:
            continue
        then = place.get(job.number)
        status = MOVED if job.number in made.moved else ""
        if job.number in made.cut_off:
            status = CUT_OFF
        elif job.number in made.drained:
            status = DRAINED
        elif then in after.apart:
            status, then = apart, None
        rows.append(
            JobChange(
                job.id,
                job.user,
                job.name,
                job.nodes.size,
                status,
                made.cut_off.get(job.number, 0),
                middle_before[at],
                None if then is None else middle_after[then],
                None if then is None else middle[at],
                None if then is None else low[at],
                None if then is None else high[at],
                before_s=_seconds(before, at) if in_seconds else None,
                after_s=_seconds(after, then) if in_seconds and then is not None else None,
            )
        )
    return rows


def _seconds(found: Outcome, at: int) -> float | None:
    """Return the median iteration of a job, None of one that sends nothing."""
    middle = float(np.median(found.together_s[:, at]))
    return None if np.isnan(middle) else middle


def _leaf_tapers(before: Topology, after: Topology) -> tuple[LeafChange, ...]:
    """Return the leaves whose taper changes, most tapered first."""
    now, then = _leaf_taper(before), _leaf_taper(after)
    names = [
        LeafChange(before.vertex_name(leaf), now.get(leaf), then.get(leaf))
        for leaf in sorted(now.keys() | then.keys())
        if now.get(leaf) != then.get(leaf)
    ]
    return tuple(sorted(names, key=lambda own: -(own.after or np.inf)))


def _leaf_taper(topology: Topology) -> dict[int, float | None]:
    """Return the taper of each leaf; None where it has no cable to other switches."""
    found = leaf_tapers(as_built(topology))
    leaf: Ints = found.leaf
    tapers = np.round(found.taper, 9).tolist()
    return {
        switch: taper if np.isfinite(taper) else None
        for switch, taper in zip(leaf.tolist(), tapers, strict=True)
    }
