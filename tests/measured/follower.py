"""A model that is fed events, and what it said."""

from itertools import islice

from netsim.contention.base import ContentionModel
from netsim.contention.constants import ConstantsOf


class Follower:
    """Feeds events to a model and remembers what it said."""

    def __init__(self, model: ContentionModel, constants_of: ConstantsOf) -> None:
        self.model, self.constants_of = model, constants_of
        self.jobs, self.values = {}, {}

    def start(self, job, traffic):
        self.model.start(job, traffic)
        self.jobs[job] = self.constants_of(traffic)
        self.solve()

    def end(self, job):
        self.model.end(job)
        del self.jobs[job]
        self.values.pop(job)
        self.solve()

    def solve(self):
        changes = self.model.solve()
        assert all(self.values.get(job) != value for job, value in changes.items())
        self.values.update(changes)

    def play(self, stream, n_events):
        for kind, job, traffic in islice(stream.events(), n_events):
            if kind == "start":
                self.start(job, traffic)
            else:
                self.end(job)
