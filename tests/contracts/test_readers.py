"""What every reader of the registry promises."""

from pathlib import Path

import pytest

from coupling.checks.readers import RULES, Sample
from scheduler.workload.registry import READERS
from scheduler.workload.synthetic import synth
from scheduler.workload.writers import write_trace

DATA = Path(__file__).parents[1] / "data"
FILES = {
    "alea-swf": "alea.swf",
    "sacct": "sacct.txt",
    "squeue-json": "squeue.json",
    "batsim-json": "batsim.json",
    "flux-json": "flux.json",
    "placement-log": "placement.log",
}
WRITTEN = {"swf": "log.swf.gz", "csv": "log.csv", "parquet": "log.parquet"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Return a log for every format."""
    folder = tmp_path_factory.mktemp("logs")
    for name in WRITTEN.values():
        write_trace(synth(8, n_jobs=60, seed=3), folder / name)
    return {form: DATA / name for form, name in FILES.items()} | {
        form: folder / name for form, name in WRITTEN.items()
    }


def test_every_reader_is_sampled():
    assert FILES.keys() | WRITTEN.keys() == READERS.keys()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", READERS)
def test_a_reader_keeps_the_rule(form, rule, logs):
    assert list(RULES[rule](Sample(READERS[form], logs[form]))) == []
