"""EASY on numbered nodes that go down, are drained, or closed for a window, second by second."""

from tests.naive.counting import expected_end_s

FOREVER = 10**6


class NaiveOutages:
    """
    The runs of jobs (number, submission, run time, nodes, estimate) on the lowest free nodes.

    All times are whole seconds. `events`: (second, action, nodes). `windows`: (from, until, nodes).
    A job whose node goes down is queued again `delay` later, at most `most` times, and keeps the
    work of whole spans of `checkpoint` seconds. Jobs never start on nodes of a window that they
    are expected to reach.
    """

    def __init__(self, jobs, n_nodes, events=(), windows=(), **policy):
        self.jobs, self.nodes, self.events = list(jobs), set(range(n_nodes)), list(events)
        self.windows, self.policy = windows, {"delay": 120, "most": 100, "checkpoint": 0, **policy}
        self.down, self.drained, self.queue, self.running = set(), set(), [], {}
        self.left = {job[0]: job[2] for job in jobs}
        self.failures, self.later, self.runs = {}, [], []  # (job, start, end, nodes, failed)

    def run(self):
        """Return all runs: job, start, end, nodes, whether a failure ended it; and who waits."""
        times = {job[1] for job in self.jobs} | {event[0] for event in self.events}
        times |= {until for _, until, _ in self.windows}
        coming, now = list(self.jobs), -1
        while coming or self.running or self.later or (self.queue and max(times, default=0) > now):
            future = [time for time in times if time > now]
            future += [run[1] + self.left[job[0]] for job, run in self.own()]
            future += [time for time, _ in self.later]
            now = min(future)
            self.end(now)
            self.happen(now)
            self.queue += [job for time, job in self.later if time == now]
            self.later = [entry for entry in self.later if entry[0] > now]
            self.queue += [job for job in coming if job[1] == now]
            coming = [job for job in coming if job[1] > now]
            self.now = now
            self.schedule()
        return sorted(self.runs, key=lambda run: (run[2], run[0])), [job[0] for job in self.queue]

    def own(self):
        return [(run[0], run) for run in self.running.values()]

    def end(self, now):
        for job, run in self.own():
            if run[1] + self.left[job[0]] == now:
                self.runs.append((job[0], run[1], now, run[2], False))
                del self.running[job[0]]

    def happen(self, now):
        for _, action, nodes in [event for event in self.events if event[0] == now]:
            if action == "down":
                self.down |= set(nodes)
                for job, run in self.own():
                    if set(run[2]) & set(nodes):
                        self.fail(job, run, now)
            elif action == "drain":
                self.drained |= set(nodes)
            else:
                self.down -= set(nodes)
                self.drained -= set(nodes) if action == "resume" else set()

    def fail(self, job, run, now):
        number, done = job[0], now - run[1]
        self.runs.append((number, run[1], now, run[2], True))
        del self.running[number]
        if self.policy["checkpoint"]:
            self.left[number] -= done - done % self.policy["checkpoint"]
        self.failures[number] = self.failures.get(number, 0) + 1
        if self.failures[number] <= self.policy["most"]:
            self.later.append((now + self.policy["delay"], job))

    def free(self, at, length, running):
        """Return the nodes on which a job of some length may start at a second."""
        taken = {node for _, end, nodes in running if end > at for node in nodes}
        kept = {
            node
            for begin, until, nodes in self.windows
            if begin < at + max(length, 1e-9) and until > at
            for node in nodes
        }
        return sorted(self.nodes - taken - kept - self.down - self.drained)

    def schedule(self):
        now = self.now
        while self.queue:
            head = self.queue[0]
            if not self.start(head):
                break
        if not self.queue:
            return
        head, expected = self.queue[0], self.expected()
        times = sorted({end for _, end, _ in expected} | {end for _, end, _ in self.windows})
        reserved = next(
            (at for at in times if at > now and len(self.free(at, head[4], expected)) >= head[3]),
            FOREVER,
        )
        for job in list(self.queue[1:]):
            nodes = self.free(now, job[4], self.expected())[: job[3]]
            if len(nodes) < job[3]:
                continue
            if now + job[4] > reserved:
                then = [*self.expected(), (None, now + job[4], nodes)]
                if len(self.free(reserved, head[4], then)) < head[3]:
                    continue
            self.start(job)

    def expected(self):
        return [
            (number, expected_end_s(run[1], run[0][4], self.now), run[2])
            for number, run in self.running.items()
        ]

    def start(self, job):
        """Start a job on the lowest nodes, if there are enough."""
        nodes = self.free(
            self.now, job[4], [(n, FOREVER, run[2]) for n, run in self.running.items()]
        )
        if len(nodes) < job[3]:
            return False
        self.queue.remove(job)
        self.running[job[0]] = (job, self.now, nodes[: job[3]])
        return True
