"""Pages say what is there: commands run, options exist, files are linked, no page is too long."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from coupling.cli.root import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted((ROOT / "docs" / "reference" / "commands").glob("*.md"))


@pytest.mark.parametrize("words", re.findall(r"^```sh\nfabricsim (.+)\n```", README, re.MULTILINE))
def test_each_question_of_the_readme_is_answered(command, monkeypatch, words):
    arguments = shlex.split(words)
    if arguments[0] == "sweep":
        arguments.append("--dry-run")  # minutes of CPU time
    monkeypatch.chdir(ROOT)

    status, out, err = command(*arguments)

    assert status == 0, err
    assert out


@pytest.mark.heavy
def test_the_first_command_of_the_readme_prints_the_table_below_it(tmp_path):
    """`.ci/run` compares both as well, as it runs the command anyhow."""
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]

    done = subprocess.run(  # noqa: S603 (the page's own command)
        [sys.executable, "-m", "fabricsim", "run", ROOT / "examples/synth16.toml"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith(shown)


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"])
def test_files_that_are_linked_exist(name):
    """The site has no warning for these when somebody reads them in the repository."""
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))

    assert [link for link in links if not (ROOT / link).exists()] == []


def options_of(words):
    """Return the options of a command, or of all below it."""
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands.get(word, command)
    below = list(getattr(command, "commands", {}).values()) or [command]
    return {name for one in below for p in one.params for name in (*p.opts, *p.secondary_opts)}


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_options_on_the_page_of_a_command_exist(page):
    """Those of other commands stand behind their name."""
    text = page.read_text(encoding="utf-8")
    known = {"--help", "--json"}.union(
        *(options_of([one.stem]) for one in COMMANDS if page.stem in (one.stem, "index"))
    )

    own = set(re.findall(r"`(--[a-z-]+)", text))
    for line in re.findall(rf"^\$ fabricsim {page.stem}.*", text, re.MULTILINE):
        own |= set(re.findall(r" (--[a-z-]+)", line))

    assert own <= known
