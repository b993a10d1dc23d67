"""A clone without the reference data says what it did not test; where there is data, all is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REQUIRED = "FABRICSIM_REFERENCE_DATA"
TESTS = """
import pytest

@pytest.fixture(scope="module")
def log(shared):
    return shared("data/log.swf")

def test_one(shared):
    assert shared("reference/one.csv").read_text() == "1"

def test_two(log):
    assert log.exists()

def test_three():
    pass

def test_four():
    pytest.skip("for another reason")
"""


@pytest.fixture
def clone(tmp_path):
    """Return a function that runs four tests with our conftest: exit status and last lines."""
    tests = tmp_path / "clone" / "tests"
    tests.mkdir(parents=True)
    for name in ("conftest.py", "chromium.py"):
        shutil.copy(ROOT / "tests" / name, tests)
    (tests / "test_it.py").write_text(TESTS)
    (tmp_path / "clone" / "pytest.ini").write_text("[pytest]\npythonpath = tests\n")

    def run(**environment):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=tests.parent,
            env={name: os.environ[name] for name in os.environ if name != REQUIRED} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_the_summary_says_how_many_tests_lack_reference_data(clone, tmp_path):
    status, out = clone()

    assert status == 0
    words = "2 tests skipped: reference data is not present beside the repository"
    assert f"{words} ({tmp_path / 'shared'})." in out


def test_nothing_is_said_where_all_is_there(clone, tmp_path):
    for name, text in (("reference/one.csv", "1"), ("data/log.swf", "")):
        (tmp_path / "shared" / name).parent.mkdir(parents=True)
        (tmp_path / "shared" / name).write_text(text)

    status, out = clone(**{REQUIRED: "required"})

    assert status == 0
    assert "tests skipped" not in out


def test_data_that_is_required_and_absent_is_a_failure(clone, tmp_path):
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "shared" / "data" / "log.swf").write_text("")

    status, out = clone(**{REQUIRED: "required"})

    assert status == 1
    assert "not present beside the repository: reference/one.csv" in out
    assert "1 failed, 2 passed, 1 skipped" in out


def test_ci_requires_the_data_where_it_lies_and_before_it_runs_the_tests():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    line = "[ ! -d ../shared ] || export FABRICSIM_REFERENCE_DATA=required"

    assert line in text.splitlines()
    assert text.index(line) < text.index('bash -c "$command"')
    assert re.search(r'^cd "\$\(dirname "\$0"\)/\.\."$', text, re.MULTILINE)
