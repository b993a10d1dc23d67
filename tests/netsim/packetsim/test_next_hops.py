"""Packets whose way the switches choose: the slow twin, what is conserved, and who is refused."""

import numpy as np
import pytest
from naive.packets import Twin
from sampling import thinned

from netsim.common.errors import ContentionError, RoutingError
from netsim.flows.contention import Traffic
from netsim.packetsim.next_hops import next_hops_to
from netsim.packetsim.running import advance
from netsim.packetsim.simulation import simulate_packets
from netsim.packetsim.world import Scene, build, by_rank
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from netsim.topology.rails import flow_endpoints
from netsim.topology.switches import Switch

GB, PACKET = 1e9, 1024
TREE = {"kind": "fat-tree", "radix": 4}
FABRICS = {
    "tree": TREE,
    "parallel": {"kind": "fat-tree", "children": [3, 3], "parents": [1, 2], "parallel": [1, 2]},
    "damaged": {**TREE, "failed_switches": ["s2.0"], "failed_links": ["s1.3>s2.2"]},
    "rails": {"kind": "fat-tree", "children": [3, 3], "parents": [2, 3], "parallel": [1, 1]},
    "torus": {"kind": "torus", "dims": [4, 3]},
    "twin cables": {"kind": "torus", "dims": [2, 4], "nodes_per_router": 2},
    "mesh": {"kind": "torus", "dims": [4, 3], "wrap": False},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers": 4},
    "rows": {"kind": "dragonfly", "groups": 4, "routers": [2, 3], "nodes_per_router": 2},
}
CASES = [
    (fabric, rule, *switch)
    for fabric in FABRICS
    for rule in ("adaptive", "spray")
    for switch in (("first-come", "store-and-forward"), ("round-robin", "cut-through"))
]
every_fabric = pytest.mark.parametrize("fabric", FABRICS)
every_rule = pytest.mark.parametrize("rule", ["adaptive", "spray"])


def routed(spec, rule):
    """Return a fabric whose switches choose, and its routing."""
    topology = make_topology(spec)
    routing = make_routing(rule, topology)
    return as_routed(topology, routing), routing


def random_scene(topology, routing, seed, n_jobs=2):
    """Return jobs of two steps with odd messages between random nodes."""
    rng = np.random.default_rng(seed)
    nodes = topology.usable_nodes
    src, dst, nbytes, step_first = [], [], [], [0]
    for _ in range(2 * n_jobs):
        n = int(rng.integers(3, 9))
        pairs = rng.choice(nodes, (n, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        src += pairs[:, 0].tolist()
        dst += pairs[:, 1].tolist()
        nbytes += (rng.integers(1, 12, len(pairs)) * 700.0).tolist()
        step_first.append(len(src))
    routes = routing.routes(*flow_endpoints(topology, np.array(src), np.array(dst)))
    last = topology.link_tail[routes.links[routes.indptr[1:] - 1]]
    return Scene(
        routes.indptr,
        routes.links,
        np.zeros_like(routes.links),
        np.array(nbytes),
        np.array(step_first),
        np.arange(0, 2 * n_jobs + 1, 2),
        next_hops=next_hops_to(topology, last),
    )


def simulated(scene, capacity, switch, seed, need=3):
    """Run a scene, all jobs from the start, with room for 8 packets at first."""
    world = build(scene, capacity, switch, seed, 8)
    jobs = world.jobs[:-1]
    jobs["wake"], jobs["need"], jobs["leaves"] = 10.0, need, 1
    jobs["compute"] = 1500.0 * np.arange(jobs.size)
    return advance(world)


def twin_of(scene, capacity, switch, seed, need=3):
    """Run the same in the twin."""
    twin = Twin(scene, capacity, switch, seed)
    for job in range(scene.job_first.size - 1):
        twin.add_job(1500.0 * job, 10.0, need, leaves=True)
    assert twin.run()
    return twin


@pytest.mark.parametrize("case", thinned(CASES, 3), ids=" ".join)
def test_the_kernel_is_its_twin_bit_for_bit(case):
    fabric, rule, arbitration, switching = case
    topology, routing = routed(FABRICS[fabric], rule)
    for seed, places in enumerate((1, 4)):
        switch = Switch(PACKET, PACKET * places, arbitration, switching)
        speeds = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], topology.n_links)
        capacity = topology.multipath.capacity * (speeds if seed else 1.0)
        scene = random_scene(topology, routing, seed)

        world, twin = (run(scene, capacity, switch, seed) for run in (simulated, twin_of))

        assert world.clock["hops"][0] == twin.hops > 100
        ends = [job.ends[-1] for job in twin.jobs]
        assert world.jobs["last_end"][:-1].tolist() == ends
        assert world.links["bytes"].tolist() == [link.nbytes for link in twin.links.values()]
        assert world.links["waited"].tolist() == [link.waited for link in twin.links.values()]


def test_ranks_that_go_on_by_themselves_are_those_of_the_twin_too():
    topology, routing = routed(TREE, "adaptive")
    scene, job = by_rank(random_scene(topology, routing, 3), topology)
    switch = Switch(PACKET, 3 * PACKET)
    world, twin = (
        build(scene, topology.multipath.capacity, switch, 3, 8),
        Twin(scene, topology.multipath.capacity, switch, 3),
    )
    ranks = world.jobs[:-1]
    ranks["wake"], ranks["need"] = 10.0, 3
    for _ in job:
        twin.add_job(0.0, 10.0, 3)

    assert twin.run()
    world = advance(world)

    assert world.clock["hops"][0] == twin.hops
    assert world.jobs["last_end"][:-1].tolist() == [rank.ends[-1] for rank in twin.jobs]


@every_rule
@every_fabric
def test_bytes_are_conserved_from_link_to_link_and_paths_are_minimal(fabric, rule):
    topology, routing = routed(FABRICS[fabric], rule)
    scene = random_scene(topology, routing, 5)
    switch = Switch(PACKET, 2 * PACKET)
    world = simulated(scene, topology.multipath.capacity, switch, 1, need=4)

    first, last = scene.links[scene.indptr[:-1]], scene.links[scene.indptr[1:] - 1]
    carried = world.links["bytes"]
    outer = (topology.link_tail < topology.n_nodes) | (topology.link_head < topology.n_nodes)
    sent = np.bincount(first, 4 * scene.nbytes, topology.n_links)
    got = np.bincount(last, 4 * scene.nbytes, topology.n_links)
    size = topology.n_nodes + topology.n_switches
    into = np.bincount(topology.link_head, carried, size)
    out = np.bincount(topology.link_tail, carried, size)
    assert carried[outer] == pytest.approx((sent + got)[outer])
    assert into[topology.n_nodes :] == pytest.approx(out[topology.n_nodes :])
    if topology.absent is not None:
        assert not carried[topology.absent].any()
    if not (fabric in ("dragonfly", "rows") and rule == "adaptive") and fabric != "damaged":
        assert carried.sum() == pytest.approx(4 * (scene.nbytes * np.diff(scene.indptr)).sum())
    assert np.all(world.channels["free"] == 2)
    assert not world.channels["waiting"].any()


@every_rule
def test_the_seed_decides_and_nothing_else(rule):
    topology, routing = routed(TREE, rule)
    scene, switch = random_scene(topology, routing, 6), Switch(PACKET)
    one, again, other = (
        simulated(scene, topology.multipath.capacity, switch, seed) for seed in (1, 1, 2)
    )

    assert one.jobs.tobytes() == again.jobs.tobytes()
    assert one.links.tobytes() == again.links.tobytes()
    assert one.jobs["last_end"][0] != other.jobs["last_end"][0]


def job(routing, src, dst, nbytes=256 * 4096.0):
    """Return a job of one step that never computes."""
    src, dst = np.array(src), np.array(dst)
    zeros = np.zeros(src.size)
    return Traffic(zeros.astype(int), src, zeros + nbytes, routing.routes(src, dst), 0.0, zeros)


def test_two_messages_that_tables_send_over_one_cable_go_over_two():
    """Nodes 0 and 1 of a leaf send to nodes 2 and 4: D-mod-k leads both over up-port 0."""
    spec = {**TREE, "bandwidth": GB}
    times = {}
    for name in ("d-mod-k", "adaptive"):
        topology, routing = routed(spec, name)
        parts = {1: job(routing, [0], [2]), 2: job(routing, [1], [4])}
        times[name] = [own.interference for own in simulate_packets(parts, topology).jobs.values()]

    assert times["d-mod-k"] == pytest.approx([2.0, 2.0], rel=0.02)
    assert times["adaptive"] == pytest.approx([1.0, 1.0], rel=0.02)


def test_a_message_takes_both_cables_where_the_node_is_faster_than_one():
    """Node links of 4 GB/s over up-links of 1 GB/s: a table's path takes 1, switches find 2."""
    spec = {"kind": "fat-tree", "radix": 4, "levels": 2, "bandwidth": [4 * GB, GB]}
    seconds = {}
    for name in ("d-mod-k", "adaptive", "spray"):
        topology, routing = routed(spec, name)
        parts = {1: job(routing, [0], [2], nbytes=2.0**22)}
        seconds[name] = simulate_packets(parts, topology).jobs[1].alone_s

    assert seconds["d-mod-k"] == pytest.approx(2.0**22 / GB, rel=0.02)
    assert seconds["adaptive"] == pytest.approx(2.0**21 / GB, rel=0.05)
    assert seconds["spray"] == pytest.approx(2.0**21 / GB, rel=0.15)


def test_packets_that_meet_a_queue_take_another_axis_of_a_torus():
    """From (0, 0) to (1, 1): two paths of two links; dimension order knows one."""
    spec = {"kind": "torus", "dims": [3, 3], "bandwidth": [4 * GB, GB]}
    seconds = {}
    for name in ("dimension-order", "adaptive"):
        topology, routing = routed(spec, name)
        parts = {1: job(routing, [0], [4], nbytes=2.0**22)}
        seconds[name] = simulate_packets(parts, topology).jobs[1].alone_s

    assert seconds["adaptive"] == pytest.approx(seconds["dimension-order"] / 2, rel=0.1)


def test_packets_go_by_a_third_group_where_the_cable_between_two_is_crowded():
    """Four nodes of group 0 send to group 1 over one cable; UGAL finds the other groups' cables."""
    spec = {
        "kind": "dragonfly",
        "groups": 5,
        "routers": 4,
        "bandwidth": GB,
    }
    seconds = {}
    for name in ("minimal", "spray", "adaptive"):
        topology, routing = routed(spec, name)
        parts = {1: job(routing, range(4), range(4, 8), nbytes=2.0**21)}
        seconds[name] = simulate_packets(parts, topology).jobs[1].alone_s

    assert seconds["spray"] == pytest.approx(seconds["minimal"], rel=0.01)  # there is one path
    assert seconds["adaptive"] < 0.6 * seconds["minimal"]


def test_packets_go_by_a_third_router_of_their_group_where_the_direct_link_is_crowded():
    """
    Four nodes of router 0 send to router 1; each of 6 other routers leads there over two links.

    The direct link alone takes four times as long as a node. By turns over 1 + 6 paths it takes no
    longer. Both stay minimal where there is no third router.
    """
    spec = {"kind": "dragonfly", "groups": 1, "nodes_per_router": 4, "bandwidth": GB}
    seconds = {}
    for routers in (2, 8):
        for name in ("minimal", "adaptive"):
            topology, routing = routed({**spec, "routers": routers}, name)
            parts = {1: job(routing, range(4), range(4, 8), nbytes=2.0**21)}
            seconds[routers, name] = simulate_packets(parts, topology).jobs[1].alone_s

    assert seconds[8, "minimal"] == pytest.approx(4 * 2.0**21 / GB, rel=0.02)
    assert seconds[8, "adaptive"] == pytest.approx(2.0**21 / GB, rel=0.1)
    assert seconds[2, "adaptive"] == pytest.approx(seconds[2, "minimal"], rel=0.02)


@every_rule
@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "torus", "dims": [4, 4]},
        FABRICS["rows"],
        {"kind": "dragonfly", "groups": 1, "routers": [2, 3], "nodes_per_router": 2},
    ],
)
def test_full_fabrics_with_one_place_a_channel_do_not_lock(spec, rule):
    """Everybody sends across the fabric at once, again and again, with buffers of one packet."""
    topology, routing = routed(spec, rule)
    nodes = np.arange(topology.n_nodes)
    src = np.tile(nodes, 3)
    dst = np.concatenate([(nodes + by) % nodes.size for by in (5, nodes.size // 2, nodes.size - 7)])
    parts = {1: job(routing, src, dst, nbytes=40 * 1024.0)}

    found = simulate_packets(parts, topology, Switch(PACKET, PACKET), slowest_does=3)

    assert found.jobs[1].alone_s > 0.0


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        (FABRICS["torus"], 3),
        (FABRICS["dragonfly"], 3),
        (FABRICS["rows"], 6),
        ({"kind": "dragonfly", "groups": 1, "routers": 4, "nodes_per_router": 2}, 2),
        ({"kind": "dragonfly", "groups": 1, "routers": [2, 3]}, 3),
    ],
)
def test_fewer_channels_than_are_safe_are_refused_by_the_name_of_the_field(spec, needed):
    topology, routing = routed(spec, "adaptive")
    parts = {1: job(routing, [0], [topology.n_nodes - 1])}

    with pytest.raises(ContentionError, match=f"virtual_channels: expected {needed} for adaptive"):
        simulate_packets(parts, topology, Switch(virtual_channels=needed - 1))
    assert simulate_packets(parts, topology, Switch(virtual_channels=needed)).hops > 0


def test_half_duplex_fabrics_are_refused():
    with pytest.raises(RoutingError, match=r"routing 'adaptive' needs .*full-duplex"):
        make_routing("adaptive", make_topology({**FABRICS["torus"], "duplex": "half"}))


def test_tori_that_lost_links_are_refused_as_no_rule_of_channels_is_known_to_be_safe_there():
    topology, routing = routed(
        {"kind": "torus", "dims": [4, 4], "failed_links": ["r0>r1"]}, "spray"
    )

    with pytest.raises(ContentionError, match=r"under routing 'spray' need .*with all its links"):
        simulate_packets({1: job(routing, [0], [9])}, topology)


def test_routes_over_pools_and_paths_are_not_mixed_up():
    topology = make_topology(TREE)
    routing = make_routing("adaptive", topology)
    fixed = make_routing("d-mod-k", topology)
    for fabric, ways in ((topology, routing), (as_routed(topology, routing), fixed)):
        with pytest.raises(ContentionError, match=r"netsim\.as_routed"):
            simulate_packets({1: job(ways, [0], [9])}, fabric)
