"""EASY on nodes that jobs share, second by second and node by node, by the book."""

from math import ceil


def _share(job, node):
    """Return cores, GPUs and memory of each node, and whether the job takes whole nodes."""
    asked = (job.cores, job.gpus, job.memory_mb)
    share = [ceil(a / job.n_nodes) if has else 0 for a, has in zip(asked, node, strict=True)]
    counted = 0 if node[0] else 1
    return share, not any(share) or share[counted] == node[counted]


def _place(job, free, node):
    """Return the nodes of a job: used in part first, the fullest first; then the lowest idle."""
    share, whole = _share(job, node)
    idle = [number for number, left in enumerate(free) if left == list(node)]
    partly = []
    if not whole:
        partly = [
            (left[1], left[0], left[2], number)
            for number, left in enumerate(free)
            if number not in idle and all(a >= b for a, b in zip(left, share, strict=True))
        ]
    chosen = [number for *_, number in sorted(partly)][: job.n_nodes]
    chosen += idle[: job.n_nodes - len(chosen)]
    return sorted(chosen) if len(chosen) == job.n_nodes else None


def _take(job, nodes, free, node, sign):
    """Return what is free when a job has come (-1) or gone (1)."""
    share, whole = _share(job, node)
    after = [list(left) for left in free]
    for number in nodes:
        for unit in range(3):
            after[number][unit] += sign * (node[unit] if whole else share[unit])
    return after


class _Easy:
    """The state of a simulation."""

    def __init__(self, n_nodes, node):
        self.node, self.free = node, [list(node) for _ in range(n_nodes)]
        self.now, self.running, self.waiting, self.done = 0.0, [], [], {}

    def start(self, job, nodes):
        self.free = _take(job, nodes, self.free, self.node, -1)
        self.running.append((self.now + job.runtime_s, job, nodes))
        self.waiting.remove(job)
        self.done[job.id] = self.now, nodes

    def later(self, at_s):
        """Return what is free when all have ended that end by then."""
        left = self.free
        for end, job, nodes in self.running:
            if end <= at_s:
                left = _take(job, nodes, left, self.node, 1)
        return left

    def end_jobs(self):
        for entry in [entry for entry in self.running if entry[0] <= self.now]:
            self.running.remove(entry)
            self.free = _take(entry[1], entry[2], self.free, self.node, 1)

    def select(self):
        node = self.node
        while self.waiting and (nodes := _place(self.waiting[0], self.free, node)) is not None:
            self.start(self.waiting[0], nodes)
        if not self.waiting:
            return
        head, ends = self.waiting[0], [end for end, _, _ in self.running]
        reserved = min(at for at in ends if _place(head, self.later(at), node) is not None)
        for job in self.waiting[1:]:
            nodes = _place(job, self.free, node)
            if nodes is None:
                continue
            if self.now + job.runtime_s > reserved:
                beside = _take(job, nodes, self.later(reserved), node, -1)
                if _place(head, beside, node) is None:
                    continue
            self.start(job, nodes)


def easy(jobs, n_nodes, node):
    """Return start and nodes of each job; run times are known. `node`: cores, GPUs, memory."""
    run, coming = _Easy(n_nodes, node), list(jobs)
    while coming or run.waiting or run.running:
        run.now = min([end for end, _, _ in run.running] + [job.submit_s for job in coming[:1]])
        run.end_jobs()
        while coming and coming[0].submit_s <= run.now:
            run.waiting.append(coming.pop(0))
        run.select()
    return run.done
