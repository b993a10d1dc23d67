"""The public surface: what `__all__` says is there, documented, and nothing else is."""

import importlib
import re
import subprocess
import sys
import types
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

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


OTHER = "THEIRS = True\n"


def installed(folder):
    """Return a folder with packages of our names and the record of their installation."""
    lines = []
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"NAME = {name!r}\n")
        digest = sha256(f"NAME = {name!r}\n".encode()).digest()
        coded = urlsafe_b64encode(digest).decode().rstrip("=")
        lines.append(f"{name}/__init__.py,sha256={coded},20\n")
    info = folder / "fabricsim-0.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: fabricsim\nVersion: 0.2.0\n")
    (info / "RECORD").write_text("".join(lines))
    return folder


@pytest.fixture
def check(tmp_path):
    """Return a folder with our packages, and a function that checks them in a process."""
    root = installed(tmp_path)
    source = Path(importlib.import_module("fabricsim.checking.siblings").__file__)
    code = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
spec = spec_from_file_location("siblings", {str(source)!r})
siblings = module_from_spec(spec)
spec.loader.exec_module(siblings)
sys.path[:0] = sys.argv[1:]
try:
    siblings.check_siblings(Path({str(root)!r}))
except ImportError as error:
    print(error)
"""

    def checked(*path):
        command = [sys.executable, "-I", "-S", "-c", code, *map(str, path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return done.stdout

    return root, checked


def test_packages_as_they_were_installed_are_ours(check):
    root, checked = check

    assert checked(root) == ""


def test_a_package_of_the_same_name_from_elsewhere_is_named(check):
    """The message says which package, where it was found, and what to do."""
    root, checked = check
    other = root / "other" / "scheduler"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text(OTHER)

    said = checked(root / "other", root)

    assert f"own package 'scheduler' in {root}, found {other}; " in said
    assert "reinstall fabricsim" in said


def test_another_distribution_written_over_a_package_is_noticed_and_named(check):
    """As `pip install scheduler` does, into the same folder."""
    root, checked = check
    (root / "scheduler" / "__init__.py").write_text(OTHER)
    (root / "scheduler-8.2.dist-info").mkdir()
    (root / "scheduler-8.2.dist-info" / "METADATA").write_text("Name: scheduler\nVersion: 8.2\n")
    (root / "scheduler-8.2.dist-info" / "RECORD").write_text("scheduler/__init__.py,,\n")

    said = checked(root)

    assert f"found {root}/scheduler/__init__.py of another distribution; " in said
    assert "pip uninstall scheduler, then reinstall fabricsim" in said


def test_a_package_that_was_uninstalled_with_another_is_noticed(check):
    root, checked = check
    (root / "patterns" / "__init__.py").unlink()

    said = checked(root)

    assert f"found only the folder {root}/patterns without __init__.py; reinstall" in said


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
