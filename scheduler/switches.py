"""SwitchLimit: at most so many leaf switches for a while, as with Slurm's ``--switches``."""

import numpy as np

from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.workload.slurm import slurm_duration

COLUMN = "switches"  # of the log, with what a job itself asked for
DEFAULT_PATIENCE_S = 300.0  # Slurm's max_switch_wait


def parse_switches(text: str, where: str) -> tuple[int, float]:
    """
    Read ``count[@time]`` as Slurm's ``--switches`` takes it: leaf switches and seconds.

    Count 0 is no limit. A bare time is in minutes; without one it is 300 s, Slurm's
    ``max_switch_wait``.
    """
    count, at, time = text.strip().partition("@")
    patience_s = slurm_duration(time) if at else DEFAULT_PATIENCE_S
    if not count.isdecimal() or patience_s is None:
        raise PolicyError(f'{where}: expected "count@time" as Slurm\'s --switches, got {text!r}.')
    return int(count), patience_s


class SwitchLimit:
    """
    Refuses placements that span more leaf switches than a job wants, until it loses patience.

    A leaf switch is the one that a node hangs on; nodes with several rails count the leaves of
    their first. As in Slurm the clock of a job does not start at its submission but when the
    scheduler first finds a place for it that spans too many switches.

    Parameters
    ----------
    default : str
        ``count@time`` for jobs whose log has no column ``switches``; ``"0"``: no limit for
        them.
    """

    def __init__(self, default: str) -> None:
        self._default = parse_switches(str(default), "option switches")
        self._own: dict[int, tuple[int, float]] = {}
        self._since_s: dict[int, float] = {}

    def __repr__(self) -> str:
        return f"<SwitchLimit: {self._default[0]} switches, for {self._default[1]:g} s>"

    def wanted(self, job: Job) -> tuple[int, float]:
        """
        Return what a job asks for.

        Parameters
        ----------
        job : Job
            A waiting job.

        Returns
        -------
        count : int
            Leaf switches at most; 0: as many as it takes.
        patience_s : float
            How long it waits for that, in seconds.
        """
        if not job.extra:
            return self._default
        if job.id not in self._own:
            text = dict(job.extra).get(COLUMN)
            self._own[job.id] = (
                self._default
                if text is None
                else parse_switches(text, f"job {job.id}: column {COLUMN}")
            )
        return self._own[job.id]

    def suits(self, placement: Allocation, cluster: Cluster) -> bool:
        """
        Say whether a placement spans no more switches than its job wants.

        Parameters
        ----------
        placement : Allocation
            Of a waiting job.
        cluster : Cluster
            The machine.

        Returns
        -------
        bool
            True when it does not, or the job has no limit.
        """
        count, _ = self.wanted(placement.job)
        return count == 0 or leaf_switches(placement, cluster) <= count

    def start_clock(self, job: Job, now_s: float) -> None:
        """
        Count the patience of a job from now on, unless it is counted already.

        Parameters
        ----------
        job : Job
            A waiting job.
        now_s : float
            The instant, in seconds.
        """
        self._since_s.setdefault(job.id, now_s)

    def patience_ends_s(self, job: Job) -> float:
        """
        Return when a job takes any placement.

        Parameters
        ----------
        job : Job
            A waiting job.

        Returns
        -------
        float
            In seconds; infinity while its clock has not started.
        """
        return self._since_s.get(job.id, float("inf")) + self.wanted(job)[1]


def leaf_switches(placement: Allocation, cluster: Cluster) -> int:
    """Return the number of leaves or routers of a placement; of several rails the first counts."""
    fabric = cluster.fabric
    if isinstance(fabric, FatTree) or cluster.geometry.hierarchy is not None:
        return len(placement.leaves)
    nodes = placement.nodes()
    up = np.flatnonzero(np.isin(fabric.link_tail, nodes))
    _, first = np.unique(fabric.link_tail[up], return_index=True)
    return int(np.unique(fabric.link_head[up[first]]).size)
