"""Run the command of a case in this process, through its real entry, and keep what comes out."""

import io
import os
import shutil
import sys
import traceback
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from unittest.mock import patch

import typer.main
from bokeh.document import Document

import coupling.cli.root
import coupling.explorer.server
from coupling.cli.root import main
from coupling.explorer.page_view import page_view
from coupling.inputs import plugins
from fuzz.cases import Case

ROOT = Path(__file__).parents[2]
REFUSED = 2  # exit status
PLUGIN = "mine.py"  # code of the user's own, damaged too
IN_PLUGIN = f"an exception of {PLUGIN}"
STDIN = "stdin"
"""The file of a case that the command may read as its standard input."""
_COMMAND = cache(typer.main.get_command)  # of the same functions, which takes 5 ms each time
_INSTALLED = metadata.EntryPoints(
    point
    for kind in plugins.REGISTRIES
    for point in metadata.entry_points(group=f"fabricsim.{kind}")
)  # of all that is installed, which takes 5 ms as well


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind; `crash` is empty unless an exception came through."""

    status: int
    out: bytes
    err: str
    crash: str
    trace: str
    folder: Path
    written: tuple[str, ...]
    overwritten: tuple[str, ...] = ()
    """Files of the case that hold something else now."""


def execute(case: Case, folder: Path) -> Outcome:
    """Run a case in a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(case.files, folder)
    before = _files(folder)
    with inside(folder):
        status, out, err, crash, trace = _call(case.argv, case.files.get(STDIN, b""))
    written = tuple(sorted(_files(folder) - before))
    overwritten = tuple(n for n, data in case.files.items() if _contents(folder / n) != data)
    return Outcome(status, out, err, crash, trace, folder, written, overwritten)


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a case, standard input as a file too."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _files(folder: Path) -> set[str]:
    """Return the names of all files and folders in a folder, but Python's cache of a plug-in."""
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return {str(path) for path in found if "__pycache__" not in path.parts}


def _contents(path: Path) -> bytes | None:
    """Return what a file holds; None where there is none."""
    return path.read_bytes() if path.is_file() else None


@contextmanager
def inside(folder: Path):
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class _OnePage:
    """Stands in for the server of the explorer: one page is opened, and that is all."""

    address = "http://127.0.0.1:1/?token=x"

    def __init__(self, shown, port=0):
        del port
        self._open = coupling.explorer.server._Pages(page_view(shown)).opened

    def serve(self, on_end):
        """Open a page."""
        self._open(Document())
        on_end()


@contextmanager
def _plugins_forgotten():
    """Take out what a case has added to the registries, and the code that it came from."""
    kept = {kind: dict(names) for kind, names in plugins.REGISTRIES.items()}
    modules = set(sys.modules)
    try:
        yield
    finally:
        for kind, names in plugins.REGISTRIES.items():
            if names != kept[kind]:
                names.clear()
                names.update(kept[kind])
            plugins._MADE[kind].clear()
        plugins._module_of_file.cache_clear()
        for name in set(sys.modules) - modules:
            if name.startswith("fabricsim_plugin_"):
                del sys.modules[name]


def _call(argv: tuple[str, ...], given: bytes) -> tuple[int, bytes, str, str, str]:
    """Run the command with streams that are as strict as real ones."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    stdin = io.TextIOWrapper(io.BytesIO(given), "utf-8")
    status, crash, trace = 0, "", ""
    with (
        patch.object(sys, "argv", ["fabricsim", *argv]),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
        patch.object(sys, "stdin", stdin),
        patch.object(typer.main, "get_command", _COMMAND),
        patch.object(plugins, "entry_points", lambda: _INSTALLED),
        patch.object(coupling.explorer.server, "Explorer", _OnePage),
        patch.object(coupling.cli.root, "_internal", _through),
        _plugins_forgotten(),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException as error:  # noqa: BLE001 (every exception is a finding)
            crash, trace = place_of(error), "".join(traceback.format_exception(error))
    return status, out.buffer.getvalue(), err.buffer.getvalue().decode(), crash, trace


def _through(error: Exception) -> int:
    """Let an error through that the command would keep in a file."""
    raise error


def place_of(error: BaseException) -> str:
    """Return the kind of an exception and where in the project it came from, to be grouped by."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == PLUGIN
        or (frame.filename.startswith(str(ROOT)) and "/tests/" not in frame.filename)
    ]
    if str(error).startswith("Corner."):  # called with more than it takes
        return IN_PLUGIN
    if not frames:
        return f"{type(error).__name__} outside the project"
    last = frames[-1]
    if Path(last.filename).name == PLUGIN:
        return IN_PLUGIN
    return f"{type(error).__name__} in {Path(last.filename).relative_to(ROOT)}:{last.name}"
