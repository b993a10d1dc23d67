"""Real tables beside the repository are read with the numbers that their README states."""

from collections import Counter

import pytest

from scheduler.workload import assign, profile_from
from scheduler.workload.table import read_csv


@pytest.mark.parametrize(
    ("name", "sizes", "times", "days"),
    [
        ("intrepid", (64, 32_768), (28, 226_295), 20.2),
        ("mira", (512, 16_384), (36, 86_459), 29.4),
        ("theta", (1, 512), (29, 44_208), 10.6),
    ],
)
def test_the_iitk_logs_hold_3000_jobs_of_which_2400_communicate(shared, name, sizes, times, days):
    workload = read_csv(shared(f"data/jobs/iitk-3000/{name}.csv"))

    nodes, runtimes = zip(*((job.n_nodes, job.runtime_s) for job in workload.jobs), strict=True)
    assert len(nodes) == 3000
    assert not workload.dropped
    assert (min(nodes), max(nodes)) == sizes
    assert (min(runtimes), max(runtimes)) == times
    assert workload.jobs[-1].submit_s / 86_400 == pytest.approx(days, abs=0.05)
    assert Counter(dict(job.extra)["comm"] for job in workload.jobs) == {"1": 2400, "0": 600}


def test_the_iitk_columns_drive_a_communication_profile(shared):
    """Mishra20: communication-intensive jobs run recursive doubling for comm_perc of their time."""
    jobs = read_csv(shared("data/jobs/iitk-3000/theta.csv")).jobs
    profile = profile_from(
        {
            "version": 1,
            "rule": [
                {
                    "match": {"column": {"comm": 1}},
                    "pattern": {"name": "recursive-doubling"},
                    "comm_fraction": {"column": "comm_perc", "scale": 0.01},
                    "bytes_per_flow": "1 MiB",
                }
            ],
        }
    )

    given = [job for job in assign(jobs, profile, 1) if job.communication]

    assert len(given) == sum(job.n_nodes > 1 and dict(job.extra)["comm"] == "1" for job in jobs)
    fractions = {round(job.communication.fraction, 6) for job in given}
    assert fractions == {0.3, 0.5, 0.7, 0.9}  # the 600 jobs with 10 % are the other 600


def test_the_example_of_laas_holds_10000_tenants(shared):
    workload = read_csv(shared("data/jobs/laas-exp8-10000.csv.gz"))

    nodes, runtimes = zip(*((job.n_nodes, job.runtime_s) for job in workload.jobs), strict=True)
    assert len(nodes) == 10_000
    assert (min(nodes), max(nodes)) == (1, 69)
    assert (min(runtimes), max(runtimes)) == (20, 2999)
    assert sum(nodes) / 1e4 == pytest.approx(8.56, abs=0.005)
    assert sum(runtimes) / 1e4 == pytest.approx(1508, abs=0.5)
