"""Random scenes for measuring the contention models: patterns, placements and event streams."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.flows.traffic import TrafficTimes
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree

Steps = list[tuple[Ints, Ints]]  # source and destination ranks of each step


def near_cubic(n: int, dims: int) -> tuple[int, ...]:
    """Return `dims` factors of n, as equal as a greedy choice makes them."""
    factors = []
    for left in range(dims, 1, -1):
        goal = round(n ** (1 / left))
        factor = max(f for f in range(1, goal + 1) if n % f == 0)
        factors.append(factor)
        n //= factor
    return (*factors, n)


def stencil(n: int, dims: int) -> Steps:
    """Return one step: both neighbours along each dimension of a torus."""
    grid = near_cubic(n, dims)
    ranks = np.arange(n).reshape(grid)
    shifts = [(axis, by) for axis in range(dims) if grid[axis] > 1 for by in (1, -1)]
    dst = [np.roll(ranks, by, axis).ravel() for axis, by in shifts]
    return _one_step(np.tile(np.arange(n), len(shifts)), np.concatenate([*dst, np.arange(0)]))


def mesh(n: int, seed: int = 0) -> Steps:
    """Return one step: six or more nearest neighbours of random points."""
    points = np.random.default_rng((n, seed)).random((n, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = np.argsort(distance, axis=1)[:, 1:7]
    linked = np.zeros((n, n), dtype=bool)
    linked[np.arange(n)[:, None], near] = True
    src, dst = np.nonzero(linked | linked.T)
    return _one_step(src, dst)


def pairs(n: int, seed: int = 0) -> Steps:
    """Return one step: random partners exchange."""
    order = np.random.default_rng((n, seed)).permutation(n)[: n // 2 * 2]
    a, b = order[0::2], order[1::2]
    return _one_step(np.concatenate([a, b]), np.concatenate([b, a]))


def sub_all_to_all(n: int) -> Steps:
    """Return a step per dimension of a 3D grid: all-to-all inside its lines."""
    grid = near_cubic(n, 3)
    ranks = np.arange(n).reshape(grid)
    steps = []
    for axis in range(3):
        lines = np.moveaxis(ranks, axis, -1).reshape(-1, grid[axis])
        src = np.repeat(lines, grid[axis], axis=1).ravel()
        dst = np.tile(lines, (1, grid[axis])).ravel()
        steps += _one_step(src, dst)
    return steps


def recursive_doubling(n: int) -> Steps:
    """Return log2 n steps: partner = rank XOR 2^k; without partner, silent."""
    steps = []
    ranks = np.arange(n)
    for k in range(int(n - 1).bit_length()):
        partner = ranks ^ (1 << k)
        keep = partner < n
        steps += _one_step(ranks[keep], partner[keep])
    return steps


def all_to_all(n: int) -> Steps:
    """Return one step with every pair."""
    return _one_step(np.repeat(np.arange(n), n), np.tile(np.arange(n), n))


def _one_step(src: Ints, dst: Ints) -> Steps:
    """Return the step without messages to oneself; nothing where none is left."""
    keep = src != dst
    return [(src[keep], dst[keep])] if keep.any() else []


PATTERNS: Sequence[Callable[[int], Steps]] = (
    lru_cache(lambda n: stencil(n, 4)),
    lru_cache(mesh),
    lru_cache(pairs),
    lru_cache(sub_all_to_all),
    lru_cache(recursive_doubling),
    lru_cache(all_to_all),
)


def traffic_of(
    tree: FatTree, nodes: Ints, steps: Steps, nbytes: float, compute_s: float
) -> Traffic:
    """Return the D-mod-k traffic of steps over ranks, rank i on nodes[i]."""
    sizes = [src.size for src, _ in steps]
    step = np.repeat(np.arange(len(steps)), sizes)
    empty = [np.zeros(0, dtype=np.int64)]
    src = nodes[np.concatenate([*(src for src, _ in steps), *empty])]
    dst = nodes[np.concatenate([*(dst for _, dst in steps), *empty])]
    routes = DModK(tree).routes(src, dst)
    return Traffic(
        step=step,
        sender=src,
        nbytes=np.full(src.size, nbytes),
        routes=routes,
        compute_s=compute_s,
        latency_s=LatencyOf(tree)(routes).of(np.full(src.size, nbytes)),
    )


class Stream:
    """
    Random starts and finishes in steady state.

    Sizes are exponential, cut at 256 ranks, f is uniform, patterns come in turn. When the
    next job does not fit, a running job drawn at random finishes.
    """

    def __init__(
        self,
        tree: FatTree,
        seed: int,
        mean_size: float,
        *,
        random_nodes: bool,
        f: tuple[float, float] = (0.1, 0.9),
    ) -> None:
        self.tree = tree
        self.rng = np.random.default_rng(seed)
        self.mean_size = mean_size
        self.random_nodes = random_nodes
        self.f = f
        self.free = np.ones(tree.n_nodes, dtype=bool)
        self.running: dict[int, tuple[Ints, Traffic]] = {}
        self.constants_of = TrafficTimes(tree)
        self._next_id = 0
        self._waiting = self._size()

    def events(self) -> Iterator[tuple[str, int, Traffic]]:
        """Yield ("start" or "end", job, traffic) for ever."""
        while True:
            if np.count_nonzero(self.free) >= self._waiting:
                job, traffic = self._start()
                yield "start", job, traffic
            else:
                ids = list(self.running)
                job = ids[int(self.rng.integers(len(ids)))]
                nodes, traffic = self.running.pop(job)
                self.free[nodes] = True
                yield "end", job, traffic

    def _size(self) -> int:
        """Draw the size of the next job."""
        return int(np.clip(round(self.rng.exponential(self.mean_size)), 2, 256))

    def _start(self) -> tuple[int, Traffic]:
        """Place the waiting job and draw the next."""
        n = self._waiting
        idle = np.flatnonzero(self.free)
        nodes = np.sort(self.rng.choice(idle, n, replace=False)) if self.random_nodes else idle[:n]
        job = self._next_id
        self._next_id += 1
        nbytes = float(2 ** self.rng.uniform(15, 20))
        traffic = traffic_of(self.tree, nodes, PATTERNS[job % len(PATTERNS)](n), nbytes, 0.0)
        f = self.rng.uniform(*self.f)
        alone = self.constants_of(traffic).communication_s
        traffic = replace(traffic, compute_s=alone * (1 - f) / f)
        self.free[nodes] = False
        self.running[job] = (nodes, traffic)
        self._waiting = self._size()
        return job, traffic
