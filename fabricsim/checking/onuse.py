"""Names of a package that are loaded when they are first used."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any


def on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` that load names when they are asked for."""
    # Their homes are the imports under ``if TYPE_CHECKING``, which type checkers read too.

    @cache
    def homes() -> dict[str, str]:
        return dict(_typed_imports(package))

    def named(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
        if name not in sys.modules[package].__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes()[name]
        return _of(home, name)

    def listed() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return named, listed


def _of(module: str, name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
    return getattr(import_module(module), name)


def _typed_imports(package: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a package imports for type checkers, and the modules they are from."""
    source = inspect.getsource(sys.modules[package])
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((alias.name, line.module) for alias in line.names)
