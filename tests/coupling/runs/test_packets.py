"""Short logs over packets: the table [switch], and the same bytes again."""

import pytest

from coupling.errors import CouplingError
from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign
from netsim.common.errors import NetsimError

TABLES = {
    "topology": {"kind": "fat-tree", "radix": 4},
    "workload": {"generator": "synth", "mean_nodes": 4, "n_jobs": 6},
    "communication": {
        "version": 1,
        "rule": [{"pattern": {"name": "ring"}, "comm_fraction": 0.8, "bytes_per_flow": "64 KiB"}],
    },
    "scheduler": {"allocator": "random"},
    "network": {"model": "packets", "model_options": {"iterations": 3}},
    "switch": {"preset": "ethernet", "buffer": "32 KiB"},
}


def experiment(folder, **tables):
    """Return an experiment of tables."""
    return Experiment.from_tables(TABLES | tables, "e.toml", folder, "packets")


def test_the_switch_is_an_option_of_the_model(tmp_path):
    assert experiment(tmp_path).model_options == {
        "iterations": 3,
        "switch": {"preset": "ethernet", "buffer": "32 KiB"},
    }


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ({"model": "fluid"}, r"\[network\] model: expected 'packets', which alone .* got 'fluid'"),
        ({}, r"\[network\] model: expected 'packets', .* it is missing"),
        (
            {"model": "packets", "model_options": {"switch": "codes"}},
            r"e.toml: switch: expected it here or in \[network.model_options\] alone",
        ),
    ],
)
def test_a_switch_that_nobody_looks_at_is_refused(tmp_path, network, words):
    with pytest.raises(CouplingError, match=words):
        experiment(tmp_path, network=network)


def test_a_wrong_switch_is_refused_before_anything_is_written(tmp_path):
    wrong = experiment(tmp_path, switch={"buffer": "1 KiB"})

    with pytest.raises((CouplingError, NetsimError), match="switch: buffer: expected room for a"):
        run_campaign(wrong, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_jobs_of_a_log_meet_over_packets_and_the_result_has_the_same_bytes_again(tmp_path):
    """Another seed of the model: other starts of the packets, by which values differ a little."""
    tables = [
        run_campaign(experiment(tmp_path, run=run), tmp_path / name).results[0].jobs
        for name, run in (("a", {}), ("b", {}), ("c", {"seeds": {"model": 9}}))
    ]

    assert tables[0].equals(tables[1])
    assert tables[0]["interference"].max() > 1.02
    assert not tables[0].equals(tables[2])
