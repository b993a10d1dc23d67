"""What kernels import from numba, for those that are run as plain Python."""

from array import array
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.plain.arrays import plain

_Function = Callable[..., Any]


class Refused(TypeError):  # noqa: N818 (said to nobody but the caller)
    """An argument is none that the signature names."""


class Kind:
    """A type of arguments; called with others, it makes a signature."""

    def __call__(self, *arguments: "Kind") -> "Signature":
        """Return the signature of a kernel with this result."""
        return Signature(arguments, self)

    def taken(self, value: Any) -> Any:  # noqa: ANN401 (anything)
        """Return an argument as a plain kernel takes it."""
        raise NotImplementedError


class Scalar(Kind):
    """A type of numbers; called with one, it converts it."""

    def __init__(self, dtype: type[np.generic], cast: _Function, whole: bool) -> None:
        self.dtype = np.dtype(dtype)
        self._cast = cast
        self._from: tuple[type, ...] = (int, np.integer, bool, np.bool_)
        if not whole:
            self._from += (float, np.floating)

    def __getitem__(self, axes: object) -> Kind:
        """Return the type of arrays of such numbers."""
        return Array(self, len(axes) if isinstance(axes, tuple) else 1)

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 (types, or a number)
        """Return a signature, or a number of this type."""
        if len(arguments) == 1 and not isinstance(arguments[0], Kind):
            return self._cast(arguments[0])
        return super().__call__(*arguments)

    def taken(self, value: Any) -> Any:  # noqa: ANN401 (anything)
        """Return a number."""
        if not isinstance(value, self._from):
            raise Refused
        return self._cast(value)


class Array(Kind):
    """A type of arrays without gaps."""

    def __init__(
        self, of: Scalar, n_axes: int, layout: str = "C", *, readonly: bool = False
    ) -> None:
        self._dtype, self._n_axes = of.dtype, n_axes
        self._readonly = readonly
        if layout != "C":
            raise Refused

    def taken(self, value: Any) -> Any:  # noqa: ANN401 (anything)
        """Return a plain copy."""
        if type(value) is not np.ndarray or value.dtype != self._dtype:
            raise Refused
        flags = value.flags
        if value.ndim != self._n_axes or not flags.c_contiguous:
            raise Refused
        if not (self._readonly or flags.writeable):
            raise Refused
        return plain(value)

    def is_changed(self, value: NDArray[Any]) -> bool:
        """Say whether a kernel may write to an argument."""
        return not self._readonly and value.flags.writeable


class Tuple(Kind):
    """A type of tuples."""

    def __init__(self, parts: Sequence[Kind], made: _Function = tuple) -> None:
        self.parts = tuple(parts)
        self.made = made

    def taken(self, value: Any) -> Any:  # noqa: ANN401 (anything)
        """Return a tuple of plain things."""
        if not isinstance(value, tuple) or len(value) != len(self.parts):
            raise Refused
        return self.made(part.taken(item) for part, item in zip(self.parts, value, strict=True))


class Signature:
    """What a kernel takes and returns."""

    def __init__(self, arguments: Sequence[Kind], result: Kind | None = None) -> None:
        self.arguments = tuple(arguments)
        self.result = result


class Nothing(Kind):
    """The type of what returns nothing."""


def njit(*signature: Any, **_: Any) -> Any:  # noqa: ANN401 (as numba's)
    """Leave a function as it is; note its signature."""
    if len(signature) == 1 and callable(signature[0]) and not isinstance(signature[0], Kind):
        return signature[0]

    def as_it_is(function: _Function) -> _Function:
        if signature and isinstance(signature[0], (tuple, Signature)):
            told = signature[0]
            if isinstance(told, tuple):
                told = Signature(told)
            function.__dict__["signature"] = told
        return function

    return as_it_is


def _cast(code: str, own: type[int] | type[float]) -> _Function:
    """Return a function that fits numbers into an array's; Python's own know no bounds."""
    place: array[Any] = array(code, [0])

    def fitted(number: Any) -> Any:  # noqa: ANN401 (any number)
        place[0] = own(number)
        return place[0]

    return fitted


OWN_NUMBERS = {
    "float64": Scalar(np.float64, float, whole=False),
    "float32": Scalar(np.float32, _cast("f", float), whole=False),
    "int64": Scalar(np.int64, _cast("q", int), whole=True),
    "int32": Scalar(np.int32, _cast("i", int), whole=True),
    "uint8": Scalar(np.uint8, _cast("B", int), whole=True),
}
"""Types of which plain kernels see Python's own numbers."""


def _named(parts: Sequence[Kind], named: Any) -> Kind:  # noqa: ANN401 (a class)
    """Return the type of a named tuple."""
    return Tuple(parts, named._make)


def stand_in() -> Any:  # noqa: ANN401 (a module)
    """Return the module that plain kernels import as numba."""
    scalars = {
        **OWN_NUMBERS,
        "uint32": Scalar(np.uint32, np.uint32, whole=True),
        "uint64": Scalar(np.uint64, np.uint64, whole=True),
        "boolean": Scalar(np.bool_, bool, whole=True),
    }
    types: Any = ModuleType("types")
    types.Array, types.Tuple = Array, Tuple
    types.UniTuple = lambda kind, count: Tuple([kind] * count)
    types.NamedTuple = _named
    types.NamedUniTuple = lambda kind, count, named: _named([kind] * count, named)
    types.void = Nothing()
    numba: Any = ModuleType("numba")
    vars(numba).update(scalars)
    numba.njit, numba.types, numba.void = njit, types, types.void
    numba.from_dtype = lambda dtype: Scalar(dtype, tuple, whole=True)
    return numba
