"""The import direction and the size of modules are facts of the code base, so a test holds them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "netsim": set(),
    "patterns": set(),
    "scheduler": {"netsim", "patterns"},
    "coupling": {"netsim", "patterns", "scheduler"},
}
SOURCES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def imported_packages(path):
    """Return the project packages that a source file imports, at any depth."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names.add(node.module.split(".")[0])
    return names & MAY_IMPORT.keys()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_imports_only_packages_below_its_own(path):
    """Network and patterns know nobody; the scheduler never knows the coupling."""
    package = path.relative_to(ROOT).parts[0]

    assert imported_packages(path) <= MAY_IMPORT[package] | {package}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_stays_small(path):
    """A module past 400 lines holds two ideas and is split."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


WRITES_FILES = re.compile(
    r"""\.write_(text|bytes)\(|mkstemp|NamedTemporaryFile|\.to_(csv|parquet)\((?!index|\))"""
    r"""|open\(([^()]*, )?(mode=)?["'](w|a|x|r\+)"""
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_written_in_one_place(path):
    """Whole or not at all: `netsim.wholefile` alone opens files to write."""
    found = WRITES_FILES.search(path.read_text(encoding="utf-8"))

    assert bool(found) == (path.name == "wholefile.py"), found
