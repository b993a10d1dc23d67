"""Stagger: shifts of start that interleave the communication phases of jobs that share links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import PlacedJob, Snapshot, require_snapshot
from coupling.site.predictions import predictor
from fabricsim.checking.documents import NOT_JSON, json_fields, json_value
from netsim.common.arrays import Floats, Ints, Tabled, distinct_numbers
from netsim.common.errors import NetsimError
from netsim.flows.contention import step_hides_s
from netsim.flows.limiters import limited_links, limited_routes, limited_traffic
from netsim.flows.traffic import TrafficTimes, bytes_per_link
from netsim.topology.base import Topology
from patterns.errors import PatternError
from scheduler.traffic import PlacedTraffic, TrafficOf

MOST_ITERATIONS = 10_000  # of a common cycle
SAMPLES = 20  # other shifts, for the mean and the worst
_CELLS, _MOST_CELLS, _LINKS, _ROUNDS = 200, 4000, 64, 20
_SAME = 1e-3  # relative difference of periods that count as equal
_DRIFT = 1e-3  # of an iteration, for how long shifts last


@dataclass(frozen=True, slots=True)
class StaggeredJob:
    """One job: by how much it starts later, and its iterations by the flow simulation."""

    id: int | str
    shift_s: float
    alone_s: float
    best_s: float  # with all shifts
    mean_s: float  # over other shifts
    worst_s: float  # of these and a start at once, where all jobs are slowest


@dataclass(frozen=True, slots=True, eq=False)
class Stagger(Tabled):
    """
    Shifts of start, verified by the flow simulation.

    Parameters
    ----------
    jobs : tuple of StaggeredJob
        Those that share links with others.
    cycle_s : float
        After which all jobs are where they were.
    slack_s : float
        By how much one job may be off its shift until half of the gain is gone, by the loads of
        links; infinite where nothing is gained.
    topology : Topology
        The fabric.
    """

    jobs: tuple[StaggeredJob, ...]
    cycle_s: float
    slack_s: float
    topology: Topology = field(metadata=NOT_JSON)

    def __repr__(self) -> str:
        return f"<Stagger: {len(self.jobs)} jobs, cycle {self.cycle_s:g} s>"

    @property
    def iterations(self) -> float:
        """Iterations of the longest job after which half of the gain is gone, at 0.1 % drift."""
        return self.slack_s / (_DRIFT * max(job.alone_s for job in self.jobs))

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim stagger --json` prints."""
        return json_fields(self) | {
            "iterations_at_drift": json_value(self.iterations),
            "drift": _DRIFT,
        }


def stagger(snapshot: Snapshot | Mapping[str, Any]) -> Stagger:
    """
    Find by how much jobs should start later, so that they do not communicate at once.

    Parameters
    ----------
    snapshot : Snapshot or mapping
        Jobs on a fabric; their own `start_s` and `iterations` give way.

    Returns
    -------
    Stagger
        Shifts, and iterations with them, over other shifts and at the worst of these, by the model
        `flow-level`: fair shares keep a shift that avoids all contention.

    Raises
    ------
    SnapshotError
        If no jobs share links, or their iterations have no common cycle below 10,000 iterations.
    """
    snapshot = require_snapshot(snapshot)
    endless = [job.id for job in snapshot.jobs if job.persistent]
    if endless:
        raise SnapshotError(
            f"{snapshot.source}: job {endless[0]} persistent: expected jobs with barriers: others "
            "have no iteration to shift."
        )
    traffic_of = TrafficOf(snapshot.topology, snapshot.routing)
    times = TrafficTimes(snapshot.topology)
    try:
        placed = {
            job.number: own
            for job in snapshot.jobs
            if job.flows is not None and (own := _placed(traffic_of, job)) is not None
        }
        jobs, links = _sharing(snapshot, placed)
        if len(jobs) < 2:  # noqa: PLR2004 (one waits for no other)
            raise SnapshotError(f"{snapshot.source}: jobs: no two of them share a link.")
        grid = _Grid.of(snapshot, [placed[job.number] for job in jobs], links, times)
        shifts, slack = grid.descent()
        found = _verified(snapshot, jobs, placed, shifts.astype(np.float64) * grid.cell_s)
    except (NetsimError, PatternError) as error:
        raise SnapshotError(f"{snapshot.source}: {error}") from None
    rows = tuple(
        StaggeredJob(job.id, float(shifts[at] * grid.cell_s), placed[job.number].alone_s, *times_s)
        for at, (job, times_s) in enumerate(zip(jobs, found, strict=True))
    )
    return Stagger(rows, grid.cell_s * grid.load.shape[2], slack * grid.cell_s, snapshot.topology)


def _placed(traffic_of: TrafficOf, job: PlacedJob) -> PlacedTraffic | None:
    """Return what a job puts on the network."""
    assert job.flows is not None  # noqa: S101 (asked for of jobs that send)
    return traffic_of.of_flows(
        job.flows, job.partition, fraction=job.fraction, compute_s=job.compute_s
    )


def _sharing(
    snapshot: Snapshot, placed: Mapping[int, PlacedTraffic]
) -> tuple[list[PlacedJob], Ints]:
    """Return the jobs that share links, and the links that they load most together."""
    topology = snapshot.topology
    channel, capacity = limited_links(topology)
    users, load_s = np.zeros(capacity.size, dtype=np.int64), np.zeros(capacity.size)
    links_of = {}
    for number, own in placed.items():
        links, nbytes = bytes_per_link(limited_traffic(own.traffic, topology))
        links_of[number] = channel[links]
        users[distinct_numbers(channel[links])] += 1
        np.add.at(load_s, channel[links], nbytes / capacity[links] / own.alone_s)
    shared = np.flatnonzero(users > 1)
    order = shared[np.argsort(-load_s[shared], kind="stable")][:_LINKS]
    numbers = {number for number, links in links_of.items() if np.isin(links, order).any()}
    return [job for job in snapshot.jobs if job.number in numbers], order


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Loads of links over a common cycle, in cells of time."""

    load: Floats  # (jobs, links, cells), of a link's capacity, as if all had started at once
    period: Ints  # (jobs,), cells of an iteration
    cell_s: float

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        placed: Sequence[PlacedTraffic],
        links: Ints,
        times: TrafficTimes,
    ) -> "_Grid":
        """Lay the steps of jobs over a common cycle."""
        periods = np.array([own.alone_s for own in placed])
        cycle_s = _cycle_s(snapshot.source, periods)
        repeats = np.round(cycle_s / periods).astype(np.int64)
        cells = min(_MOST_CELLS, _CELLS * int(repeats.max()))
        cells = -(-cells // int(np.lcm.reduce(repeats))) * int(np.lcm.reduce(repeats))
        load = np.zeros((len(placed), links.size, cells))
        for job, own in enumerate(placed):
            period = cells // int(repeats[job])
            one = _one_period(snapshot.topology, own, links, times, period)
            load[job] = np.tile(one, (1, int(repeats[job])))
        return cls(load, cells // repeats, float(cycle_s / cells))

    def excess(self, total: Floats) -> float:
        """Return how much is asked of links beyond what they have."""
        return float(np.maximum(total - 1.0, 0.0).sum())

    def descent(self) -> tuple[Ints, float]:
        """Return the shifts with the least excess, job by job, and the slack, all in cells."""
        n_jobs = self.load.shape[0]
        shifts = np.zeros(n_jobs, dtype=np.int64)
        shifted = self.load.copy()
        mean = np.mean([self._costs(shifted, job).mean() for job in range(n_jobs)])
        for _ in range(_ROUNDS):
            before = shifts.copy()
            for job in range(1, n_jobs):
                costs = self._costs(shifted, job)
                if costs.min() < costs[shifts[job]] - 1e-9:
                    shifts[job] = _middle(costs)
                    shifted[job] = np.roll(self.load[job], int(shifts[job]), axis=1)
            if np.array_equal(before, shifts):
                break
        best = self.excess(shifted.sum(axis=0))
        if mean - best <= 1e-9:  # noqa: PLR2004 (rounding)
            return shifts, np.inf
        slack = np.inf
        for job in range(n_jobs):
            costs = np.roll(self._costs(shifted, job), -int(shifts[job]))
            off = np.flatnonzero(costs > (best + mean) / 2)
            if off.size:
                slack = min(slack, int(np.minimum(off, costs.size - off).min()))
        return shifts, float(slack)

    def _costs(self, shifted: Floats, job: int) -> Floats:
        """Return the excess of each shift of one job, the others staying."""
        others = shifted.sum(axis=0) - shifted[job]
        return np.array(
            [
                self.excess(others + np.roll(self.load[job], shift, axis=1))
                for shift in range(int(self.period[job]))
            ]
        )


def _middle(costs: Floats) -> int:
    """Return the middle of the longest run of shifts with the least cost, counted round."""
    least = costs <= costs.min() + 1e-9
    if least.all():
        return 0
    start = int(np.flatnonzero(~least)[0])
    rolled = np.roll(least, -start)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rolled, [False]]).astype(int)))
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return int((start + (begins[longest] + ends[longest] - 1) // 2) % costs.size)


def _cycle_s(source: str, periods: Floats) -> float:
    """Return the shortest time that is whole iterations of all jobs, or refuse."""
    longest = float(periods.max())
    count = np.arange(1, MOST_ITERATIONS + 1)[:, None] * longest / periods
    fits = (np.abs(count / np.round(count) - 1.0) < _SAME / np.maximum(1.0, np.round(count))).all(1)
    fits &= np.round(count).max(axis=1) <= MOST_ITERATIONS
    if not fits.any() or np.lcm.reduce(np.round(count[np.argmax(fits)]).astype(int)) > _MOST_CELLS:
        raise SnapshotError(
            f"{source}: jobs: their iterations of {periods.min():.4g} to {longest:.4g} s have no "
            f"common cycle below {MOST_ITERATIONS:,} iterations: no shift lasts."
        )
    return float((int(np.argmax(fits)) + 1) * longest)


def _one_period(
    topology: Topology, own: PlacedTraffic, links: Ints, times: TrafficTimes, cells: int
) -> Floats:
    """Return the load of links over one iteration alone, (links, cells)."""
    traffic = own.traffic
    steps = times(traffic).steps
    length_s, hide_s = steps["drain_s"] + steps["latency_s"], step_hides_s(traffic)
    channel, capacity = limited_links(topology)
    routes = limited_routes(traffic.routes, topology)
    place = np.full(capacity.size, -1)
    place[links] = np.arange(links.size)
    hops = routes.hops
    used, step = place[channel[routes.links]], np.repeat(traffic.step, hops)
    part_s = np.repeat(traffic.nbytes, hops) / capacity[routes.links]
    keep = used >= 0
    busy = np.zeros((links.size, steps.size))
    np.add.at(busy, (used[keep], step[keep]), part_s[keep])
    found = np.zeros((links.size, cells))
    at_s, group_s = traffic.compute_s, traffic.compute_s
    per_cell = cells / own.alone_s
    for number, (step_s, beside_s) in enumerate(zip(length_s, hide_s, strict=True)):
        begin, end = at_s * per_cell, (at_s + step_s) * per_cell
        edges = np.arange(cells)
        part = np.clip(np.minimum(end, edges + 1) - np.maximum(begin, edges), 0.0, 1.0)
        found += busy[:, number, None] / max(step_s, 1e-15) * part
        at_s += step_s
        if beside_s >= 0.0:
            at_s = group_s = max(at_s, group_s + beside_s)
    return found


def _verified(
    snapshot: Snapshot,
    jobs: Sequence[PlacedJob],
    placed: Mapping[int, PlacedTraffic],
    shift_s: Floats,
) -> list[tuple[float, float, float]]:
    """Return iterations with the shifts, over others and at the worst, by the flow simulation."""
    own = {job.number: placed[job.number] for job in jobs}
    alone_s = np.array([own[job.number].alone_s for job in jobs])

    def simulated(starts: Floats) -> Floats:
        moved = tuple(
            replace(job, start_s=float(start), iterations=None)
            for job, start in zip(jobs, starts, strict=True)
        )
        scene = replace(snapshot, jobs=moved, candidates=(), model="flow-level", model_options={})
        found = predictor(scene)(own)
        return np.array(
            [found[job.number].alone_s * found[job.number].interference for job in jobs]
        )

    best = simulated(shift_s)
    rng = np.random.default_rng(snapshot.seed)
    even = (np.arange(SAMPLES) + 0.5) / SAMPLES
    phases = [np.zeros(SAMPLES), even, *(rng.permutation(even) for _ in jobs[2:])]
    others = np.array([simulated(row * alone_s) for row in np.stack(phases, axis=1)])
    tried = np.vstack([simulated(np.zeros(len(jobs))), others])  # equal jobs are slowest in step
    worst = tried[int(np.argmax((tried / alone_s).sum(axis=1)))]
    return list(zip(best.tolist(), others.mean(axis=0).tolist(), worst.tolist(), strict=True))
