"""How kernels are compiled that neither make arrays nor keep any."""

from collections.abc import Callable
from typing import Any, TypeVar

from netsim.jit import njit

_F = TypeVar("_F", bound=Callable[..., object])


def uncounted(
    *signature: object, inline: str = "never", dissolved: bool = False
) -> Callable[[_F], _F]:
    """
    Compile a kernel in which nobody counts references to arrays: a third of the time.

    Such a kernel must not make arrays, nor keep any. `dissolved`: no call of it is left, which
    would hand over each array in seven numbers; a tenth of the time of small kernels.
    """
    options: dict[str, Any] = {"cache": bool(signature), "_nrt": False, "inline": inline}
    options["forceinline"] = dissolved  # by LLVM, which compiles sooner than what numba inlines
    compiled: Callable[[_F], _F] = njit(*signature, **options)
    return compiled
