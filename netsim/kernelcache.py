"""Compiled kernels: imported on first use, the first compilation announced, cached on disk."""

import importlib
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_LOG = logging.getLogger("fabricsim")
_NO_CACHE_PLACE = "no locator available"  # what numba says where no folder can be written
_temporary_caches: list[tempfile.TemporaryDirectory[str]] = []  # kept until the process ends


def load_kernels(module: str, what: str, seconds: float) -> ModuleType:
    """
    Import a module of compiled kernels, and say so if that means compiling them.

    Kernels are declared with explicit signatures, so they are compiled, or read from the
    disk cache, while their module is imported; later calls return the imported module.

    Parameters
    ----------
    module : str
        Absolute name of a module of numba kernels.
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
    lies beside the source, else in the user's cache folder (or where ``NUMBA_CACHE_DIR``
    says); where none of them can be written, in a temporary folder of this process.
    """
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded
    with _announced(what, seconds):
        try:
            return importlib.import_module(module)
        except RuntimeError as error:
            if _NO_CACHE_PLACE not in str(error):
                raise
        _cache_in_temporary_folder()
        return importlib.import_module(module)


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


def _cache_in_temporary_folder() -> None:
    """Let numba cache in a folder that lives as long as the process."""
    from numba.core import config  # noqa: PLC0415 (numba takes half a second to import)

    _temporary_caches.append(tempfile.TemporaryDirectory(prefix="fabricsim-kernels-"))
    vars(config)["CACHE_DIR"] = _temporary_caches[-1].name  # not declared: made when numba loads
