"""The flow-level simulation: by hand, an exact twin, SimGrid's jobs and its co-simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iterating import machines, talks, traffic_of
from naive.exact import NaiveJob
from naive.exact import simulate as naive_simulate
from sampling import sampled
from simgridcases import FAT_TREE_JOBS, FCFS, fat_tree_of, load_case, routes_by_rule

from netsim.common.errors import ContentionError, NetsimError
from netsim.flows.contention import Traffic
from netsim.flowsim.snapshot import simulate_jobs
from netsim.routing.dmodk import DModK
from netsim.topology.routes import Routes


def numbered_flows(job):
    """Return step, source, destination and bytes of a reference job's flows."""
    flows = [(number, *flow) for number, step in enumerate(job["steps"]) for flow in step]
    return (np.array(column) for column in zip(*flows, strict=True))


def on_fat_tree(job, tree, nodes=None):
    """Return the traffic of a reference job; with nodes, its steps are in ranks."""
    step, src, dst, nbytes = numbered_flows(job)
    if nodes is not None:
        src, dst = nodes[src], nodes[dst]
    routes = DModK(tree).routes(src, dst)
    return Traffic(step, src, nbytes.astype(float), routes, job["compute"], np.zeros(step.size))


def by_rule(case):
    """Return the traffic of reference jobs on SimGrid's torus or dragonfly, and capacities."""
    flows = [[*numbered_flows(job)] for job in case["jobs"]]
    src, dst = (np.concatenate([job[i] for job in flows]).tolist() for i in (1, 2))
    routes, capacity = routes_by_rule(case["topology"], src, dst)
    traffic, first = {}, 0
    for number, (step, sender, _, nbytes) in enumerate(flows):
        last = first + step.size
        own = Routes.from_lists([routes.of_flow(f) for f in range(first, last)], capacity.size)
        compute_s, none = case["jobs"][number]["compute"], np.zeros(step.size)
        traffic[number] = Traffic(step, sender, nbytes.astype(float), own, compute_s, none)
        first = last
    return traffic, capacity


def assert_job_times_are_simgrids(case, traffic, capacity, channel):
    """Compare alone, together, end and slowdown of each job."""
    jobs = case["jobs"]

    times = simulate_jobs(
        traffic,
        capacity,
        channel,
        fairness="per-flow",
        start_s={i: job["start"] for i, job in enumerate(jobs)},
        iterations={i: job["iters"] for i, job in enumerate(jobs)},
    )

    for i, job in enumerate(jobs):
        assert times[i].alone_s * job["iters"] == pytest.approx(case["alone"][i], rel=1e-9)
        assert times[i].together_s * job["iters"] == pytest.approx(case["together"][i], rel=1e-9)
        assert times[i].end_s == pytest.approx(case["end"][i], rel=1e-9)
        assert times[i].interference == pytest.approx(case["slowdown"][i], rel=1e-9)


@pytest.mark.parametrize("name", FAT_TREE_JOBS)
def test_iterating_jobs_on_fat_trees_take_as_long_as_in_simgrid(name, shared):
    case = load_case(shared, name)
    tree = fat_tree_of(case)
    traffic = {i: on_fat_tree(job, tree) for i, job in enumerate(case["jobs"])}

    assert_job_times_are_simgrids(case, traffic, tree.capacity, tree.channel)


@pytest.mark.parametrize("name", ["jobs-3-torus", "jobs-3-dfly"])
def test_iterating_jobs_on_torus_and_dragonfly_take_as_long_as_in_simgrid(name, shared):
    """Routes by SimGrid's own rules, its slips included."""
    case = load_case(shared, name)

    assert_job_times_are_simgrids(case, *by_rule(case), None)


def first_come_first_served(case, tree):
    """
    Return begins, ends and nodes of jobs in strict order on the lowest-numbered free nodes.

    The next end follows from a simulation of all jobs so far: what starts later does not
    change what was before.
    """
    jobs, n_jobs = case["jobs"], len(case["jobs"])
    begin, nodes, end, traffic = {}, {}, {}, {}
    gone = set()
    now = 0.0
    while len(gone) < n_jobs:
        while len(begin) < n_jobs and jobs[len(begin)]["submit"] <= now:
            job = len(begin)
            taken = np.concatenate([nodes[j] for j in begin if j not in gone] or [[]])
            free = np.setdiff1d(np.arange(tree.n_nodes), taken)
            if free.size < jobs[job]["size"]:
                break
            begin[job], nodes[job] = now, free[: jobs[job]["size"]]
            traffic[job] = on_fat_tree(jobs[job], tree, nodes[job])
        times = simulate_jobs(
            traffic,
            tree.capacity,
            fairness="per-flow",
            start_s=begin,
            iterations={job: jobs[job]["iters"] for job in begin},
        )
        end.update({job: times[job].end_s for job in begin if job not in gone})
        coming = [job["submit"] for job in jobs[len(begin) :][:1] if job["submit"] > now]
        now = min([end[job] for job in begin if job not in gone] + coming)
        gone |= {job for job in begin if end[job] <= now}
    return begin, end, nodes


@pytest.mark.parametrize("name", sampled(FCFS, FCFS[:1]))
def test_co_simulated_fcfs_streams_begin_and_end_as_in_simgrid(name, shared):
    """Contention moves the ends and so later starts and placements; all within 1e-9."""
    case = load_case(shared, name)

    begin, end, nodes = first_come_first_served(case, fat_tree_of(case))

    jobs = range(len(case["jobs"]))
    np.testing.assert_allclose([begin[j] for j in jobs], case["begin"], rtol=1e-9)
    np.testing.assert_allclose([end[j] for j in jobs], case["end"], rtol=1e-9)
    assert [nodes[j].tolist() for j in jobs] == case["nodes"]


BUFFER = 1e6  # bytes: larger than any message, so only short packets weigh less


@settings(deadline=None, max_examples=150)
@given(machines(), st.booleans(), st.sampled_from([0.0, 3.0]))
def test_ends_equal_exact_fractions_solved_anew_at_each_event(machine, per_sender, packet):
    """Jobs with given iterations: compute, empty steps, latency, shared channels included."""
    jobs, capacity, channel = machine
    twins = {i: NaiveJob(job[0], job[1], job[2]) for i, job in enumerate(jobs) if talks(job[0])}

    def all_done(running):
        for i, twin in twins.items():
            twin.gone = len(twin.ends) >= jobs[i][3]
        return all(twin.gone for twin in running)

    naive_simulate(
        list(twins.values()),
        capacity,
        channel,
        per_sender=per_sender,
        until=all_done,
        buffer=BUFFER,
        packet=packet,
    )

    times = simulate_jobs(
        {
            i: traffic_of(steps, len(capacity), compute)
            for i, (steps, compute, _, _) in enumerate(jobs)
        },
        np.array(capacity),
        None if channel is None else np.array(channel),
        fairness="per-sender" if per_sender else "per-flow",
        start_s={i: job[2] for i, job in enumerate(jobs)},
        iterations={i: job[3] for i, job in enumerate(jobs)},
        buffer_bytes=BUFFER,
        packet_bytes=packet,
    )

    for i, (_, compute, start, iterations) in enumerate(jobs):
        expected = twins[i].ends[iterations - 1] if i in twins else start + compute * iterations
        assert times[i].end_s == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize(("buffer", "share"), [(0.0, 1 / 16), (1.0, 2**-3.5), (2.0, 1 / 16)])
def test_a_held_up_flow_of_long_messages_weighs_more_by_hand(buffer, share):
    """
    One of 16 flows meets a rival, the others go on.

    Messages of 4 buffers weigh 16^-(7/8), of two buffers and less 16^-1. When the others have
    ended, the flow and its rival share evenly.
    """
    sixteen = [(0, [0, 1] if flow == 0 else [0], 4.0, 0.0) for flow in range(16)]
    jobs = {0: traffic_of([sixteen], 2), 1: traffic_of([[(1, [1], 100.0, 0.0)]], 2)}

    times = simulate_jobs(
        jobs, np.array([64.0, 9 / 8]), iterations={0: 1, 1: 1}, buffer_bytes=buffer
    )

    held = 9 / 8 * share / (1 + share)
    others_end_s = 4 * 15 / (64 - held)
    assert times[0].end_s == pytest.approx(others_end_s + (4 - held * others_end_s) / (9 / 16))


LINK = np.array([10.0])
LONG = traffic_of([[(0, [0], 20.0, 0.0)]], 1, compute_s=1.0)  # alone 1 + 2 s
SHORT = traffic_of([[(1, [0], 10.0, 0.0)]], 1, compute_s=1.0)  # alone 1 + 1 s


def test_two_jobs_on_one_link_by_hand():
    """
    Both send from 1 s on, at 5 B/s.

    SHORT has sent its 10 B at 3 s and leaves; LONG has 10 of its 20 B left and takes 1 s at
    10 B/s: it ends at 4 s.
    """
    times = simulate_jobs({7: LONG, 3: SHORT}, LINK, iterations={7: 1, 3: 1})

    assert list(times) == [7, 3]
    assert (times[3].alone_s, times[3].end_s, times[3].interference) == (2.0, 3.0, 1.5)
    assert (times[7].alone_s, times[7].end_s) == (3.0, 4.0)


@pytest.mark.parametrize(("options", "rounds"), [({}, 20), ({"slowest_does": 3}, 3)])
def test_jobs_that_persist_iterate_until_the_slowest_has_done_twenty_or_as_asked(options, rounds):
    """The mean leaves the first iteration out; the faster job makes as many as fit."""
    twins = [NaiveJob([[(0, [0], 20, 0)]], 1, 0), NaiveJob([[(1, [0], 10, 0)]], 1, 0)]
    naive_simulate(
        twins, [10.0], per_sender=True, until=lambda js: min(len(j.ends) for j in js) >= rounds
    )

    times = simulate_jobs({0: LONG, 1: SHORT}, LINK, **options)

    for job, twin in enumerate(twins):
        mean_s = float(twin.ends[-1] - twin.ends[0]) / (len(twin.ends) - 1)
        assert times[job].together_s == pytest.approx(mean_s, rel=1e-12)
        assert times[job].end_s is None


def test_a_step_lasts_until_its_last_byte_has_arrived():
    """
    By hand: latency counts for the flow it belongs to, and delays the next step.

    10 B at 10 B/s and latency 5 s arrive at 6 s; 30 B at latency 0 on another link at 3 s.
    The second step (10 B, latency 2 s) starts at 6 s and ends at 9 s.
    """
    steps = [[(0, [0], 10.0, 5.0), (1, [1], 30.0, 0.0)], [(0, [0], 10.0, 2.0)]]

    times = simulate_jobs({0: traffic_of(steps, 2)}, np.array([10.0, 10.0]), iterations={0: 1})

    assert times[0].end_s == 9.0


def test_jobs_that_share_no_channel_keep_their_times_exactly():
    """Interference 1 exactly, whatever the rounding of the clock, and nobody else is moved."""
    apart = traffic_of([[(2, [1], 7.1, 1e-7)], [(3, [1], 0.3, 0.0)]], 2, compute_s=0.1)
    pair = {
        0: traffic_of([[(0, [0], 20.0, 0.0)]], 2, 1.0),
        1: traffic_of([[(1, [0], 9.0, 0.0)]], 2, 1.0),
    }
    capacity = np.array([10.0, 0.7])

    without = simulate_jobs(pair, capacity)
    times = simulate_jobs({**pair, 2: apart}, capacity, start_s={2: 1e6})

    assert times[2].interference == 1.0
    assert times[2].together_s == times[2].alone_s
    assert (times[0], times[1]) == (without[0], without[1])


def test_a_job_that_only_computes_or_stays_inside_its_node_is_undisturbed():
    inside = traffic_of([[(0, [], 5.0, 0.0)]], 1, compute_s=2.0)

    times = simulate_jobs({0: LONG, 1: inside, 2: traffic_of([], 1, 3.0)}, LINK)

    assert (times[1].alone_s, times[1].interference) == (2.0, 1.0)
    assert (times[2].alone_s, times[2].interference) == (3.0, 1.0)


@pytest.fixture(scope="module")
def three_jobs(shared):
    """Return the traffic of three jobs on a full tree of 128 nodes, and the tree."""
    case = load_case(shared, "jobs-3-random")
    tree = fat_tree_of(case)
    return {i: on_fat_tree(job, tree) for i, job in enumerate(case["jobs"])}, tree


def interference_of(traffic, capacity, **options):
    """Return the interference of each job by its number."""
    return {
        job: times.interference
        for job, times in simulate_jobs(traffic, capacity, **options).items()
    }


def test_interference_does_not_depend_on_the_order_of_jobs(three_jobs):
    traffic, tree = three_jobs

    forwards = interference_of(traffic, tree.capacity)
    backwards = interference_of(dict(reversed(traffic.items())), tree.capacity)

    assert max(forwards.values()) > 1.05
    assert backwards == pytest.approx(forwards, rel=1e-9)


def test_interference_is_unchanged_when_volumes_times_and_latencies_scale_together(three_jobs):
    traffic, tree = three_jobs
    larger = {
        job: Traffic(
            own.step, own.sender, 8 * own.nbytes, own.routes, 8 * own.compute_s, own.latency_s
        )
        for job, own in traffic.items()
    }

    assert interference_of(larger, tree.capacity) == interference_of(traffic, tree.capacity)


def test_per_sender_equals_per_flow_where_every_node_sends_one_flow():
    """A ring of four on one link beside a pair on it: weights are 1 either way."""
    ring = traffic_of([[(node, [0], 4.0, 0.0) for node in range(4)]], 1, 1.0)
    pair = traffic_of([[(node, [0], 9.0, 0.0) for node in (4, 5)]], 1, 2.0)

    per_sender, per_flow = (
        simulate_jobs({0: ring, 1: pair}, LINK, fairness=name)
        for name in ("per-sender", "per-flow")
    )

    assert per_sender == per_flow


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start_s": {5: 0.0}}, r"start_s names jobs that send nothing: \[5\]"),
        ({"iterations": {0: 3}}, r"iterations must name every job once; missing or unknown: \[1\]"),
        ({"iterations": {0: 3, 1: 0}}, "iterations must be at least 1"),
        ({"slowest_does": 1}, "slowest_does must be at least 2, got 1"),
        ({"fairness": "none"}, "unknown fairness 'none'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(NetsimError, match=message):
        simulate_jobs({0: LONG, 1: SHORT}, LINK, **options)


@pytest.mark.parametrize(
    ("steps", "compute_s", "message"),
    [
        ([[(0, [0], 0.0, 0.0)]], 1.0, "nbytes must be positive"),
        ([[(0, [0], 1.0, -1.0)]], 1.0, "latency_s must be at least 0"),
        ([[(0, [0], 1.0, 0.0)]], np.nan, "compute_s and latency_s must be at least 0"),
    ],
)
def test_traffic_that_makes_no_sense_is_refused(steps, compute_s, message):
    with pytest.raises(ContentionError, match=message):
        simulate_jobs({0: traffic_of(steps, 1, compute_s)}, LINK)


def test_flows_out_of_the_order_of_their_steps_are_refused():
    disordered = traffic_of([[(0, [0], 1.0, 0.0)], [(0, [0], 1.0, 0.0)]], 1)
    disordered.step[:] = [1, 0]

    with pytest.raises(ContentionError, match="in the order of their steps"):
        simulate_jobs({0: disordered}, LINK)


def test_jobs_of_microseconds_and_days_that_meet_are_refused_with_both_times():
    tiny = traffic_of([[(0, [0], 1e-5, 0.0)]], 1)
    huge = traffic_of([[(1, [0], 1.0, 0.0)]], 1, compute_s=1e5)

    with pytest.raises(ContentionError, match=r"of 1e-06 s share links with others for 2e\+06 s"):
        simulate_jobs({0: tiny, 1: huge}, LINK)


def test_jobs_whose_starts_lie_too_far_apart_for_the_digits_of_a_number_are_refused():
    """A second of 1e-4 s parts is told apart for 4.5e6 s."""
    jobs = {job: traffic_of([[(job, [0], 1e-3, 0.0)]], 1) for job in (0, 1)}
    iterations = {0: 1, 1: 1}

    with pytest.raises(ContentionError, match=r"are to be told apart for 1e\+12 s .* 4.5e\+06 s"):
        simulate_jobs(jobs, LINK, start_s={0: 1e12}, iterations=iterations)
    apart = simulate_jobs(jobs, LINK, start_s={0: 1e5}, iterations=iterations)
    assert [own.interference for own in apart.values()] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_packets_of_half_a_size_move_half_the_bytes_by_hand():
    """
    Two senders of 12 bytes share a link of 9 bytes a second.

    Packets of 4 bytes take turns with packets of 2, so one moves 6 and the other 3. When the first
    is done after 2 s, the second has moved 6 bytes and sends the rest alone.
    """
    whole = traffic_of([[(0, [0], 12.0, 0.0)]], 1)
    halves = traffic_of([[(1, [0], 2.0, 0.0) for _ in range(6)]], 1)
    known = {"iterations": {0: 1, 1: 1}, "buffer_bytes": BUFFER}

    for place, ends in ((4.0, (2.0, 2.0 + 6 / 9)), (0.0, (24 / 9, 24 / 9))):
        times = simulate_jobs({0: whole, 1: halves}, np.array([9.0]), packet_bytes=place, **known)
        assert [times[0].end_s, times[1].end_s] == pytest.approx(ends)
