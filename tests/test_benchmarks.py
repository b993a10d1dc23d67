"""The commands that the documents name can be started."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_benchmarks_are_imported_as_python_m_does(name):
    """From the top level, where `python -m benchmarks.name` is typed."""
    import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_name_commands_that_exist(page):
    """Every command of a page is a module of the folder."""
    text = page.read_text(encoding="utf-8")

    assert "python benchmarks/" not in text
    assert set(re.findall(r"python -m benchmarks\.(\w+)", text)) <= set(MODULES)
