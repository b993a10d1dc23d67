"""The compiled packet simulation against its slow twin, and what a scene must conserve."""

import numpy as np
import pytest
from naive.packets import Twin
from sampling import sampled

from netsim.common.errors import ContentionError
from netsim.packetsim.running import advance
from netsim.packetsim.world import Scene, build, by_rank
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK
from netsim.topology.switches import Switch

_JOBS = 3
_SMALL = Switch(packet_bytes=1024.0)
_COMPUTE_NS, _WAKE_NS, _SPREAD = (0.0, 1500.0, 3000.0), (10.0, 10.0, 200.0), (0.0, 0.5, 0.0)


@pytest.fixture(scope="module")
def tree():
    """Return a tree of 16 nodes."""
    return make_topology({"kind": "fat-tree", "radix": 4})


def random_scene(tree, seed):
    """Return three jobs of two steps with odd messages between random nodes."""
    rng = np.random.default_rng(seed)
    src, dst, nbytes, step_first = [], [], [], [0]
    for _ in range(2 * _JOBS):
        n = int(rng.integers(1, 7))
        here = rng.integers(0, tree.n_nodes, n)
        src += here.tolist()
        dst += ((here + rng.integers(1, tree.n_nodes, n)) % tree.n_nodes).tolist()
        nbytes += (rng.integers(1, 30, n) * 700.0).tolist()
        step_first.append(len(src))
    routes = DModK(tree).routes(np.array(src), np.array(dst))
    no_channels = np.zeros(routes.links.size, dtype=np.int64)
    return Scene(
        routes.indptr,
        routes.links,
        no_channels,
        np.array(nbytes),
        np.array(step_first),
        np.arange(0, 2 * _JOBS + 1, 2),
    )


def both(scene, capacity, switch, seed, *, leaves=False, need=4):
    """Run a scene compiled, with room for 8 packets at first, and in the twin."""
    world = build(scene, capacity, switch, seed, 8)
    jobs = world.jobs[:_JOBS]
    jobs["compute"], jobs["wake"], jobs["spread"] = _COMPUTE_NS, _WAKE_NS, _SPREAD
    jobs["need"], jobs["leaves"] = need, leaves
    twin = Twin(scene, capacity, switch, seed)
    for work in zip(_COMPUTE_NS, _WAKE_NS, (need,) * _JOBS, _SPREAD, strict=True):
        twin.add_job(*work, leaves=leaves)
    assert twin.run()
    return advance(world), twin


@pytest.mark.parametrize("nic", ["round-robin", "first-come"])
@pytest.mark.parametrize("arbitration", ["first-come", "round-robin"])
@pytest.mark.parametrize("switching", ["store-and-forward", "cut-through"])
@pytest.mark.parametrize("places", sampled([1, 3, 16], {1, 16}))
def test_the_kernel_is_its_twin_bit_for_bit(tree, nic, arbitration, switching, places):
    """The wheel gives the order of a heap, and every rule that of the objects."""
    switch = Switch(1024.0, 1024.0 * places, arbitration, switching, nic)
    for seed in range(4):
        speeds = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], tree.n_links)
        capacity = tree.capacity * (speeds if seed % 2 else 1.0)
        world, twin = both(random_scene(tree, seed), capacity, switch, seed, leaves=seed == 3)

        assert world.clock["hops"][0] == twin.hops > 1000
        ends = [job.ends for job in twin.jobs]
        assert world.jobs["last_end"][:_JOBS].tolist() == [own[-1] for own in ends]
        assert world.jobs["need_end"][:_JOBS].tolist() == [own[3] for own in ends]
        assert world.links["waited"].tolist() == [link.waited for link in twin.links.values()]


def test_without_jitter_equal_times_have_one_order_in_both(tree):
    switch = Switch(1024.0, 4096.0, jitter_s=0.0)
    world, twin = both(random_scene(tree, 7), tree.capacity, switch, 1)

    assert world.jobs["last_end"][:_JOBS].tolist() == [job.ends[-1] for job in twin.jobs]


def test_every_link_carries_the_bytes_of_the_messages_that_cross_it(tree):
    scene = random_scene(tree, 2)
    world, _ = both(scene, tree.capacity, _SMALL, 5, leaves=True, need=4)

    flow = np.repeat(np.arange(scene.nbytes.size), np.diff(scene.indptr))
    expected = 4 * np.bincount(scene.links, scene.nbytes[flow])
    assert world.links["bytes"] == pytest.approx(expected[np.unique(scene.links)], abs=1e-6)


def test_places_packets_and_lists_are_as_before_when_all_have_left(tree):
    world, _ = both(random_scene(tree, 4), tree.capacity, _SMALL, 5, leaves=True)

    assert np.all(world.channels["free"] == _SMALL.slots)
    assert np.all(world.channels["first"] == -1)
    assert np.all(world.links["head"] == -1)
    assert np.all(world.nics["waiting"] == 0)
    spare, at = 0, world.clock["spare"][0]
    while at >= 0:
        spare, at = spare + 1, world.packets["next"][at]
    assert spare == world.packets.size


def test_the_seed_decides_and_nothing_else(tree):
    scene = random_scene(tree, 6)
    first, again, other = (both(scene, tree.capacity, _SMALL, seed)[0] for seed in (1, 1, 2))

    assert first.jobs.tobytes() == again.jobs.tobytes()
    assert first.jobs["last_end"][0] != other.jobs["last_end"][0]


def ring_of_four(n_channels):
    """Return four routers in a ring whose messages all go two cables on: a circle of waiting."""
    torus = make_topology({"kind": "torus", "dims": [4]})
    links = [[n, 8 + n, 8 + (n + 1) % 4, 4 + (n + 2) % 4] for n in range(4)]
    channels = [[0, 0, int(n == 3), 0] for n in range(4)]
    flat = np.array(channels).ravel() if n_channels > 1 else np.zeros(16, dtype=np.int64)
    return torus, Scene(
        np.arange(0, 17, 4),
        np.array(links).ravel(),
        flat,
        np.full(4, 64 * 1024.0),
        np.array([0, 4]),
        np.array([0, 1]),
    )


@pytest.mark.parametrize("n_channels", [1, 2])
def test_a_circle_of_waiting_is_a_deadlock_and_a_dateline_opens_it(n_channels):
    torus, scene = ring_of_four(n_channels)
    world = build(scene, torus.capacity, Switch(1024.0, 1024.0), 0, 64)
    world.jobs["wake"][0], world.jobs["need"][0] = 0.0, 2
    twin = Twin(scene, torus.capacity, Switch(1024.0, 1024.0), 0)
    twin.add_job(0.0, 0.0, 2)

    assert twin.run() == (n_channels == 2)
    if n_channels == 1:
        with pytest.raises(ContentionError, match="deadlock: packets of 4 messages wait"):
            advance(world)
    else:
        assert advance(world).jobs["count"][0] == 2


@pytest.mark.parametrize("seed", range(8))
def test_ranks_that_go_on_by_themselves_are_those_of_the_twin(tree, seed):
    """Each rank has its own step, iteration and compute phase; early messages are counted later."""
    scene, job = by_rank(random_scene(tree, seed), tree)
    switch = Switch(1024.0, 1024.0 * (1 + 3 * (seed % 3)))
    world, twin = (
        build(scene, tree.capacity, switch, seed, 8),
        Twin(scene, tree.capacity, switch, seed),
    )
    ranks = world.jobs[:-1]
    assert ranks.size == job.size > 3 * 3
    ranks["compute"], ranks["wake"] = np.array(_COMPUTE_NS)[job], np.array(_WAKE_NS)[job]
    ranks["spread"], ranks["need"] = np.array(_SPREAD)[job], 4
    for own in job:
        twin.add_job(_COMPUTE_NS[own], _WAKE_NS[own], 4, _SPREAD[own])

    assert twin.run()
    world = advance(world)

    assert world.clock["hops"][0] == twin.hops
    assert world.jobs["last_end"][:-1].tolist() == [rank.ends[-1] for rank in twin.jobs]
    assert world.jobs["count"][:-1].tolist() == [rank.count for rank in twin.jobs]
