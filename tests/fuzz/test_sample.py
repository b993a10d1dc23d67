"""A sample of damaged inputs, always the same; `python -m benchmarks.fuzz` runs any number."""

import json
import subprocess
import sys
from pathlib import Path

from fuzz.seeds import all_seeds

ROOT = Path(__file__).parents[2]
CASES = 300


def test_damaged_inputs_are_answered_or_refused_well(tmp_path):
    """In a process of its own: each case is forked, and must not inherit what other tests hold."""
    state = tmp_path / "state.json"
    command = ["-m", "benchmarks.fuzz", "--count", str(CASES), "--state", str(state)]

    done = subprocess.run(  # noqa: S603
        [sys.executable, *command], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads(state.read_text())
    assert sum(counted["outcomes"].values()) == CASES
    assert counted["outcomes"]["answered"] > CASES / 10
    assert counted["outcomes"]["refused"] > CASES / 10
    commands = {seed.name.split()[0] for seed in all_seeds(tmp_path)}
    assert set(counted["by_command"]) >= commands - {"topology"}  # named inspect and convert here
