"""What jobs carried and lost, slowly: an object for each job, a dictionary of what it lost."""

import numpy as np

from netsim.flows.traffic import bytes_per_link
from scheduler.observer import Observer
from scheduler.rates import FULL_RATE


class Member:
    """A communicating job on the network."""

    def __init__(self, placed, n_nodes, now_s):
        self.links, self.nbytes = bytes_per_link(placed.traffic)
        self.ideal_s, self.n_nodes, self.since_s = placed.ideal_s, n_nodes, now_s
        self.job_rate, self.work_s, self.worst_link = FULL_RATE, 0.0, -1
        self.causes, self.lost = {(-1, -1): 1.0}, {}
        self.attributed = 1.0


class Book(Observer):
    """Keeps what a `NetworkLedger` keeps: `nbytes`, `lost` of links, and rows of blame."""

    def __init__(self, network):
        self._network, self._members = network, {}
        self.kind = network.topology.link_kinds(np.arange(network.topology.n_links))[1]
        self.nbytes, self.lost = ([0.0] * network.topology.n_links for _ in range(2))
        self.rows = []  # victim, culprit, class of link, node-seconds

    def on_change(self, ended, started, job_rates, now_s):
        for allocation in ended:
            self._close(allocation.job.id, now_s)
        for allocation in started:
            job = allocation.job
            if job.id in self._network.entered:
                placed = self._network.entered[job.id]
                self._members[job.id] = Member(placed, job.n_nodes, now_s)
        model = self._network.model
        for job, job_rate in job_rates.items():
            if job not in self._members:
                continue
            member = self._members[job]
            self._advance(member, now_s)
            member.job_rate = job_rate
            if model.worst_link(job) >= 0:
                member.worst_link = model.worst_link(job)
            factor, before = job_rate.interference, member.attributed
            if factor > 1.0 and (before == 1.0 or abs(factor - before) > 0.002 * before):
                member.attributed = factor
                found = model.culprits([job], self.kind)
                columns = (found.culprit, found.kind, found.share)
                rows = list(zip(*(column.tolist() for column in columns), strict=True))
                member.causes = {row[:2]: row[2] for row in rows} or member.causes

    def _close(self, job, now_s):
        if job in self._members:
            member = self._members.pop(job)
            self._advance(member, now_s)
            for link, nbytes in zip(member.links.tolist(), member.nbytes.tolist(), strict=True):
                self.nbytes[link] += nbytes * (member.work_s / member.ideal_s)
            self.rows += [(job, *key, lost) for key, lost in member.lost.items()]

    def _advance(self, member, now_s):
        elapsed_s = now_s - member.since_s
        member.since_s = now_s
        member.work_s += elapsed_s / member.job_rate.network_slowdown
        if member.job_rate.interference != 1.0:
            lost = elapsed_s * (1.0 - 1.0 / member.job_rate.interference) * member.n_nodes
            if member.worst_link >= 0:
                self.lost[member.worst_link] += lost
            for key, share in member.causes.items():
                member.lost[key] = member.lost.get(key, 0.0) + lost * share
