"""EASY backfilling on a machine of interchangeable nodes, from the definition, nothing kept."""

OVERDUE_S = 60.0


def expected_end_s(start_s, estimate_s, now_s):
    """Return when a running job is expected to end: as estimated, or 60 s from now if overdue."""
    end_s = start_s + estimate_s
    return end_s if end_s > now_s else now_s + OVERDUE_S


class CountingEasy:
    """
    The schedule of jobs (number, submission, run time, nodes, estimate), in order of submission.

    `window`: jobs behind the head that may be backfilled. `key`: order of the queue.
    """

    def __init__(self, jobs, n_nodes, window, key=None):
        self.jobs, self.free, self.window = list(jobs), n_nodes, window
        self.start_s, self.running = {}, {}  # job by number
        self.now_s, self.key = 0.0, key

    def run(self):
        """Return the start of each job by number."""
        waiting, coming = [], list(self.jobs)
        while coming or self.running:
            ends = [self.start_s[job[0]] + job[2] for job in self.running.values()]
            self.now_s = min(ends + [job[1] for job in coming[:1]])
            for number, job in list(self.running.items()):
                if self.start_s[number] + job[2] <= self.now_s:
                    del self.running[number]
                    self.free += job[3]
            while coming and coming[0][1] <= self.now_s:
                waiting.append(coming.pop(0))
            if self.key is not None:
                waiting.sort(key=self.key)
            while waiting and waiting[0][3] <= self.free:
                self.start(waiting.pop(0))
            if waiting:
                self.backfill(waiting)
        return self.start_s

    def start(self, job):
        self.start_s[job[0]], self.running[job[0]] = self.now_s, job
        self.free -= job[3]

    def backfill(self, waiting):
        """Start jobs that end by the reserved time of the head, or leave it nodes enough then."""
        ends = sorted(
            (expected_end_s(self.start_s[job[0]], job[4], self.now_s), job[3])
            for job in self.running.values()
        )
        free_then = {
            at_s: self.free + sum(size for end_s, size in ends if end_s <= at_s) for at_s, _ in ends
        }
        reserved_s = min(at_s for at_s, count in free_then.items() if count >= waiting[0][3])
        spare = free_then[reserved_s] - waiting[0][3]
        for job in waiting[1 : self.window + 1]:
            ends_before = self.now_s + job[4] <= reserved_s
            if job[3] <= self.free and (ends_before or job[3] <= spare):
                spare -= 0 if ends_before else job[3]
                waiting.remove(job)
                self.start(job)


class CountingReservations(CountingEasy):
    """
    The first `depth` jobs that cannot start hold reservations of nodes, second by second.

    All times are whole seconds. Reservations are made anew at each event, in the order of the
    queue, after the jobs at its head have started.
    """

    def __init__(self, jobs, n_nodes, window, key=None, *, depth):
        super().__init__(jobs, n_nodes, window, key)
        self.depth = depth

    def backfill(self, waiting):
        now = int(self.now_s)
        horizon = now + OVERDUE_S + sum(job[4] + 1 for job in self.jobs) + 1
        free = [self.free] * int(horizon - now)
        for job in self.running.values():
            end = int(expected_end_s(self.start_s[job[0]], job[4], self.now_s)) - now
            for second in range(end, len(free)):
                free[second] += job[3]
        left = self.depth
        for job in waiting[: self.window + 1]:
            length = int(job[4])
            start = next(at for at in range(len(free)) if min(free[at : at + length]) >= job[3])
            if start and not left:
                continue
            for second in range(start, start + length):
                free[second] -= job[3]
            if start:
                left -= 1
            else:
                waiting.remove(job)
                self.start(job)
