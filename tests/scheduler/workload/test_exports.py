"""The package shows what it promises."""

import scheduler.workload


def test_every_public_name_exists_once_and_is_documented():
    names = scheduler.workload.__all__

    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(scheduler.workload, name) is not None
        assert f"`{name}`" in scheduler.workload.__doc__


def test_the_registries_hold_the_names_of_the_interface():
    assert {
        "swf",
        "alea-swf",
        "sacct",
        "squeue-json",
        "csv",
        "parquet",
        "batsim-json",
        "placement-log",
    } <= set(scheduler.workload.READERS)
    kinds = {"synth", "laas", "lublin", "hector-like", "kalos-like"}
    assert set(scheduler.workload.GENERATORS) == kinds
