"""
Collectives of GPUs as they run, given on which hosts, GPUs and adapters the ranks are.

S is the whole array of a rank, k the adapters of a group in each host, n its ranks, N its hosts.
A collective has k *channels*, each with S/k and an adapter of its own, as in NCCL.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, log2

import numpy as np

from patterns.base import (
    DEFAULT_NBYTES,
    Ints,
    Step,
    Template,
    check_root,
    choice,
    integer,
    settle,
    size,
)
from patterns.errors import PatternError
from patterns.messages import within_groups

_BASE_S, _RING_S, _TREE_S, _NET_S = 8.4e-6, 3.4e-6, 4.0e-6, 14e-6
_NVLS_S, _NVLS_NET_S = 25e-6, 18e-6
_TREE_EFFICIENCY = 0.92
"""NCCL's tuner, protocol Simple on NVLink (src/graph/tuning.cc of June 2026): base, a step of a
ring and of a tree inside a host, a step between hosts; NVLS inside and between hosts; share of the
bandwidth that a tree gets."""

_NVLS_SLOWER = (1.75 / 476) / (1.125 / 370)
"""Of NVLS beside a ring, for each byte out of a GPU: 476 GB/s busbw on eight H100 (nccl-tests
290), which is 1.125 S out of a GPU where a ring has 1.75 S at 370 GB/s."""

_TREE_BYTES = (0.0, 0.0, 1.0, 1.5)  # that an adapter sends, of S/k, by hosts; 2 beyond


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the ranks of a job are, on hosts with GPUs and adapters."""

    host: Ints  # (n,): host of each rank, numbered by their first ranks
    gpu: Ints  # (n,): GPU of each rank; -1 where the rank is the whole host
    # gpus, nics: GPUs and adapters of a host
    gpus: int
    nics: int
    nic_rate: float  # bytes per second of an adapter
    # share of an adapter's rate that NCCL reaches, where collectives have what it adds to their
    # bytes and latencies; 0: without
    nccl: float = 0.0
    known: bool = True  # whether these are the hosts of the job, or any

    @cached_property
    def _key(self) -> tuple[object, ...]:
        """What tells layouts apart."""
        rest = self.gpus, self.nics, self.nic_rate, self.nccl, self.known
        return self.host.tobytes(), self.gpu.tobytes(), *rest

    def __eq__(self, other: object) -> bool:
        """Return whether all ranks are at like places."""
        return isinstance(other, Layout) and self._key == other._key

    def __hash__(self) -> int:
        """Return a hash that equal layouts share."""
        return hash(self._key)

    @classmethod
    def apart(cls, n_ranks: int) -> "Layout":
        """Return that of ranks on a host each, of one GPU and one adapter."""
        rank = np.arange(n_ranks)
        return cls(rank, np.zeros_like(rank), 1, 1, 1.0, known=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """Ranks of a collective on their hosts: places in the group, by host and GPU."""

    hosts: tuple[Ints, ...]  # members of each host
    nics: tuple[tuple[int, ...], ...]  # adapters of each host, a channel each
    near: tuple[Ints, ...]  # of each channel the place among the members of the host nearest to it
    root: int = 0  # member that a broadcast begins at

    @classmethod
    def of(cls, host: Ints, gpu: Ints, layout: Layout, root: int) -> "_Group":
        """Return the group of ranks on hosts; `host` is numbered by first ranks."""
        hosts, nics, near = [], [], []
        each = max(1, layout.nics // layout.gpus)
        for number in range(int(host.max()) + 1):
            members = np.flatnonzero(host == number)
            members = members[np.argsort(gpu[members], kind="stable")]
            own = gpu[members]
            if own[0] < 0:
                adapters, places = np.arange(layout.nics), np.zeros(layout.nics, dtype=np.int64)
            else:
                adapters = (own * layout.nics // layout.gpus)[:, None] + np.arange(each)
                places = np.repeat(np.arange(own.size), each)
                adapters, first = np.unique(adapters.ravel(), return_index=True)
                places = places[first]
            hosts.append(members)
            nics.append(tuple(adapters.tolist()))
            near.append(places)
        return cls(tuple(hosts), tuple(nics), tuple(near), root)

    @property
    def size(self) -> int:
        """Ranks."""
        return sum(members.size for members in self.hosts)

    @property
    def channels(self) -> int:
        """Channels: as many as the host with the fewest adapters has."""
        return min(len(nics) for nics in self.nics)

    def in_turn(self, host: int, channel: int) -> Ints:
        """Return the members of a host, the one at the channel's adapter last."""
        return np.roll(self.hosts[host], -1 - int(self.near[host][channel]))

    def head(self, host: int, channel: int) -> int:
        """Return the member at the channel's adapter."""
        return int(self.hosts[host][self.near[host][channel]])


_Edges = list[tuple[int, int, int, float]]  # source, destination, adapter or -1, bytes


def _step(edges: _Edges, rounds: int = 1) -> Step:
    """Return messages as a step, those of the same ends and adapter put together."""
    total: dict[tuple[int, int, int], float] = {}
    for src, dst, nic, nbytes in edges:
        if src != dst:
            total[src, dst, nic] = total.get((src, dst, nic), 0.0) + nbytes
    ends = np.array(list(total), dtype=np.int64).reshape(-1, 3).T
    return Step(ends[0], ends[1], np.array(list(total.values())), rounds, ends[2])


def _rings(group: _Group, factor: float, hosts: Sequence[int]) -> _Edges:
    """Return the edges of a ring for each channel, `factor` / k bytes each."""
    edges: _Edges = []
    channels = group.channels if len(hosts) > 1 else 1
    share = factor / channels
    for channel in range(channels):
        for at, host in enumerate(hosts):
            order = group.in_turn(host, channel).tolist()
            edges += [(a, b, -1, share) for a, b in itertools.pairwise(order)]
            following = hosts[(at + 1) % len(hosts)]
            target = group.in_turn(following, channel).tolist()[0]
            nic = -1 if following == host else group.nics[following][channel]
            edges.append((order[-1], target, nic, share))
    return edges


def _ring(passes: int) -> Callable[[_Group, float], list[Step]]:
    """Return a ring that goes round so many times."""

    def steps(group: _Group, nbytes: float) -> list[Step]:
        n = group.size
        edges = _rings(group, passes * (n - 1) / n * nbytes, range(len(group.hosts)))
        return [_step(edges, passes * (n - 1))]

    return steps


def _chain(group: _Group, nbytes: float) -> list[Step]:
    """Return a broadcast down a chain through all hosts, that of the root first."""
    first = next(h for h, members in enumerate(group.hosts) if group.root in members)
    n_hosts = len(group.hosts)
    order = [(first + step) % n_hosts for step in range(n_hosts)]
    edges: _Edges = []
    channels = group.channels if n_hosts > 1 else 1
    for channel in range(channels):
        chain: list[tuple[int, int]] = [(group.root, first)]
        for host in order:
            members = [rank for rank in group.in_turn(host, channel).tolist() if rank != group.root]
            chain += [(rank, host) for rank in members]
        for (a, here), (b, there) in itertools.pairwise(chain):
            nic = -1 if here == there else group.nics[there][channel]
            edges.append((a, b, nic, nbytes / channels))
    return [_step(edges)]


def binary_tree(n: int) -> list[int]:
    """Return the parent of each of n in-order nodes of a binary tree, -1 of node 0, the root."""
    parents = [-1] * n
    for node in range(1, n):
        bit = node & -node
        parent = (node ^ bit) | (bit << 1)
        parents[node] = parent if parent < n else node ^ bit
    return parents


def double_tree(n: int) -> tuple[list[int], list[int]]:
    """
    Return the parents of two binary trees: a node has two children in one of them at most.

    Sanders, Speck, Traeff 2009: the second is the first, shifted by one where n is odd, else
    mirrored.
    """
    first = binary_tree(n)
    second = [-1] * n
    for node, parent in enumerate(first):
        if parent >= 0:
            moved = [(x + 1) % n if n % 2 else n - 1 - x for x in (node, parent)]
            second[moved[0]] = moved[1]
    return first, second


def _tree(group: _Group, nbytes: float) -> list[Step]:
    """Return an allreduce up and down a double binary tree of hosts, and chains in these."""
    n_hosts = len(group.hosts)
    trees = double_tree(n_hosts)
    channels = group.channels if n_hosts > 1 else len(group.near[0])
    share = nbytes / channels
    edges: _Edges = []
    for channel in range(channels):
        for host in range(n_hosts):
            order = group.in_turn(host, channel).tolist()
            for a, b in itertools.pairwise(order):
                edges += [(a, b, -1, share), (b, a, -1, share)]
        for parents in trees if n_hosts > 1 else ():
            for host, parent in enumerate(parents):
                if parent >= 0:
                    ends = group.head(host, channel), group.head(parent, channel)
                    up, down = group.nics[parent][channel], group.nics[host][channel]
                    edges.append((*ends, up, share / 2))
                    edges.append((*reversed(ends), down, share / 2))  # type: ignore[arg-type]
    return [_step(edges)]


def _hierarchical(group: _Group, nbytes: float) -> list[Step]:
    """Return a reduce-scatter in hosts, rings between them and an allgather in hosts, in chunks."""
    n_hosts = len(group.hosts)
    edges: _Edges = []
    for host, members in enumerate(group.hosts):
        edges += _rings(group, 2 * (members.size - 1) / members.size * nbytes, [host])
    share = 2 * (n_hosts - 1) / n_hosts * nbytes / group.channels
    for channel in range(group.channels if n_hosts > 1 else 0):
        for host in range(n_hosts):
            after = (host + 1) % n_hosts
            ends = group.head(host, channel), group.head(after, channel)
            edges.append((*ends, group.nics[after][channel], share))
    longest = max(members.size for members in group.hosts)
    return [_step(edges, 2 * (n_hosts - 1) + 2 * (longest - 1))]


def _nvls(group: _Group, nbytes: float) -> list[Step]:
    """
    Return an allreduce in the switch of a host's GPUs.

    S (1 + 1/j) leave each of j GPUs and come in: its array to be summed, its part of the sums. So
    much is put on these links by a message to the next GPU.
    """
    return [_step(_in_hosts(group, nbytes))]


def _in_hosts(group: _Group, nbytes: float) -> _Edges:
    """Return what NVLS puts on the links of GPUs."""
    edges: _Edges = []
    for members in group.hosts:
        sent = nbytes * (1 + 1 / members.size)
        pairs = zip(members.tolist(), np.roll(members, -1).tolist(), strict=True)
        edges += [(a, b, -1, sent) for a, b in pairs]
    return edges


def _in_network(group: _Group, nbytes: float) -> list[Step]:
    """
    Return an allreduce in the switches between hosts (SHARP), and NVLS in these.

    S/k leave and enter each adapter, and each leaf sends and gets as much once. A message to the
    next host puts so much on these links, where ranks are in the order of leaves.
    """
    n_hosts, share = len(group.hosts), nbytes / group.channels
    edges = _in_hosts(group, nbytes)
    for channel in range(group.channels if n_hosts > 1 else 0):
        for host in range(n_hosts):
            after = (host + 1) % n_hosts
            ends = group.head(host, channel), group.head(after, channel)
            edges.append((*ends, group.nics[after][channel], share))
    return [_step(edges)]


def _direct(group: _Group, nbytes: float) -> list[Step]:
    """Return an all-to-all in one step, `nbytes` for each pair."""
    here, there = np.divmod(np.arange(group.size**2), group.size)
    apart = here != there
    sent = np.full(int(apart.sum()), nbytes)
    return [Step(here[apart], there[apart], sent)]


_ALGORITHMS: Mapping[str, Mapping[str, Callable[[_Group, float], list[Step]]]] = {
    "allreduce": {
        "ring": _ring(2),
        "tree": _tree,
        "hierarchical": _hierarchical,
        "nvls": _nvls,
        "in-network": _in_network,
    },
    "allgather": {"ring": _ring(1)},
    "reduce-scatter": {"ring": _ring(1)},
    "broadcast": {"ring": _chain},
    "all-to-all": {"direct": _direct},
}
OPERATIONS = tuple(_ALGORITHMS)


def nccl_latency_s(algorithm: str, passes: int, ranks: int, hosts: int) -> float:
    """
    Return what NCCL's tuner has for the latency of a collective, in seconds.

    `passes`: of a ring: 2 for an allreduce, 1 for the others. NCCL has no latency of its own for
    ``hierarchical``, which has the steps of its rings, nor for ``direct`` and a broadcast's chain.
    """
    inside, between = passes * (ranks - hosts), passes * (hosts - 1)
    if algorithm == "tree":
        return _BASE_S + 2 * ((ranks / hosts - 1) * _TREE_S + floor(log2(hosts)) * _NET_S)
    if algorithm in {"nvls", "in-network"}:
        return _BASE_S + _NVLS_S + (_NVLS_NET_S if hosts > 1 else 0.0)
    if algorithm == "hierarchical":
        inside = 2 * (ceil(ranks / hosts) - 1)
    if algorithm == "direct":
        inside, between = (0, 1) if hosts > 1 else (1, 0)
    return _BASE_S + inside * _RING_S + between * _NET_S


def _fastest(group: _Group, nbytes: float, nic_rate: float) -> str:
    """Choose ring or tree as NCCL does: latency and bandwidth of its tuner."""
    n, n_hosts = group.size, len(group.hosts)
    if n_hosts == 1:
        return "ring"
    on_nic = nbytes / group.channels / nic_rate
    sent = _TREE_BYTES[n_hosts] if n_hosts < len(_TREE_BYTES) else 2.0
    through = sent / _TREE_EFFICIENCY
    tree_s = nccl_latency_s("tree", 1, n, n_hosts) + through * on_nic
    ring_s = nccl_latency_s("ring", 2, n, n_hosts) + 2 * (n - 1) / n * on_nic
    return "tree" if tree_s < ring_s else "ring"


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective of groups of ranks, all at once."""

    operation: str
    algorithm: str
    nbytes: float
    root: int = 0

    def steps(self, groups: Ints, layout: Layout) -> list[Step]:
        """Return the steps of groups (G, m), each laid out as its ranks are."""
        by_place: dict[tuple[bytes, bytes], list[Ints]] = {}
        for ranks in groups:
            host = _renumbered(layout.host[ranks])
            by_place.setdefault((host.tobytes(), layout.gpu[ranks].tobytes()), []).append(ranks)
        alike = []
        for own in by_place.values():
            host, gpu = _renumbered(layout.host[own[0]]), layout.gpu[own[0]]
            steps = self._of_one(_Group.of(host, gpu, layout, self.root), layout)
            alike.append(within_groups(np.stack(own), steps))
        return _at_once(alike)

    def _of_one(self, group: _Group, layout: Layout) -> list[Step]:
        """Return the steps of one group, by places in it."""
        algorithms, name = _ALGORITHMS[self.operation], self.algorithm
        if name in {"tree", "nvls"} and layout.known:
            _require_several(name, group, layout)
        elif name == "nvls":
            name = "ring"
        if name == "auto":
            many = len(algorithms) > 1 and layout.gpus > 1
            name = _fastest(group, self.nbytes, layout.nic_rate) if many else next(iter(algorithms))
        steps = algorithms[name](group, self.nbytes)
        if not layout.nccl:
            return steps
        passes = 2 if self.operation == "allreduce" else 1
        latency_s = nccl_latency_s(name, passes, group.size, len(group.hosts))
        return [_as_nccl(step, name, layout.nccl, latency_s) for step in steps]


def _require_several(algorithm: str, group: _Group, layout: Layout) -> None:
    """Refuse trees in hosts of one GPU, and NVLS of one rank or beyond a host."""
    if layout.gpus == 1:
        raise PatternError(f"algorithm: {algorithm!r} needs hosts of several GPUs, they have one.")
    if algorithm == "tree":
        return
    if len(group.hosts) > 1:
        raise PatternError(
            f"algorithm: 'nvls' needs a group within the {layout.gpus} GPUs of a host, it is on "
            f"{len(group.hosts)} hosts; expected 'in-network'."
        )
    if group.size == 1:
        raise PatternError("algorithm: 'nvls' needs several ranks in a host, the group has one.")


def _as_nccl(step: Step, algorithm: str, reached: float, latency_s: float) -> Step:
    """Return the step of a collective with what NCCL adds to its bytes and its latency."""
    between = np.zeros(step.src.size, dtype=np.bool_) if step.channel is None else step.channel >= 0
    more = np.ones(step.src.size)
    if algorithm == "tree":
        more[between] = reached / _TREE_EFFICIENCY
    if algorithm in {"nvls", "in-network"}:
        more[~between] = _NVLS_SLOWER
    return replace(step, nbytes=step.nbytes * more, latency_s=latency_s)


def checked_collective(operation: str, algorithm: str, nbytes: object, root: int) -> Collective:
    """Return a collective whose words are known."""
    operation = choice("operation", operation, _ALGORITHMS)
    algorithm = choice("algorithm", algorithm, ("auto", *_ALGORITHMS[operation]))
    return Collective(operation, algorithm, size("nbytes", nbytes), root)


def _renumbered(host: Ints) -> Ints:
    """Return hosts numbered in the order in which they come up."""
    _, first, number = np.unique(host, return_index=True, return_inverse=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(first.size)
    found: Ints = rank[number]
    return found


def _at_once(alike: Iterable[list[Step]]) -> list[Step]:
    """Put the steps of groups together, the first with the first; rounds are those of most."""
    found: list[Step] = []
    lists = list(alike)
    for place in range(max((len(steps) for steps in lists), default=0)):
        steps = [own[place] for own in lists if place < len(own)]
        channels = [
            np.full(step.src.size, -1) if step.channel is None else step.channel for step in steps
        ]
        src, dst, nbytes = (
            np.concatenate([getattr(step, name) for step in steps])
            for name in ("src", "dst", "nbytes")
        )
        rounds = max(step.rounds for step in steps)
        latency_s = max(step.latency_s for step in steps)
        channel = np.concatenate(channels)
        found.append(Step(src, dst, nbytes, rounds, channel, latency_s=latency_s))
    return found


class PlacedPattern(Template):
    """
    Pattern whose messages depend on the hosts of its ranks.

    Without these, `steps` gives what ranks on a host each would send.
    """

    __slots__ = ()

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps of ranks on a host each."""
        return self.placed_steps(Layout.apart(n_ranks))

    def placed_steps(self, layout: Layout) -> list[Step]:
        """Return the steps of ranks on hosts."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class GpuCollective(PlacedPattern):
    """
    A collective of all GPUs of a job, as NCCL runs it; on GPU clusters.

    A ring has a channel for each adapter of the hosts, which visits all GPUs of a host and leaves
    by that adapter. ``tree`` is NCCL's double binary tree of hosts with chains inside these,
    ``hierarchical`` a reduce-scatter inside hosts, rings between them and an allgather inside.
    ``auto`` chooses ring or tree by the latencies and bandwidths of NCCL's tuner. ``nvls`` sums in
    the NVLink switch of a host, ``in-network`` in the switches between hosts too.
    """

    operation: str = "allreduce"  # or "allgather", "reduce-scatter", "broadcast", "all-to-all"
    # "ring"; of an allreduce also "tree", "hierarchical", "nvls" and "in-network"
    algorithm: str = "auto"
    nbytes: float = DEFAULT_NBYTES  # the whole array; of an all-to-all, of a rank for each other
    root: int = 0  # of a broadcast

    def __post_init__(self) -> None:
        root = integer("root", self.root, 0)
        found = checked_collective(self.operation, self.algorithm, self.nbytes, root)
        settle(self, nbytes=found.nbytes, root=root)

    def placed_steps(self, layout: Layout) -> list[Step]:
        """Return the steps of ranks on hosts."""
        root = check_root(self.root, layout.host.size)
        collective = Collective(self.operation, self.algorithm, self.nbytes, root)
        return collective.steps(np.arange(layout.host.size)[None], layout)


def require_groups(what: str, total: int, of: int, things: str = "ranks") -> int:
    """Return how many parts ranks make, or refuse with the nearest numbers that fit."""
    if total % of:
        low = total // of * of
        near = f"{low} or {low + of}" if low else f"{of}"
        raise PatternError(f"{what} = {of} must divide the {things}, such as {near}, got {total}.")
    return total // of
