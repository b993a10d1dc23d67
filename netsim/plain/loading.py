"""Modules of kernels, loaded a second time without numba."""

import builtins
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import isnan
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.plain.arrays import Table, Tally, array_of, made
from netsim.plain.types import OWN_NUMBERS, Array, Kind, Refused, Signature, Tuple, stand_in

_ROOMS = ("netsim.", "coupling.", "scheduler.")
_LOADED: dict[str, ModuleType] = {}


def plain_module(name: str) -> ModuleType:
    """Return a module of kernels that are plain functions, on what `netsim.plain.arrays` makes."""
    module = _LOADED.get(name)
    if module is None:
        spec = find_spec(name)
        loader: Any = spec.loader if spec else None
        if loader is None:
            raise ModuleNotFoundError(f"no module {name!r}", name=name)
        module = ModuleType(name)
        module.__dict__["__builtins__"] = _BUILTINS
        exec(loader.get_code(name), vars(module))  # noqa: S102 (a module of our own)
        _LOADED[name] = module
    return module


def run(kernel: Callable[..., Any], arguments: Sequence[Any]) -> Any:  # noqa: ANN401
    """
    Call a plain kernel with arrays; write to them what it wrote once it is through.

    Any error means that nothing has happened, and that compiled code is to be asked: `Exhausted`
    where the `Tally` is.
    """
    signature: Signature = kernel.__dict__["signature"]
    if len(signature.arguments) != len(arguments):
        raise Refused
    known: dict[int, NDArray[Any]] = {}
    written: list[tuple[NDArray[Any], Any]] = []
    taken = []
    for kind, value in zip(signature.arguments, arguments, strict=True):
        plain_value = kind.taken(value)
        _note(kind, value, plain_value, known, written)
        taken.append(plain_value)
    changed = {id(plain_value) for _, plain_value in written}
    read = [value for plain_id, value in known.items() if plain_id not in changed]
    _refuse_two_names([value for value, _ in written], read)
    with np.errstate(all="ignore"):
        told = _told(kernel(*taken), signature.result, known)
    for value, new in [_news(value, left) for value, left in written]:
        if isinstance(new, tuple):
            value[new[0]] = new[1]
        else:
            value[...] = new
    return told


def _note(
    kind: Kind,
    value: Any,  # noqa: ANN401 (an argument)
    taken: Any,  # noqa: ANN401 (the same)
    known: dict[int, NDArray[Any]],
    written: list[tuple[NDArray[Any], Any]],
) -> None:
    """Note which arrays the plain arguments stand for, and which may be written to."""
    if isinstance(kind, Tuple):
        for part, item, plain_item in zip(kind.parts, value, taken, strict=True):
            _note(part, item, plain_item, known, written)
    elif isinstance(kind, Array):
        known[id(taken)] = value
        if kind.is_changed(value):
            written.append((value, taken))


def _refuse_two_names(written: Sequence[NDArray[Any]], read: Sequence[NDArray[Any]]) -> None:
    """Refuse an array that is written to under one name and known by another: copies differ."""
    memories = {id(_memory(value)) for value in written}
    if len(memories) < len(written):
        raise Refused
    near = [value for value in read if id(_memory(value)) in memories]
    if any(np.may_share_memory(value, other) for value in near for other in written):
        raise Refused


def _memory(values: NDArray[Any]) -> object:
    """Return what holds the numbers of an array."""
    base: Any = values
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base


def _news(value: NDArray[Any], left: Any) -> tuple[NDArray[Any], Any]:  # noqa: ANN401
    """Return an argument and what is to be written to it."""
    return value, left.changed() if isinstance(left, Table) else array_of(left)


def _told(result: Any, kind: Kind | None, known: dict[int, NDArray[Any]]) -> Any:  # noqa: ANN401
    """Return a result as compiled code would."""
    if id(result) in known:
        return known[id(result)]
    if isinstance(result, tuple):
        kinds = kind.parts if isinstance(kind, Tuple) else (None,) * len(result)
        parts = [_told(part, of, known) for part, of in zip(result, kinds, strict=True)]
        named: Any = type(result)
        if named.__module__ in _LOADED:  # its like among compiled kernels is another class
            raise Refused
        return named._make(parts) if hasattr(named, "_make") else tuple(parts)
    if result is None:
        return None
    if isinstance(result, (int, float, np.generic)):
        number = result.item() if isinstance(result, np.generic) else result
        return number if kind is None else kind.taken(number)
    return array_of(result)


def _counted(*bounds: int) -> range:
    """Return a range, and count its turns."""
    turns = range(*bounds)
    Tally.take(len(turns))
    return turns


def _imported(name: str, *rest: Any) -> Any:  # noqa: ANN401 (as `__import__` takes and returns it)
    """Import for a plain module: its own numba and NumPy, and kernels as plain ones."""
    own = _OWN.get(name)
    if own is not None:
        return own
    if name.startswith(_ROOMS) and name.endswith("kernels"):
        return plain_module(name)
    return builtins.__import__(name, *rest)


def _numpy() -> Any:  # noqa: ANN401 (a module)
    """Return what plain kernels import as NumPy: what is the same to the bit in both."""
    module: Any = ModuleType("numpy")
    module.zeros = module.empty = lambda shape, dtype=np.float64: made(shape, dtype)
    module.ones = lambda shape, dtype=np.float64: made(shape, dtype, 1)
    module.full = _full
    module.dtype, module.isnan = np.dtype, isnan
    module.inf, module.nan = float("inf"), float("nan")
    module.bool_, module.uint64, module.uint32 = np.bool_, np.uint64, np.uint32
    vars(module).update(OWN_NUMBERS)
    return module


def _full(shape: Any, fill: Any, dtype: Any = None) -> Any:  # noqa: ANN401 (as NumPy takes them)
    """Return an array of the same number throughout."""
    if dtype is None:
        dtype = np.int64 if type(fill) is int else np.float64
    return made(shape, dtype, fill)


_OWN = {"numpy": _numpy(), "numba": stand_in()}
_BUILTINS = {**vars(builtins), "__import__": _imported, "range": _counted}
