"""The shipped input is what its header says."""

import gzip
import subprocess
import sys
from pathlib import Path

from scheduler.workload.swf import read_swf
from scheduler.workload.synthetic import synth

FOLDER = Path(__file__).parents[3] / "examples" / "data"


def test_the_shipped_log_holds_the_jobs_of_its_stated_seed():
    workload = read_swf(FOLDER / "synth16.swf.gz")

    assert [(job.id, job.n_nodes, job.runtime_s) for job in workload.jobs] == [
        (job.id, job.n_nodes, job.runtime_s) for job in synth(16, n_jobs=3000, seed=1).jobs
    ]
    assert not workload.dropped


def test_the_script_next_to_it_writes_it_again(tmp_path):
    """Compared without compression, whose bytes depend on the zlib at hand."""
    script = tmp_path / "make_synth16.py"
    script.write_bytes((FOLDER / "make_synth16.py").read_bytes())

    subprocess.run([sys.executable, script], check=True)  # noqa: S603

    written = (tmp_path / "synth16.swf.gz").read_bytes()
    shipped = (FOLDER / "synth16.swf.gz").read_bytes()
    assert gzip.decompress(written) == gzip.decompress(shipped)
    assert written[4:8] == shipped[4:8] == bytes(4)  # no time of writing in the gzip header
