"""Where answers go: standard output, files, result directories."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

RESULTS = Path("results")


def print_json(document: dict[str, Any]) -> None:
    """Print a result for programs."""
    text = json.dumps(document, indent=2, allow_nan=False).replace("\x7f", "\\u007f")
    sys.stdout.write(f"{text}\n")


def print_parts(*parts: RenderableType) -> None:
    """Print tables and lines for people."""
    from coupling.report.columns import text_of

    sys.stdout.write(text_of(*parts))


def print_lines(*lines: str) -> None:
    """Print lines for people, broken between words."""
    from coupling.report.columns import text_lines

    print_parts(text_lines(*lines))


def default_folder(name: str, *, resume: bool) -> Path:
    """
    Return results/NAME, or the first numbered one that does not exist; the last to resume.

    `name`: of what is run.
    """
    names = (RESULTS / (name if number == 1 else f"{name}-{number}") for number in count(1))
    last = RESULTS / name
    for folder in names:
        if not folder.exists():
            return last if resume else folder
        last = folder
    raise AssertionError
