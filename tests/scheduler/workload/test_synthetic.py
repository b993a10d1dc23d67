"""Generated workloads follow the distributions they claim."""

import math

import pytest

from scheduler.errors import WorkloadError
from scheduler.workload.synthetic import synth


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


@pytest.mark.parametrize("arguments", [(0, 5, 1), (math.inf, 5, 1), (3, 0, 1), (3, 5, -1)])
def test_senseless_arguments_are_refused(arguments):
    with pytest.raises(WorkloadError, match="synth needs"):
        synth(*arguments)
