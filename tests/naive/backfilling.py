"""Backfilling by the book: everything is asked of the allocator, nothing is remembered."""

from math import inf, nextafter

from scheduler.queues.conservative import Conservative
from scheduler.queues.free_steps import Booking
from scheduler.queues.plan import Plan


def machine_at(machine, time_s):
    """Return the machine when all jobs expected to end by then have ended."""
    cluster = machine.cluster.copy()
    for job_id, end_s in machine.expected_end_s.items():
        if end_s <= time_s:
            cluster.release(job_id)
    return cluster


class NaiveEasy:
    """EASY, rule R2: a job that would outlive the head's time starts if the head still fits."""

    name = "naive-easy"

    def __init__(self, window=50):
        self.waiting, self.window = [], window

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.waiting)

    def submit(self, job):
        self.waiting.append(job)

    def select(self, machine):
        while self.waiting:
            found = self.place(self.waiting[0], machine.cluster, machine)
            if found is None:
                break
            self.waiting.pop(0)
            machine.start(found)
        if not self.waiting:
            return
        head = self.waiting[0]
        time_s = min(
            end_s
            for end_s in machine.expected_end_s.values()
            if self.place(head, machine_at(machine, end_s), machine) is not None
        )
        for job in self.waiting[1 : self.window + 1]:
            found = self.place(job, machine.cluster, machine)
            if found is None:
                continue
            if machine.now_s + machine.estimate_s(job) > time_s:
                then = machine_at(machine, time_s)
                then.place(found)
                if self.place(head, then, machine) is None:
                    continue
            self.waiting.remove(job)
            machine.start(found)

    def place(self, job, cluster, machine):
        """Ask the allocator if there are nodes enough."""
        if job.n_nodes > cluster.n_free:
            return None
        return machine.allocator.allocate(job, cluster)


class NaiveLimitedEasy(NaiveEasy):
    """EASY whose users have so many jobs and nodes at most; `order` sorts who waits."""

    name = "naive-limited-easy"

    def __init__(self, jobs=inf, nodes=inf, order=None, window=50):
        super().__init__(window)
        self.jobs, self.nodes, self.order, self.all_waiting = jobs, nodes, order, []

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.all_waiting)

    def submit(self, job):
        self.all_waiting.append(job)

    def allowed(self, job, machine):
        own = [a.job for a in machine.cluster.running.values() if a.job.user == job.user]
        return len(own) < self.jobs and sum(j.n_nodes for j in own) + job.n_nodes <= self.nodes

    def select(self, machine):
        """Start the first job that may, and begin anew after each start."""
        if self.order:
            self.all_waiting.sort(key=self.order)
        while True:
            self.waiting = [job for job in self.all_waiting if self.allowed(job, machine)]
            if not self.waiting or not self.start_one(machine):
                return

    def start_one(self, machine):
        head = self.waiting[0]
        found = self.place(head, machine.cluster, machine)
        if found is not None:
            return self.begin(head, found, machine)
        self.reserved = min(
            end_s
            for end_s in machine.expected_end_s.values()
            if self.place(head, machine_at(machine, end_s), machine) is not None
        )
        return any(self.backfilled(job, head, machine) for job in self.waiting[1 : self.window + 1])

    def backfilled(self, job, head, machine):
        found = self.place(job, machine.cluster, machine)
        if found is None:
            return False
        if machine.now_s + machine.estimate_s(job) > self.reserved:
            then = machine_at(machine, self.reserved)
            then.place(found)
            if self.place(head, then, machine) is None:
                return False
        return self.begin(job, found, machine)

    def begin(self, job, found, machine):
        self.all_waiting.remove(job)
        machine.start(found)
        return True


class NaivePlan(Plan):
    """A plan that looks at every instant at which anybody is expected to leave."""

    def earliest(self, job, machine, before_s=float("inf")):
        """Return the first time and place beside all other bookings."""
        length_s = machine.estimate_s(job)
        ends = {machine.now_s, *machine.expected_end_s.values()}
        ends |= {each.end_s for number, each in self.bookings.items() if number != job.id}
        for time_s in sorted(end_s for end_s in ends if end_s < before_s):
            until_s = max(time_s + length_s, nextafter(time_s, inf))
            cluster = self.without_bookings(job, machine_at(machine, time_s), time_s, until_s)
            found = machine.place_at(job, cluster, time_s)
            if found is not None:
                return Booking(found, time_s, until_s, cluster.footprint(found))
        return None

    def compress(self, jobs, machine):
        """Begin again at the next job after each move; end when all were looked at in vain."""
        index = still = 0
        while still < len(jobs):
            job = jobs[index % len(jobs)]
            sooner = self.earliest(job, machine, self.bookings[job.id].start_s)
            if sooner is not None:
                self.bookings[job.id], still = sooner, 0
            index, still = index + 1, still + 1

    def book(self, jobs, machine, place=None):
        """Book one after the other, always where the allocator finds a place."""
        assert place is None
        for job in jobs:
            self.bookings[job.id] = self.earliest(job, machine)


class NaiveConservative(Conservative):
    """Conservative backfilling with the naive plan."""

    name = "naive-conservative"

    def __init__(self, window=50):
        super().__init__(window)
        self._plan = NaivePlan()
