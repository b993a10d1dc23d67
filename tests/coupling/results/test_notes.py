"""What a result says of itself."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from coupling import Experiment
from coupling.results.notes import accuracy_lines, accuracy_of
from coupling.results.result import Result
from coupling.runs.engine import run
from fabricsim.checking.documents import json_fields
from netsim.registries.accuracy import Setting
from scheduler.allocation import Allocation
from scheduler.allocators.baselines import FirstFree
from scheduler.allocators.jigsaw import Jigsaw
from scheduler.cluster import Cluster
from scheduler.job import Job


@pytest.mark.parametrize(("model", "told"), [("flow-level", True), ("fluid", False)])
def test_a_run_under_exact_says_that_states_were_compared_and_not_runs(model, told):
    setting = Setting(model, "per-sender", "full fat-tree", ("d-mod-k",), (1,), 65536.0)
    result = SimpleNamespace(name="one", summary={"network": json_fields(setting)})

    (line,) = accuracy_lines([result])

    assert ("states were compared, not whole runs" in line) is told
    assert accuracy_of(result)["accuracy"] == line


APART = "Jobs share no link, so interference is exactly 1 under any model"
OWN = Setting("fluid", "per-sender", "full fat-tree", ("d-mod-k", "wraparound"), (1,), 0.0)


@pytest.mark.parametrize(
    ("change", "most", "apart"),
    [
        ({}, 1.0, True),
        ({"routings": ("wraparound",)}, 1.0, True),
        ({}, 1.0000001, False),  # somebody was slowed: links were shared after all
        ({"routings": ("d-mod-k",)}, 1.0, False),  # the model may have overlooked what is shared
        ({"routings": ("adaptive",)}, 1.0, False),
        ({"model": "null"}, 1.0, None),
    ],
)
def test_where_jobs_share_no_link_a_run_says_that_interference_is_no_estimate(change, most, apart):
    setting = replace(OWN, **({"routings": ()} if apart is None else {}), **change)
    summary = {"network": json_fields(setting), "mean_interference": 1.0, "max_interference": most}
    result = SimpleNamespace(name="one", summary=summary)

    (line,) = accuracy_lines([result])
    assert line.startswith(APART) is bool(apart)
    assert accuracy_of(result)["accuracy"].startswith(APART) is bool(apart)


def test_runs_under_an_isolating_allocator_have_nothing_to_be_wrong_about():
    """Jobs of five nodes on leaves of two: they own links, and nobody else is on these."""
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 5, "n_jobs": 8, "max_nodes": 9},
        allocator="jigsaw",
        self_check=False,
    )

    result = run(experiment)

    assert accuracy_lines([result])[0].startswith(APART)
    assert "alone where they are placed" in accuracy_of(result)["accuracy"]


class HalfIsolating(Jigsaw):
    """Jobs of an odd number go to any free nodes, and own no links."""

    name = "half-isolating"

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a place."""
        return (FirstFree() if job.id % 2 else super()).allocate(job, cluster)


@pytest.mark.parametrize(("allocator", "common"), [("jigsaw", False), (HalfIsolating, True)])
def test_a_run_counts_whether_jobs_without_links_sent_from_switch_to_switch(
    tmp_path, allocator, common
):
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 5, "n_jobs": 8, "max_nodes": 9},
        allocator=allocator,
        self_check=False,
    )

    result = run(experiment)
    result.save(tmp_path)

    assert result.summary.get("on_common_links", False) is common
    assert Result.load(tmp_path).summary == result.summary
