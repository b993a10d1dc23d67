"""Contention models: the traffic they take, their protocol, what they blame, a base class."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from netsim.common.arrays import Floats, Ints, distinct_numbers
from netsim.common.errors import ContentionError
from netsim.topology.base import Topology
from netsim.topology.routes import Routes

STEP = np.dtype(  # of a job
    [
        ("drain_s", np.float64),  # tau, of the link with the most bytes
        ("latency_s", np.float64),  # lam, of the longest path
        ("injection_s", np.float64),  # if the links of the nodes alone limited it, lam included
    ],
    align=True,
)


class Hops(NamedTuple):
    """
    Directed links that flows cross in order of travel.

    `share`: part of the flow on each; a single 1 where all flows are on one path. So kernels read
    ``share[min(hop, share.size - 1)]``: all-to-alls would have a gigabyte of ones.
    """

    indptr: Ints
    link: Ints
    share: Floats


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """
    What one placed job puts on the network in each iteration.

    Parameters
    ----------
    step : (F,) int array
        Step 0..A-1 of each flow, ascending; a step starts when the one before has ended.
    sender : (F,) int array
        Node whose injection link the flow shares with the sender's other flows; where nodes have
        several links, that link (`netsim.topology.rails.senders`).
    nbytes : (F,) float array
        Bytes of each flow, positive: of all rounds of its step together.
    routes : Routes
        Directed links of each flow, injection and ejection included; a flow inside a node
        crosses none.
    compute_s : float
        Seconds of an iteration without communication.
    latency_s : (F,) float array
        Latency of each flow's path in seconds, in one round.
    n_nodes : int, optional
        Nodes that the job runs on, silent ones included; absent: those that send or receive.
    nonminimal : (F,) float array, optional
        Where packets are spread over paths: the part of each flow that goes by non-minimal paths
        (`netsim.routing.non-minimal paths`).
    rounds : (A,) int array, optional
        Equal rounds of each step, each of which sends 1/rounds of the bytes when the one before
        has ended; absent: one.
    hide_s : (A,) float array, optional
        Seconds of computation beside each step and those right before it that have -1: the next
        step starts when both have ended; absent: none.
    """

    step: Ints
    sender: Ints
    nbytes: Floats
    routes: Routes
    compute_s: float
    latency_s: Floats
    n_nodes: int | None = None
    nonminimal: Floats | None = None
    rounds: Ints | None = None
    hide_s: Floats | None = None

    def __repr__(self) -> str:
        return f"<Traffic: {self.step.size} flows in {np.unique(self.step).size} steps>"


def step_rounds(traffic: Traffic) -> Ints:
    """Return how many rounds each step of a job has, (A,)."""
    n_steps = int(traffic.step[-1]) + 1 if traffic.step.size else 0
    return np.ones(n_steps, dtype=np.int64) if traffic.rounds is None else traffic.rounds


def step_hides_s(traffic: Traffic) -> Floats:
    """Return the computation beside each step of a job, (A,), as `Traffic.hide_s` has it."""
    n_steps = int(traffic.step[-1]) + 1 if traffic.step.size else 0
    return np.zeros(n_steps) if traffic.hide_s is None else traffic.hide_s


def hidden_sum(times_s: Floats, hide_s: Floats | None) -> float:
    """Return how long steps take in all, (A,) each, with the computation that runs beside them."""
    if hide_s is None:
        return float(times_s.sum())
    total, together = 0.0, 0.0
    for time_s, beside_s in zip(times_s.tolist(), hide_s.tolist(), strict=True):
        together += time_s
        if beside_s >= 0.0:
            total += max(together, beside_s)
            together = 0.0
    return total


def refuse_hidden(traffic: Traffic, model: str) -> None:
    """Refuse computation beside communication, for models that do not have it."""
    if traffic.hide_s is not None:
        raise ContentionError(
            f"model {model!r}: computation beside communication (hidden phases) needs the model "
            "'fluid' or 'flow-level', as do messages inside hosts that take time (loopback_bw)."
        )


def unfolded(traffic: Traffic) -> Traffic:
    """
    Return traffic in which every round is a step of its own, with flows of its own.

    For models that follow each message; paths only, without `nonminimal`.
    """
    refuse_hidden(traffic, "packets")
    if traffic.rounds is None or not traffic.step.size:
        return traffic
    flow, step = rounds_written_out(traffic.step, traffic.rounds)
    routes, hops = traffic.routes, traffic.routes.hops[flow]
    indptr = np.concatenate([[0], np.cumsum(hops)])
    place = np.arange(indptr[-1]) + np.repeat(routes.indptr[flow] - indptr[:-1], hops)
    return replace(
        traffic,
        step=step,
        sender=traffic.sender[flow],
        nbytes=traffic.nbytes[flow] / traffic.rounds[traffic.step[flow]],
        routes=Routes(indptr, routes.links[place], routes.n_links, routes.rule),
        latency_s=traffic.latency_s[flow],
        nonminimal=None,
        rounds=None,
    )


def rounds_written_out(step: Ints, rounds: Ints) -> tuple[Ints, Ints]:
    """Return the flow and step of every round's flows, where each round is a step of its own."""
    first = np.flatnonzero(np.diff(step, prepend=-1))
    flows = np.split(np.arange(step.size), first[1:])
    times = rounds[step[first]].tolist()
    rows = [own for own, n in zip(flows, times, strict=True) for _ in range(n)]
    return np.concatenate(rows), np.repeat(np.arange(len(rows)), [own.size for own in rows])


def communicating_nodes(traffic: Traffic, topology: Topology) -> Ints:
    """Return the nodes of a job that send to or receive from others, ascending."""
    routes = traffic.routes
    crossing = np.flatnonzero(routes.hops)
    first = routes.links[routes.indptr[:-1][crossing]]
    last = routes.links[routes.indptr[1:][crossing] - 1]
    return distinct_numbers(np.concatenate([topology.link_tail[first], topology.link_head[last]]))


@dataclass(frozen=True, slots=True, eq=False)
class Culprits:
    """Shares of the time that jobs lose, as a table with B rows."""

    # victim, culprit: (B,): identities of jobs; the rows of a victim are contiguous
    victim: Ints
    culprit: Ints
    kind: Ints  # (B,): class of the links where the time is lost, as the caller numbers them
    # (B,): part of the victim's lost time; the shares of a victim add up to 1. A job that is not
    # held up has no rows.
    share: Floats

    def by_culprit(self) -> dict[int, float]:
        """Return the shares of culprits, over all victims and classes of links, largest first."""
        total: dict[int, float] = {}
        for culprit, share in zip(self.culprit.tolist(), self.share.tolist(), strict=True):
            total[culprit] = total.get(culprit, 0.0) + share
        return dict(sorted(total.items(), key=lambda entry: -entry[1]))


def no_culprits() -> Culprits:
    """Return a table without rows."""
    none = np.empty(0, dtype=np.int64)
    return Culprits(none, none, none, np.empty(0))


class ContentionModel(Protocol):
    """Predicts how much running jobs slow each other down, event by event."""

    def start(self, job: int, traffic: Traffic) -> None:
        """
        Add a job; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of the job, not present yet.
        traffic : Traffic
            What it sends.
        """

    def end(self, job: int) -> None:
        """
        Take a job away; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.
        """

    def solve(self) -> Mapping[int, float]:
        """
        Bring the slowdowns up to date.

        Returns
        -------
        mapping of int to float
            Interference (iteration time together / alone, exactly 1 where no link is
            shared) of every job that was started or whose value changed since the last
            `solve`.
        """

    def worst_link(self, job: int) -> int:
        """
        Return the link that holds a job up most, as of the last `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        int
            The directed link that decides the step with the largest excess over its time
            alone; -1 where no link holds the job up, or the model does not attribute it.
        """

    def blame(self, job: int) -> Mapping[int, float]:
        """
        Return how much of a job's lost time each other job causes, as of the last `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        mapping of int to float
            Shares that add up to 1, largest first; empty where no job delays it, or the model
            does not attribute delay.
        """

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return which jobs delay others, as of the last `solve`.

        Parameters
        ----------
        jobs : iterable of int
            Identities of jobs that were started.
        kinds : (E,) int array, optional
            Class of each link, 0, 1, ...; absent: all are of class 0.

        Returns
        -------
        Culprits
            Shares of each job's lost time by culprit and class of link; empty where the model
            does not attribute delay.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a model says about jobs that run together, found from scratch."""

    interference: dict[int, float]  # iteration time together / alone of each job, at least 1
    # directed link that decides the step of the job with the largest excess; -1 for none
    worst_link: dict[int, int]


class Recomputed(Generic[_T]):
    """A contention model that stores only which jobs run."""

    def __init__(
        self,
        prepare: Callable[[Traffic], _T],
        predict: Callable[[Mapping[int, _T]], Solution],
    ) -> None:
        self._prepare = prepare
        self._predict = predict
        self._jobs: dict[int, _T] = {}
        self._reported: dict[int, float] = {}
        self._solution = Solution({}, {})
        self._changed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._jobs)} jobs>"

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job; its effect shows at the next `solve`."""
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        self._jobs[job] = self._prepare(traffic)
        self._changed = True

    def end(self, job: int) -> None:
        """Take a job away; its effect shows at the next `solve`."""
        self._known(job)
        del self._jobs[job]
        self._reported.pop(job, None)
        self._changed = True

    def solve(self) -> Mapping[int, float]:
        """Solve the jobs that run now, unless nothing has changed."""
        if not self._changed:
            return {}
        self._changed = False
        self._solution = self._predict(self._jobs)
        changes = {
            job: value
            for job, value in self._solution.interference.items()
            if self._reported.get(job) != value
        }
        self._reported.update(changes)
        return changes

    def worst_link(self, job: int) -> int:
        """Return the link that holds a job up most, as of the last `solve`."""
        self._known(job)
        return self._solution.worst_link.get(job, -1)

    def blame(self, job: int) -> Mapping[int, float]:
        """Return how much of a job's lost time each other job causes."""
        return self.culprits((job,)).by_culprit()

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return nothing: these models do not attribute lost time."""
        del kinds
        for job in jobs:
            self._known(job)
        return no_culprits()

    def _known(self, job: int) -> None:
        """Refuse a job that does not run."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
