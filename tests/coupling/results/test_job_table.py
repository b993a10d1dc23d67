"""The job table is the same however many of its rows are held as objects at once."""

import pandas as pd
import pytest

from coupling.experiments.engine import run
from coupling.experiments.experiment import Experiment


@pytest.mark.parametrize("allocator", ["first-free", "jigsaw"])
def test_a_job_table_made_in_pieces_is_the_table_made_at_once(monkeypatch, tmp_path, allocator):
    """Jobs too large for the machine are dropped: rows with holes, behind all others."""
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 6, "n_jobs": 60},
        allocator=allocator,
    )
    whole = run(experiment)
    monkeypatch.setattr("coupling.results.from_schedule._AT_ONCE", 7)

    pieces = run(experiment)

    assert set(whole.jobs["dropped"]) > {""}
    pd.testing.assert_frame_equal(pieces.jobs, whole.jobs)
    assert pieces.summary == whole.summary
    for name, result in {"whole": whole, "pieces": pieces}.items():
        (tmp_path / name).mkdir()
        result.save(tmp_path / name)
    files = [(tmp_path / name / "jobs.parquet").read_bytes() for name in ("whole", "pieces")]
    assert files[0] == files[1]
