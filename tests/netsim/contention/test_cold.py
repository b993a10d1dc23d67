"""The fixed point solved from scratch: naive twin and the invariants of the model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import contention as naive
from naive.withoutlingering import without_lingering

from netsim.contention.cold.fixedpoint import accurate, cold_fast, cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.phases import shuffled
from netsim.errors import ContentionError

N_LINKS = 7


def averaged(jobs, **options):
    """Solve with averaged neighbours."""
    return cold_fast(jobs, tolerance=1e-11, **options).interference


def by_states(jobs, **options):
    """Solve with neighbours who are present by states."""
    return accurate(jobs, tolerance=1e-11, **options).interference


SOLVERS = {averaged: cold_fast, by_states: accurate}
MODES = pytest.mark.parametrize("solve", [averaged, by_states])


@pytest.fixture(scope="module")
def scene(fabric, traffic, random_jobs):
    """Return a function that draws jobs over few links: plain, as traffic, and their fabric."""

    def draw(seed, n_jobs=4, buffer_bytes=0.0, packet_bytes=0.0, **options):
        rng = np.random.default_rng(seed)
        known = {"buffer_bytes": buffer_bytes, "packet_bytes": packet_bytes}
        links = fabric(rng.uniform(0.5, 4.0, N_LINKS), **known)
        plain = random_jobs(rng, N_LINKS, n_jobs, **options)
        return plain, [traffic(steps, c, N_LINKS) for steps, c in plain], links

    return draw


def constants(traffics, links, fairness="per-sender"):
    """Return the constants of jobs 0, 1, ..."""
    constants_of = ConstantsOf(links, fairness)
    return {job: constants_of(traffic) for job, traffic in enumerate(traffics)}


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize("seed", range(4))
def test_averaged_neighbours_equal_the_naive_twin(scene, fairness, seed):
    plain, traffics, links = scene(seed)

    solution = cold_fast(constants(traffics, links, fairness), tolerance=1e-12)

    expected = naive.slowdowns(plain, links.capacity, per_flow=fairness == "per-flow")
    assert solution.converged
    np.testing.assert_allclose(list(solution.interference.values()), expected, rtol=1e-9)
    assert max(expected) > 1.05


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize("seed", range(2))
def test_neighbours_present_by_states_equal_the_naive_twin(scene, fairness, seed):
    plain, traffics, links = scene(seed, 3)
    cells = [shuffled(job, 8, seed) for job in range(3)]

    solution = accurate(constants(traffics, links, fairness), seed=seed, tolerance=1e-12)

    expected = naive.slowdowns(plain, links.capacity, cells=cells, per_flow=fairness == "per-flow")
    np.testing.assert_allclose(list(solution.interference.values()), expected, rtol=1e-9)
    assert max(expected) > 1.05


def test_a_flow_behind_packets_that_wait_for_a_hot_spot_moves_as_they_do(fabric, traffic):
    """Five flows of 4 bytes end in link 5, a fifth of it each; ours meets one of them before it.

    Link 0 is full of packets that wait once 1.5 buffers are, and then passes one of ours for each
    of them. Without buffers the crowd leaves four fifths of it, or half when it comes at once.
    """
    crowd = [[(sender, 4.0, [sender, 5], 0.0) for sender in range(5)]]
    jobs = [traffic([[(5, 4.0, [0, 6], 0.0)]], 0.0, 7), traffic(crowd, 0.0, 7)]

    for buffer, expected in ((1e-4, 5.0), (0.0, 1.0 / (0.8 * 0.8 + 0.2 * 0.5))):
        alone = constants(jobs, fabric(np.ones(7), buffer_bytes=buffer))
        solved = cold_phased(alone, tolerance=1e-9).interference

        assert solved[0] == pytest.approx(expected, rel=1e-3)


def test_jobs_that_fill_each_others_links_do_not_drive_each_other(scene):
    """What waits for links ahead is read off what has settled without, as the naive twin does."""
    plain, traffics, links = scene(0, 5, buffer_bytes=0.01, packet_bytes=3.7)
    cells = [shuffled(job, 8, 0) for job in range(5)]
    jobs = constants(traffics, links)

    solution = accurate(jobs, tolerance=1e-12)

    expected = naive.slowdowns_by_states(plain, links.capacity, cells, buffer=0.01, packet=3.7)
    np.testing.assert_allclose(list(solution.interference.values()), expected, rtol=1e-6)
    assert max(own.entries["held"].max() for own in jobs.values()) > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_states_read_off_averaged_neighbours_equal_the_naive_twin(scene, seed):
    buffer, packet = ((0.0, 0.0), (0.1, 3.7), (1.5, 3.7), (0.1, 0.0))[seed]
    plain, traffics, links = scene(seed, 4, buffer_bytes=buffer, packet_bytes=packet)
    cells = [shuffled(job, 8, seed) for job in range(4)]

    solution = cold_phased(constants(traffics, links), seed=seed, tolerance=1e-12)

    expected = naive.read_slowdowns(plain, links.capacity, cells, buffer=buffer, packet=packet)
    np.testing.assert_allclose(list(solution.interference.values()), expected, rtol=1e-9)
    assert max(expected) > 1.05


@pytest.mark.parametrize("seed", range(3))
def test_waits_in_full_buffers_equal_the_naive_twin(scene, seed):
    """Both modes, and they are felt: every job that shares a link loses more than without."""
    plain, traffics, links = scene(seed, 3, buffer_bytes=1.5)
    cells = [shuffled(job, 8, 0) for job in range(3)]
    jobs = constants(traffics, links)
    fluid = averaged(constants(traffics, replace(links, buffer_bytes=1e-6)))

    np.testing.assert_allclose(
        list(averaged(jobs).values()), naive.slowdowns(plain, links.capacity, buffer=1.5), rtol=1e-9
    )
    np.testing.assert_allclose(
        list(by_states(jobs).values()),
        naive.slowdowns_by_states(plain, links.capacity, cells, buffer=1.5),
        rtol=1e-9,
    )
    assert sum(averaged(jobs).values()) > sum(fluid.values()) + 0.05


def test_a_wait_by_hand(fabric, traffic):
    """Job 0 sends 1 s of 4 s; job 1 is there for 1 s of 4 s and has weight 1: N = 1/4.

    Its packets find the buffer of 0.4 s full for about a quarter of the time: 0.1 s over the
    fluid's excess. To first order R = N = 1/4 as well: y = min(1/(1 - 1/4), 1 + 1/4) = 1.25.
    """
    links = fabric([1.0] * 3, buffer_bytes=0.4)
    jobs = [traffic([[(a, 1.0, [a, 2], 0.0)]], 3.0, 3) for a in range(2)]

    slowdown = averaged(constants(jobs, links))[0]

    # exactly: s = 1 + (N + 0.4 N) / 4, N = (1 + Z) / (4 s), Z = N (q = 1, e = B = 1)
    weight = 0.25
    for _ in range(60):
        weight = (1.0 + weight) / (4.0 + 1.4 * weight)
    assert slowdown == pytest.approx(1.0 + 1.4 * weight / 4.0, abs=1e-9)


def test_two_single_flows_by_hand(fabric, traffic):
    """Both send 1 s on their own link, 1 s on the shared one; no compute.

    Alone e = tau = 1, so W = 1 + Z, T = 1. With slowdown s of both: R = 1/s, N = (1 + Z)/s,
    y = s, Z = s - 1, so N = 1 and h = 2: s = min(1/(1 - 1/s), 2), which is 2.
    """
    links = fabric([1.0, 1.0, 1.0])
    jobs = [traffic([[(a, 1.0, [a, 2], 0.0)]], 0.0, 3) for a in range(2)]

    assert averaged(constants(jobs, links)) == pytest.approx({0: 2.0, 1: 2.0}, abs=1e-6)


@MODES
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_jobs_that_share_no_link_have_exactly_1_and_change_nobody(scene, solve, seed):
    """A hermit on links of its own joins: exactly 1, and all others keep their values."""
    _, traffics, links = scene(seed, 3)
    _, (hermit,), _ = scene(seed + 1, 1)
    apart = replace(
        hermit,
        routes=replace(hermit.routes, links=hermit.routes.links + N_LINKS, n_links=2 * N_LINKS),
    )
    wide = [replace(t, routes=replace(t.routes, n_links=2 * N_LINKS)) for t in traffics]
    double = replace(
        links,
        link_tail=np.tile(links.link_tail, 2),
        link_head=np.tile(links.link_head, 2),
        link_cable=np.arange(2 * N_LINKS),
        capacity=np.tile(links.capacity, 2),
        channel=np.arange(2 * N_LINKS),
    )

    together = solve(constants([*wide, apart], double))

    assert together.pop(3) == 1.0
    assert together == solve(constants(wide, double))
    assert all(value >= 1.0 for value in together.values())


@MODES
def test_a_job_alone_and_no_job_at_all(scene, solve):
    _, (only,), links = scene(5, 1)

    assert solve(constants([only], links)) == {0: 1.0}
    assert solve({}) == {}


@MODES
def test_jobs_that_hardly_communicate_and_saturated_links_give_numbers(scene, solve):
    """R far above 1 gives no NaN; f near 0 gives 1; f = 0 is exactly 1."""
    _, traffics, links = scene(8, 6)
    always = [replace(t, compute_s=0.0) for t in traffics]
    silent = replace(
        traffics[0],
        step=np.zeros(0, dtype=np.int64),
        sender=np.zeros(0, dtype=np.int64),
        nbytes=np.zeros(0),
        latency_s=np.zeros(0),
        routes=replace(
            traffics[0].routes,
            indptr=np.zeros(1, dtype=np.int64),
            links=np.zeros(0, dtype=np.int64),
        ),
    )
    rare = replace(traffics[1], compute_s=1e9)

    slowdowns = solve(constants([*always, silent, replace(silent, compute_s=0.0), rare], links))

    assert all(1.0 <= value < 20.0 for value in slowdowns.values())
    assert max(slowdowns.values()) > 2.0
    assert slowdowns[6] == slowdowns[7] == 1.0
    assert slowdowns[8] == pytest.approx(1.0, abs=1e-6)


@MODES
@pytest.mark.parametrize("factor", [0.001, 7.0])
def test_scales_cancel(scene, solve, factor):
    """All volumes, buffers, compute and latency together; or capacities up and times down."""
    _, traffics, links = scene(11, 5, buffer_bytes=0.6)
    expected = solve(constants(traffics, links))

    longer = [
        replace(
            t,
            nbytes=t.nbytes * factor,
            compute_s=t.compute_s * factor,
            latency_s=t.latency_s * factor,
        )
        for t in traffics
    ]
    faster = [
        replace(t, compute_s=t.compute_s / factor, latency_s=t.latency_s / factor) for t in traffics
    ]

    deeper = replace(links, buffer_bytes=0.6 * factor)
    assert solve(constants(longer, deeper)) == pytest.approx(expected, abs=1e-8)
    wider = replace(links, capacity=links.capacity * factor)
    assert solve(constants(faster, wider)) == pytest.approx(expected, abs=1e-8)


@MODES
def test_order_of_jobs_and_of_flows_within_a_step_does_not_matter(scene, solve):
    _, traffics, links = scene(13, 5)
    jobs = constants(traffics, links)
    shuffled = {job: jobs[job] for job in (3, 0, 4, 2, 1)}

    assert solve(shuffled) == solve(jobs)


@MODES
@pytest.mark.parametrize("seed", [5, 6])
def test_jobs_that_settle_slowly_end_near_where_they_would_in_the_end(scene, solve, seed):
    """Jobs that never compute answer each other for long: what is left is far more than a step."""
    _, traffics, links = scene(seed, 12)
    jobs = constants([replace(own, compute_s=0.0) for own in traffics], links)

    solution = SOLVERS[solve](jobs, tolerance=1e-4)

    assert solution.converged
    assert solution.sweeps < 40
    assert solution.interference == pytest.approx(solve(jobs), rel=0.0, abs=2.5e-4)


@MODES
def test_renaming_senders_does_not_matter(scene, solve):
    _, traffics, links = scene(14, 4)
    renamed = [replace(t, sender=50 - t.sender) for t in traffics]

    assert solve(constants(renamed, links)) == pytest.approx(
        solve(constants(traffics, links)), abs=1e-9
    )


@MODES
@pytest.mark.parametrize("seed", range(6))
def test_starts_at_stretch_1_and_6_meet(scene, solve, seed):
    _, traffics, links = scene(seed, 7)
    jobs = constants(traffics, links)

    assert solve(jobs, start=6.0) == pytest.approx(solve(jobs), abs=1e-6)


@MODES
def test_jobs_that_never_compute_split_a_link_in_one_way(fabric, traffic, solve):
    """Their uses alone demand 1/s_1 + 1/s_2 = 1 and no more."""
    links = fabric([4.0, 4.0, 1.0, 4.0, 4.0, 4.0])
    wide = traffic([[(0, 1.0, [0, 2], 0.0), (0, 1.0, [0, 3], 0.0), (0, 1.0, [0, 4], 0.0)]], 0.0, 6)
    narrow = traffic([[(1, 1.0, [1, 2], 0.0)]], 0.0, 6)
    jobs = constants([wide, narrow], links)

    found = [solve(jobs, start=start) for start in (1.0, 2.0, 6.0)]

    assert found[1] == pytest.approx(found[0], abs=1e-6)
    assert found[2] == pytest.approx(found[0], abs=1e-6)
    assert sum(1.0 / value for value in found[0].values()) == pytest.approx(1.0, abs=0.05)


@MODES
@pytest.mark.parametrize("seed", range(8))
def test_starts_meet_where_no_job_computes(scene, solve, seed):
    _, traffics, links = scene(seed, 5)
    jobs = constants([replace(own, compute_s=0.0) for own in traffics], links)

    found = [solve(jobs, start=start) for start in (1.0, 2.0, 6.0)]

    assert found[1] == pytest.approx(found[0], abs=1e-6)
    assert found[2] == pytest.approx(found[0], abs=1e-6)


@MODES
def test_one_flow_per_sender_makes_per_sender_per_flow(scene, solve):
    _, traffics, links = scene(17, 5, one_flow_per_sender=True)

    per_sender = solve(constants(traffics, links))

    assert per_sender == pytest.approx(solve(constants(traffics, links, "per-flow")), abs=1e-9)
    assert max(per_sender.values()) > 1.1


def test_per_flow_without_lingering_equals_its_naive_twin(scene):
    plain, traffics, links = scene(19, 4)

    slowdowns = averaged(constants(traffics, links, "per-flow"), lingering=False)

    expected = without_lingering(plain, links.capacity)
    np.testing.assert_allclose(list(slowdowns.values()), expected, rtol=1e-9)


def test_one_more_phase_draw_moves_results_little_and_many_samples_agree(scene):
    """The sampling error shrinks with M."""
    few, many = [], []
    for seed in range(6):
        _, traffics, links = scene(seed, 4)
        jobs = constants(traffics, links)
        limit = np.array(list(by_states(jobs, samples=256).values()))
        few.append(np.abs(np.array(list(by_states(jobs).values())) - limit).mean())
        many.append(np.abs(np.array(list(by_states(jobs, samples=64).values())) - limit).mean())

    assert np.mean(many) < 0.5 * np.mean(few)
    assert np.mean(few) < 0.04


def test_links_of_one_job_only_change_nothing(fabric, traffic):
    """Constants in full and cut to the shared link agree: the rest stays in tau."""
    links = fabric([1.0] * 5)
    jobs = constants(
        [traffic([[(a, 3.0, [2 * a, 4, 2 * a + 1], 0.1)]], 1.0, 5) for a in range(2)], links
    )

    cut = {}
    for job, full in jobs.items():
        records = full.records[full.records["channel"] == 4]
        entries = full.entries[records["first_entry"]]
        records["first_entry"] = 0
        cut[job] = replace(full, records=records, entries=entries)

    assert averaged(cut) == averaged(jobs)
    assert averaged(jobs)[0] > 1.05


def test_the_worst_link_is_the_one_that_is_shared(fabric, traffic):
    links = fabric([1.0] * 6)
    jobs = [traffic([[(a, 1.0, [a, 4], 0.0)], [(a, 1.0, [a], 0.0)]], 0.5, 6) for a in range(2)]
    jobs.append(traffic([[(2, 1.0, [2, 5], 0.0)]], 0.5, 6))

    for solution in (cold_fast(constants(jobs, links)), accurate(constants(jobs, links))):
        assert solution.worst_link == {0: 4, 1: 4, 2: -1}


@pytest.mark.parametrize("options", [{"samples": 1}, {"tolerance": 0.0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ContentionError, match=next(iter(options))):
        accurate({}, **options)
