"""Runs that are drawn, or written down job by job, and what plain sums over their jobs say."""

from dataclasses import dataclass, field

import pandas as pd
from coupling_samples import sample, with_dropped
from hypothesis import strategies as st

from coupling.results.result import Result
from coupling.results.summary import summarize

N_NODES = 64
NAMES = ("first-free", "ta", "day-3", "x (1)")
LIKE = sample("ta")


@dataclass(frozen=True)
class Ran:
    """What a drawn job did in a run."""

    id: int
    size: int
    work_s: float
    wait_s: float
    interference: float
    placement: float
    killed: bool = False
    submit_s: float = 0.0

    @property
    def network_slowdown(self):
        return self.interference * self.placement

    @property
    def run_s(self):
        """A killed job did half of its work."""
        return self.work_s * self.network_slowdown * (0.5 if self.killed else 1.0)

    @property
    def turnaround_s(self):
        return self.wait_s + self.run_s

    @property
    def lost_to_interference(self):
        return self.size * self.run_s * (1 - 1 / self.interference)

    @property
    def lost(self):
        return self.size * self.run_s * (1 - 1 / self.network_slowdown)


@dataclass(frozen=True)
class Scene:
    """Runs by name: what the jobs of each did."""

    runs: dict[str, tuple[Ran, ...]] = field(default_factory=dict)

    def results(self):
        return [_result(name, jobs) for name, jobs in self.runs.items()]

    def mean_turnaround(self, name):
        jobs = self.runs[name]
        return sum(job.turnaround_s for job in jobs) / len(jobs)

    def makespan(self, name):
        return max(job.submit_s + job.turnaround_s for job in self.runs[name])

    def speed(self, name, baseline):
        """Mean of run time there / here, weighted by node-seconds there."""
        pairs = list(zip(self.runs[name], self.runs[baseline], strict=True))
        weight = [there.size * there.run_s for _, there in pairs]
        speeds = [there.run_s / here.run_s for here, there in pairs]
        return sum(w * s for w, s in zip(weight, speeds, strict=True)) / sum(weight)

    def share_lost(self, name, what="lost"):
        jobs = self.runs[name]
        return sum(getattr(j, what) for j in jobs) / sum(j.size * j.run_s for j in jobs)


def _result(name, jobs):
    """Return a result with these jobs, and an infinite network on which they only wait."""
    table = _table(jobs)
    infinite = _table([Ran(j.id, j.size, j.work_s, j.wait_s, 1.0, 1.0) for j in jobs])
    summary = {"name": name, **summarize(table, N_NODES)}
    if jobs:
        summary["infinite_network"] = summarize(infinite, N_NODES)
    lost = [job.lost_to_interference for job in jobs]
    links = LIKE.links.assign(interference_delay_node_s=[max(0.0, sum(lost)), *[0.0] * 9])
    return Result(name, table, links, LIKE.timeline, LIKE.blame.iloc[:0], summary)


def _table(jobs):
    """Return the job table; with no job, a dropped one."""
    if not jobs:
        return with_dropped(LIKE.jobs.iloc[:0], ["too large"])
    rows = [
        {
            "id": job.id,
            "submit_s": job.submit_s,
            "start_s": job.submit_s + job.wait_s,
            "end_s": job.submit_s + job.turnaround_s,
            "n_nodes": job.size,
            "idle_nodes": 0,
            "runtime_reference_s": job.work_s,
            "wait_s": job.wait_s,
            "turnaround_s": job.turnaround_s,
            "network_slowdown": job.network_slowdown,
            "interference": job.interference,
            "placement_factor": job.placement,
            "interference_delay_s": job.lost_to_interference / job.size,
            "pattern": "ring",
            "comm_fraction": 0.5,
            "aph": 0.0,
            "communication_cost": 0.0,
            "nodes": "n0",
            "killed": job.killed,
            "dropped": "",
        }
        for job in jobs
    ]
    return pd.DataFrame(rows)


RATIOS = st.sampled_from([1.0, 1.0, 1.00001, 1.02, 1.5, 4.0])
WAITS = st.sampled_from([0.0, 0.0, 1.0, 100.0, 100.001])


@st.composite
def scenes(draw, same_jobs=True):
    """Draw runs of the same jobs; or else of other jobs, other work, or none."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    count = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 16), min_size=count, max_size=count))
    work = draw(st.lists(st.sampled_from([10.0, 100.0, 3600.0]), min_size=count, max_size=count))
    runs = {}
    for name in names:
        jobs = [
            Ran(
                id=number,
                size=size,
                work_s=work_s,
                wait_s=draw(WAITS),
                interference=draw(RATIOS | st.just(0.98)),
                placement=draw(RATIOS),
                killed=draw(st.sampled_from([False] * 5 + [True])),
            )
            for number, (size, work_s) in enumerate(zip(sizes, work, strict=True))
        ]
        if not same_jobs:
            jobs = jobs[: draw(st.integers(0, count))]
        runs[name] = tuple(jobs)
    return Scene(runs)
