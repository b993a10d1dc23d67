"""Job: one line of a workload, and how the job communicates."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from fabricsim.checking import number, shortened, whole, wrong
from patterns.base import Pattern
from scheduler.errors import WorkloadError

LEAST_FRACTION = 1e-9
"""Of communication, where there is any; below, times, which are divided by it, leave the range."""


@dataclass(frozen=True, slots=True)
class Communication:
    """
    What a job sends while it runs; drawn by a communication profile.

    Parameters
    ----------
    label : str
        Name of the pattern for tables, e.g. ``"stencil"``.
    pattern : Pattern
        Steps of one iteration, with bytes.
    fraction : float
        Communication share of the ideal iteration (at injection time), 0..1.
    iteration_s : float or None
        Length of the ideal iteration in seconds; None: it follows from the pattern's
        bytes and the fraction.
    compute_s : float or None
        Seconds of an iteration without communication, of training jobs, whose `fraction` follows
        from it; their ranks are GPUs.
    """

    label: str
    pattern: Pattern
    fraction: float
    iteration_s: float | None = None
    compute_s: float | None = None

    def __post_init__(self) -> None:
        """Check the share."""
        if not 0.0 <= self.fraction <= 1.0:
            raise wrong("fraction", "a number from 0 to 1", self.fraction, WorkloadError)

    def __repr__(self) -> str:
        return f"<Communication {shortened(self.label)!r}: {self.fraction:g} of the time>"


@dataclass(frozen=True, slots=True)
class Job:
    """
    One line of a workload.

    Parameters
    ----------
    id : int
        Number, unique in the workload.
    submit_s : float
        Time of submission in seconds.
    n_nodes : int
        Nodes asked for.
    runtime_s : float
        Reference run time in seconds (what the log says).
    requested_s : float
        Time limit that the user asked for, in seconds; equal to `runtime_s` where the log
        has none.
    user, group, executable, queue : int
        As the log numbers them; -1 where missing.
    name : str
        As the log has it.
    communication : Communication or None
        None for a job that does not communicate.
    extra : tuple of (str, str)
        Further columns of the log, as it writes them.
    logged_start_s : float or None
        When it started by the log, in seconds after the first submission of a kept job whatever
        `submit_s` was made of that; None where the log lacks it.
    logged_hosts : str
        Where it ran by the log: a host list; empty where the log lacks it.
    after, after_ok : tuple of int
        Ids of jobs that have to end before it may start, in whatever way, or with their work done
        (Slurm's ``afterany`` and ``afterok``).
    think_s : float or None
        It is submitted so many seconds after the last of these has ended (SWF, field 18), whatever
        `submit_s` says; None: at `submit_s`, and waits for them.
    cores, gpus, memory_mb : int
        Processors, GPUs and MiB of memory asked for on all nodes together; 0 where it says nothing.
        They count where nodes are shared; a job with none of them has whole nodes.
    sizes : tuple of (int, float)
        Of a moldable job: nodes and run time in seconds of each size among which the scheduler
        chooses when it starts the job. The first is what it asks for: `n_nodes` and `runtime_s`.
    """

    id: int
    submit_s: float
    n_nodes: int
    runtime_s: float
    requested_s: float
    user: int = -1
    group: int = -1
    executable: int = -1
    queue: int = -1
    name: str = ""
    communication: Communication | None = None
    extra: tuple[tuple[str, str], ...] = ()
    logged_start_s: float | None = None
    logged_hosts: str = ""
    after: tuple[int, ...] = ()
    after_ok: tuple[int, ...] = ()
    think_s: float | None = None
    cores: int = 0
    gpus: int = 0
    memory_mb: int = 0
    sizes: tuple[tuple[int, float], ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Job {self.id}: {self.n_nodes} nodes for {self.runtime_s:g} s, "
            f"submitted at {self.submit_s:g} s>"
        )

    def at_size(self, n_nodes: int) -> "Job":
        """
        Return a moldable job at one of its sizes.

        Parameters
        ----------
        n_nodes : int
            Nodes of one of `sizes`.

        Returns
        -------
        Job
            The job with so many nodes and their run time. Its requested time is as many times the
            run time as before.

        Raises
        ------
        WorkloadError
            If it has no such size.

        Examples
        --------
        >>> Job(1, 0.0, 8, 60.0, 90.0, sizes=((8, 60.0), (4, 100.0))).at_size(4).requested_s
        150.0
        """
        if n_nodes == self.n_nodes:
            return self
        for size, runtime_s in self.sizes:
            if size == n_nodes:
                requested_s = self.requested_s * runtime_s / self.runtime_s
                return replace(self, n_nodes=size, runtime_s=runtime_s, requested_s=requested_s)
        known = ", ".join(str(size) for size, _ in self.sizes) or str(self.n_nodes)
        raise WorkloadError(f"job {self.id}: expected one of its sizes ({known}), got {n_nodes}.")

    def at_runtime(self, runtime_s: float) -> "Job":
        """
        Return the job with another run time.

        Parameters
        ----------
        runtime_s : float
            In seconds; that of its other sizes changes in proportion.

        Returns
        -------
        Job
            The same otherwise.
        """
        if not self.sizes:
            return replace(self, runtime_s=runtime_s)
        factor = runtime_s / self.runtime_s
        others = tuple((size, own_s * factor) for size, own_s in self.sizes[1:])
        return replace(self, runtime_s=runtime_s, sizes=((self.n_nodes, runtime_s), *others))


def check_jobs(jobs: Iterable[Job]) -> None:
    """Refuse jobs that cannot be simulated, or are out of order."""
    before_s = -inf
    for job in jobs:
        if not isinstance(job, Job):
            raise wrong("jobs", "objects of class Job", job, WorkloadError)
        plain = (
            type(job.id) is type(job.n_nodes) is int
            and type(job.submit_s) is type(job.runtime_s) is type(job.requested_s) is float
        )
        if not (
            plain
            and job.n_nodes > 0
            and before_s <= job.submit_s < inf
            and 0 <= job.runtime_s < inf
            and 0 <= job.requested_s < inf
            and type(job.cores) is type(job.gpus) is type(job.memory_mb) is int
            and min(job.cores, job.gpus, job.memory_mb) >= 0
            and not job.sizes
        ):
            _check_job(job, before_s)
        before_s = job.submit_s


def _check_job(job: Job, before_s: float) -> None:
    """Refuse what is wrong with a job; numbers of other types pass."""
    whole("id of a job", job.id, error=WorkloadError)
    name = f"job {job.id}:"
    whole(f"{name} n_nodes", job.n_nodes, 1, error=WorkloadError)
    number(f"{name} submit_s", job.submit_s, error=WorkloadError)
    number(f"{name} runtime_s", job.runtime_s, 0.0, error=WorkloadError)
    number(f"{name} requested_s", job.requested_s, 0.0, error=WorkloadError)
    for unit in ("cores", "gpus", "memory_mb"):
        whole(f"{name} {unit}", getattr(job, unit), 0, error=WorkloadError)
    if job.submit_s < before_s:
        raise WorkloadError(
            f"{name} submit_s: expected jobs by submit time, got {job.submit_s:g} "
            f"after {before_s:g}."
        )
    if job.sizes:
        check_sizes(job.sizes, job.n_nodes, job.runtime_s, f"{name} sizes")


def check_sizes(sizes: object, n_nodes: int, runtime_s: float, place: str) -> None:
    """Refuse sizes of a moldable job that asks for so many nodes and seconds."""
    if not isinstance(sizes, (tuple, list)):
        raise wrong(place, "pairs of nodes and seconds", sizes, WorkloadError)
    seen = set[int]()
    for pair in sizes:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:  # noqa: PLR2004
            raise wrong(place, "pairs of nodes and seconds", pair, WorkloadError)
        size = whole(f"{place}: nodes", pair[0], 1, error=WorkloadError)
        what = f"{place}: run time on {size} nodes"
        number(what, pair[1], positive=True, error=WorkloadError)
        if size in seen:
            raise WorkloadError(f"{place}: expected each size once, got {size} nodes twice.")
        seen.add(size)
    if tuple(sizes[0]) != (n_nodes, runtime_s):
        raise WorkloadError(
            f"{place}: expected what the job asks for first ({n_nodes} nodes, {runtime_s:g} s), "
            f"got {sizes[0][0]} nodes, {sizes[0][1]:g} s."
        )
