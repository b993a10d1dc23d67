"""How kernels are compiled that neither make arrays nor keep any."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_F = TypeVar("_F", bound=Callable[..., object])


def uncounted(*signature: object, inline: str = "never") -> Callable[[_F], _F]:
    """
    Compile a kernel in which nobody counts references to arrays: a third of the time.

    Such a kernel must not make arrays, nor keep any.
    """
    options: dict[str, Any] = {"cache": True, "_nrt": False, "inline": inline}
    compiled: Callable[[_F], _F] = njit(*signature, **options)  # type: ignore[call-overload]
    return compiled
