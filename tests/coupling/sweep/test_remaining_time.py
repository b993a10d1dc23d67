"""The forecast of cells of very unequal size."""

import pytest

from coupling.sweep.cost import CellTimes
from coupling.sweep.spec import Spec

SMALL, LARGE, OTHER = ("small",), ("large",), ("other",)


def test_cells_are_weighed_by_their_kind():
    """By hand: 10 small cells of 1 s, the first beside 50 s of compiling, then 2 of 100 s."""
    job_rate = CellTimes([(SMALL, 100.0)] * 10 + [(LARGE, 10_000.0)] * 2)

    assert job_rate.left_s(0) is None
    job_rate.add(0, 51.0)
    assert job_rate.left_s(1) is None
    job_rate.add(1, 1.0)
    assert job_rate.left_s(2) == pytest.approx(8 * 1.0 + 2 * 100.0)
    job_rate.add(10, 80.0)
    assert job_rate.left_s(11) == pytest.approx(80.0)
    assert job_rate.left_s(12) == 0


def test_kinds_follow_from_experiments():
    tables = {"topology": "cab", "workload": {"generator": "synth", "mean_nodes": 4, "n_jobs": 50}}
    varied = {"workload.n_jobs": [50, 5000], "run.seed": [1, 2]}

    job_rate = CellTimes.of([Spec.make(tables, varied)])

    assert [size for _, size in job_rate.cells] == [50, 50, 5000, 5000]
    assert len({kind for kind, _ in job_rate.cells}) == 2
    wrong = Spec.make(tables, {"scheduler.kill_at_limit": ["no"]})
    assert CellTimes.of([wrong]).cells == []


def test_whole_logs_weigh_their_bytes_and_windows_of_logs_the_same(tmp_path):
    (tmp_path / "long.csv").write_text("x" * 700)
    (tmp_path / "short.csv").write_text("x" * 70)
    varied = {"workload.path": ["long.csv", "short.csv"]}
    whole = {"topology": "cab", "workload": {"path": "long.csv", "format": "csv"}}
    windows = {"topology": "cab", "workload": whole["workload"] | {"window_s": [0, 9]}}

    found = [CellTimes.of([Spec.make(one, varied, folder=tmp_path)]) for one in (whole, windows)]

    assert [size for _, size in found[0].cells] == [700, 70]
    assert [size for _, size in found[1].cells] == [1, 1]
