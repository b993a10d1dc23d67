"""The public surface: what `__all__` says is there, documented, and nothing else is."""

import importlib
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from coupling.siblings import check_siblings

PACKAGES = ("netsim", "patterns", "scheduler", "coupling", "fabricsim")
LAZY = {"Any", "TYPE_CHECKING", "on_use", "check_siblings"}  # of packages that load on use


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_what_is_visible_and_each_name_is_in_the_docstring(name):
    """A public name is listed, exists, and is explained where a reader looks first."""
    package = importlib.import_module(name)

    for public in package.__all__:
        assert getattr(package, public) is not None
    documented = set(re.findall(r"`(\w+)`", package.__doc__))
    errors = {public for public in package.__all__ if public.endswith("Error")}
    assert set(package.__all__) - errors <= documented
    visible = {
        key
        for key, value in vars(package).items()
        if not key.startswith("_") and not isinstance(value, types.ModuleType)
    }
    helpers = set() if name == "patterns" else LAZY
    assert visible - helpers <= set(package.__all__)


def test_an_unknown_public_name_is_an_attribute_error():
    """Lazy loading must not hide a spelling error."""
    coupling = importlib.import_module("coupling")

    with pytest.raises(AttributeError, match="no attribute 'Experimnt'"):
        _ = coupling.Experimnt


def test_the_five_packages_lie_beside_each_other():
    """Ours, not those of another distribution."""
    places = {Path(importlib.import_module(name).__file__).parents[1] for name in PACKAGES}

    assert len(places) == 1


def test_a_package_of_the_same_name_from_elsewhere_is_named(tmp_path, monkeypatch):
    """The message says which package, where it was found, and what to do."""
    other = tmp_path / "scheduler"
    other.mkdir()
    (other / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [key for key in sys.modules if key.split(".")[0] == "scheduler"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(ImportError, match=r"its own package 'scheduler'.*uninstall it"):
        check_siblings()


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_its_names_and_each_is_what_its_home_defines(name):
    package = importlib.import_module(name)

    assert dir(package) == sorted(package.__all__) or name == "patterns"
    for public in package.__all__:
        value = getattr(package, public)
        if isinstance(value, type):
            assert getattr(importlib.import_module(value.__module__), public) is value


def test_a_package_reads_its_list_of_names_only_when_it_is_asked_for_one():
    """A command that needs a module of a package must not pay for the names of the package."""
    code = (
        "import sys, fabricsim.checking.onuse as onuse\n"
        "onuse._typed_imports = lambda package: sys.exit(f'read {package}')\n"
        "import netsim, scheduler, coupling, fabricsim.checking\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
