"""Who holds whom up: shares add up to 1, fall on those who are there, and follow leave-one-out."""

from dataclasses import replace

import numpy as np
import pytest
from measured.draws import draw_scene
from scipy.stats import spearmanr

from netsim.contention.cold import cold_kernels as kernels
from netsim.contention.cold.fixedpoint import accurate, cold_fast
from netsim.contention.constants import ConstantsOf
from netsim.contention_models import make_contention_model
from netsim.errors import ContentionError

MODELS = {
    "fast": lambda jobs: cold_fast(jobs, tolerance=1e-6),
    "accurate": lambda jobs: accurate(jobs, tolerance=1e-5),
}
TOLD = (*MODELS, "phased")  # which tells as `fast` does


def together(fabric, traffic, name="fast", **options):
    model = make_contention_model(name, fabric, options=options)
    for job, own in enumerate(traffic):
        model.start(job, own)
    model.solve()
    return model


@pytest.mark.parametrize("name", TOLD)
def test_the_only_neighbour_bears_all(name, fabric, traffic):
    links = fabric([1.0] * 5)
    first = traffic([[(0, 1.0, [0, 2], 0.0)]], 1.0, 5)
    second = traffic([[(1, 1.0, [1, 2], 0.0)]], 1.0, 5)
    apart = traffic([[(2, 1.0, [3, 4], 0.0)]], 1.0, 5)

    model = together(links, [first, second, apart], name)

    assert model.blame(0) == {1: 1.0}
    assert model.blame(1) == {0: 1.0}
    assert model.blame(2) == {}


@pytest.mark.parametrize("name", TOLD)
def test_neighbours_share_in_proportion_to_what_they_put_on_the_link(name, fabric, traffic):
    """Long before the share bound decides, use does: two bytes against one are 2/3 and 1/3."""
    links = fabric([1.0] * 4)
    victim = traffic([[(0, 10.0, [0, 3], 0.0)]], 30.0, 4)
    heavy = traffic([[(1, 0.2, [1, 3], 0.0)]], 1.0, 4)
    light = traffic([[(2, 0.1, [2, 3], 0.0)]], 1.1, 4)

    shares = together(links, [victim, heavy, light], name).blame(0)

    assert list(shares) == [1, 2]
    assert shares[1] == pytest.approx(2 / 3, abs=0.03)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", TOLD)
def test_time_is_lost_on_the_class_of_link_that_takes_longest(name, fabric, traffic):
    links = fabric([1.0, 1.0, 1.0, 4.0])
    victim = traffic([[(0, 1.0, [0, 3, 2], 0.0)]], 1.0, 4)
    narrow = traffic([[(1, 1.0, [1, 2], 0.0)]], 1.0, 4)
    wide = traffic([[(2, 1.0, [3], 0.0)]], 1.0, 4)

    told = together(links, [victim, narrow, wide], name).culprits([0], np.array([0, 0, 1, 2]))

    assert (told.culprit.tolist(), told.kind.tolist(), told.share.tolist()) == ([1], [1], [1.0])


def test_waits_at_further_links_are_due_to_who_is_there(fabric, traffic):
    """Two rivals that never stop are on one link, one on the next: only its wait adds to theirs."""
    dry = fabric([1.0] * 7)
    jobs = [
        traffic([[(0, 1.0, [0, 3, 4, 5], 0.0)]], 9.0, 7),
        traffic([[(1, 8.0, [1, 3], 0.0), (2, 8.0, [2, 3], 0.0)]], 0.0, 7),
        traffic([[(3, 8.0, [6, 4], 0.0)]], 0.0, 7),
    ]

    shares = together(replace(dry, buffer_bytes=0.1), jobs, "accurate").blame(0)

    assert together(dry, jobs, "accurate").blame(0) == {1: 1.0}
    assert list(shares) == [1, 2]
    assert 0.0 < shares[2] < 0.1
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)


def test_averaged_blame_is_the_same_event_by_event_and_from_scratch():
    """Two kernels, one formula."""
    scene = draw_scene(10)
    constants_of = ConstantsOf(scene.topology)
    solution = cold_fast({job: constants_of(own) for job, own in scene.traffic.items()})
    model = together(scene.topology, scene.traffic.values(), tolerance=1e-8)

    victims = [job for job, value in solution.interference.items() if value > 1.001]
    assert len(victims) > 5
    for job in victims:
        cold = solution.state.culprits([job]).by_culprit()
        assert model.blame(job) == pytest.approx(cold, abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_blame_ranks_culprits_as_leave_one_out_does(name):
    told, saved = [], []
    for seed in range(0, 40, 4):
        scene = draw_scene(seed)
        constants_of = ConstantsOf(scene.topology)
        jobs = {job: constants_of(own) for job, own in scene.traffic.items()}
        solution = MODELS[name](jobs)
        value = solution.interference
        without = {
            gone: MODELS[name]({job: own for job, own in jobs.items() if job != gone}).interference
            for gone in jobs
        }
        for victim in (job for job in jobs if value[job] > 1.02):
            shares = solution.state.culprits([victim]).by_culprit()
            gain = {k: max(0.0, value[victim] - without[k][victim]) for k in jobs if k != victim}
            met = [k for k in gain if gain[k] > 0.0 or k in shares]
            told += [shares.get(k, 0.0) for k in met]
            saved += [gain[k] / sum(gain.values()) for k in met]
            assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)

    assert len(told) > 100
    assert spearmanr(told, saved).statistic >= 0.8


@pytest.mark.parametrize("name", ["null", "hop-cost"])
def test_models_that_do_not_tell_have_no_rows(name, tree):
    model = make_contention_model(name, tree)
    assert model.culprits([]).share.size == 0


def test_a_job_that_does_not_run_has_no_blame(tree):
    for name in MODELS:
        with pytest.raises(ContentionError, match="job 3 has not been started"):
            make_contention_model(name, tree).blame(3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_blame_starts_from_what_slowdowns_were_read_off(seed):
    """Steps timed again beside what blame puts on links are slowed as `accurate` said."""
    scene = draw_scene(seed)
    constants_of = ConstantsOf(replace(scene.topology, buffer_bytes=65536.0))
    state = accurate(
        {job: constants_of(own) for job, own in scene.traffic.items()}, tolerance=1e-6
    ).state
    times = state.laid.state()._replace(duration_s=state.duration_s, late_s=state.late_s)
    for job in range(state.jobs.size):
        kernels.time_steps(job, *state.laid.tables, times, state._crowd, True)
    read = times._replace(duration_s=times.fresh_s)

    for job in range(state.jobs.size):
        kernels.slow_down(job, *state.laid.tables[1:], read)

    closed = 0.0 if state.closed is None else state.closed.share
    assert (state.slow > 1.001).any()
    assert read.slow / (1.0 - closed) == pytest.approx(state.slow, rel=1e-4)
