"""Job: one line of a workload, and how the job communicates."""

from dataclasses import dataclass

from patterns.base import Pattern


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
    """

    label: str
    pattern: Pattern
    fraction: float
    iteration_s: float | None = None


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
        `submit_s` was made of that; None where the log does not tell.
    logged_hosts : str
        Where it ran by the log: a host list; empty where the log does not tell.
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
