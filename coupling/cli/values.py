"""What stands on the command line, where it is plain: to read a value typer imports pydantic."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args, get_origin

from typer import core

_ODD = object()  # for typer to read, or to refuse in its words
_CHECKED = {  # what our parameters leave as it is
    "parser": None,
    "clamp": False,
    "exists": False,
    "file_okay": True,
    "dir_okay": True,
    "writable": False,
    "readable": True,
    "resolve_path": False,
    "allow_dash": False,
    "path_type": None,
}


@contextmanager
def plain_values() -> Iterator[None]:
    """
    Read plain values inside the block without pydantic, which takes a tenth of a second to import.

    All else is read, and what is wrong refused, by typer.
    """
    kind: Any = getattr(core, "_TyperParameter", None)
    theirs = getattr(kind, "get_runtime_param", None)
    if theirs is None:  # typer's own affair, not promised to anybody: then as typer reads
        yield
        return
    ours = _Reader(theirs)
    kind.get_runtime_param = lambda _: ours
    try:
        yield
    finally:
        kind.get_runtime_param = theirs


class _Reader:
    """Reads values of parameters, and hands on to typer what is not plain."""

    def __init__(self, theirs: Callable[[Any], Any]) -> None:
        self._theirs = theirs

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 (typer's, any value)
        """Return what a command is called with."""
        try:
            read = _read(value, param)
        except AttributeError:  # a typer that keeps what parameters are declared as elsewhere
            read = _ODD
        if read is not _ODD:
            return read
        return self._theirs(param).coerce(value, param=param, ctx=ctx)


def _read(value: Any, param: Any) -> Any:  # noqa: ANN401 (as above)
    """Return a plain value as what its parameter is declared to be."""
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    many = param.multiple or param.nargs == -1
    if value is None:
        return () if many else None
    if any(getattr(info, name, usual) != usual for name, usual in _CHECKED.items()):
        return _ODD
    if get_origin(kind) is not list:
        return _ODD if many else _one(value, kind, info)
    if not isinstance(value, list | tuple):
        return _ODD
    items = [_one(item, get_args(kind)[0], info) for item in value]
    return _ODD if any(item is _ODD for item in items) else items


def _one(value: Any, kind: Any, info: Any) -> Any:  # noqa: ANN401 (as above)
    """Return one plain value."""
    if kind is int and isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if str(int(value[:9])) == value else _ODD
    if kind in (int, float) and type(value) is kind:
        least, most = info.min, info.max
        if (least is None or value >= least) and (most is None or value <= most):
            return value
    if isinstance(value, str) and value.isprintable():  # else perhaps no text at all
        if kind is str:
            return value
        if kind is Path and (os.access(path := Path(value), os.R_OK) or not path.exists()):
            return path
    return _ODD
