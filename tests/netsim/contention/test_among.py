"""Which part goes round on dragonflies among others: the law, its slow twin, and what follows."""

from dataclasses import replace

import numpy as np
import pytest
from naive import shares as naive

from netsim.contention.among import Among, among
from netsim.contention.cold.fixedpoint import accurate, cold_fast, cold_phased
from netsim.contention.constants import ConstantsOf, bytes_per_link
from netsim.contention.detours import part_among
from netsim.contention.events.fast import Fast
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets
from netsim.partition import Partition
from netsim.routing.spread import as_routed
from netsim.routings import make_routing
from netsim.topologies import make_topology
from scheduler.traffic import RankFlows, TrafficOf

SMALL = {"kind": "dragonfly", "groups": 5, "routers": 4, "nodes_per_router": 2}
FABRICS = {
    "dragonfly": SMALL,
    "rows": {"kind": "dragonfly", "groups": 4, "routers": [2, 3], "variant": "aries"},
    "two groups": {"kind": "dragonfly", "groups": 2, "routers": [2, 3], "global_links": 4},
    "broken": {**SMALL, "failed_links": ["r0>r4", "r0>r1"]},
    "lost router": {**SMALL, "failed_switches": ["r5"]},
}
COLD = {"fast": cold_fast, "phased": cold_phased, "accurate": accurate}


def routed(spec, rule="adaptive"):
    """Return a fabric under a routing, and what places flows on it."""
    built = make_topology({"bandwidth": 1e9, "buffer": 65536, **spec})
    routing = make_routing(rule, built)
    fabric = as_routed(built, routing)
    return fabric, TrafficOf(fabric, routing)


def sent(on, flows, compute_s=0.0):
    """Return the traffic of a job: step, source, destination and bytes of its flows."""
    fabric, traffic_of = on
    step, src, dst, nbytes = (np.array(column) for column in zip(*flows, strict=True))
    rows = RankFlows(step, src, dst, nbytes.astype(float))
    return traffic_of.of_flows(
        rows, Partition(np.arange(fabric.n_nodes), None), compute_s=compute_s
    ).traffic


def drawn(on, seed, n_jobs=5, scale=1.0):
    """Draw jobs on nodes of their own: traffic and flows of each."""
    fabric = on[0]
    rng = np.random.default_rng(seed)
    nodes = np.array_split(rng.permutation(fabric.usable_nodes), n_jobs)
    jobs, told = {}, {}
    for job, own in enumerate(nodes):
        flows = []
        for step in range(2):
            for _ in range(10):
                ends = rng.choice(own, 2, replace=False).tolist()
                flows.append((step, *ends, scale * float(rng.uniform(1e4, 1e6))))
        told[job], jobs[job] = flows, sent(on, flows, scale * float(rng.uniform(0.0, 5e-4)))
    return jobs, told


def parts_of(fabric, constants):
    """Return what goes round of each job, and of each alone."""
    crowd = Among(fabric)
    for job, own in constants.items():
        crowd.start(job, own)
    alone = {j: own.detours.alone for j, own in constants.items() if own.detours is not None}
    list(crowd.moved(0.0))
    return {j: crowd._jobs[j].parts for j in alone}, alone


@pytest.mark.parametrize(
    ("alone", "straight", "round_", "wanted"),
    [
        (0.4, 0.0, 0.0, 0.4),
        (0.4, 1.0, 0.0, 1.0),  # the minimal way is never free, the detour always
        (0.4, 0.0, 1.0, 0.0),
        (0.4, 1.0, 1.0, 0.4),  # neither: queues are compared as alone
        (0.5, 0.5, 0.0, 0.75),  # of those that stay half meet somebody
        (0.2, 0.5, 0.5, 0.2 * 0.75 + 0.8 * 0.25),
    ],
)
def test_the_part_that_goes_round_among_others_by_hand(alone, straight, round_, wanted):
    columns = (np.array([value]) for value in (alone, straight, round_))

    assert part_among(*columns) == pytest.approx(wanted)


@pytest.mark.parametrize("n_jobs", [5, 2])
@pytest.mark.parametrize("name", FABRICS)
def test_parts_are_those_of_the_slow_twin(name, n_jobs):
    """With buffers so large that flows of a sender weigh as the twin has it, each a part."""
    on = routed({**FABRICS[name], "buffer": "64 MiB"})
    jobs, told = drawn(on, seed=7, n_jobs=n_jobs)
    constants_of = ConstantsOf(on[0])
    constants = {job: constants_of(own) for job, own in jobs.items()}
    periods = {job: (own.iteration_s, told[job]) for job, own in constants.items()}
    wanted = naive.parts_among(on[0], periods, {job: own.detoured for job, own in jobs.items()})
    parts, alone = parts_of(on[0], constants)

    moved = 0.0
    for job in parts:
        assert parts[job] == pytest.approx(wanted[job], abs=2e-6)
        moved = max(moved, np.abs(parts[job] - alone[job]).max())
    assert (moved > 0.01) == (name != "two groups")  # no third group, no detour


def test_what_others_put_on_the_minimal_way_sends_packets_round_and_on_detours_back():
    on = routed({"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4})
    fabric = on[0]
    ways = sent(on, [(0, 0, 20, 1e5)]).routes.ways
    starts = {
        kind: [
            int(link)
            for link in ways.links[ways.indptr[kind] : ways.indptr[kind + 1]]
            if fabric.link_tail[link] == fabric.n_nodes
        ]
        for kind in (0, 1)
    }
    constants = ConstantsOf(fabric)(sent(on, [(0, 0, 20, 1e5)]))
    found = []
    for busy in (0.0, 0.4, 0.8):
        row = []
        for kind in (0, 1):
            crowd = Among(fabric)
            crowd.start(0, constants)
            crowd._busy[:, starts[kind]] += busy
            list(crowd.moved(0.0))
            row.append(float(crowd._jobs[0].parts[0]))
        found.append(row)

    straight, round_ = zip(*found, strict=True)
    assert straight[0] == round_[0] == constants.detours.alone[0]
    assert straight[0] < straight[1] < straight[2]
    assert round_[0] > round_[1] > round_[2]


def test_what_is_too_much_for_a_link_further_on_is_seen_where_packets_begin():
    on = routed({"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4})
    fabric = on[0]
    constants = ConstantsOf(fabric)(sent(on, [(0, 4, 20, 1e5)]))
    ways = constants.detours.ways
    minimal = ways.links[: ways.indptr[1]]
    (cable,) = minimal[minimal >= fabric.bases[2]]
    assert fabric.link_tail[cable] != fabric.n_nodes + 1  # not the first link of the way
    parts = []
    for whole in (0.0, 1.0, 1.25, 2.0):
        crowd = Among(fabric)
        crowd.start(0, constants)
        crowd._busy[1, cable] += whole
        list(crowd.moved(0.0))
        parts.append(float(crowd._jobs[0].parts[0]))

    alone = constants.detours.alone[0]
    assert parts[:2] == [alone, alone]
    assert parts[2:] == pytest.approx([alone + (1.0 - alone) * busy for busy in (0.2, 0.5)])


def test_who_shares_no_first_link_has_the_constants_of_a_job_alone_to_the_bit():
    on = routed({"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4})
    constants_of = ConstantsOf(on[0])
    one, other = sent(on, [(0, 0, 20, 1e6), (0, 0, 40, 1e5)]), sent(on, [(0, 8, 9, 1e6)])
    alone = constants_of(one)

    for jobs in ({1: alone}, {1: alone, 2: constants_of(other)}):
        found = among(jobs)[1]
        np.testing.assert_array_equal(found.records, alone.records)
        np.testing.assert_array_equal(found.entries, alone.entries)


def test_the_iteration_alone_is_that_of_no_others():
    on = routed(SMALL)
    jobs, _ = drawn(on, seed=3)
    constants_of = ConstantsOf(on[0])
    constants = {job: constants_of(own) for job, own in jobs.items()}

    for job, own in among(constants).items():
        assert own.iteration_s == constants[job].iteration_s
        np.testing.assert_array_equal(own.steps, constants[job].steps)
        np.testing.assert_array_equal(own.records["channel"], constants[job].records["channel"])


def test_all_bytes_still_arrive_where_others_lead_packets_round():
    on = routed(SMALL)
    fabric = on[0]
    jobs, _ = drawn(on, seed=5)
    constants_of = ConstantsOf(fabric)
    parts, _ = parts_of(fabric, {job: constants_of(own) for job, own in jobs.items()})
    for job, own in jobs.items():
        links, before = bytes_per_link(own)
        others, after = bytes_per_link(replace(own, detoured=parts[job]))
        net = np.zeros((2, fabric.n_nodes + fabric.n_switches))
        for row, on_links, nbytes in ((0, links, before), (1, others, after)):
            np.add.at(net[row], fabric.link_tail[on_links], nbytes)
            np.add.at(net[row], fabric.link_head[on_links], -nbytes)

        assert net[1] == pytest.approx(net[0], abs=1e-6)


@pytest.mark.parametrize("model", COLD)
def test_neither_order_nor_scale_matters(model):
    on = routed({**SMALL, "buffer": 0})
    jobs, _ = drawn(on, seed=12)
    larger, _ = drawn(on, seed=12, scale=8.0)
    constants_of = ConstantsOf(on[0])
    wanted = COLD[model]({job: constants_of(own) for job, own in jobs.items()}).interference
    turned = COLD[model]({job: constants_of(jobs[job]) for job in reversed(jobs)}).interference
    scaled = COLD[model]({job: constants_of(own) for job, own in larger.items()}).interference

    assert max(wanted.values()) > 1.003
    assert turned == wanted
    assert scaled == pytest.approx(wanted, rel=1e-4)


def test_two_jobs_that_mirror_each_other_go_round_alike():
    on = routed({"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4})
    constants_of = ConstantsOf(on[0])
    jobs = {j: constants_of(sent(on, [(0, j, 20 + j, 1e6)], 1e-3)) for j in (0, 1)}
    parts, alone = parts_of(on[0], jobs)
    found = cold_fast(jobs).interference

    assert parts[0] == pytest.approx(parts[1])
    assert parts[0] > alone[0]  # one links' first router, and the same way on
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize("model", ["fast", "phased"])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_event_by_event_is_as_from_scratch_and_blame_adds_up(model, seed):
    on = routed(SMALL)
    jobs, _ = drawn(on, seed)
    rng = np.random.default_rng(seed)
    live = make_contention_model(model, on[0], options={"tolerance": 1e-8})
    constants_of, running, said = ConstantsOf(on[0]), {}, {}
    gone = rng.permutation(5).tolist()[:2]
    most = 1.0
    for job in [*jobs, *gone, gone[0]]:
        if job in running:
            live.end(job)
            del running[job], said[job]
        else:
            live.start(job, jobs[job])
            running[job] = constants_of(jobs[job])
        said |= live.solve()
        wanted = COLD[model](running, tolerance=1e-9).interference

        assert said == pytest.approx(wanted, rel=1e-4)
        most = max([most, *said.values()])
        for held in [one for one in running if said[one] > 1.0 + 1e-6]:
            assert sum(live.blame(held).values()) == pytest.approx(1.0)
    assert most > 1.003


@pytest.mark.parametrize("model", ["fast", "phased"])
def test_who_is_led_away_is_not_its_own_bottleneck(model):
    """Others lead the flows of the last job to one link, which it alone would fill for longer."""
    on = routed({"kind": "dragonfly", "groups": 3, "routers": 2, "nodes_per_router": 2})
    flows = [
        [(2, 7, 10, 284.7)],
        [(1, 0, 4, 51.3)],
        [(0, 1, 4, 4.67)],
        [(0, 3, 5, 29817.1), (0, 5, 1, 7632.5), (2, 7, 3, 11144.1)],
    ]
    jobs, constants_of = {job: sent(on, own) for job, own in enumerate(flows)}, ConstantsOf(on[0])
    constants = {job: constants_of(own) for job, own in jobs.items()}
    live, said = make_contention_model(model, on[0], options={"tolerance": 1e-7}), {}
    for job, own in jobs.items():
        live.start(job, own)
        said |= live.solve()
    moved, alone = among(constants)[3], constants[3].steps["drain_s"]

    assert said == pytest.approx(COLD[model](constants, tolerance=1e-9).interference, rel=1e-4)
    assert (moved.entries["drain_s"] <= alone[moved.entries["step"]]).all()
    assert not np.array_equal(moved.entries["drain_s"], constants[3].entries["drain_s"])


def test_a_job_sees_what_others_cease_to_weigh_because_it_moved():
    """The last job holds the first up at node 0, is slowed itself, and then no longer does."""
    on = routed(FABRICS["rows"])
    flows = [
        ([(1, 1, 20, 814319.6457676166), (1, 14, 0, 169863.87553499092)], 0.001),
        ([(2, 5, 12, 299602.8379488154)], 0.0),
        ([(0, 18, 0, 2816.7164854655093)], 0.0),
    ]
    live, said = Fast(on[0], fairness="per-flow", tolerance=1e-7), {}
    constants_of = ConstantsOf(on[0], "per-flow")
    jobs = {job: sent(on, *own) for job, own in enumerate(flows)}
    for job, own in jobs.items():
        live.start(job, own)
        said |= live.solve()
    wanted = cold_fast({job: constants_of(own) for job, own in jobs.items()}).interference

    assert said == pytest.approx(wanted, rel=1e-5)
    assert said[2] > 2.0


def test_who_came_first_does_not_matter_at_the_usual_tolerance():
    on = routed(SMALL)
    jobs, _ = drawn(on, seed=13)
    found = []
    for order in (list(jobs), list(reversed(jobs))):
        model, said = make_contention_model("phased", on[0]), {}
        for job in order:
            model.start(job, jobs[job])
            said |= model.solve()
        found.append(said)

    assert found[1] == pytest.approx(found[0], abs=0.02)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        (SMALL, "minimal"),
        (SMALL, "spray"),
        ({"kind": "torus", "dims": [4, 4], "nodes_per_router": 2}, "adaptive"),
        ({"kind": "fat-tree", "radix": 4}, "adaptive"),
    ],
)
def test_nobody_chooses_elsewhere(spec, rule):
    on = routed(spec, rule)
    constants_of = ConstantsOf(on[0])
    jobs = {0: constants_of(sent(on, [(0, 0, 9, 1e6), (0, 3, 12, 1e6)]))}

    assert not constants_of.leads_round
    assert jobs[0].detours is None
    assert among(jobs) is jobs


def test_in_packets_too_a_neighbour_sends_more_of_them_round():
    built = make_topology(
        {
            "kind": "dragonfly",
            "groups": 9,
            "routers": 4,
            "nodes_per_router": 4,
            "bandwidth": "100 Gb/s",
            "latency": "codes",
        }
    )
    routing = make_routing("adaptive", built)
    fabric = as_routed(built, routing)
    on = fabric, TrafficOf(fabric, routing)
    jobs = {job: sent(on, [(0, job, 20 + job, 2.0**17)], 1.05e-5) for job in (0, 1)}
    constants_of = ConstantsOf(fabric)
    parts, alone = parts_of(fabric, {job: constants_of(own) for job, own in jobs.items()})

    def round_in_packets(together):
        use = simulate_packets(together, fabric, slowest_does=30).links
        sent_all = use.nbytes[use.links < fabric.n_nodes].sum()
        return use.nbytes[use.links >= fabric.bases[2]].sum() / sent_all - 1.0

    before, after = round_in_packets({0: jobs[0]}), round_in_packets(jobs)
    assert alone[0][0] == pytest.approx(before, abs=0.1)
    assert parts[0][0] > alone[0][0] + 0.05
    assert after > before + 0.05
    assert parts[0][0] == pytest.approx(after, abs=0.1)
