"""Where answers go: standard output, files, result directories."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupling.terminal_text import remark

if TYPE_CHECKING:
    from rich.console import RenderableType

    from coupling.report.answer import Answer

RESULTS = Path("results")
_EVERY_S = 10.0  # between remarks on progress


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


def write_answer(
    found: Any,  # noqa: ANN401 (an answer with `to_dict`, and `to_frame` where it has a table)
    answer: Callable[[int | None], Answer],
    top: int = 0,
    *,
    html: Path | None = None,
    out: Path | None = None,
    as_json: bool,
) -> None:
    """
    Write the page and the table that are asked for, and print JSON or text.

    `answer`: what people read, from the rows that a terminal shows; None: all, for a page.
    """
    if html is not None or out is not None:
        from coupling.inputs.files import write_table, write_whole

        if html is not None:
            write_whole(html, answer(None).html())
        if out is not None:
            write_table(out, found.to_frame())
    if as_json:
        print_json(found.to_dict())
    else:
        print_parts(*answer(top).parts())


def remark_now_and_then(words: str) -> Callable[..., None]:
    """Return what fills `words` with what it is called with, and remarks it every ten seconds."""
    last_s = time.monotonic()

    def report(*found: object) -> None:
        nonlocal last_s
        if time.monotonic() - last_s > _EVERY_S:
            last_s = time.monotonic()
            remark(words.format(*found))

    return report


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
