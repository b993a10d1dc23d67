"""The decorator of all kernels: numba's, with the cache in the user's folder."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import config

from netsim.kernelcache import cache_folder

_F = TypeVar("_F", bound=Callable[..., object])


def njit(*signature: object, cache: bool = False, **options: Any) -> Callable[[_F], _F]:  # noqa: ANN401
    """
    Compile a kernel as `numba.njit` does.

    `cache`: for kernels that Python calls; they have a signature, so that they are compiled or
    loaded when their module is imported, where `kernelcache.load_kernels` announces it. Kernels
    without are compiled into those that call them.
    """
    settings: Any = config

    def compiled(function: _F) -> _F:
        folder = cache_folder(function.__module__) if cache else None
        before, settings.CACHE_DIR = settings.CACHE_DIR, str(folder or "")
        try:
            made: _F = numba.njit(*signature, cache=folder is not None, **options)(function)  # type: ignore[call-overload]
        finally:
            settings.CACHE_DIR = before
        return made

    return compiled
