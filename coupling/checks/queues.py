"""What every queue policy keeps, with right and wrong estimates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isclose
from typing import ClassVar

import numpy as np

from netsim.topology.base import Topology
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.torus import build_torus
from patterns.pairs import Ring
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.machine import Machine, QueuePolicy
from scheduler.simulator import JobRecord, simulate

MACHINES: Mapping[str, Topology] = {
    "tree": fat_tree_of_radix(4, "1 B/s"),
    "torus": build_torus((4, 4), "1 B/s"),
}
N_NODES = 16
_CASES, _JOBS, _SEED = 25, 20, 11


@dataclass(frozen=True)
class Queue:
    """A queue policy and jobs to try it with."""

    make: Callable[[], QueuePolicy]  # Makes a fresh policy
    workloads: Sequence[Sequence[Job]]  # Jobs of at most 16 nodes
    allocator: str = "first-free"  # Places the jobs, where a rule does not say otherwise


class Watched:
    """A policy that calls `check` with the machine after every choice."""

    name: ClassVar[str] = "watched"

    def __init__(self, policy: QueuePolicy, check: Callable[[Machine], None]) -> None:
        self.policy, self.check = policy, check

    def __len__(self) -> int:
        """Return what the policy says."""
        return len(self.policy)

    def submit(self, job: Job) -> None:
        """Hand the job on."""
        self.policy.submit(job)

    def select(self, machine: Machine) -> None:
        """Let the policy choose, then look."""
        self.policy.select(machine)
        self.check(machine)


def some_workloads() -> list[list[Job]]:
    """Return always the same small workloads; requested times are right, too long or too short."""
    rng = np.random.default_rng(_SEED)
    return [_sample_jobs(rng, int(rng.integers(1, _JOBS + 1))) for _ in range(_CASES)]


def run_jobs(
    queue: Queue,
    jobs: Sequence[Job],
    machine: str = "tree",
    *,
    check: Callable[[Machine], None] | None = None,
    kill_at_limit: bool = False,
    estimated: bool = True,
) -> list[JobRecord]:
    """Run jobs under a policy. `machine` {"tree", "torus"}: where."""
    cluster, policy = Cluster(MACHINES[machine]), queue.make()
    allocator = make_allocator(
        queue.allocator if machine == "tree" else "non-contiguous", {}, seed=1
    )
    records = simulate(
        jobs,
        cluster,
        allocator,
        policy if check is None else Watched(policy, check),
        estimate_s=(lambda job: job.requested_s) if estimated else None,
        kill_at_limit=kill_at_limit,
    ).records
    if cluster.n_free != cluster.n_nodes:
        raise RuntimeError(f"{cluster.n_nodes - cluster.n_free} nodes are held after the last job")
    return list(records)


def every_job_runs_once(queue: Queue) -> Iterator[str]:
    """Check that jobs run once, after their submission, on nodes of their own."""
    for jobs in queue.workloads:
        records = run_jobs(queue, jobs)
        if sorted(record.job.id for record in records) != [job.id for job in jobs]:
            yield f"{len(jobs)} jobs were submitted, {len(records)} ran"
        for record in records:
            name = f"job {record.job.id}"
            if record.start_s < record.job.submit_s:
                yield f"{name} starts at {record.start_s}, before it comes"
            if record.end_s != record.start_s + record.job.runtime_s:
                yield f"{name} does not run for its run time"
        yield from _node_overlaps(records)


def other_machines_do(queue: Queue) -> Iterator[str]:
    """Check that all jobs end on a machine that is no tree."""
    for jobs in queue.workloads:
        records = run_jobs(queue, jobs, "torus")
        if len(records) != len(jobs):
            yield f"{len(jobs)} jobs were submitted on a torus, {len(records)} ran"


def same_schedule(queue: Queue) -> Iterator[str]:
    """Check that the same jobs give the same schedule, bit for bit."""
    for jobs in queue.workloads:
        one, other = (
            [(r.job.id, r.start_s, r.allocation.leaves) for r in run_jobs(queue, jobs)]
            for _ in range(2)
        )
        if one != other:
            yield f"{len(jobs)} jobs are scheduled otherwise when they are run again"


def time_limits_end_jobs(queue: Queue) -> Iterator[str]:
    """Check that jobs that asked for too little time are ended, and no others."""
    for jobs in queue.workloads:
        for record in run_jobs(queue, jobs, kill_at_limit=True):
            job = record.job
            if record.killed != (job.requested_s < job.runtime_s):
                yield f"job {job.id}: killed is {record.killed}"
            end_s = record.start_s + min(job.requested_s, job.runtime_s)
            if not isclose(record.end_s, end_s, rel_tol=1e-6, abs_tol=1e-12):
                yield f"job {job.id} ends at {record.end_s}, expected {end_s}"


def a_job_starts_on_an_empty_machine(queue: Queue) -> Iterator[str]:
    """Check that some job starts whenever the machine is empty."""
    for jobs in queue.workloads:
        idle: list[str] = []
        run_jobs(queue, jobs, check=partial(_note_idle, {job.id: job for job in jobs}, idle))
        yield from idle


RULES: Mapping[str, Callable[[Queue], Iterator[str]]] = {
    "every job runs once, after its submission, on nodes of its own": every_job_runs_once,
    "machines that are no trees will do": other_machines_do,
    "the same jobs give the same schedule": same_schedule,
    "jobs end at their requested time where that is a limit, no others do": time_limits_end_jobs,
    "some job starts whenever the machine is empty": a_job_starts_on_an_empty_machine,
}


def _note_idle(waiting: dict[int, Job], idle: list[str], machine: Machine) -> None:
    """Note jobs that wait although the machine is empty."""
    for job_id in machine.cluster.running:
        waiting.pop(job_id, None)
    left = [job.id for job in waiting.values() if job.submit_s <= machine.now_s]
    if left and not machine.cluster.running:
        idle.append(f"job {left[0]} waits at {machine.now_s} on an empty machine")


def _node_overlaps(records: Sequence[JobRecord]) -> Iterator[str]:
    """Yield nodes that two jobs have at the same time."""
    spans: dict[int, list[tuple[float, float]]] = {node: [] for node in range(N_NODES)}
    for record in records:
        for node in record.allocation.nodes().tolist():
            spans[node].append((record.start_s, record.end_s))
    for node, used in spans.items():
        if any(one[1] > other[0] for one, other in pairwise(sorted(used))):
            yield f"node {node} runs two jobs at once"


def _sample_jobs(rng: np.random.Generator, n_jobs: int) -> list[Job]:
    """Draw jobs."""
    jobs, submit_s = [], 0.0
    for number in range(1, n_jobs + 1):
        submit_s += float(rng.choice([0.0, 0.0, 1.0, 30.0]))
        runtime_s = float(rng.integers(1, 201))
        label = str(rng.choice(["", "all-to-all", "stencil"]))
        jobs.append(
            Job(
                number,
                submit_s,
                int(rng.integers(1, N_NODES + 1)),
                runtime_s,
                runtime_s * float(rng.choice([1.0, 1.0, 0.2, 5.0])),
                user=int(rng.integers(1, 4)),
                communication=Communication(label, Ring(), 0.5) if label else None,
            )
        )
    return jobs
