"""Collectives carried out number by number, and their bytes link by link beside `estimate`."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from estimatescenes import scene

from coupling import estimate
from patterns.placed import double_tree

LINK = 50e9
S = 1e9


def by_link(hosts, ranks, pattern, **fields):
    """Return the bytes that each adapter and GPU sends and gets, hosts under one leaf a rail."""
    topology = {"kind": "gpu-cluster", "hosts": hosts, "hosts_per_unit": hosts, "latency": "none"}
    topology |= {"bandwidth": LINK} | fields
    job = {"id": "a", "nodes": list(range(hosts)), "ranks_per_node": ranks}
    job |= {"pattern": {"name": "gpu-collective"} | pattern, "compute_s": 0}
    found = estimate(scene(job, topology=topology))
    return {load.link: load.nbytes for load in found.links}


class Wires:
    """Counts bytes between GPUs (host, place), by adapters or inside hosts."""

    def __init__(self, gpus, nics):
        self.gpus, self.nics, self.sent = gpus, nics, Counter()

    def send(self, src, dst, nbytes, nic):
        """Send from one GPU to another, by this adapter where they are on two hosts."""
        if src[0] != dst[0]:
            self.sent[f"n{src[0]}>s1.{nic}"] += nbytes
            self.sent[f"s1.{nic}>n{dst[0]}"] += nbytes
        else:
            self.sent[f"n{src[0]}>h{src[0]}#{src[1]}"] += nbytes
            self.sent[f"h{dst[0]}>n{dst[0]}#{dst[1]}"] += nbytes

    def channels(self, ranks):
        """Return the adapters of GPUs 0 to `ranks` - 1, each with the GPU it is nearest to."""
        each = max(1, self.nics // self.gpus)
        near = {}
        for gpu in range(ranks):
            for nic in range(gpu * self.nics // self.gpus, gpu * self.nics // self.gpus + each):
                near.setdefault(nic, gpu)
        return near


def ring_order(hosts, ranks, last):
    """Return the GPUs of a ring: in each host all, `last` at the end."""
    return [(host, (last + 1 + place) % ranks) for host in range(hosts) for place in range(ranks)]


def run_ring(wires, order, data, nbytes, *, nic, operation):
    """Pass chunks round a ring; `data` is (rank, chunk). Return what the ranks have then."""
    n = len(order)
    if operation in ("allreduce", "reduce-scatter"):
        for turn in range(n - 1):
            moved = [(at, (at - turn) % n, data[at, (at - turn) % n]) for at in range(n)]
            for at, chunk, value in moved:
                wires.send(order[at], order[(at + 1) % n], nbytes / n, nic)
                data[(at + 1) % n, chunk] += value
    if operation in ("allreduce", "allgather"):
        start = 1 if operation == "allreduce" else 0
        for turn in range(n - 1):
            moved = [(at, (at + start - turn) % n) for at in range(n)]
            values = [data[at, chunk] for at, chunk in moved]
            for (at, chunk), value in zip(moved, values, strict=True):
                wires.send(order[at], order[(at + 1) % n], nbytes / n, nic)
                data[(at + 1) % n, chunk] = value
    return data


@pytest.mark.parametrize("operation", ["allreduce", "allgather", "reduce-scatter"])
@pytest.mark.parametrize(
    ("hosts", "gpus", "nics", "ranks"),
    [(4, 8, 8, 8), (3, 8, 8, 4), (2, 8, 4, 8), (3, 4, 8, 4), (3, 4, 4, 2), (5, 2, 2, 2)],
)
def test_rings_put_on_each_link_what_chunks_passed_one_by_one_do(
    hosts, gpus, nics, ranks, operation
):
    wires = Wires(gpus, nics)
    near = wires.channels(ranks)
    for nic, last in near.items():
        order = ring_order(hosts, ranks, last)
        n = len(order)
        given = np.random.default_rng(nic).integers(0, 9, (n, n))
        if operation == "allgather":
            given *= np.eye(n, dtype=int)
        had = run_ring(wires, order, given.copy(), S / len(near), nic=nic, operation=operation)
        if operation == "reduce-scatter":
            summed = [had[at, (at + 1) % n] for at in range(n)]
            assert summed == np.roll(given.sum(axis=0), -1).tolist()
        else:
            assert (had == given.sum(axis=0)).all()

    pattern = {"operation": operation, "algorithm": "ring", "nbytes": S}
    found = by_link(hosts, ranks, pattern, gpus=gpus, nics=nics)

    assert found == pytest.approx(dict(wires.sent))


@pytest.mark.parametrize("hosts", [*range(2, 18), 31, 32, 33])
def test_double_trees_sum_everything_and_no_host_sends_more_than_twice(hosts):
    """Both halves, up to the root and down again; of S bytes the most that a host sends."""
    sent = np.zeros(hosts)
    got = np.zeros(hosts)
    for parents in double_tree(hosts):
        children = {node: [c for c, p in enumerate(parents) if p == node] for node in range(hosts)}
        (root,) = [node for node, parent in enumerate(parents) if parent < 0]
        value = np.arange(1, hosts + 1)

        def summed(node, children=children, value=value):
            for child in children[node]:
                value[node] += summed(child)
                sent[child] += 0.5
                got[node] += 0.5
            return value[node]

        def handed_down(node, children=children, value=value):
            for child in children[node]:
                value[child] = value[node]
                sent[node] += 0.5
                got[child] += 0.5
                handed_down(child)

        summed(root)
        handed_down(root)
        assert (value == hosts * (hosts + 1) // 2).all()

    assert (sent == got).all()
    assert sent.max() == {2: 1.0, 3: 1.5}.get(hosts, 2.0)


@pytest.mark.parametrize(("hosts", "ranks"), [(2, 8), (3, 4), (4, 8), (5, 2), (8, 8)])
def test_trees_put_on_each_link_what_sums_up_and_down_do(hosts, ranks):
    """Chains inside a host to the GPU of the channel's adapter, a double tree between hosts."""
    wires = Wires(8, 8)
    near = wires.channels(ranks)
    share = S / len(near)
    for nic, last in near.items():
        chain = [(last + 1 + place) % ranks for place in range(ranks)]
        for host in range(hosts):
            for a, b in pairwise(chain):
                wires.send((host, a), (host, b), share, nic)
                wires.send((host, b), (host, a), share, nic)
        for parents in double_tree(hosts):
            for host, parent in enumerate(parents):
                if parent >= 0:
                    wires.send((host, last), (parent, last), share / 2, nic)
                    wires.send((parent, last), (host, last), share / 2, nic)

    found = by_link(hosts, ranks, {"operation": "allreduce", "algorithm": "tree", "nbytes": S})

    assert found == pytest.approx(dict(wires.sent))


@pytest.mark.parametrize(("hosts", "ranks"), [(2, 8), (3, 4), (8, 8), (4, 2)])
def test_hierarchies_put_on_each_link_what_their_three_stages_do(hosts, ranks):
    """Inside hosts a chunk for each GPU is summed and gathered in rings; between them its ring."""
    wires = Wires(8, 8)
    for host in range(hosts):
        for operation in ("reduce-scatter", "allgather"):
            order = [(host, place) for place in range(ranks)]
            given = np.ones((ranks, ranks), dtype=int)
            run_ring(wires, order, given, S, nic=None, operation=operation)
    for nic in range(ranks):
        order = [(host, nic) for host in range(hosts)]
        given = np.ones((hosts, hosts), dtype=int)
        run_ring(wires, order, given, S / ranks, nic=nic, operation="allreduce")

    pattern = {"operation": "allreduce", "algorithm": "hierarchical", "nbytes": S}
    found = by_link(hosts, ranks, pattern)

    assert found == pytest.approx(dict(wires.sent))


@pytest.mark.parametrize("root", [0, 5, 13])
def test_a_broadcast_reaches_each_gpu_once_and_uses_all_adapters(root):
    """Each of 24 GPUs gets 1 GB in all; two hosts of three get it by 8 adapters, 1/8 each."""
    pattern = {"operation": "broadcast", "nbytes": S, "root": root}

    found = by_link(3, 8, pattern)

    adapters = {name: nbytes for name, nbytes in found.items() if name.startswith("s1.")}
    assert sorted(adapters.values()) == pytest.approx([S / 8] * 16)
    assert not any(name.endswith(f">n{root // 8}") for name in adapters)
    inside = sum(nbytes for name, nbytes in found.items() if name.startswith("h"))
    assert inside + 2 * S == pytest.approx(23 * S)


def all_to_all_s(cluster, ranks, nbytes):
    """Return the time of the busiest link, message by message; uplinks share evenly."""
    gpus, nics, pxn = cluster["gpus"], cluster["nics"], cluster["pxn"]
    unit, clos = cluster["hosts_per_unit"], cluster["fabric"] == "clos"
    load = {}

    def add(what, key, much):
        load[what, key] = load.get((what, key), 0.0) + much

    def adapters(gpu):
        if nics < gpus:
            return [gpu * nics // gpus]
        return list(range(gpu * nics // gpus, (gpu + 1) * nics // gpus))

    places = list(product(range(cluster["hosts"]), range(ranks)))
    for (here, a), (there, b) in product(places, places):
        if here == there and a != b:
            add("gpu", ("out", here, a), nbytes)
            add("gpu", ("in", here, b), nbytes)
        for at, into in enumerate(adapters(b) if here != there else ()):
            part, own = nbytes / len(adapters(b)), adapters(a)
            out = into if pxn else own[at % len(own)]
            add("nic", ("out", here, out), part)
            add("nic", ("in", there, into), part)
            if out not in own:
                add("gpu", ("out", here, a), part)
                add("gpu", ("in", here, out * gpus // nics), part)
            leaves = [(h // unit, 0 if clos else n) for h, n in ((here, out), (there, into))]
            if leaves[0] != leaves[1]:
                add("leaf", ("up", leaves[0]), part)
                add("leaf", ("down", leaves[1]), part)
    up = unit * (nics if clos else 1) / cluster["oversubscription"]
    rates = {"nic": LINK, "leaf": LINK * up, "gpu": cluster["gpu_link"]}
    return max(much / rates[what] for (what, _), much in load.items())


@pytest.mark.parametrize("fabric", ["rail", "clos"])
@pytest.mark.parametrize(("gpus", "nics", "ranks"), [(8, 8, 8), (8, 4, 8), (2, 4, 2), (8, 8, 4)])
@pytest.mark.parametrize("pxn", [True, False])
def test_an_all_to_all_takes_what_its_messages_put_on_the_busiest_link(
    fabric, gpus, nics, ranks, pxn
):
    for over, rate in product((1, 2), (450e9, 20e9)):
        cluster = {"kind": "gpu-cluster", "hosts": 6, "hosts_per_unit": 2, "gpus": gpus}
        cluster |= {"nics": nics, "fabric": fabric, "pxn": pxn, "oversubscription": over}
        cluster |= {"gpu_link": rate, "bandwidth": LINK, "latency": "none"}
        job = {"id": "a", "nodes": list(range(6)), "ranks_per_node": ranks, "compute_s": 0}
        job["pattern"] = {"name": "all-to-all", "nbytes": "1 MB"}

        (found,) = estimate(scene(job, topology=cluster, routing="spray")).jobs

        assert found.alone_s == pytest.approx(all_to_all_s(cluster, ranks, 1e6))
