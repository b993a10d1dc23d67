"""Logs of GPU jobs: Philly's public table, and jobs sampled after published numbers of Kalos."""

import numpy as np
import pytest

from scheduler.workload import READERS, make_workload
from scheduler.workload.writers import write_trace


@pytest.mark.heavy
def test_philly_has_the_jobs_that_were_counted_in_it(shared):
    """Counted in the file: 82,247 jobs, 76,627 of one GPU, 289 of more than 8, up to 128."""
    log = READERS["csv"](shared("data/gpu/philly/philly.csv.gz"), processors_per_node=8)

    gpus = np.array([job.gpus for job in log.jobs])
    assert (gpus.size, (gpus == 1).sum(), (gpus > 8).sum(), gpus.max()) == (
        82_247,
        76_627,
        289,
        128,
    )
    assert all(job.n_nodes == -(-job.gpus // 8) for job in log.jobs)
    span_s = 109 * 86_400  # from 4 September to 22 December 2017
    assert log.jobs[-1].submit_s == pytest.approx(span_s, rel=0.01)


HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,duration,queue
11,u1,v,16,64,2,COMPLETED,2020-06-09 18:41:01,3600,10
12,u2,v,1,4,1,FAILED,2020-06-09T19:41:01+00:00,60,0
"""


def test_columns_and_dates_of_helios_are_read(tmp_path):
    path = tmp_path / "helios.csv"
    path.write_text(HELIOS, encoding="utf-8")

    found = READERS["csv"](path).jobs

    rows = [(j.id, j.submit_s, j.n_nodes, j.runtime_s, j.gpus, j.cores) for j in found]
    assert rows == [(11, 0.0, 2, 3600.0, 16, 64), (12, 3600.0, 1, 60.0, 1, 4)]


def test_what_jobs_ask_for_is_written_and_read_again(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit_s,runtime_s,n_nodes,cores,gpus,memory_mb\n0,9,2,7,3,64\n", "utf-8")
    first = READERS["csv"](path)

    write_trace(first, tmp_path / "again.csv")
    write_trace(first, tmp_path / "again.parquet")

    for again in ("csv", "parquet"):
        (job,) = READERS[again](tmp_path / f"again.{again}").jobs
        assert (job.n_nodes, job.cores, job.gpus, job.memory_mb) == (2, 7, 3, 64)


def test_sampled_jobs_have_the_published_sizes_and_run_times():
    """Mean, median and largest of AcmeTrace's table; means within four standard errors."""
    log = make_workload({"generator": "kalos-like", "n_jobs": 100_000, "load": 0.5})

    gpus = np.array([job.gpus for job in log.jobs])
    run_s = np.array([job.runtime_s for job in log.jobs])
    assert (np.median(gpus), gpus.max()) == (1, 1024)
    for values, mean in ((gpus, 26.77), (run_s, 1259.689)):
        assert values.mean() == pytest.approx(mean, abs=4 * values.std() / 100_000**0.5)
    assert np.median(run_s) == pytest.approx(124, rel=0.03)
    offered = (gpus * run_s).sum() / (256 * 8 * log.jobs[-1].submit_s)
    assert offered == pytest.approx(0.5, rel=0.03)
