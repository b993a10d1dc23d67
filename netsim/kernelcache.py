"""Compiled kernels: imported on first use, the first compilation announced, cached on disk."""

import hashlib
import importlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

_LOG = logging.getLogger("fabricsim")
_COMPILED_IN = re.compile(r"^from (\S*(?:kernels|columns)) import", re.MULTILINE)
_temporary: list[tempfile.TemporaryDirectory[str]] = []  # kept until the process ends


def load_kernels(module: str, what: str, seconds: float) -> ModuleType:
    """
    Import a module of compiled kernels, and say so if that means compiling them.

    Kernels are declared with explicit signatures, so they are compiled, or read from the
    disk cache, while their module is imported; later calls return the imported module.

    Parameters
    ----------
    module : str
        Absolute name of a module of numba kernels, ``...kernels``.
    what : str
        What is compiled, in the user's words, e.g. ``"contention kernels"``.
    seconds : float
        About how long the compilation takes, in seconds.

    Returns
    -------
    module
        The module.

    Notes
    -----
    The announcement goes to the logger ``fabricsim`` at level WARNING, once, when the first
    kernel is really compiled; nothing is said when all come from the disk cache. The cache
    lies where ``NUMBA_CACHE_DIR`` says, else beside the source, else in the user's cache
    folder; where none of them can be written, in a temporary folder of this process. Its
    name holds a digest of the module and of the kernels and columns it imports: numba alone
    would go on using a kernel compiled with an older version of another module's function.
    """
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded
    sources = _sources(module)
    for needed in list(sources)[1:]:
        load_kernels(needed, what, seconds)
    with _announced(what, seconds), _cached_in(_folder(module, sources)):
        return importlib.import_module(module)


def _sources(module: str) -> dict[str, bytes]:
    """Return the source of a kernel module and, after it, of those it imports."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module {module!r}", name=module)
    source = Path(spec.origin).read_bytes()
    found = {module: source}
    for needed in _COMPILED_IN.findall(source.decode("utf-8")):
        found |= _sources(needed)
    return found


def _folder(module: str, sources: dict[str, bytes]) -> Path:
    """Return a folder for the compiled code of exactly these sources, that can be written."""
    digest = hashlib.sha256(b"\0".join(sources.values())).hexdigest()[:16]
    name = module.rpartition(".")[2]
    for place in _places():
        folder = place / f"{name}-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        for old in place.glob(f"{name}-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        return folder
    _temporary.append(tempfile.TemporaryDirectory(prefix="fabricsim-kernels-"))
    return Path(_temporary[-1].name)


def _places() -> Iterator[Path]:
    """Yield where compiled code may lie, best first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen) / "fabricsim"
    yield Path(__file__).parent / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    yield Path(home) / "fabricsim"


@contextmanager
def _announced(what: str, seconds: float) -> Iterator[None]:
    """Log one line when a kernel is compiled inside the block."""
    from numba.core import event  # noqa: PLC0415 (numba takes half a second to import)

    class Announcer(event.Listener):
        """Speaks at the first compilation."""

        def __init__(self) -> None:
            self.silent = True

        def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 (numba's class, untyped)
            if self.silent:
                self.silent = False
                _LOG.warning(
                    "compiling the %s (first use on this machine, about %.0f s)", what, seconds
                )

        def on_end(self, event: Any) -> None:  # noqa: ANN401 (numba's class, untyped)
            pass

    with event.install_listener("numba:compile", Announcer()):
        yield


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Let kernels declared inside the block be cached in a folder."""
    from numba.core import config  # noqa: PLC0415 (numba takes half a second to import)

    settings: dict[str, Any] = vars(config)  # numba makes its settings when it is imported
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        settings["CACHE_DIR"] = before
