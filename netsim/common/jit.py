"""Compiled kernels: declared, imported on first use, announced when compiled, cached by numba."""

import fcntl
import hashlib
import importlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])
_LOG = logging.getLogger("fabricsim")
_IMPORTED = re.compile(r"^from (\S+) import", re.MULTILINE)
_OURS = {"fabricsim", "netsim", "patterns", "scheduler", "coupling"}
_COMPILED = "compiled"  # a file: all kernels of a module are in the folder
_MOST_FOLDERS = 300  # some versions of each module of kernels
_ANNOUNCED: set[str] = set()  # by this process
_BROKEN: list[Exception] = []  # why this process does without its cache


def njit(
    *signature: object,
    cache: bool = False,
    allocates: bool = True,
    **options: Any,  # noqa: ANN401
) -> Callable[[_F], _F]:
    """
    Compile a kernel as `numba.njit` does.

    `cache`: for kernels that Python calls, which have a signature; others are compiled into their
    callers, and Python cannot call them: that would be compiled too. `allocates`: False for kernels
    that make no arrays: without reference counts, tuples of arrays are passed on two to three times
    as fast. A kernel that does make one fails to compile.
    """
    import numba  # noqa: PLC0415 (takes half a second)
    from numba.core import config  # noqa: PLC0415

    settings: Any = config
    if not allocates:
        options["_nrt"] = False
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": not signature}

    def compiled(function: _F) -> _F:
        folder = cache_folder(function.__module__) if cache else None
        before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder or "")
        try:
            made: _F = numba.njit(*signature, cache=folder is not None, **options)(function)  # type: ignore[call-overload]
        finally:
            settings.CACHE_DIR = before
        return made

    return compiled


@cache
def load_kernels(module: str, what: str, seconds: float) -> ModuleType:
    """
    Import a module of compiled kernels; announce it, once a process, if that means compiling them.

    One process compiles at a time. Where the cache cannot be used, or is damaged, kernels are
    compiled in memory. `seconds`: how long compiling takes, about.
    """
    if module in sys.modules:
        return importlib.import_module(module)  # waits where another thread imports it
    folder = cache_folder(module)
    with _announced_compilation(what, seconds):
        if folder is None or (folder / _COMPILED).exists():
            return _imported_kernels(module)
        with _locked_folder(folder.parent):
            loaded = _imported_kernels(module)
            with suppress(OSError):
                (folder / _COMPILED).touch()
                _remove_old(folder.parent)
            return loaded


@cache
def _folder(module: str) -> Path | None:
    """Return the folder of a module, made if need be; None: it cannot be written."""
    import numba  # noqa: PLC0415 (takes half a second)

    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for source in _module_sources(module).values():
        digest.update(source)
    chosen, xdg = os.environ.get("NUMBA_CACHE_DIR"), Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = xdg if xdg.is_absolute() else Path("~/.cache").expanduser()
        folder = Path(chosen or home).absolute() / "fabricsim" / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # numba goes elsewhere where it cannot write
            pass
        os.utime(folder)  # the last use
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder


def cache_folder(module: str) -> Path | None:
    """
    Return where numba stores the machine code of a module's kernels; None: in memory.

    That is ``$NUMBA_CACHE_DIR/fabricsim``, else ``fabricsim`` in the user's cache folder, and in it
    a folder named by a digest of the module, of all modules of ours that it imports, and of the
    versions of numba and Python: numba looks at the time of the module's own file alone.
    """
    return None if _BROKEN else _folder(module)


def _module_sources(module: str, found: dict[str, bytes] | None = None) -> dict[str, bytes]:
    """Return the source of a module and of all modules of ours that it imports."""
    found = {} if found is None else found
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module {module!r}", name=module)
    found[module] = Path(spec.origin).read_bytes()
    for needed in _IMPORTED.findall(found[module].decode("utf-8")):
        if needed not in found and needed.partition(".")[0] in _OURS | {module.partition(".")[0]}:
            _module_sources(needed, found)
    return found


def _imported_kernels(module: str) -> ModuleType:
    """Import a module of kernels, in memory where that fails with the cache."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        if _BROKEN:
            raise
        for folder in map(_folder, _module_sources(module)):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        _BROKEN.append(error)  # a full disk, or whatever damaged files make numba raise
        return importlib.import_module(module)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Let no other process compile during the block, where folders can be locked."""
    with ExitStack() as stack:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _announced_compilation(what: str, seconds: float) -> Iterator[None]:
    """Log one line at the first compilation inside the block."""
    from numba.core import event  # noqa: PLC0415 (numba takes half a second to import)

    class Announcer(event.Listener):
        """Logs, once."""

        def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 (numba's class, untyped)
            if what not in _ANNOUNCED:
                _ANNOUNCED.add(what)
                line = "compiling the %s (first use on this machine, about %.0f s)"
                _LOG.warning(line, what, seconds)

        def on_end(self, event: Any) -> None:  # noqa: ANN401 (numba's class, untyped)
            pass

    with event.install_listener("numba:compile", Announcer()):
        yield


def _remove_old(root: Path) -> None:
    """Remove the folders that were not used for longest, where there are many."""
    folders = sorted(root.glob("*/"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for old in folders[_MOST_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)
