"""Compiled kernels: imported on first use, the first compilation announced, cached on disk."""

import hashlib
import importlib
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.wholefile import replace_file

_LOG = logging.getLogger("fabricsim")
_COMPILED_IN = re.compile(r"^from (\S*(?:kernels|columns)) import", re.MULTILINE)
_SEAL = "sealed"
_ASKED = "_compile_for_args", "get_call_template"  # of a kernel without code: by callers, by numba
_TOLD: set[str] = set()  # what this process has said that it compiles
_LONG_S = 3600.0  # longer than any compilation
_DAY_S = 86400.0
_UNUSED_S = 30 * _DAY_S  # after which compiled code of another version goes
_MOST_OTHERS = 4  # versions of a module that are kept beside the newest


def load_kernels(module: str, what: str, seconds: float) -> ModuleType:
    """
    Import a module of compiled kernels, and say so if that means compiling them.

    Kernels are declared with explicit signatures, so they are compiled while their module is
    imported; what the disk cache has is loaded when it is first called. Later calls return the
    imported module.

    `module`: absolute name of a module of numba kernels, ``...kernels``. `what`: what is compiled,
    in the user's words, e.g. ``"contention kernels"``.

    The announcement goes to the logger ``fabricsim`` at level WARNING, once for each `what`, when
    the first kernel is really compiled; nothing is said when all come from the disk cache. The
    cache lies where ``NUMBA_CACHE_DIR`` says, else beside the source, else in the user's cache
    folder; where none of them can be written, it is left out. Its name holds a digest
    of the module and of the kernels and columns it imports: numba alone would go on using a
    kernel compiled with an older version of another module's function. A cache that is
    damaged or incomplete is compiled anew: numba would run machine code with wrong bytes in it.
    """
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded
    sources = _sources(module)
    for needed in list(sources)[1:]:
        load_kernels(needed, what, seconds)
    with _one_at_a_time(), _announced(what, seconds), _called_from_python_alone():
        return _imported(module, _digest(sources), what, seconds)


def is_compiled(module: str) -> bool:
    """Say whether a module of kernels is imported, or lies compiled where `load_kernels` looks."""
    if module in sys.modules:
        return True
    name = f"{module.rpartition('.')[2]}-{_digest(_sources(module))}"
    for place in _places():
        with suppress(OSError):
            if (place / name / _SEAL).is_file():
                return True
            there = next(folder for folder in (place, *place.parents) if folder.exists())
            if there.is_dir() and os.access(there, os.W_OK):  # it would be compiled here
                return False
    return False


def _digest(sources: dict[str, bytes]) -> str:
    """Return what tells versions of kernels apart."""
    return hashlib.sha256(b"\0".join(sources.values())).hexdigest()[:16]


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


def _imported(module: str, digest: str, what: str, seconds: float) -> ModuleType:
    """Import a module with its compiled code in the first place that can be used."""
    name = module.rpartition(".")[2]
    for place in _places():
        folder = place / f"{name}-{digest}"
        with suppress(OSError):
            if _intact(folder):
                with _loaded_when_called(partial(_loading, folder, what, seconds)):
                    loaded = _import_with(folder, module)
                _note_use(folder / _SEAL)
                return loaded
            place.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=place, prefix=f".{name}-"))
            try:
                loaded = _import_with(fresh, module)
                with suppress(OSError):
                    _publish(fresh, folder)
                return loaded
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    with _uncached():
        return importlib.import_module(module)


def _import_with(folder: Path, module: str) -> ModuleType:
    """Import a module whose compiled code is in a folder, or is put there."""
    with tempfile.TemporaryFile(dir=folder):  # numba goes elsewhere where it cannot write
        pass
    with _cached_in(folder):
        return importlib.import_module(module)


def _intact(folder: Path) -> bool:
    """Say whether a folder holds all that was sealed in it, byte for byte."""
    try:
        return (folder / _SEAL).read_text(encoding="ascii") == _digests(folder)
    except (OSError, ValueError):
        return False


def _seal(folder: Path) -> None:
    """Take down what a folder holds."""
    replace_file(folder / _SEAL, _digests(folder))


def _digests(folder: Path) -> str:
    """Return a line with digest and name for every file of compiled code."""
    files = sorted(path for path in folder.rglob("*.nb[ic]") if path.is_file())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.relative_to(folder)}\n"
        for path in files
    )


def _publish(fresh: Path, folder: Path) -> None:
    """Put compiled code where later processes look, in place of what is damaged or older."""
    if _intact(folder):  # another process was faster
        return
    _seal(fresh)
    if folder.exists():
        folder.replace(fresh.with_name(f"{fresh.name}-damaged"))
    fresh.replace(folder)
    _clear_beside(folder)


def _clear_beside(folder: Path) -> None:
    """Take away what is left over, and versions of a module beyond the few that are in use."""
    name = folder.name.rpartition("-")[0]
    for old in folder.parent.glob(f".{name}-*"):
        if _is_left_over(old):
            shutil.rmtree(old, ignore_errors=True)
    others = [old for old in folder.parent.glob(f"{name}-*") if old != folder]
    others.sort(key=_used_s, reverse=True)
    for place, old in enumerate(others):
        if place >= _MOST_OTHERS or _used_s(old) < time.time() - _UNUSED_S:
            shutil.rmtree(old, ignore_errors=True)


def _used_s(folder: Path) -> float:
    """Return when compiled code was used last, to a day; 0 for what is not whole."""
    try:
        return (folder / _SEAL).stat().st_mtime
    except OSError:
        return 0.0


def _note_use(seal: Path) -> None:
    """Write down, once a day, that compiled code is used."""
    with suppress(OSError):  # somebody else's
        if seal.stat().st_mtime < time.time() - _DAY_S:
            seal.touch()


def _is_left_over(fresh: Path) -> bool:
    """Say whether nobody compiles into a folder any more."""
    return fresh.name.endswith("-damaged") or fresh.stat().st_mtime < time.time() - _LONG_S


def _places() -> Iterator[Path]:
    """Yield where compiled code may lie, best first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen) / "fabricsim"
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):  # nobody's home
        told = Path(
            os.environ.get("XDG_CACHE_HOME", "")
        )  # a relative one is none, says its standard
        home = told if told.is_absolute() else Path("~/.cache").expanduser()
        if home.is_absolute():  # never code from the folder where somebody happens to be
            yield home / "fabricsim"


@contextmanager
def _announced(what: str, seconds: float) -> Iterator[Callable[[], bool]]:
    """Log one line when a kernel is compiled inside the block; yield whether one was."""
    from numba.core import event  # noqa: PLC0415 (numba takes half a second to import)

    class Announcer(event.Listener):
        """Speaks at the first compilation."""

        def __init__(self) -> None:
            self.silent = True

        def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 (numba's class, untyped)
            self.silent = False
            if what not in _TOLD:
                _TOLD.add(what)
                _LOG.warning(
                    "compiling the %s (first use on this machine, about %.0f s)", what, seconds
                )

        def on_end(self, event: Any) -> None:  # noqa: ANN401 (numba's class, untyped)
            pass

    announcer = Announcer()
    with event.install_listener("numba:compile", announcer):
        yield lambda: not announcer.silent


@contextmanager
def _called_from_python_alone() -> Iterator[None]:
    """Compile no entries for callers in C, of whom there are none: a tenth of the time."""
    try:
        from numba.core.cpu import CPUTargetOptions  # noqa: PLC0415 (numba is slow to import)
    except ImportError:  # numba's own affair, not promised to anybody: then with entries
        yield
        return
    options: Any = CPUTargetOptions
    finalize = options.finalize

    def without_entry(self: Any, flags: Any, chosen: Any) -> None:  # noqa: ANN401 (numba's)
        """Choose as before, but for the entry."""
        finalize(self, flags, chosen)
        if hasattr(flags, "no_cfunc_wrapper"):
            flags.no_cfunc_wrapper = True

    options.finalize = without_entry
    try:
        yield
    finally:
        options.finalize = finalize


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


@contextmanager
def _prepared_to_load() -> Iterator[None]:
    """
    Let compiled code be loaded without all that numba needs to compile.

    That is a third of a second; numba fetches it by itself before it compiles. Of SciPy's linear
    algebra it only asks whether it is there, which it is: SciPy is one of our needs.
    """
    from numba.core import caching, registry  # noqa: PLC0415 (numba is slow to import)
    from numba.np import linalg  # noqa: PLC0415

    cache: Any = caching.Cache
    asked: Any = linalg
    try:  # numba's own affair, not promised to anybody: then as numba loads by itself
        from numba.core.runtime.nrt import rtsys  # noqa: PLC0415

        load, ensure_blas = cache.load_overload, asked.ensure_blas
        unrefreshed = cache._load_overload  # noqa: SLF001 (without a refresh of the context)
        rtsys.initialize(registry.cpu_target.target_context)
    except (ImportError, AttributeError):
        yield
        return
    cache.load_overload, asked.ensure_blas = unrefreshed, lambda: None
    try:
        yield
    finally:
        cache.load_overload, asked.ensure_blas = load, ensure_blas


@contextmanager
def _loading(folder: Path, what: str, seconds: float) -> Iterator[None]:
    """Load kernels from a folder inside the block."""
    with _announced(what, seconds) as compiled, _called_from_python_alone(), _prepared_to_load():
        yield
        if compiled():  # for another processor
            _seal(folder)


@contextmanager
def _loaded_when_called(loading: Callable[[], Any]) -> Iterator[None]:
    """Let each kernel declared inside the block be loaded once somebody asks for it."""
    from numba.core import dispatcher  # noqa: PLC0415 (numba is slow to import)

    kernel: Any = getattr(dispatcher, "Dispatcher", None)
    if not all(hasattr(kernel, name) for name in ("compile", "disable_compile", *_ASKED)):
        with loading():  # numba's own affair, not promised to anybody: then all at once
            yield
        return
    declare, close = kernel.compile, kernel.disable_compile
    kernel.compile = lambda self, kinds: _Waiting.of(self, loading).signatures.append(kinds)
    kernel.disable_compile = lambda _: None
    try:
        yield
    finally:
        kernel.compile, kernel.disable_compile = declare, close


class _Waiting:
    """
    A kernel whose machine code is not loaded yet.

    Most kernels are parts of others, which hold a copy of their code: nobody calls them.
    """

    def __init__(self, kernel: Any, loading: Callable[[], Any]) -> None:  # noqa: ANN401 (numba's)
        self.signatures: list[Any] = []
        self._kernel, self._loading = kernel, loading
        vars(kernel).update(zip(_ASKED, (self._called, self._used), strict=True))

    @classmethod
    def of(cls, kernel: Any, loading: Callable[[], Any]) -> "_Waiting":  # noqa: ANN401 (numba's)
        """Return what is noted about a kernel."""
        noted = vars(kernel).get(_ASKED[0])
        return cls(kernel, loading) if noted is None else noted.__self__

    def _called(self, *_: Any) -> Any:  # noqa: ANN401 (arguments of the kernel)
        """Return what is to be called with these arguments."""
        self._load()
        return self._kernel

    def _used(self, *kinds: Any) -> Any:  # noqa: ANN401 (numba's)
        """Tell a kernel that is compiled what it calls."""
        self._load()
        return self._kernel.get_call_template(*kinds)

    def _load(self) -> None:
        """Load the machine code, once."""
        with _one_at_a_time():
            if not self.signatures:  # another thread was faster
                return
            with self._loading():
                for signature in self.signatures:
                    self._kernel.compile(signature)
            self._kernel.disable_compile()
            self.signatures.clear()
            for name in _ASKED:
                delattr(self._kernel, name)


def _one_at_a_time() -> Any:  # noqa: ANN401 (numba's, untyped)
    """Return the lock of all who declare, load or compile kernels."""
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415 (as above)

    return global_compiler_lock


@contextmanager
def _uncached() -> Iterator[None]:
    """Let kernels declared inside the block stay in memory only."""
    from numba.core.dispatcher import Dispatcher  # noqa: PLC0415 (numba is slow to import)

    kernel: Any = Dispatcher
    before = kernel.enable_caching
    kernel.enable_caching = lambda _: None
    try:
        yield
    finally:
        kernel.enable_caching = before
