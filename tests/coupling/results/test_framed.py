"""Tables of a run are columns until somebody looks at them."""

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coupling.results.framed import Categorical, LazyTables, TableColumns, ran
from coupling.results.result import Result

ROOT = Path(__file__).parents[3]
RUN = """
import sys
from coupling.runs.engine import run
from coupling.inputs.experiment import Experiment
workload = {"generator": "synth", "n_jobs": 5, "mean_nodes": 8}
result = run(Experiment(topology="synth-1024", workload=workload, model="fluid"))
assert result.summary["jobs"] == 5
assert not {"pandas", "pyarrow"} & sys.modules.keys()
assert len(result.jobs) == len(result.to_frame()) == 5
assert "pandas" in sys.modules
"""
TEXTS = ["one", "", "two"]
COLUMNS = TableColumns(
    {
        "id": np.array([3, 1, 2]),
        "text": TEXTS,
        "kind": Categorical(np.array([1, 0, 1]), ["a", "b"]),
        "dropped": ["", "too large", ""],
    }
)
FRAME = pd.DataFrame(
    {
        "id": [3, 1, 2],
        "text": TEXTS,
        "kind": pd.Categorical(["b", "a", "b"], categories=["a", "b"]),
        "dropped": ["", "too large", ""],
    }
)


def test_a_run_loads_no_pandas_before_somebody_looks_at_a_table():
    subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, check=True)  # noqa: S603 (our own code)


def test_columns_and_the_frame_of_them_hold_the_same():
    pd.testing.assert_frame_equal(COLUMNS.frame(), FRAME)
    assert len(COLUMNS) == len(TableColumns({"kind": COLUMNS["kind"]})) == 3
    for name in FRAME:
        assert np.asarray(COLUMNS[name]).tolist() == FRAME[name].tolist()


@pytest.mark.parametrize("jobs", [COLUMNS, FRAME], ids=["columns", "frame"])
def test_jobs_that_were_dropped_are_left_out(jobs):
    assert [ran(jobs)(name).tolist() for name in ("id", "text")] == [[3, 2], ["one", "two"]]


def test_a_frame_is_made_once():
    """Who changes it, as notebooks do, finds it changed."""
    result = Result(
        "mine", COLUMNS, COLUMNS, COLUMNS, COLUMNS, {}, extras=LazyTables({"x": COLUMNS})
    )

    assert result.jobs is result.jobs
    assert result.extras["x"] is result.extras["x"]
    assert result.jobs is not result.links
    assert list(result.partitions.columns) == ["id", "links"]
    assert replace(result, name="yours").jobs is result.jobs


def test_a_result_that_was_sent_to_another_process_has_the_same_tables():
    result = Result("mine", COLUMNS, FRAME, COLUMNS, FRAME, {}, extras=LazyTables({"x": COLUMNS}))

    came = pickle.loads(pickle.dumps(result))  # noqa: S301 (our own)

    for table in (came.jobs, came.links, came.timeline, came.extras["x"]):
        pd.testing.assert_frame_equal(table, FRAME)


def test_fields_of_a_result_are_not_written_to():
    with pytest.raises(AttributeError):
        Result("mine", FRAME, FRAME, FRAME, FRAME, {}).jobs = FRAME
