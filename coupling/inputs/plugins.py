"""Plug-ins: allocators, queues, patterns, fabrics, routings, models and readers of one's own."""

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from coupling.errors import ExperimentError
from fabricsim.checking import plain
from netsim.common.errors import TopologyError
from netsim.formats.fields import Fields
from netsim.registries.contention_models import CONTENTION_MODELS
from netsim.registries.routings import ROUTINGS
from netsim.registries.topologies import TOPOLOGIES
from netsim.topology.base import Topology
from patterns.registry import PATTERNS
from scheduler.allocators import ALLOCATORS
from scheduler.queues import POLICIES
from scheduler.workload.registry import READERS


def is_object(value: object) -> bool:
    """Say whether something is an object that its class and options make again."""
    return is_dataclass(value) and not isinstance(value, type)


def options_of(value: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    """Return what an object was made with."""
    return {own.name: getattr(value, own.name) for own in fields(value) if own.init}


OURS = frozenset({"netsim", "patterns", "scheduler", "coupling", "fabricsim"})
REGISTRIES: Mapping[str, MutableMapping[str, Any]] = {
    "allocators": ALLOCATORS,
    "queues": POLICIES,
    "patterns": PATTERNS,
    "topologies": TOPOLOGIES,
    "routings": ROUTINGS,
    "contention_models": CONTENTION_MODELS,
    "readers": READERS,
}
"""What can be added to, by kind; ``fabricsim.KIND`` is the group of entry points."""

DICTIONARIES: Mapping[str, str] = {
    "ALLOCATORS": "allocators",
    "POLICIES": "queues",
    "PATTERNS": "patterns",
    "TOPOLOGIES": "topologies",
    "ROUTINGS": "routings",
    "CONTENTION_MODELS": "contention_models",
    "READERS": "readers",
}
"""Kind by the name of a dictionary in the file of a plug-in, as our own registries are called."""

_KINDS: Mapping[str, str] = {
    "allocator": "allocators",
    "compare": "allocators",
    "queue": "queues",
    "routing": "routings",
    "model": "contention_models",
    "topology": "topologies",
    "kind": "topologies",
    "format": "readers",
    "pattern": "patterns",
}
"""Kind that the value of a field names."""

_REFERENCE = re.compile(r"(?P<place>[^:]+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)")
_MADE: dict[str, dict[str, Any]] = {kind: {} for kind in REGISTRIES}  # what was added, as written


class PluginError(ExperimentError):
    """A plug-in that cannot be loaded, or that adds what is there already."""


def load_installed() -> None:
    """Add what installed distributions offer as entry points ``fabricsim.KIND``."""
    for kind, point in _installed_plugins(tuple((path, _changed_ns(path)) for path in sys.path)):
        owner = point.dist.name if point.dist is not None else "an installed distribution"
        if point.name in _MADE[kind]:
            continue
        try:
            made = point.load()
        except Exception as error:  # whatever the plug-in raises while it is imported
            raise PluginError(
                f"{owner}: entry point {point.name!r} of fabricsim.{kind} cannot be loaded: "
                f"{_error_line(error)}."
            ) from error
        _add_entry(kind, point.name, made, owner)


@lru_cache(maxsize=1)
def _installed_plugins(places: tuple[tuple[str, int], ...]) -> list[tuple[str, EntryPoint]]:
    """Look through all that is installed, once as long as these directories do not change."""
    del places
    found = entry_points()
    return [
        (kind, point) for kind in REGISTRIES for point in found.select(group=f"fabricsim.{kind}")
    ]


def _changed_ns(place: str) -> int:
    """Return when a directory changed, in ns; -1 where there is none."""
    try:
        return Path(place or ".").stat().st_mtime_ns
    except OSError:
        return -1


def load_file(path: str | Path) -> dict[str, list[str]]:
    """Add what a Python file holds in dictionaries such as ``ALLOCATORS = {"corner": Corner}``."""
    module = _module_of_file(str(path))
    found = {
        kind: vars(module)[name]
        for name, kind in DICTIONARIES.items()
        if isinstance(vars(module).get(name), dict)
    }
    if not found:
        names = ", ".join(DICTIONARIES)
        raise PluginError(f"{path}: expected a dictionary of plug-ins, one of {names}; found none.")
    for kind, entries in found.items():
        for name, made in entries.items():
            _add_entry(kind, name, made, str(path))
    return {kind: list(entries) for kind, entries in found.items()}


def settled(value: Any, folder: Path, key: str = "") -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Register what fields refer to (references, classes, patterns); return them as texts."""
    if isinstance(value, Mapping):
        return {
            named(name, "allocators", folder) if key == "compare_options" else name: settled(
                entry, folder, _inner_key(key, name)
            )
            for name, entry in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [settled(entry, folder, key) for entry in value]
    kind = _KINDS.get(key)
    if kind is None or value is None or isinstance(value, (Topology, bool, int, float)):
        return value
    if kind == "patterns" and is_object(value):
        own = plain(options_of(value), type(value).__name__, PluginError)
        inner = {name: settled(entry, folder, "pattern") for name, entry in own.items()}
        return {"name": named(type(value), kind, folder), **inner}
    return named(value, kind, folder)


def named(value: object, kind: str, folder: Path) -> str:
    """Return the name of something, and register it under that name."""
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value)
        return value if match is None else _register_reference(match, kind, folder)
    for name, known in REGISTRIES[kind].items():
        if known is value:
            return name
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        raise PluginError(
            f"{kind}: expected a name, a class or a function, got an object of type "
            f"{type(value).__name__}; give its class, and what it is made with as options."
        )
    module, name = value.__module__, value.__qualname__
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = str(Path(file).resolve()) if file else ""
    if not module or not name.isidentifier():
        raise PluginError(
            f"{kind}: {name} is made inside a function or typed at a prompt, so that no other "
            "process finds it; write it at the top level of a file."
        )
    reference = f"{module}:{name}"
    if reference not in _MADE[kind]:
        _add_entry(kind, reference, value, reference)
    return reference


def referred(reference: str, folder: Path) -> object:
    """Return the class or function of ``"module:Name"`` or ``"file.py:Name"``."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise PluginError(f"{reference}: expected module:Name or file.py:Name.")
    return _held_object(_reference_place(match, folder), match["name"])


def label_of(name: str) -> str:
    """Return the name of an allocator in tables; of a reference the part behind the colon."""
    return name.rpartition(":")[2]


def sources(tables: Any) -> dict[str, str]:  # noqa: ANN401 (whatever a table may hold)
    """Return SHA-256 by path of plug-in files outside our own packages."""
    used, files = set(_all_texts(tables)), set()
    for made in (entries[name] for entries in _MADE.values() for name in used & entries.keys()):
        module = sys.modules.get(getattr(made, "__module__", ""))
        file = getattr(module, "__file__", None)
        if module is not None and file and module.__name__.partition(".")[0] not in OURS:
            files.add(str(Path(file).resolve()))
    return {file: hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in sorted(files)}


def _all_texts(value: Any) -> Iterator[str]:  # noqa: ANN401 (whatever a table may hold)
    """Yield all texts at any depth, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield key
            yield from _all_texts(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _all_texts(entry)


def _inner_key(key: str, name: str) -> str:
    """Return what a field inside another names: ``name`` is that of the table around it."""
    if name == "name" and key in {"routing", "pattern"}:
        return key
    return "pattern" if key == "pattern" and name not in _KINDS else name


def _register_reference(match: re.Match[str], kind: str, folder: Path) -> str:
    """Have what a reference stands for registered, and return it with an absolute path."""
    place, name = _reference_place(match, folder), match["name"]
    reference = f"{place}:{name}"
    if reference not in _MADE[kind]:
        _add_entry(kind, reference, _held_object(place, name, f"{kind}: "), reference)
    return reference


def _reference_place(match: re.Match[str], folder: Path) -> str:
    """Return the module or the absolute path in a reference."""
    place = match["place"]
    return str(Path.cwd() / folder / place) if place.endswith(".py") else place


def _held_object(place: str, name: str, where: str = "") -> object:
    """Return what a module or file holds under a name."""
    module = _module_of_file(place) if place.endswith(".py") else _module_named(place)
    if not hasattr(module, name):
        raise PluginError(f"{where}{place} holds no {name!r}.")
    return getattr(module, name)


def _module_named(name: str) -> ModuleType:
    """Import a module by its name."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # whatever the plug-in raises while it is imported
        raise PluginError(f"module {name!r} cannot be loaded: {_error_line(error)}.") from error


@lru_cache
def _module_of_file(path: str) -> ModuleType:
    """Run a file as a module, once in a process."""
    place = Path(path).resolve()
    main = sys.modules["__main__"]
    if getattr(main, "__file__", None) and Path(str(main.__file__)).resolve() == place:
        return main
    name = f"fabricsim_plugin_{hashlib.sha256(str(place).encode()).hexdigest()[:12]}"
    if name in sys.modules:  # under another path
        return sys.modules[name]
    loader = SourceFileLoader(name, str(place))  # also where a link leads to a name without .py
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None or spec.loader is None or not place.is_file():
        raise PluginError(f"{path}: expected a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the plug-in raises while it is run
        del sys.modules[name]
        raise PluginError(f"{path}: cannot be loaded: {_error_line(error)}.") from error
    return module


def _add_entry(kind: str, name: str, made: object, owner: str) -> None:
    """Add an entry to a registry."""
    registry = REGISTRIES[kind]
    if name in registry and _MADE[kind].get(name) is not made:
        raise PluginError(f"{owner}: {name!r} of {kind} is taken.")
    if not callable(made):
        raise PluginError(f"{owner}: {name!r} of {kind}: expected a class or function.")
    _MADE[kind][name] = made
    registry[name] = _of_fields(made, name) if kind == "topologies" else made


def _of_fields(build: Callable[..., object], name: str) -> Callable[[Fields, Any], Topology]:
    """Let a function with plain keywords build a fabric from the fields of a table."""

    def read(table: Fields, common: Any) -> Topology:  # noqa: ANN401 (builder keywords)
        given = {}
        for key, parameter in inspect.signature(build).parameters.items():
            if key in common:
                given[key] = common[key]
            elif key in table:
                given[key] = table.raw(key)
            elif parameter.default is parameter.empty:
                raise table.error(key, "a value")
        made = build(**given)
        if not isinstance(made, Topology):
            raise TopologyError(f"topology {name!r}: expected a Topology, got {made!r}.")
        return made

    return read


def _error_line(error: Exception) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
