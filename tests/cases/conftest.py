"""A case is run in a copy of its folder."""

import shutil
from pathlib import Path

import pytest

CASES = Path(__file__).parent


@pytest.fixture
def case(request, command, monkeypatch, tmp_path):
    """Return a function that enters a copy of a case's folder and returns the command."""
    group = request.path.stem.removeprefix("test_")

    def enter(name):
        here = tmp_path / name
        shutil.copytree(CASES / group / name, here)
        monkeypatch.chdir(here)
        return command

    return enter
