"""A table of an experiment gives its workload, or one line that says what is wrong."""

from pathlib import Path

import pytest

from scheduler.errors import WorkloadError
from scheduler.workload.registry import make_workload
from scheduler.workload.synthetic import synth

DATA = Path(__file__).parents[2] / "data"


def test_a_log_is_read_relative_to_the_folder_with_its_filters():
    table = {"path": "batsim.json", "format": "batsim-json", "arrivals": "zero", "max_nodes": 3}

    workload = make_workload(table, DATA)

    assert [(job.id, job.submit_s) for job in workload.jobs] == [(2, 0)]
    assert workload.source == str(DATA / "batsim.json")


def test_the_default_format_is_swf():
    path = Path(__file__).parents[3] / "examples" / "data" / "synth16.swf.gz"

    assert len(make_workload({"path": str(path)}, Path("/nowhere")).jobs) == 3000


def test_a_generator_takes_its_arguments_and_the_filters():
    drawn = synth(16, n_jobs=100, seed=4)

    workload = make_workload(
        {"generator": "synth", "mean_nodes": 16, "n_jobs": 100, "seed": 4, "max_nodes": 10}
    )

    assert workload.jobs == tuple(job for job in drawn.jobs if job.n_nodes <= 10)
    assert sum(workload.dropped.values()) == 100 - len(workload.jobs)
    assert workload.source == drawn.source
    assert workload.has_requested == drawn.has_requested


def test_arrivals_of_a_generator_can_be_stretched():
    table = {"generator": "lublin", "n_nodes": 64, "n_jobs": 50}
    plain, stretched = (make_workload({**table, **more}).jobs for more in ({}, {"arrivals": 2}))

    first = plain[0].submit_s
    assert [job.submit_s for job in stretched] == [2 * (job.submit_s - first) for job in plain]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "expected path, the name of a job log, or generator, one of synth, laas"),
        ({"path": 3}, "expected path"),
        ({"path": "x", "format": "swift"}, "unknown format 'swift' .*; choose from .*sacct.*swf"),
        ({"path": "x", "format": ["swf"]}, "unknown format"),
        (
            {"path": "x", "nodes": 3},
            "format 'swf': unknown key 'nodes' .*; choose from processors_",
        ),
        ({"path": "x", "max_nodes": -3}, r"\[workload\]: max_nodes: expected"),
        ({"generator": "sint"}, "unknown generator 'sint'; choose from .*synth"),
        ({"generator": "synth"}, "generator 'synth': mean_nodes: expected a value, it is missing"),
        (
            {"generator": "synth", "mean": 3},
            "generator 'synth': unknown option 'mean' .*; choose",
        ),
        ({"generator": "laas", "path": "x"}, "expected path or generator, got both"),
        ({"generator": "laas", "processors_per_node": 4}, "unknown option 'processors_per_node'"),
        (
            {"generator": "laas", "n_jobs": 0},
            r"\[workload\]: generator 'laas': n_jobs: expected a whole",
        ),
        ({"generator": "laas", "arrivals": -1}, r"\[workload\]: arrivals: expected"),
    ],
)
def test_a_table_that_says_nonsense_is_refused(table, message):
    with pytest.raises(WorkloadError, match=message):
        make_workload(table)
