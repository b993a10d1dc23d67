"""What all tests share: reference data that lies beside the repository, where present."""

import io
import os
import sys
from functools import cache
from pathlib import Path

import pytest
from chromium import NO_BROWSER
from hypothesis import settings

SHARED = Path(__file__).parents[2] / "shared"
REQUIRED = "FABRICSIM_REFERENCE_DATA"  # of the environment: what is absent is a failure
ABSENT = "reference data is not present beside the repository"
STEADY = "FABRICSIM_STEADY_DRAWS"  # of the environment: Hypothesis draws the same each time


settings.register_profile("here", derandomize=bool(os.environ.get(STEADY)), deadline=None)
settings.load_profile("here")


@pytest.fixture(scope="session", autouse=True)
def _one_parser():
    """Make the parser of the command once: it is the same each time, and takes longer than most."""
    import typer.main  # noqa: PLC0415 (the tests of --help load nothing)

    typer.main.get_command = cache(typer.main.get_command)


@pytest.fixture(scope="session")
def shared():
    """Return a function that gives the path of reference data, or skips where it is absent."""

    def locate(relative):
        path = SHARED / relative
        if not path.exists():
            absent = pytest.fail if os.environ.get(REQUIRED) == "required" else pytest.skip
            absent(f"{ABSENT}: {relative}")
        return path

    return locate


@pytest.fixture
def command(monkeypatch, capsys):
    """Return a function that runs the command in this process: exit status, stdout, stderr."""
    from coupling.cli.root import main  # noqa: PLC0415 (the tests of --help load nothing)

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["fabricsim", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = 0
        try:
            main()
        except SystemExit as exit_:
            status = exit_.code or 0
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures out of pages: where words are tested, they take nine tenths of the time."""
    from markupsafe import Markup  # noqa: PLC0415 (the tests of --help load nothing)

    drawn = "coupling.report.plots.style.Picture.html"
    monkeypatch.setattr(drawn, lambda _: Markup("<svg></svg>"))


def pytest_terminal_summary(terminalreporter):
    """Say how many tests did not run for want of reference data or of a browser."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, place in ((ABSENT, f" ({SHARED})"), (NO_BROWSER, "")):
        number = sum(reason in str(report.longrepr) for report in skipped)
        if number:
            terminalreporter.write_line(f"{number} tests skipped: {reason}{place}.")
