"""LinkTimeline: the load of every link over time, written down by an observer."""

from collections.abc import Mapping, Sequence

import numpy as np

from coupling.rates.network import NetworkRateModel
from netsim.common.arrays import Floats, Ints
from netsim.flows.traffic import bytes_per_link
from netsim.topology.multipath import spread_over_links
from scheduler.allocation import Allocation
from scheduler.observer import Observer
from scheduler.rates import JobRate
from scheduler.traffic import PlacedTraffic

MOST_CELLS = 2**22  # bins x links: 32 MiB
MOST_BINS = 1024
FIRST_BIN_S = 2.0**-6  # widths are powers of two, so that borders are exact floats


def most_bins(n_links: int) -> int:
    """Return how many bins a fabric may have. Result: an even number, at least 2."""
    return max(2, min(MOST_BINS, MOST_CELLS // n_links) // 2 * 2)


class _Sender:
    """A communicating job: what it sends over each link, and the work it did in each bin."""

    __slots__ = ("ideal_s", "links", "nbytes", "network_slowdown", "since_s", "work_s")

    def __init__(self, placed: PlacedTraffic, now_s: float) -> None:
        self.links: Ints
        self.nbytes: Floats
        self.links, self.nbytes = bytes_per_link(placed.traffic)
        self.ideal_s = placed.ideal_s
        self.since_s = now_s
        self.network_slowdown = 1.0
        self.work_s: dict[int, float] = {}


class LinkTimeline(Observer):
    """
    Writes down what every link carries in bins of time, which merge when they are too many.

    Between two changes of its rate a job sends evenly. Bins are as wide as they must be for all of
    them to be no more than `most_bins`: two neighbours become one whenever time goes on past the
    last one. What a running job did is kept by bin, and booked on its links when it ends, so that
    a change of rate costs the same however many links a job uses.

    `network`: The rate model of the simulation. `width_s`: Width of a bin: a power of two; the
    first begins at time 0. `end_s`: The last instant so far.
    """

    def __init__(self, network: NetworkRateModel) -> None:
        n_links = network.topology.n_links
        self.width_s = FIRST_BIN_S
        self.end_s = 0.0
        self._most = most_bins(n_links)
        self._nbytes: Floats = np.zeros((self._most, n_links))
        self._network = network
        self._senders: dict[int, _Sender] = {}

    def on_change(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """Book what jobs sent that left, and go on with the others at their new rates."""
        self._widen_bins(now_s)
        for allocation in ended:
            self._book_sent(allocation.job.id, now_s)
        for allocation in started:
            placed = self._network.entered.get(allocation.job.id)
            if placed is not None:
                self._senders[allocation.job.id] = _Sender(placed, now_s)
        for job, job_rate in job_rates.items():
            sender = self._senders.get(job)
            if sender is not None:
                self._advance_bins(sender, now_s)
                sender.network_slowdown = job_rate.network_slowdown

    def bins(self) -> Floats:
        """Return bytes of ended jobs, a row per bin from time 0 on, a column per link."""
        used = min(self._most, int(np.ceil(self.end_s / self.width_s)))
        return spread_over_links(self._network.topology, self._nbytes[:used])

    def _widen_bins(self, now_s: float) -> None:
        """Make bins wide enough for time to be inside."""
        self.end_s = now_s
        doublings = 0
        while now_s > self.width_s * self._most:
            self.width_s *= 2.0
            doublings += 1
        if doublings:
            self._merge_bins(doublings)

    def _merge_bins(self, doublings: int) -> None:
        """Make one bin of 2^`doublings` neighbours."""
        merged = 2 ** min(doublings, self._most.bit_length())  # all into one and no more
        first = np.arange(0, self._most, merged)
        sums = np.add.reduceat(self._nbytes, first, axis=0)
        self._nbytes[: first.size] = sums
        self._nbytes[first.size :] = 0.0
        for sender in self._senders.values():
            work_s: dict[int, float] = {}
            for number, done_s in sender.work_s.items():
                work_s[number >> doublings] = work_s.get(number >> doublings, 0.0) + done_s
            sender.work_s = work_s

    def _advance_bins(self, sender: _Sender, now_s: float) -> None:
        """Note the work since the last change in the bins in which it was done."""
        begin_s, sender.since_s = sender.since_s, now_s
        number, work_s = int(begin_s / self.width_s), sender.work_s
        while begin_s < now_s:
            end_s = min(now_s, (number + 1) * self.width_s)
            work_s[number] = work_s.get(number, 0.0) + (end_s - begin_s) / sender.network_slowdown
            begin_s, number = end_s, number + 1

    def _book_sent(self, job: int, now_s: float) -> None:
        """Book what a job that left has sent."""
        sender = self._senders.pop(job, None)
        if sender is None:
            return
        self._advance_bins(sender, now_s)
        ideal_s, left = sender.ideal_s, self._network.completed_work.get(job)
        if left is not None and left.work_s > 0.0:  # the rates of the last iterations are not all
            ideal_s *= sum(sender.work_s.values()) / left.work_s
        for number, work_s in sender.work_s.items():
            self._nbytes[number, sender.links] += sender.nbytes * (work_s / ideal_s)
