"""Where in their iterations the states of jobs are: drawn, one in every stratum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.rng import sample_phases


@given(job=st.integers(0, 2**40), samples=st.integers(2, 16), seed=st.integers(0, 2**40))
@settings(deadline=None, max_examples=30)
def test_phases_of_a_job_hit_every_stratum_once(job, samples, seed):
    phases = sample_phases(job, samples, seed)

    np.testing.assert_allclose(np.sort(phases), (np.arange(samples) + 0.5) / samples)


def test_phases_of_jobs_and_draws_differ():
    draws = {tuple(sample_phases(job, 8, seed)) for job in range(40) for seed in range(5)}

    assert len(draws) >= 195
