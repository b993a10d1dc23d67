"""Runs: fractions of communication from how run times grow with predicted interference."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from coupling.calibration.answers import Calibration, GroupFit, ProfileDraft, profile_table
from coupling.calibration.design import BY, JobGroup, grouped_jobs, possible_rules
from coupling.errors import SnapshotError
from coupling.inputs.record import NO_ZONE, read_record
from coupling.replay.replay import replay
from coupling.results.formatting import counted
from coupling.runs.engine import Progress
from coupling.site.site import fabric_of, profile_of
from fabricsim.checking import choice, whole
from fabricsim.checking.errors import public
from netsim.common.arrays import Floats, Ints
from netsim.topology.base import Topology
from scheduler.job import Job
from scheduler.workload.profile import Profile

LEAST_RUNS = 4
"""Of a group beyond one for each size; fewer leave nothing to judge by."""
_FIRST, _LEAST = 0.3, 0.01  # of the time: before anything is known; that a replay sees
_TURNS = 20
_CLOSE = 5e-4  # of the time
_BEFORE = 3  # turns that the next one learns from
_SURE = 0.9
_WIDE = 0.5  # an interval wider than this leaves the fraction open
_LEAST_STRETCH = 1e-3  # deviation of the stretch of communication, below which all runs are alike
_GRID = 201
_MODEL = (  # as `now` estimates, and what ports count is fitted to; changes below `_CLOSE` are seen
    "network.model=fluid",
    "network.model_options.tolerance=1e-5",
)
_FINISHED = "COMPLETED"
_MEANT = (
    "runs of one group on one number of nodes do the same work",
    "what else slows runs down (disks, temperature) has nothing to do with the network",
)


@public
def calibrate_runs(
    log: Path | str,
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    *,
    name_map: Path | str | None = None,
    host_pattern: str | None = None,
    profile: Any = None,  # noqa: ANN401 (a file, a table or a Profile)
    unknown: str = "skip",
    routing: str | None = None,
    by: str = "name",
    timezone: str | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """
    Fit how jobs communicate to the run times of repeated runs.

    Parameters
    ----------
    log : Path or str
        Output of ``sacct -X -P`` with node lists.
    topology : str, Path, mapping or Topology
        The fabric.
    name_map : Path or str, optional
        Better names for GUIDs of an InfiniBand fabric.
    host_pattern : str, optional
        Regular expression for the host in the name of an adapter; its first group if it has one.
    profile : Path, str, mapping or Profile, optional
        Patterns that jobs may have; by default five.
    unknown : {"skip", "stop"}
        Whether jobs go on without hosts that the fabric has not, or such a host is an error.
    routing : str, optional
        A key of `netsim.ROUTINGS`; default: the usual one of the fabric.
    by : {"name", "user", "account", "partition", "rule"}
        What repeated runs have in common, apart from the number of their nodes.
    timezone : str, optional
        IANA name of the zone of times without an offset.
    seed : int, default 1
        Of the samples.
    progress : callable, optional
        Called with what is done, how much of it, and of how much.

    Returns
    -------
    Calibration
        Groups with intervals, and a profile; without links.

    Raises
    ------
    FabricsimError
        If a file or option is wrong, or no job ran twice.

    Notes
    -----
    A run of work W at communication fraction f takes W (1 + f (x - 1)), where x is how much longer
    communication takes than alone at full speed. A replay of the record gives x; W is the same
    for all runs of a group on one number of nodes; f is the slope.
    """
    choice("by", by, tuple(own for own in BY if own != "job"), error=SnapshotError)
    whole("seed", seed, 0, error=SnapshotError)
    if str(log) == "-":
        raise SnapshotError("-: expected a file, which is read several times, got standard input.")
    fabric, assumed = fabric_of(topology, name_map, host_pattern)
    rules = profile_of(profile)
    record = read_record(Path(log), fabric, stop=unknown == "stop", zone=timezone)
    jobs = {job.id: job for job in record.workload.jobs}
    possible = possible_rules(list(jobs.values()), rules.rules)
    some = [
        own for own in zip(jobs.values(), possible, strict=True) if own[0].n_nodes > 1 and own[1]
    ]
    runs = _Runs(grouped_jobs(some, rules, by), jobs, rules, by)
    options = {
        "unknown": unknown,
        "timezone": timezone,
        "seed": seed,
        "changes": [*_MODEL, *([] if routing is None else [f"network.routing={routing}"])],
        "progress": progress,
    }
    off = nan
    for turn in range(_TURNS):
        for choice_ in range(runs.choices) if turn == 0 else (-1,):
            table = runs.profile(choice_)
            runs.learn(_replayed_stretches(log, fabric, table, options), choice_)
        if (off := runs.settle()) < _CLOSE:
            break
    remarks = (
        [f"Replay and fit still differed by {off:.3f} after {_TURNS} turns."]
        if off >= _CLOSE
        else []
    )
    left = {f"jobs left out: {why}": count for why, count in record.left_out.items()}
    meant = [*assumed, *_MEANT, *([] if record.zone else [NO_ZONE])]
    answer = _calibration_answer((str(log), fabric), runs, meant, {**record.notes, **left})
    return replace(answer, remarks=(*answer.remarks, *remarks))


def _replayed_stretches(
    log: Path | str, fabric: Topology, profile: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[int, tuple[float, float, float]]:
    """Replay a record; return run time, slowdown and stretch of communication of each job."""
    jobs = replay(log, fabric, profile=profile, **options).recorded.jobs
    taken = zip(
        jobs["id"].tolist(),
        (jobs["end_s"] - jobs["start_s"]).tolist(),
        jobs["network_slowdown"].tolist(),
        jobs["comm_fraction"].tolist(),
        strict=True,
    )
    return {
        job: (ran_s, slow, 1.0 + (slow - 1.0) / share if share and share > 0.0 else 1.0)
        for job, ran_s, slow, share in taken
    }


@dataclass(frozen=True, slots=True)
class _Slope:
    """What runs say under one rule: fraction, interval, sum of squares, how much is as good."""

    fraction: float
    low: float
    high: float
    loss: float
    most: float
    why: str


class _Runs:
    """Repeated runs of groups, and what is known of them so far."""

    def __init__(
        self, groups: Sequence[JobGroup], jobs: Mapping[int, Job], rules: Profile, by: str
    ) -> None:
        self.groups, self.jobs, self.rules, self.by = groups, jobs, rules, by
        if not groups:
            raise SnapshotError("expected jobs on two nodes and more that ran, got none.")
        self.choices = max(len(group.rules) for group in groups)
        self.rule = [group.rules[0] for group in groups]
        self.slope: list[_Slope] = [_Slope(_FIRST, _FIRST, _FIRST, nan, nan, "")] * len(groups)
        self.share = [_FIRST] * len(groups)  # under which the next replay runs
        self.slow: dict[int, float] = {}
        self.others: list[tuple[int, ...]] = [()] * len(groups)
        self._tried: list[dict[int, _Slope]] = [{} for _ in groups]
        self._turns: list[tuple[Floats, Floats]] = []  # shares of replays, and how far they are off

    def profile(self, choice_: int) -> dict[str, Any]:
        """Return a profile in which each group has one rule: its n-th, or (-1) the best."""
        drafts = []
        for at, group in enumerate(self.groups):
            rule = self.rule[at] if choice_ < 0 else group.rules[min(choice_, len(group.rules) - 1)]
            share = max(self.share[at], _LEAST)
            drafts.append(ProfileDraft(group, (rule,), share, share))
        return profile_table(drafts, self.rules, self.jobs, self.by)

    def learn(self, found: Mapping[int, tuple[float, float, float]], choice_: int) -> None:
        """Take what a replay says."""
        for at, group in enumerate(self.groups):
            rule = self.rule[at] if choice_ < 0 else group.rules[min(choice_, len(group.rules) - 1)]
            own = [job for job in group.jobs if job in found and self._ended_alone(job)]
            ran = np.array([found[job][0] for job in own])
            stretch = np.array([found[job][2] for job in own])
            sizes = np.array([self.jobs[job].n_nodes for job in own], dtype=np.int64)
            self._tried[at][rule] = _slope(ran, stretch, sizes)
            self.slow |= {job: found[job][1] for job in group.jobs if job in found}

    def _ended_alone(self, job: int) -> bool:
        """Say whether a job ended by itself: others did not do all their work."""
        state = dict(self.jobs[job].extra).get("state", _FINISHED)
        return state.upper().startswith(_FINISHED)

    def settle(self) -> float:
        """Choose the rule that best explains each group; return the change of fractions."""
        # What jobs do to each other grows with all fractions, so the next replay runs at the mean
        # of both, or, after more turns, near where they agree (D. G. Anderson, J. ACM 12 (1965)).
        before = list(self.rule)
        for at, tried in enumerate(self._tried):
            self.rule[at], self.slope[at] = min(
                tried.items(), key=lambda own: (bool(own[1].why), own[1].loss)
            )
            if len(tried) > 1:
                self.others[at] = tuple(
                    rule
                    for rule, own in tried.items()
                    if rule != self.rule[at] and own.loss <= self.slope[at].most
                )
            self._tried[at] = {}
        share = np.array(self.share)
        off = np.array([own.fraction for own in self.slope]) - share
        if self.rule != before:
            self._turns.clear()
        self._turns = [*self._turns[-_BEFORE:], (share, off)]
        self.share = _shares_nearer(self._turns).tolist()
        return float(np.abs(off).max())


def _shares_nearer(turns: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return shares nearer to those that a replay does not change; `turns`: shares, changes."""
    share, off = turns[-1]
    step = off / 2.0
    if len(turns) > 1:
        d_share, d_off = (
            np.column_stack([late - early for early, late in pairwise(own)])
            for own in zip(*turns, strict=True)
        )
        weights = np.linalg.lstsq(d_off, off, rcond=None)[0]
        step = step - (d_share + d_off / 2.0) @ weights
    found: Floats = np.clip(share + step, 0.0, 1.0)
    return found


def _slope(ran_s: Floats, stretch: Floats, sizes: Ints) -> _Slope:
    """Fit one fraction to run times, with a work for each number of nodes."""
    # log(run time) = log(work) + log(1 + f (x - 1)) + noise; the interval is by the F test.
    kinds, kind, runs = np.unique(sizes, return_inverse=True, return_counts=True)
    free = ran_s.size - kinds.size - 1
    if ran_s.size < kinds.size + LEAST_RUNS:
        why = f"{counted(ran_s.size, 'whole run')} on {counted(kinds.size, 'size')}"
        return _Slope(_FIRST, 0.0, 1.0, nan, nan, f"too few: {why}")
    centred = stretch - (np.bincount(kind, weights=stretch) / runs)[kind]
    if float(np.sqrt((centred**2).mean())) < _LEAST_STRETCH:
        return _Slope(_FIRST, 0.0, 1.0, nan, nan, "all its runs had the same interference")
    times = np.log(ran_s)

    def loss(fraction: float) -> float:
        left = times - np.log1p(fraction * (stretch - 1.0))
        mean = np.bincount(kind, weights=left) / runs
        return float(((left - mean[kind]) ** 2).sum())

    grid = np.linspace(0.0, 1.0, _GRID)
    losses = np.array([loss(own) for own in grid.tolist()])
    near = float(grid[losses.argmin()])
    step = 1.0 / (_GRID - 1)
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 (slow to import)
    from scipy.stats import f as f_distribution  # noqa: PLC0415 (slow to import)

    best = minimize_scalar(
        loss, bounds=(max(near - step, 0.0), min(near + step, 1.0)), method="bounded"
    )
    fraction, least = (best.x, best.fun) if best.fun < losses.min() else (near, losses.min())
    most = least * (1.0 + f_distribution.ppf(_SURE, 1, free) / free)
    inside = grid[losses <= most + 1e-12]
    low = min(float(inside.min(initial=fraction)), float(fraction))
    high = max(float(inside.max(initial=fraction)), float(fraction))
    why = "too much noise in its run times" if high - low > _WIDE else ""
    return _Slope(float(fraction), low, high, float(least), float(most), why)


def _calibration_answer(
    source: tuple[str, Topology], runs: _Runs, assumed: Sequence[str], counts: Mapping[str, float]
) -> Calibration:
    """Write down what was found."""
    groups = []
    known = []
    for group, rule, others, slope in zip(
        runs.groups, runs.rule, runs.others, runs.slope, strict=True
    ):
        if not slope.why:
            known.append(ProfileDraft(group, (rule, *others), slope.low, slope.high))
        slow = float(np.mean([runs.slow.get(job, 1.0) for job in group.jobs]))
        groups.append(
            GroupFit(
                group.label,
                len(group.jobs),
                max(runs.jobs[job].n_nodes for job in group.jobs),
                runs.rules.rules[rule].label or "silent",
                rule + 1,
                tuple(runs.rules.rules[other].label or "silent" for other in others),
                nan if slope.why else slope.fraction,
                slope.low,
                slope.high,
                nan,
                slow,
                slow,
                identifiable=not slope.why,
                why=slope.why,
            )
        )
    states = Counter(
        dict(job.extra).get("state", _FINISHED).split()[0].lower() for job in runs.jobs.values()
    )
    cut = sum(count for state, count in states.items() if not state.startswith("completed"))
    remarks = [f"{counted(cut, 'run')} that did not complete: not compared."] if cut else []
    remarks += [f"{what[0].upper()}{what[1:]}: {count:,}." for what, count in counts.items()]
    groups.sort(key=lambda own: (not own.identifiable, own.group))
    return Calibration(
        source[0],
        source[1],
        "runs",
        tuple(groups),
        (),
        (),
        len(known),
        len(groups),
        nan,
        nan,
        nan,
        profile_table(known, runs.rules, runs.jobs, runs.by),
        tuple(assumed),
        tuple(remarks),
    )
