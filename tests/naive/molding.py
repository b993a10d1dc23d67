"""Moldable jobs by the book: every size is tried, and nothing is remembered."""

from dataclasses import replace
from math import inf

from tests.naive.backfilling import NaiveConservative, NaiveEasy, NaivePlan, machine_at
from tests.naive.counting import expected_end_s


def at_each_size(job):
    """Return a job once for each of its sizes, its request as many times the run time."""
    sizes = job.sizes or ((job.n_nodes, job.runtime_s),)
    return [
        replace(
            job,
            n_nodes=n_nodes,
            runtime_s=run_s,
            requested_s=job.requested_s
            if job.sizes == ()
            else job.requested_s * run_s / sizes[0][1],
        )
        for n_nodes, run_s in sizes
    ]


class CountingMolding:
    """
    FCFS, EASY, or several reservations on interchangeable nodes, second by second.

    A job is (number, submission, ((nodes, run time, estimate), ...)), all in whole seconds.
    `depth`: reservations; 0 is FCFS, 1 EASY. One that is to hold a reservation takes
    the size that ends first beside those made before; one behind them the shortest of those that
    delay none.
    """

    def __init__(self, jobs, n_nodes, window, depth):
        self.coming, self.free, self.window, self.depth = list(jobs), n_nodes, window, depth
        self.waiting, self.running, self.found = [], {}, {}
        self.now = 0

    def run(self):
        """Return start and nodes of each job by number."""
        while self.coming or self.running:
            ends = [start + size[1] for start, size in self.running.values()]
            self.now = min(ends + [job[1] for job in self.coming[:1]])
            for number, (start, size) in list(self.running.items()):
                if start + size[1] <= self.now:
                    del self.running[number]
                    self.free += size[0]
            while self.coming and self.coming[0][1] <= self.now:
                self.waiting.append(self.coming.pop(0))
            self.select()
        return self.found

    def select(self):
        """Start what may start, in order."""
        longest = max((size[2] for job in self.waiting for size in job[2]), default=0)
        ends = [
            (int(expected_end_s(start, size[2], self.now)) - self.now, size[0])
            for start, size in self.running.values()
        ]
        last = max((end for end, _ in ends), default=0)
        self.line = [self.free] * int(last + (len(self.waiting) + 1) * (longest + 1))
        for end, n_nodes in ends:
            self.take(end, len(self.line), -n_nodes)
        left, last = self.depth, inf
        for at, job in enumerate(list(self.waiting)):
            if at > last:
                return
            choices = [(self.first(size), size) for size in job[2]]
            if last < inf and not left:
                choices = [(start, size) for start, size in choices if start == 0]
            if choices:
                start, size = min(choices, key=lambda own: (own[0] + own[1][2], own[0], own[1][0]))
                if start == 0:
                    self.start(job, size)
                    continue
                self.take(start, start + size[2], size[0])
            last, left = min(last, at + self.window), max(0, left - 1)
            if self.depth == 0:
                return

    def first(self, size):
        """Return in how many seconds so many nodes are free for so long."""
        line, length = self.line, size[2]
        return next(at for at in range(len(line)) if min(line[at : at + length]) >= size[0])

    def take(self, begin, end, n_nodes):
        for second in range(begin, end):
            self.line[second] -= n_nodes

    def start(self, job, size):
        self.waiting.remove(job)
        self.running[job[0]], self.found[job[0]] = (self.now, size), (self.now, size[0])
        self.free -= size[0]
        self.take(0, size[2], size[0])


class NaiveMoldingEasy(NaiveEasy):
    """EASY, rule R2, with every place asked of the allocator."""

    name = "naive-molding-easy"

    def end(self, job, machine):
        """Return when a job ends that begins as soon as running jobs leave it a place."""
        times = [machine.now_s, *sorted(machine.expected_end_s.values())]
        start_s = next(
            at_s
            for at_s in times
            if self.place(job, machine_at(machine, at_s), machine) is not None
        )
        return start_s + machine.estimate_s(job), start_s, job.n_nodes

    def select(self, machine):
        while self.waiting:
            head = min(at_each_size(self.waiting[0]), key=lambda job: self.end(job, machine))
            found = self.place(head, machine.cluster, machine)
            if found is None:
                break
            self.waiting.pop(0)
            machine.start(found)
        if not self.waiting:
            return
        time_s = self.end(head, machine)[1]
        for job in self.waiting[1 : self.window + 1]:
            sizes = at_each_size(job)
            sizes.sort(key=lambda own: (machine.estimate_s(own), own.n_nodes))
            for size in sizes:
                found = self.place(size, machine.cluster, machine)
                if found is None or not self.leaves_head(head, found, time_s, machine):
                    continue
                self.waiting.remove(job)
                machine.start(found)
                break

    def leaves_head(self, head, found, time_s, machine):
        """Say whether the head still fits at its time."""
        if machine.now_s + machine.estimate_s(found.job) <= time_s:
            return True
        then = machine_at(machine, time_s)
        then.place(found)
        return self.place(head, then, machine) is not None


class NaiveMoldingPlan(NaivePlan):
    """A plan in which each job books the size that ends first; it stays so."""

    def book(self, jobs, machine, place=None):
        assert place is None
        for job in jobs:
            found = [self.earliest(size, machine) for size in at_each_size(job)]
            found = [own for own in found if own is not None]
            found.sort(key=lambda own: (own.end_s, own.start_s, own.placement.job.n_nodes))
            self.bookings[job.id] = found[0]


class NaiveMoldingConservative(NaiveConservative):
    """Conservative backfilling with that plan."""

    name = "naive-molding-conservative"

    def __init__(self, window=50):
        super().__init__(window)
        self._plan = NaiveMoldingPlan()


class NaiveMoldingPlaced:
    """The first `depth` jobs that do not start hold places; each size is looked for anew."""

    name = "naive-molding-placed"

    def __init__(self, depth):
        self.waiting, self.depth = [], depth

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def select(self, machine):
        plan, behind = NaivePlan(), 0
        for job in self.waiting[:]:
            if behind > 50:
                return
            sizes = [plan.earliest(size, machine) for size in at_each_size(job)]
            if len(plan.bookings) >= self.depth:
                sizes = [own for own in sizes if own.start_s <= machine.now_s]
            if sizes:
                own = min(
                    sizes, key=lambda own: (own.end_s, own.start_s, own.placement.job.n_nodes)
                )
                if own.start_s <= machine.now_s and machine.cluster.fits(own.placement):
                    machine.start(own.placement)
                    self.waiting.remove(job)
                    continue
                plan.bookings[job.id] = own
            behind += 1
