"""The load of links over time, slowly: every stretch of every job, link by link, bin by bin."""

from fractions import Fraction

from netsim.flows.traffic import bytes_per_link
from scheduler.observer import Observer


class Stretches(Observer):
    """Keeps each stretch of time in which a job had one rate: begin, end, bytes a second."""

    def __init__(self, network):
        self.done = []  # (begin, end, {link: bytes a second})
        self._network = network
        self._traffic, self._since = {}, {}

    def on_change(self, ended, started, job_rates, now_s):
        for allocation in ended:
            self._stop(allocation.job.id, now_s)
        for allocation in started:
            placed = self._network.entered.get(allocation.job.id)
            if placed is not None:
                self._traffic[allocation.job.id] = placed
        for job, job_rate in job_rates.items():
            if job in self._traffic:
                self._stop(job, now_s)
                placed = self._traffic[job]
                links, nbytes = bytes_per_link(placed.traffic)
                per_s = nbytes / (placed.ideal_s * job_rate.network_slowdown)
                rates = dict(zip(links.tolist(), per_s.tolist(), strict=True))
                self._since[job] = (now_s, rates)

    def _stop(self, job, now_s):
        if job in self._since:
            begin_s, rates = self._since.pop(job)
            self.done.append((begin_s, now_s, rates))


def bytes_between(done, begin_s, end_s):
    """Return what each link carried in a span of time."""
    total = {}
    for since_s, until_s, rates in done:
        inside = min(Fraction(until_s), Fraction(end_s)) - max(Fraction(since_s), Fraction(begin_s))
        if inside > 0:
            for link, per_s in rates.items():
                total[link] = total.get(link, 0.0) + float(inside) * per_s
    return total
