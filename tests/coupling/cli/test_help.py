"""Help: commands in panels, words instead of types, examples and links that do not wrap."""

import re

import pytest
import typer.main

from coupling.cli.help_page import PANELS
from coupling.cli.root import app
from scheduler import POLICIES


def commands():
    """Yield the names of all commands and subcommands."""
    for name, one in typer.main.get_command(app).commands.items():
        inner = getattr(one, "commands", {})
        yield from ([(name, own) for own in inner] if inner else [(name,)])


def shown(command, monkeypatch, *words):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    status, out, _ = command(*words, "--help")
    assert status == 0
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\\\", "", out)


def test_every_command_stands_in_one_panel_in_one_line(command, monkeypatch):
    out = shown(command, monkeypatch)
    named = [name for names in PANELS.values() for name in names]

    assert sorted(named) == sorted({name for name, *_ in commands()})
    for panel in PANELS:
        assert f"─ {panel} ─" in out
    lines = [line for line in out.splitlines() if re.match(r"│ [a-z]", line)]
    assert len(lines) == len(named)
    assert all(line.rstrip(" │").endswith(".") for line in lines)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_has_an_example_a_page_and_no_types(command, monkeypatch, words):
    out = shown(command, monkeypatch, *words)

    assert not re.search(r"<(bool|path|Path|str|int|float|list)\b", out)
    assert max(map(len, out.splitlines())) <= 80
    assert "docs/reference/commands/" in out
    example = out.partition("Example:")[2].partition("╭")[0].strip()
    lines = [line.strip() for line in example.splitlines()]
    assert lines[0].startswith(f"fabricsim {' '.join(words)}") or words == ("snapshot",), example
    assert all(line.endswith("\\") for line in lines[:-1])


def test_names_are_listed_with_a_line_each(command):
    status, out, _ = command("list", "queues")

    assert status == 0
    assert re.search(r"(?m)^easy +EASY backfilling", out)
    assert {line.split()[0] for line in out.splitlines()} == set(POLICIES)
    assert max(map(len, out.splitlines())) <= 80
