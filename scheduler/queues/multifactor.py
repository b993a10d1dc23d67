"""Slurm's multifactor priority: age, fair-share and job size, weighted, with EASY backfilling."""

from collections.abc import Iterable, Mapping
from math import exp2, log
from typing import Any, ClassVar

import numpy as np

from fabricsim.checking import number, unknown, wrong
from netsim.common.arrays import Ints
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.easy import Easy, reach_of
from scheduler.workload.slurm import slurm_duration

WEIGHTS = ("PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize")
_TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife")
_FAVOR_SMALL = "PriorityFavorSmall"
_KNOWN = (*WEIGHTS, *_TIMES, _FAVOR_SMALL)
_WAITING = np.dtype(
    [
        ("arrival", "i8"),  # its number
        ("user", "i8"),  # its row among the users that have submitted
        ("submit_s", "f8"),
        ("size", "f8"),  # part of the machine's nodes
    ]
)


class MultifactorLine:
    """
    Waiting jobs by priority, the highest first, equals by submission.

    Priorities are those of this instant: whole numbers, the sum of weight x factor, where
    age is min(1, waiting time / ``PriorityMaxAge``), job size nodes / nodes of the machine (or 1
    minus that under ``PriorityFavorSmall``), and fair-share 2^(-U/S): U the user's part of all
    node-seconds used, which fade by ``PriorityDecayHalfLife``, S its part of the shares of all
    users that have submitted or run (Slurm, *Multifactor Priority Plugin*, classic fair-share).
    """

    stable: ClassVar[bool] = False

    def __init__(
        self, reach: int, settings: Mapping[str, float], shares: Mapping[str, float]
    ) -> None:
        self._reach, self._settings, self._shares = reach, settings, shares
        self._jobs: dict[int, Job] = {}  # waiting, by arrival
        self._waiting = np.empty(0, _WAITING)  # in the order of their arrival
        self._ranked: Ints = np.empty(0, np.int64)  # their numbers, in order of priority
        self._new: list[Job] = []
        self._gone: list[int] = []  # numbers that are still in both
        self._arrival: dict[int, int] = {}  # of waiting jobs
        self._n_arrived = 0
        self._share: dict[int, float] = {}  # of the users that have submitted
        self._used: dict[int, float] = {}  # node-seconds, as they count at `_since_s`
        self._busy: dict[int, float] = {}  # nodes by user since then
        self._since_s = 0.0
        self._cluster: Cluster | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def enroll(self, job: Job) -> None:
        """Give a number to a job that is submitted now, and may be appended later."""
        self._n_arrived += 1
        self._arrival[job.id] = self._n_arrived

    def append(self, job: Job) -> None:
        """Take a job."""
        if job.id not in self._arrival:
            self.enroll(job)
        self._new.append(job)
        self._jobs[self._arrival[job.id]] = job
        self._add_user(job.user)

    def settle(self, machine: Machine) -> None:
        """Count what was used since the last instant, and order the jobs."""
        half_life_s, elapsed_s = self._settings[_TIMES[1]], machine.now_s - self._since_s
        fading = exp2(-elapsed_s / half_life_s)
        for user in self._used:
            self._used[user] *= fading
        for user, nodes in self._busy.items():
            more = nodes * half_life_s / log(2) * (1 - fading)
            self._used[user] = self._used.get(user, 0.0) + more
        self._since_s, self._busy, self._cluster = machine.now_s, {}, machine.cluster
        for allocation in machine.cluster.running.values():  # some from other partitions
            self._add_user(allocation.job.user)
            self._charge(allocation.job.user, allocation.weight)
        self._drop_gone()
        self._take_new(machine.cluster)
        priority = self._priorities(machine.now_s)
        self._ranked = self._waiting["arrival"][np.argsort(-priority, kind="stable")]

    def _take_new(self, cluster: Cluster) -> None:
        """Put new jobs among those that wait, by arrival."""
        if not self._new:
            return
        user_row = {user: row for row, user in enumerate(self._share)}
        rows = [
            (
                self._arrival[job.id],
                user_row[job.user],
                job.submit_s,
                cluster.weight(job) / cluster.n_nodes,
            )
            for job in self._new
        ]
        self._new.clear()
        waiting = np.concatenate([self._waiting, np.array(rows, _WAITING)])
        self._waiting = waiting[np.argsort(waiting["arrival"], kind="stable")]

    def _priorities(self, now_s: float) -> Ints:
        """Return the priorities of waiting jobs now."""
        total, shares = sum(self._used.values()), sum(self._share.values())
        fair = np.array(
            [
                exp2(-self._used.get(user, 0.0) / total * shares / share) if total else 1.0
                for user, share in self._share.items()
            ]
        )
        given, waiting = self._settings, self._waiting
        age = np.minimum(1.0, (now_s - waiting["submit_s"]) / given[_TIMES[0]])
        size = 1.0 - waiting["size"] if given[_FAVOR_SMALL] else waiting["size"]
        factors = zip(WEIGHTS, (age, fair[waiting["user"]], size), strict=True)
        found: Ints = sum(given[weight] * factor for weight, factor in factors).astype(np.int64)
        return found

    def _add_user(self, user: int) -> None:
        """Count the shares of a user, too."""
        self._share.setdefault(user, self._shares.get(str(user), 1.0))

    def _charge(self, user: int, nodes: float) -> None:
        """Let a user hold more nodes from now on."""
        self._busy[user] = self._busy.get(user, 0) + nodes

    def head(self) -> Job | None:
        """Return the first job."""
        self._drop_gone()
        return self._jobs[int(self._ranked[0])] if self._ranked.size else None

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line."""
        self._drop_gone()
        return [self._jobs[number] for number in self._ranked[: self._reach].tolist()]

    def remove(self, job: Job) -> None:
        """Take out a job that starts."""
        cluster = self._cluster
        self.withdraw((job,))
        del self._arrival[job.id]
        self._charge(job.user, job.n_nodes if cluster is None else cluster.weight(job))

    def withdraw(self, jobs: Iterable[Job]) -> None:
        """Take out jobs that come back to their places."""
        for job in jobs:
            arrival = self._arrival[job.id]
            del self._jobs[arrival]
            self._gone.append(arrival)

    def _drop_gone(self) -> None:
        """Take out the rows of jobs that are gone."""
        if self._gone:
            self._ranked = self._ranked[~np.isin(self._ranked, self._gone)]
            self._waiting = self._waiting[~np.isin(self._waiting["arrival"], self._gone)]
            self._gone.clear()


class Multifactor(Easy):
    """
    Slurm's multifactor priority, with EASY backfilling.

    `slurm`: Lines of ``slurm.conf``: ``PriorityWeightAge``, ``PriorityWeightFairshare``,
    ``PriorityWeightJobSize`` (default 0), ``PriorityMaxAge``, ``PriorityDecayHalfLife`` (durations
    as Slurm writes them, ``7-0``), ``PriorityFavorSmall``. `shares`: Shares of users by their
    number, 1 where none is given. `window`: Waiting jobs behind the first that are tried.
    `reservation`, `reservation_depth`: As for `Easy`.
    """

    name: ClassVar[str] = "multifactor"

    def __init__(
        self,
        slurm: Mapping[str, Any] | None = None,
        shares: Mapping[str, float] | None = None,
        window: int = 50,
        reservation: str = "R2",
        reservation_depth: int | str = 1,
    ) -> None:
        super().__init__(window, reservation, reservation_depth)
        self._line = MultifactorLine(
            reach_of(window), _settings(slurm or {}), _shares(shares or {})
        )


def _settings(slurm: Mapping[str, Any]) -> dict[str, float]:
    """Check lines of ``slurm.conf``; durations in seconds."""
    if not isinstance(slurm, Mapping):
        raise wrong("slurm", "a table such as {PriorityWeightAge = 1000}", slurm, PolicyError)
    for key in slurm:
        if key not in _KNOWN:
            raise PolicyError(f"slurm: {unknown('factor', key, _KNOWN)}")
    found = {key: number(key, slurm.get(key, 0), 0.0, 2**32, error=PolicyError) for key in WEIGHTS}
    for key in _TIMES:
        length_s = slurm_duration(str(slurm.get(key, "7-0")))
        if not length_s:
            raise wrong(key, "a duration such as 7-0", slurm[key], PolicyError)
        found[key] = length_s
    favor = slurm.get(_FAVOR_SMALL, False)
    if str(favor).lower() not in {"yes", "no", "true", "false"}:
        raise wrong(_FAVOR_SMALL, "YES or NO", favor, PolicyError)
    return found | {_FAVOR_SMALL: float(str(favor).lower() in {"yes", "true"})}


def _shares(shares: Mapping[str, float]) -> dict[str, float]:
    """Check the shares of users."""
    if not isinstance(shares, Mapping):
        raise wrong("shares", "a table such as {3 = 2}", shares, PolicyError)
    return {
        str(user): number(f"shares of user {user}", share, positive=True, error=PolicyError)
        for user, share in shares.items()
    }
