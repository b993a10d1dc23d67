"""The page on other programs has the answers of today."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.heavy
def test_every_case_has_the_answer_of_its_source_and_the_page_says_so():
    command = [sys.executable, "-m", "benchmarks.conformance", "--check"]
    done = subprocess.run(  # noqa: S603 (our own module)
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERS" not in done.stdout
