"""A sweep on a real cluster of processes."""

import os
import signal
import subprocess
import sys

import pytest

from coupling.errors import ResultError
from coupling.sweep import executors
from coupling.sweep.spec import Spec
from coupling.sweep.sweep import run_sweep

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, *(w.pid for w in cluster.workers.values()), flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def cluster(tmp_path):
    """Start a cluster; yield its process, its address and the ids of its workers."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    pipe = subprocess.PIPE
    words = [sys.executable, script]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 (ours)
        address, *workers = process.stdout.readline().split()
        yield process, address, [int(worker) for worker in workers]
        process.stdin.close()


def test_a_killed_worker_costs_nothing_but_time(small, tmp_path, cluster, contents):
    """Another worker computes its cell; the bytes are those of one process."""
    _, address, workers = cluster
    killed = []

    def kill_one(what, done, _total):
        if what == "computed" and done == 2 and not killed:
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    run_sweep(Spec.read(small), tmp_path / "dask", dask=address, progress=kill_one)
    run_sweep(Spec.read(small), tmp_path / "here")

    assert killed
    assert contents(tmp_path / "dask") == contents(tmp_path / "here")


@pytest.mark.heavy
def test_a_scheduler_that_goes_away_is_one_line_and_finished_cells_stay(
    small, tmp_path, cluster, monkeypatch
):
    process, address, _ = cluster
    monkeypatch.setattr(executors, "_PATIENCE_S", "5 s")

    def kill_all(what, done, _total):
        if what == "computed" and done == 2:
            process.kill()

    with pytest.raises(
        ResultError, match=r"the scheduler has gone; finished cells are kept[^\n]*$"
    ):
        run_sweep(Spec.read(small), tmp_path / "out", dask=address, progress=kill_all)

    assert len(list((tmp_path / "out").glob("marks/*.json"))) >= 2


def test_workers_beside_dask_are_refused(small, tmp_path):
    with pytest.raises(ValueError, match="workers: expected 1 with dask"):
        run_sweep(Spec.read(small), tmp_path / "out", dask="tcp://x:1", workers=2)


def test_a_missing_dask_says_how_to_install_it(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(ValueError, match=r"pip install 'fabricsim\[dask\]'"):
        run_sweep(Spec.read(small), tmp_path / "out", dask="tcp://x:1")
