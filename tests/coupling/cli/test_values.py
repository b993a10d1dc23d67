"""Plain values of the command line are read as typer reads them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer import core

from coupling.cli import values

_kind: Any = getattr(core, "_TyperParameter", None)
newer = pytest.mark.skipif(
    not hasattr(_kind, "get_runtime_param"), reason="this typer reads values without pydantic"
)


def _command(
    *,
    text: Annotated[str, typer.Option()] = "",
    path: Annotated[Path | None, typer.Option()] = None,
    count: Annotated[int, typer.Option(min=1, max=65535)] = 7,
    factor: Annotated[float, typer.Option()] = 1.5,
    texts: Annotated[list[str] | None, typer.Option()] = None,
    paths: Annotated[list[Path] | None, typer.Option()] = None,
    kept: Annotated[Path | None, typer.Option(exists=True)] = None,
) -> None:
    """Do nothing."""


def _parameters():
    """Return the parameters of a command by their names."""
    app = typer.Typer()
    app.command()(_command)
    return {param.name: param for param in typer.main.get_command(app).params}


READ = [
    ("text", "", ""),
    ("text", "a b = ü", "a b = ü"),
    ("path", None, None),
    ("path", "nowhere/at all", Path("nowhere/at all")),
    ("path", ".", Path()),
    ("path", "", Path()),
    ("path", "-", Path("-")),
    ("count", 7, 7),
    ("count", "65535", 65535),
    ("factor", 1.5, 1.5),
    ("texts", None, ()),
    ("texts", ["a=1", "b"], ["a=1", "b"]),
    ("texts", (), []),
    ("paths", ["a", "."], [Path("a"), Path()]),
]
ODD = [
    ("text", "two\nlines"),
    ("text", os.fsdecode(b"\xff")),
    ("count", "0"),
    ("count", "65536"),
    ("count", "007"),
    ("count", "1_0"),
    ("count", "+5"),
    ("count", " 5"),
    ("count", "\u0665"),
    ("count", "1234567890123"),
    ("count", True),
    ("factor", "2.5"),
    ("factor", "7"),
    ("texts", ["a", "two\nlines"]),
    ("texts", "abc"),
    ("paths", [os.fsdecode(b"\xff")]),
    ("kept", "."),
]


@newer
@pytest.mark.parametrize(("name", "value", "expected"), READ)
def test_plain_values_are_read_as_typer_reads_them(name, value, expected):
    """Of the same type and equal, also where nothing is given."""
    param = _parameters()[name]

    read = values._read(value, param)
    theirs = param.get_runtime_param().coerce(value, param=param, ctx=None)

    assert read == expected == theirs
    assert type(read) is type(theirs)


@newer
@pytest.mark.parametrize(("name", "value"), ODD)
def test_what_is_not_plain_is_left_to_typer(name, value):
    """It reads more ways to write a number, and refuses in its own words."""
    assert values._read(value, _parameters()[name]) is values._ODD


@newer
def test_a_file_that_may_not_be_read_is_refused_by_typer(tmp_path, monkeypatch):
    """It says so."""
    closed = tmp_path / "closed"
    closed.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert values._read(str(closed), _parameters()["path"]) is values._ODD


@newer
def test_afterwards_typer_reads_all_values():
    """A program that imports the command keeps its typer."""
    before = _kind.get_runtime_param
    with values.plain_values():
        assert _kind.get_runtime_param is not before
    assert _kind.get_runtime_param is before


@newer
def test_pydantic_is_loaded_for_what_is_not_plain_alone():
    """It takes a tenth of a second; a number out of range is refused in typer's words."""
    code = (
        "import sys\nfrom coupling.cli.root import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    print('pydantic' in sys.modules, end.code)\n"
    )
    folder = Path(__file__).parents[3]

    plain, wrong = (
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        for arguments in (["estimate", "examples/placed_jobs.json"], ["run", "-", "--workers", "0"])
    )

    assert plain.stdout.endswith("False 0\n")
    assert wrong.stdout == "True 2\n"
    assert "--workers" in wrong.stderr


@newer
def test_a_typer_that_keeps_its_declarations_elsewhere_reads_all_values(monkeypatch):
    param = _parameters()["count"]
    read = values._Reader(lambda _: param.get_runtime_param())

    monkeypatch.setattr(values, "_read", lambda _, param: param.moved)

    assert read.coerce("12", param, None) == 12
