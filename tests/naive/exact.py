"""Iterating jobs on exact fractions: rates solved anew at every event; nothing is clever."""

from fractions import Fraction

from naive.filling import fill
from naive.maxmin import max_min_rates


class NaiveJob:
    """
    A job that computes, then goes through its steps, again and again.

    ``steps`` holds the flows of each step as (sender, links, bytes, latency), one with links
    at least; ``start`` is when it first computes. ``ends`` collects the ends of iterations.
    """

    def __init__(self, steps, compute, start):
        self.steps = steps
        self.compute = Fraction(compute)
        self.wake = Fraction(start) + self.compute  # when the next step starts, None in a step
        self.step = 0
        self.left = {}  # flow number in the step: bytes
        self.arrival = Fraction(0)
        self.ends = []
        self.gone = False

    def begin_steps(self, now):
        """Start the step that is due, through empty ones, to the next wait or flow."""
        while self.wake is not None and self.wake <= now and not self.gone:
            if self.step == len(self.steps):
                self.ends.append(now)
                self.step = 0
                self.wake = now + self.compute
                continue
            self.arrival = now
            flows = self.steps[self.step]
            self.left = {f: Fraction(row[2]) for f, row in enumerate(flows) if row[1]}
            self.wake = None if self.left else now
            self.step += 1

    def end_flow(self, flow, now):
        """Take a finished flow away; the step ends when the last byte has arrived."""
        del self.left[flow]
        latency = Fraction(self.steps[self.step - 1][flow][3])
        self.arrival = max(self.arrival, now + latency)
        if not self.left:
            self.wake = self.arrival


def simulate(jobs, capacity, channel=None, *, per_sender, until, buffer=0, packet=0):
    """
    Run jobs until ``until(jobs)`` is true; it is asked after each event and may retire jobs.

    `buffer`: bytes of a port; flows of longer messages give way less than 1 / (flows open).
    `packet`: bytes of a packet; flows whose packets are not full weigh less.
    """
    now = Fraction(0)
    while True:
        for job in jobs:
            job.begin_steps(now)
        if until(jobs):
            return
        flows = [(job, f) for job in jobs if not job.gone for f in job.left]
        rows = [job.steps[job.step - 1][f] for job, f in flows]
        senders = [row[0] for row in rows]
        weights = [Fraction(1) for _ in senders]
        if per_sender:
            powers = [_exponent(job, s, buffer) for (job, _), s in zip(flows, senders, strict=True)]
            weights = [_weight(senders.count(s), c) for s, c in zip(senders, powers, strict=True)]
            if buffer and packet:
                fills = [fill(row[2], packet) for row in rows]
                weights = [w * Fraction(full) for w, full in zip(weights, fills, strict=True)]
        rates = max_min_rates([row[1] for row in rows], capacity, weights, channel)
        waits = [job.wake - now for job in jobs if job.wake is not None and not job.gone]
        ends = [job.left[f] / rate for (job, f), rate in zip(flows, rates, strict=True)]
        step = min(waits + ends)
        now += step
        for (job, f), rate in zip(flows, rates, strict=True):
            job.left[f] -= rate * step
            if job.left[f] == 0:
                job.end_flow(f, now)


def _weight(n_open, exponent):
    """Return n_open^-exponent as a fraction."""
    return Fraction(1, n_open) if exponent == 1 else Fraction(n_open**-exponent)


def _exponent(job, sender, buffer):
    """Return c: flows of a sender with o open ones weigh o^-c, by its messages of this step."""
    sizes = [row[2] for row in job.steps[job.step - 1] if row[0] == sender and row[1]]
    return 1 - 0.25 * max(0, 1 - 2 * buffer * len(sizes) / sum(sizes)) if buffer else 1


def finish_times(lists, senders, nbytes, capacity, channel=None, *, per_sender):
    """Return when each flow's bytes have gone if all start at 0, as fractions."""
    job = NaiveJob([list(zip(senders, lists, nbytes, [0] * len(lists), strict=True))], 0, 0)
    finish = [Fraction(0)] * len(lists)
    if not any(lists):
        return finish
    end_flow = job.end_flow

    def record(flow, now):
        finish[flow] = now
        end_flow(flow, now)

    job.end_flow = record
    simulate([job], capacity, channel, per_sender=per_sender, until=lambda jobs: jobs[0].ends)
    return finish
