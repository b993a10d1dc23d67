"""Generated workloads follow the distributions they claim."""

import itertools
import math

import numpy as np
import pytest

from netsim.registries.topologies import make_topology
from scheduler.errors import WorkloadError
from scheduler.workload import GENERATORS
from scheduler.workload.synthetic import HECTOR_NODES, hector_like, laas, lublin, synth
from scheduler.workload.table import read_csv


@pytest.mark.parametrize("mean", [16, 22, 28])
def test_synth_sizes_are_exponential_and_run_times_uniform(mean):
    jobs = synth(mean, n_jobs=10_000, seed=2).jobs

    # the ceiling of Exp(m) is geometric, q = exp(-1/m): mean 1 / (1 - q), deviation sqrt(q) mean
    q = math.exp(-1 / mean)
    expected = 1 / (1 - q)
    sizes = [job.n_nodes for job in jobs]
    assert sum(sizes) / len(sizes) == pytest.approx(expected, abs=4 * math.sqrt(q) * expected / 100)
    assert sum(size == 1 for size in sizes) / 1e4 == pytest.approx(1 - q, abs=0.012)
    times = [job.runtime_s for job in jobs]
    assert (min(times), max(times)) == (20, 3000)
    assert sum(times) / len(times) == pytest.approx(1510, abs=4 * 861 / 100)
    assert all(job.submit_s == 0 and job.requested_s == job.runtime_s for job in jobs)
    assert [job.id for job in jobs] == list(range(1, 10_001))


def test_a_seed_decides_all():
    assert synth(16, 50, seed=3) == synth(16, 50, seed=3)
    assert synth(16, 50, seed=3).jobs != synth(16, 50, seed=4).jobs


def test_the_example_of_laas_has_the_distribution_that_laas_draws(shared):
    """Sizes: mean 8.56, 1-69; durations: mean 1508, 20-2999 (data README); 10,000 tenants."""
    theirs = read_csv(shared("data/jobs/laas-exp8-10000.csv.gz")).jobs
    ours = laas(n_jobs=10_000, seed=3).jobs

    for attribute in ("n_nodes", "runtime_s"):
        a, b = ([getattr(job, attribute) for job in jobs] for jobs in (theirs, ours))
        assert kolmogorov_smirnov(a, b) < 1.95 * math.sqrt(2 / 10_000)  # 0.1 % level
    assert max(job.runtime_s for job in ours) == 2999


def kolmogorov_smirnov(first, second):
    """Return the largest distance of two empirical distributions."""
    a, b = np.sort(first), np.sort(second)
    both = np.concatenate((a, b))
    below = [np.searchsorted(values, both, side="right") / len(values) for values in (a, b)]
    return np.abs(below[0] - below[1]).max()


def test_hector_like_sizes_are_as_the_thesis_describes_them():
    """Stoltzfus13, section 4.1: a peak at 1, one nearly as high at 9-16, mean 10, largest 2048."""
    workload = hector_like(n_jobs=50_000, seed=1)
    sizes = np.array([job.n_nodes for job in workload.jobs])

    share = {
        top: ((sizes > top // 2) & (sizes <= top)).mean() for top in (1, 2, 4, 8, 16, 32, 64, 128)
    }
    assert share[1] == max(share.values())
    assert 0.85 < share[16] / share[1] < 1
    assert share[16] > 1.5 * max(share[2], share[4], share[8])
    assert share[32] > share[64] > share[128]
    assert 9.5 < sizes.mean() < 11.5
    assert 1024 < sizes.max() <= 2048


def test_hector_like_jobs_load_the_nodes_of_hector_that_run_jobs():
    assert make_topology("hector").usable_nodes.size == HECTOR_NODES


def test_hector_like_jobs_load_the_machine_as_asked():
    jobs = hector_like(n_jobs=20_000, seed=2, load=0.5).jobs

    asked = sum(job.n_nodes * job.runtime_s for job in jobs)
    assert asked / (HECTOR_NODES * jobs[-1].submit_s) == pytest.approx(0.5, rel=0.04)
    submits = [job.submit_s for job in jobs]
    assert submits[0] == 0
    assert submits == sorted(submits)
    assert 60 <= min(job.runtime_s for job in jobs) <= max(job.runtime_s for job in jobs) <= 43_200


def test_lublin_sizes_follow_the_published_shares():
    """24.4 % serial, 57.6 % powers of two by rounding; the rest hits powers of two by chance."""
    sizes = np.array([job.n_nodes for job in lublin(512, n_jobs=20_000, seed=1).jobs])

    # a serial draw, a power of two that rounds to 2^1, ... : x in 0.8..1.5 of stage one gives 2
    stage = 0.86 / (6.5 - 0.8)
    rounded_to_2 = 0.576 * stage * (1.5 - 0.8)
    others_to_2 = (1 - 0.244 - 0.576) * stage * (math.log2(2.5) - 0.8)
    assert (sizes == 1).mean() == pytest.approx(0.244, abs=0.012)
    assert (sizes == 2).mean() == pytest.approx(rounded_to_2 + others_to_2, abs=0.01)
    top_half = 0.14 * 0.5 / 2.5 * 0.576  # rounds to 2^9
    assert (sizes == 512).mean() == pytest.approx(top_half, abs=0.006)
    powers = (sizes & (sizes - 1)) == 0
    assert powers.mean() > 0.244 + 0.576 - 0.01
    assert sizes.max() == 512


def test_lublin_run_times_have_the_mean_of_the_two_gammas():
    """Serial jobs: share 0.78 - 0.0054 of gamma(4.2, 0.94), the rest of gamma(312, 0.03)."""
    jobs = lublin(128, n_jobs=40_000, seed=1).jobs
    logs = np.log([job.runtime_s + 0.5 for job in jobs if job.n_nodes == 1])

    share = 0.78 - 0.0054
    mean = share * 4.2 * 0.94 + (1 - share) * 312 * 0.03
    square = share * (4.2 * 0.94**2 + (4.2 * 0.94) ** 2) + (1 - share) * (
        312 * 0.03**2 + (312 * 0.03) ** 2
    )
    assert logs.mean() == pytest.approx(mean, abs=4 * math.sqrt((square - mean**2) / len(logs)))
    assert max(job.runtime_s for job in jobs) <= math.exp(12)


def test_lublin_arrivals_rise_and_fall_with_the_day():
    """The cycle is gamma(8.1737, 3.9631) over half-hours: mode 28.4, so busiest past 14:00."""
    jobs = lublin(128, n_jobs=30_000, seed=1).jobs
    submits = np.array([job.submit_s for job in jobs])
    by_hour = np.bincount((submits % 86_400 // 3600).astype(int), minlength=24)

    assert (np.diff(submits) >= 0).all()
    assert 12 <= by_hour.argmax() <= 15
    assert 1 <= by_hour.argmin() <= 6
    assert by_hour.max() > 5 * by_hour.min()


@pytest.mark.parametrize(
    ("generator", "arguments"),
    [
        (synth, (0, 5, 1)),
        (synth, (math.inf, 5, 1)),
        (synth, ("16", 5, 1)),
        (synth, (3, 0, 1)),
        (synth, (3, 5, -1)),
        (laas, (3, 2.5, 1)),
        (hector_like, (5, 1, 0)),
        (hector_like, (True, 1, 0)),
        (synth, (1e300, 5, 1)),
        (synth, (3, 2**63, 1)),
        (laas, (3, 2**31, 1)),
        (hector_like, (5, 1, 1e-320)),
        (hector_like, (10**30, 1)),
        (lublin, (10**400,)),
        (lublin, (128, 10**8)),
        (lublin, (8,)),
        (lublin, (128, 0)),
        (lublin, (128, 5, -1)),
    ],
)
def test_senseless_arguments_are_refused(generator, arguments):
    with pytest.raises(WorkloadError, match="expected a"):
        generator(*arguments)


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_gives_a_workload_in_order_that_its_seed_decides(name):
    arguments = {"synth": (16,), "lublin": (64,)}.get(name, ())

    first, same, other = (GENERATORS[name](*arguments, n_jobs=200, seed=seed) for seed in (1, 1, 2))

    assert first == same
    assert first.jobs != other.jobs
    assert first.source.startswith(name)
    assert [job.id for job in first.jobs] == list(range(1, 201))
    assert all(a.submit_s <= b.submit_s for a, b in itertools.pairwise(first.jobs))
    assert all(job.n_nodes >= 1 and job.runtime_s >= 1 for job in first.jobs)
    assert all(type(job.n_nodes) is int for job in first.jobs)
