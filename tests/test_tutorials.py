"""Tutorials are run as a newcomer would: commands and programs, in order, in an empty folder."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted(
    path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index"
)
BLOCK = re.compile(
    r"(?:Save this as `(?P<name>[\w.]+)`[^`]*)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
)


def shown(expected, found):
    """Say whether an output is what the page shows; a line of dots stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), found) is not None


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_shows(page, tmp_path, monkeypatch):
    """Files of the clone are where a clone has them."""
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    assert {block["kind"] for block in blocks} >= {"console", "python"}
    for block in blocks:
        if block["kind"] == "toml":
            (tmp_path / block["name"]).write_text(block["text"])
            continue
        if block["kind"] == "python":
            command, expected = [sys.executable, "-c", block["text"]], "...\n"
        else:
            line, _, expected = block["text"].partition("\n")
            name, *words = line.removeprefix("$ ").split()
            assert name == "fabricsim"
            command = [sys.executable, "-m", "fabricsim", *words]
        done = subprocess.run(  # noqa: S603 (the pages' own commands)
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert shown(expected, done.stdout), done.stdout
