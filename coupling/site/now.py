"""Now: what the jobs that run on a machine do to each other, as far as is known."""

from pathlib import Path
from typing import Any

import numpy as np

from coupling.results.formatting import counted
from coupling.site.answers import JobNow, LinkNow, LostHours, Now
from coupling.site.drawn_traffic import JobLoads, traffic_class_of_state
from coupling.site.outcome import NO_JOB, Outcome, solve
from coupling.site.site import Site, read_site
from coupling.site.state import SiteState
from fabricsim.checking.errors import public
from netsim.common.arrays import Bools, Floats, Ints
from netsim.registries.accuracy import setting_of

HOURS = 24.0
WORST = 5
"""A job is among the worst in a sample where fewer than so many others are slower."""
_HOT_LINKS = 50
_ROUNDING = 1e-9
_LOW, _HIGH = 0.05, 0.95


@public
def now(
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    squeue: Path | str | None = None,
    *,
    sacct: Path | str | None = None,
    at: str | None = None,
    name_map: Path | str | None = None,
    host_pattern: str | None = None,
    profile: Any = None,  # noqa: ANN401 (a file, a table or a Profile)
    unknown: str = "skip",
    routing: str | None = None,
    samples: int = 50,
    seed: int = 1,
) -> Now:
    """
    Estimate what the jobs that run on a machine do to each other.

    Parameters
    ----------
    topology : str, Path, mapping or Topology
        The fabric: ``topology.conf``, output of ``ibnetdiscover``, or whatever else describes one.
    squeue : Path or str, optional
        Output of ``squeue --json``.
    sacct : Path or str, optional
        Instead: output of ``sacct -X -P``, with `at`.
    at : str, optional
        The moment, on the clock of the records: ``2024-05-30T09:00``.
    name_map : Path or str, optional
        Better names for GUIDs of an InfiniBand fabric.
    host_pattern : str, optional
        Regular expression for the host in the name of an adapter; its first group if it has one.
    profile : Path, str, mapping or Profile, optional
        How jobs communicate; by default five patterns with equal chance.
    unknown : {"skip", "stop"}
        Whether jobs go on without hosts that the fabric has not, or such a host is an error.
    routing : str, optional
        A key of `netsim.ROUTINGS`; default: the usual one of the fabric.
    samples : int, default 50
        How often patterns and fractions are drawn from the profile.
    seed : int, default 1
        Of the samples.

    Returns
    -------
    Now
        Slowdown of every job with its uncertainty, hottest links, what had to be assumed.

    Raises
    ------
    FabricsimError
        If a file or option is wrong, or no job runs.
    """
    site = read_site(
        topology,
        squeue,
        sacct=sacct,
        at=at,
        name_map=name_map,
        host_pattern=host_pattern,
        profile=profile,
        unknown=unknown,
        routing=routing,
        samples=samples,
        seed=seed,
    )
    return now_of(site)


def now_of(site: Site) -> Now:
    """Estimate what the jobs of a site do to each other."""
    scene, loads = site.scene, JobLoads(site.scene)
    found = solve(scene, loads)
    jobs = [job for at, job in enumerate(_jobs_now(scene, found)) if at not in found.apart]
    jobs.sort(key=lambda job: (-job.network_slowdown, -job.high, -job.lost_node_hours, str(job.id)))
    to_placement, to_others = lost_hours(scene, found)
    left_out = dict(site.left_out or {})
    if found.apart:
        left_out["no path between its nodes"] = len(found.apart)
    counts = [np.unique(job.partition.nodes, return_counts=True)[1] for job in scene.jobs]
    return Now(
        source=scene.source,
        topology=scene.topology,
        jobs=tuple(jobs),
        links=_hot_links(scene, found, to_others),
        samples=len(scene.samples),
        lost=spread((to_placement + to_others).sum(axis=1)),
        to_others=spread(to_others.sum(axis=1)),
        used_nodes=int(np.unique(np.concatenate([job.nodes for job in scene.jobs])).size),
        job_nodes={job.id: job.nodes for job in scene.jobs},
        assumed=site.assumed,
        remarks=(*site.remarks, *_latency_bound(loads.latency_bound)),
        unknown_hosts=site.unknown_hosts,
        left_out=left_out,
        setting=setting_of(
            scene.topology,
            scene.routing,
            model="fluid",
            fairness=scene.fairness,
            ranks_per_node=sorted({int(n) for own in counts for n in np.unique(own)}),
            traffic_class=traffic_class_of_state(scene),
        ),
    )


def lost_hours(scene: SiteState, found: Outcome) -> tuple[Floats, Floats]:
    """Return node-hours (D, J) lost a day to placement and to others."""
    # A job at slowdown s does 1 / s of the work of its nodes; alone on its placement 1 / factor.
    nodes = np.array([job.nodes.size for job in scene.jobs], dtype=np.float64)
    alone = 1.0 / found.factor
    return HOURS * nodes * (1.0 - alone), HOURS * nodes * (alone - 1.0 / found.network_slowdown)


def among_worst(network_slowdown: Floats) -> Bools:
    """Find (D, J) which jobs are slowed, with fewer than `WORST` others slower."""
    ordered = np.sort(network_slowdown, axis=1)[:, ::-1]
    edge = ordered[:, min(WORST, network_slowdown.shape[1]) - 1 :][:, :1]
    found: Bools = (network_slowdown >= edge) & (network_slowdown > 1.0 + _ROUNDING)
    return found


def _jobs_now(scene: SiteState, found: Outcome) -> list[JobNow]:
    """Sum up what happens to each job."""
    network_slowdown = found.network_slowdown
    quantiles = np.quantile(network_slowdown, (_LOW, 0.5, _HIGH), axis=0)
    culprit, share = _most_frequent(found.culprit)
    held = found.interference > 1.0 + _ROUNDING
    worst, _ = _most_frequent(np.where(held, found.worst, NO_JOB))
    nodes = np.array([job.nodes.size for job in scene.jobs])
    lost = HOURS * nodes * (1.0 - 1.0 / network_slowdown)
    columns = (
        *quantiles,
        np.median(found.interference, axis=0),
        among_worst(network_slowdown).mean(axis=0),
        culprit,
        share,
        worst,
        np.ascontiguousarray(lost.T).mean(axis=1),  # each job's samples side by side: equal bits
    )
    return [
        JobNow(
            id=job.id,
            user=job.user,
            name=job.name,
            nodes=job.nodes.size,
            network_slowdown=middle,
            low=low,
            high=high,
            interference=interference,
            among_worst=among,
            culprit=None if by == NO_JOB else scene.jobs[by].id,
            culprit_share=by_share,
            worst_link=None if link == NO_JOB else scene.topology.link_name(link),
            lost_node_hours=hours,
        )
        for job, low, middle, high, interference, among, by, by_share, link, hours in zip(
            scene.jobs, *(own.tolist() for own in columns), strict=True
        )
    ]


def _latency_bound(loads: int) -> list[str]:
    """Say where jobs count as silent because of the latency of their messages."""
    if not loads:
        return []
    silent = f"{counted(loads, 'job')} (summed over the samples)"
    return [f"Latency alone takes the time to communicate, so that these are silent: {silent}."]


def _most_frequent(values: Ints) -> tuple[Ints, Floats]:
    """Return what stands most often in the samples (D, J) of each, the least of equals; share."""
    found, most = np.full(values.shape[1], NO_JOB), np.zeros(values.shape[1], dtype=np.int64)
    before, count = np.full(values.shape[1], NO_JOB), most
    for row in np.sort(values, axis=0):
        count = np.where(row == before, count + 1, 1)
        better = (row != NO_JOB) & (count > most)
        found, most, before = np.where(better, row, found), np.where(better, count, most), row
    return found, most / values.shape[0]


def spread(hours: Floats) -> LostHours:
    """Return median, 5 and 95 % of samples (D,)."""
    low, middle, high = np.quantile(hours, (_LOW, 0.5, _HIGH)).tolist()
    return LostHours(middle, low, high)


def _hot_links(scene: SiteState, found: Outcome, to_others: Floats) -> tuple[LinkNow, ...]:
    """Return the busiest links that are between switches, or shared."""
    topology = scene.topology
    busy = np.bincount(found.link, weights=found.share, minlength=topology.n_links)
    nodes = topology.n_nodes
    between = (topology.link_tail >= nodes) & (topology.link_head >= nodes)
    busy[~(between | found.shared)] = 0.0
    lost = np.zeros(topology.n_links)
    held = (found.worst >= 0) & (to_others > 0.0)
    np.add.at(lost, found.worst[held], to_others[held] / len(scene.samples))
    order = np.argsort(-busy, kind="stable")[:_HOT_LINKS]
    links = []
    for link in order[busy[order] > 0.0].tolist():
        first, end = np.searchsorted(found.link, (link, link + 1))
        users = sorted(
            zip(found.job[first:end].tolist(), found.share[first:end].tolist(), strict=True),
            key=lambda use: -use[1],
        )
        links.append(
            LinkNow(
                topology.link_name(link),
                float(busy[link]),
                float(lost[link]),
                tuple((scene.jobs[job].id, share) for job, share in users),
            )
        )
    return tuple(links)
