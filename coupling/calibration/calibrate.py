"""Calibrate: how jobs communicate, from what the ports of their fabric counted."""

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from coupling.calibration.answers import Calibration, GroupFit, LinkFit, ProfileDraft, profile_table
from coupling.calibration.design import BY, JobGroup, design_of
from coupling.calibration.fit import misfit
from coupling.calibration.ports import Measured, measured
from coupling.calibration.slow import Traces, routing_differs, slow_cables
from coupling.calibration.work import SAMPLES, Settings, Work
from coupling.errors import SnapshotError
from coupling.results.formatting import counted
from coupling.site.site import Site, profile_of, read_site
from fabricsim.checking import choice, number, whole
from fabricsim.checking.errors import public
from scheduler.workload.profile import Profile

_MOST_SAMPLES = 10_000
_MOSTLY = 0.9  # of the bytes
_MOST_ERRORS = 10  # links that are named
_FITS = 4.0  # deviations of counters, median of a group's links: beyond, its pattern is another
_WIDE = 0.5  # an interval wider than this leaves the fraction open
_MOST_S = 1e9
_MEANT = (
    "nodes send at full speed while they communicate, and do not compute beside it: bytes alone "
    "determine no other share of the time (--runs, or PortXmitWait, does)"
)


@public
def calibrate(
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    squeue: Path | str | None = None,
    *,
    before: Path | str,
    after: Path | str,
    seconds: float | None = None,
    sacct: Path | str | None = None,
    at: str | None = None,
    lft: Path | str | None = None,
    name_map: Path | str | None = None,
    host_pattern: str | None = None,
    profile: Any = None,  # noqa: ANN401 (a file, a table or a Profile)
    unknown: str = "skip",
    routing: str | None = None,
    by: str = "name",
    noise: float = 0.02,
    tick_s: float | None = None,
    samples: int = SAMPLES,
    seed: int = 1,
) -> Calibration:
    """
    Fit how jobs communicate to what ports counted.

    Parameters
    ----------
    topology : str, Path, mapping or Topology
        The fabric, as ``ibnetdiscover`` prints it.
    squeue : Path or str, optional
        Output of ``squeue --json`` between the two readings.
    before, after : Path or str
        Counters, read twice: ``perfquery -x`` of all ports, ``ibdiagnet2.pm`` or ``.db_csv``,
        ``ibqueryerrors --counters``, or CSV of UFM.
    seconds : float, optional
        Between the readings; needed where the files do not state it.
    sacct : Path or str, optional
        Instead of `squeue`: output of ``sacct -X -P``, with `at`.
    at : str, optional
        When the first reading was taken, on the clock of the records.
    lft : Path or str, optional
        Dump of the forwarding tables that are loaded.
    name_map : Path or str, optional
        Better names for GUIDs of an InfiniBand fabric.
    host_pattern : str, optional
        Regular expression for the host in the name of an adapter; its first group if it has one.
    profile : Path, str, mapping or Profile, optional
        Patterns that jobs may have; by default five.
    unknown : {"skip", "stop"}
        Whether jobs go on without hosts that the fabric has not, or such a host is an error.
    routing : str, optional
        A key of `netsim.ROUTINGS`, without `lft`; default: the usual one of the fabric.
    by : {"name", "user", "account", "partition", "rule"}
        What jobs that communicate alike have in common.
    noise : float, default 0.02
        By how much counters may be off, as a share: readings at different moments, headers.
    tick_s : float, optional
        Seconds of a tick of PortXmitWait; default: the time in which the link sends 4 bytes.
    samples : int, default 200
        Fits to redrawn residuals, for the intervals.
    seed : int, default 1
        Of the samples.

    Returns
    -------
    Calibration
        Groups with intervals, predicted against measured links, slow cables, a profile.

    Raises
    ------
    FabricsimError
        If a file or option is wrong, or no port has counters that can be used.
    """
    checked = _check_options(by, noise, samples, seed)
    for name, value in (("seconds", seconds), ("tick", tick_s)):
        if value is not None:
            number(name, value, 0.0, _MOST_S, positive=True, error=SnapshotError)
    if lft is not None and routing is not None:
        raise SnapshotError("expected lft or routing, got both.")
    rules = profile_of(profile)
    site = read_site(
        topology,
        squeue,
        sacct=sacct,
        at=at,
        name_map=name_map,
        host_pattern=host_pattern,
        profile=rules,
        unknown=unknown,
        routing=routing if lft is None else {"lft": str(Path(lft).absolute())},
        samples=1,
        seed=seed,
        lasting_s=seconds if sacct is not None else None,
    )
    if sacct is not None and seconds is None:
        raise SnapshotError("--seconds: expected beside --sacct and --at, it is missing.")
    ports = measured(before, after, site.scene.topology, seconds=seconds, tick_s=tick_s)
    return calibrate_site(site, ports, rules, checked, seconds=seconds if sacct else None)


def _check_options(by: str, noise: float, samples: int, seed: int) -> Settings:
    choice("by", by, BY, error=SnapshotError)
    number("noise", noise, 0.0, 1.0, positive=True, error=SnapshotError)
    whole("samples", samples, 1, _MOST_SAMPLES, error=SnapshotError)
    whole("seed", seed, 0, error=SnapshotError)
    return Settings(by, float(noise), samples, seed)


def calibrate_site(
    site: Site,
    ports: Measured,
    rules: Profile,
    settings: Settings | None = None,
    *,
    seconds: float | None = None,
) -> Calibration:
    """Fit how jobs communicate to link counters; without `seconds` all jobs ran all the time."""
    settings = settings or Settings()
    share = {own.job.id: own.job.runtime_s / seconds if seconds else 1.0 for own in site.places}
    design = design_of(site.scene, site.places, rules, settings.by, share)
    if not design.groups:
        raise SnapshotError(
            f"{site.scene.source}: expected jobs on two nodes and more that may communicate, "
            "got none."
        )
    work = Work(site.scene, design, ports, settings)
    return _calibration_answer(site, rules, work)


def _calibration_answer(site: Site, rules: Profile, work: Work) -> Calibration:
    """Write down what was found."""
    scene, found, ports = site.scene, work.fit, work.ports
    groups = [_group_summary(work, rules, number) for number in range(len(work.design.groups))]
    drafts = [
        ProfileDraft(group, (rule, *others), own.low, own.high)
        for group, rule, others, own in zip(
            work.design.groups, work.rule, work.others, groups, strict=True
        )
        if own.identifiable
    ]
    jobs = {own.job.id: own.job for own in site.places}
    carried = float(ports.rate.sum())
    explained = float(np.minimum(found.predicted, ports.rate).sum()) / carried if carried else nan
    sent = [own.bytes_per_s * own.nodes for own in groups]
    order = sorted(range(len(groups)), key=lambda at: (-sent[at], groups[at].group))
    traces = Traces(scene, work.design, work.rule, found.fraction, work.network_slowdown)
    return Calibration(
        scene.source,
        scene.topology,
        "counters",
        tuple(groups[at] for at in order),
        _link_rows(work),
        tuple(slow_cables(traces, ports, found, (work.predicted, work.waited))),
        found.rank,
        len(groups) - len(found.unseen),
        explained,
        found.noise,
        ports.seconds,
        profile_table(drafts, rules, jobs, work.by),
        (*site.assumed, _MEANT) if not work.waited else site.assumed,
        (*_remark_lines(work, groups, explained), *site.remarks),
    )


def _group_summary(work: Work, rules: Profile, number: int) -> GroupFit:
    """Sum up what was found of a group."""
    group, rule, found = work.design.groups[number], work.rule[number], work.fit
    nodes = {job.number: job.nodes for job in work.scene.jobs}
    held = int(np.unique(np.concatenate([nodes[job] for job in group.jobs])).size)
    fraction, low, high = (float(own[number]) for own in (found.fraction, found.low, found.high))
    sent = sum(
        demand.sent * work.design.share[job] / work.network_slowdown.get(job, 1.0)
        for job in group.jobs
        if (demand := work.design.demand.get((job, rule))) is not None
    )
    why = _why_not(work, number, high - low, _misfit_by_group(work, number))
    return GroupFit(
        group=group.label,
        jobs=len(group.jobs),
        nodes=held,
        pattern=rules.rules[rule].label or "silent",
        rule=rule + 1,
        others=tuple(rules.rules[other].label or "silent" for other in work.others[number]),
        fraction=fraction,
        low=low,
        high=high,
        bytes_per_s=fraction * sent / held,
        network_slowdown=_mean_known(work.network_slowdown, group),
        predicted=_mean_known(work.predicted, group),
        identifiable=not why,
        why=why,
    )


def _mean_known(values: Mapping[int, float], group: JobGroup) -> float:
    """Return the mean of what is known of jobs; those of which nothing is known run alone."""
    return float(np.mean([values.get(job, 1.0) for job in group.jobs]))


def _misfit_by_group(work: Work, number: int) -> float:
    """Return by how many deviations of the counters the links that a group fills are off."""
    found, ports, topology = work.fit, work.ports, work.scene.topology
    group, rule = work.design.groups[number], work.rule[number]
    own = (
        work.design.column(group, rule, work.network_slowdown)[ports.link] * found.fraction[number]
    )
    ends = np.minimum(topology.link_tail[ports.link], topology.link_head[ports.link])
    inner = ends >= topology.n_nodes
    return misfit(ports.rate, found.predicted, found.deviation / found.noise, own, inner)


def _why_not(work: Work, number: int, width: float, off: float) -> str:
    """Return why the fraction of a group is not identified; empty where it is."""
    if number in work.fit.unseen:
        return "sends over no measured link"
    alike = next((own for own in work.fit.alike if number in own), ())
    if alike:
        names = [work.design.groups[other].label for other in alike if other != number]
        return f"not distinguished from {', '.join(names)}: one fraction for all"
    if width > _WIDE:
        return "too much noise"
    if off > _FITS:
        return (
            f"no pattern of the profile fits: half of its links are off by more than {off:.1f} "
            "times what counters may be"
        )
    return ""


def _link_rows(work: Work) -> tuple[LinkFit, ...]:
    """Return what measured links between switches carried, the busiest first."""
    topology, ports, found = work.scene.topology, work.ports, work.fit
    nodes = topology.n_nodes
    ends = np.minimum(topology.link_tail[ports.link], topology.link_head[ports.link])
    busy = ports.rate / work.capacity
    score = (ports.rate - found.predicted) / found.deviation
    order = [at for at in np.argsort(-busy, kind="stable").tolist() if ends[at] >= nodes]
    return tuple(
        LinkFit(
            topology.link_name(int(ports.link[at])),
            float(busy[at]),
            float(found.predicted[at] / work.capacity[at]),
            float(score[at]),
            None if np.isnan(ports.waited[at]) else float(ports.waited[at]),
        )
        for at in order
    )


def _remark_lines(work: Work, groups: Sequence[GroupFit], explained: float) -> list[str]:
    """Return what is odd, and what the counters do not determine."""
    found, ports = work.fit, work.ports
    seen = len(groups) - len(found.unseen)
    lines = [
        f"{counted(len(groups), 'group')}; the links determine {found.rank} of {seen} on them."
    ]
    lines += [f"{what[0].upper()}{what[1:]}: {count:,}." for what, count in ports.notes.items()]
    if routing_differs(ports, found, work.scene.topology.capacity):
        lines.append(
            "So many links are off that the routing must be another than assumed (--lft loads the "
            "tables), or patterns are: no cable is named for carrying less."
        )
    if work.silent_ports:
        lines.append("No port of a node counted waiting: they are taken not to count it.")
    if explained < _MOSTLY:
        lines.append(
            f"{1.0 - explained:.0%} of the measured bytes are of no job: storage, services, or "
            "jobs that are not in the file."
        )
    lines += [
        f"{work.scene.topology.link_name(link)}: {count:,} symbol errors, recoveries or "
        "breakdowns between the readings."
        for link, count in ports.errors[:_MOST_ERRORS]
    ]
    if work.design.apart:
        lines.append(f"No path between its nodes: {counted(len(work.design.apart), 'job')}.")
    return lines
