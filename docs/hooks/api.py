"""Write the pages of the Python reference: one for each package, one for each public name."""

import importlib
import inspect
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx

# What a package adds to those before it: each name has one page, under its first home.
PACKAGES = ("fabricsim", "patterns", "netsim", "scheduler", "coupling")
SUMMARIES = {
    "fabricsim": "One function a question, and the classes of the answers.",
    "patterns": "Communication patterns over ranks.",
    "netsim": "The network: topologies, routings, models of contention, non-blocking checks.",
    "scheduler": "Workloads, allocators and queue policies.",
    "coupling": "Experiments, results, and what couples jobs to the network.",
}


def write_pages(folder: Path) -> None:
    """Write a page per package into a folder; `autosummary` makes those of the names."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "index.rst", _index())
    known: list[object] = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        values = {name: getattr(module, name) for name in module.__all__}
        own = {name: value for name, value in values.items() if not _among(value, known)}
        known += own.values()
        _write(folder / f"{package}.rst", _page(package, own))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _index() -> str:
    rows = [f":doc:`{package}`\n   {SUMMARIES[package]}\n" for package in PACKAGES]
    lines = ["Python", "======", "", *rows, ".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *(f"   {package}" for package in PACKAGES), ""])


def _among(value: object, known: list[object]) -> bool:
    return any(value is one for one in known)


def _page(package: str, names: dict[str, object]) -> str:
    lines = [package, "=" * len(package), "", SUMMARIES[package], ""]
    for title, takes in (("Functions", _is_function), ("Classes", inspect.isclass)):
        own = [f"   {package}.{name}" for name in sorted(names) if takes(names[name])]
        lines += _section(title, own)
    own = [name for name in sorted(names) if not _has_page(names[name])]
    modules = [name for name in own if isinstance(names[name], ModuleType)]
    for name in modules:
        lines += _section(
            f"{package}.{name}", [f"   {package}.{name}.{one}" for one in names[name].__all__]
        )
    data = [f"``{package}.{name}``" for name in own if name not in modules]
    if data:
        lines += ["Constants and tables", "-" * 20, "", ", ".join(data) + ".", ""]
    return "\n".join(lines)


def _is_function(value: object) -> bool:
    return inspect.isfunction(value) or inspect.isbuiltin(value)


def _has_page(value: object) -> bool:
    return inspect.isclass(value) or _is_function(value)


def _section(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    head = [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated", ""]
    return [*head, *names, ""]


def setup(_: Sphinx) -> dict[str, bool]:
    """Do nothing more: pages are written before Sphinx looks for them."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}
