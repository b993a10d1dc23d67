"""Kernels are compiled once, with one announcement, and never loaded after a change of a source."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import sampled

from netsim.common import jit

ROOT = Path(__file__).parents[3]
OUTER = """
from netsim.common.jit import njit
from made.inner_kernels import twice


@njit("float64(float64)", cache=True)
def eightfold(x):
    return twice(4.0 * x)


@njit("float64(float64)", cache=True)
def half(x):
    return 0.5 * x
"""
INNER = """
from netsim.common.jit import njit
from made.settings import FACTOR


@njit()
def twice(x):
    return FACTOR * x
"""
CALL = """
import logging
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
from netsim.common.jit import load_kernels
module = load_kernels("made.outer_kernels", "test kernels", 3)
assert load_kernels("made.outer_kernels", "test kernels", 3) is module
print(module.eightfold(1.0) + module.half(0.0))
"""
ANNOUNCED = "fabricsim WARNING compiling the test kernels (first use on this machine, about 3 s)"


@pytest.fixture
def kernels(tmp_path):
    """Return a folder with a package of kernels, and a function that runs them in a process."""
    made = tmp_path / "made"
    made.mkdir()
    (made / "__init__.py").touch()
    (made / "settings.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    (made / "outer_kernels.py").write_text(OUTER, encoding="utf-8")
    (made / "inner_kernels.py").write_text(INNER, encoding="utf-8")
    own = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": f"{tmp_path}/cache"}

    def run(code=CALL, **environment):
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", code],
            env={**os.environ, **own, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout), done.stderr.splitlines()

    return tmp_path, run


def test_the_first_compilation_is_announced_and_later_ones_come_from_disk(kernels):
    folder, run = kernels

    assert run() == (8.0, [ANNOUNCED])
    assert run() == (8.0, [])
    assert {path.name for path in (folder / "made").iterdir()} <= {
        "__init__.py",
        "settings.py",
        "outer_kernels.py",
        "inner_kernels.py",
        "__pycache__",
    }
    assert not list((folder / "made").rglob("*.nb?"))


@pytest.mark.parametrize("name", sampled(["inner_kernels.py", "settings.py"], {"settings.py"}))
def test_a_change_of_what_kernels_import_is_not_missed(kernels, name):
    """Also where size and time of the file are as before."""
    folder, run = kernels
    run()
    source = folder / "made" / name
    before = source.stat()
    text = source.read_text(encoding="utf-8").replace("2.0", "5.0").replace("R * x", "R + x")

    source.write_text(text, encoding="utf-8")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

    code = "import sys; sys.dont_write_bytecode = True\n" + CALL
    for cached in (folder / "made").rglob("*.pyc"):
        cached.unlink()
    assert run(code=code) == ({"inner_kernels.py": 6.0, "settings.py": 20.0}[name], [ANNOUNCED])


def test_two_versions_that_share_a_cache_compile_once_each(kernels):
    folder, run = kernels
    answers = []
    for factor in ("2.0", "5.00", "2.0", "5.00"):
        (folder / "made" / "settings.py").write_text(f"FACTOR = {factor}\n", encoding="utf-8")
        answers.append(run())

    assert [value for value, _ in answers] == [8.0, 20.0, 8.0, 20.0]
    assert [len(announced) for _, announced in answers] == [1, 1, 0, 0]


def test_two_processes_compile_once(kernels):
    """The second waits for the first, and then loads what that has compiled."""
    _, run = kernels
    both = f"""
import os, subprocess, sys
code = {CALL!r}
runs = [subprocess.Popen([sys.executable, "-c", code], stderr=-1, stdout=-1) for _ in range(2)]
print(sum(b"compiling" in run.communicate()[1] for run in runs))
"""

    assert run(code=both)[0] == 1.0


@pytest.mark.parametrize("kind", ["nbi", pytest.param("nbc", marks=pytest.mark.heavy)])
def test_damaged_compiled_code_is_compiled_again(kernels, kind):
    folder, run = kernels
    run()
    for path in (folder / "cache").rglob(f"*.{kind}"):
        path.write_bytes(path.read_bytes()[:40])

    assert run() == (8.0, [ANNOUNCED])
    run()
    assert run() == (8.0, [])


def test_kernels_run_where_nothing_can_be_written(kernels):
    """A file stands where the cache folder would be made."""
    folder, run = kernels
    (folder / "cache").touch()

    assert run() == (8.0, [ANNOUNCED])


def test_kernels_run_on_a_disk_that_is_full(kernels):
    """The file system takes small files only, as one that is nearly full does."""
    folder, run = kernels
    (folder / "sitecustomize.py").write_text(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n",
        encoding="utf-8",
    )

    assert run() == (8.0, [ANNOUNCED])
    assert not list((folder / "cache").rglob("*.nbc"))


@pytest.mark.parametrize(
    ("chosen", "xdg", "expected"),
    [
        ("{}/chosen", "{}/xdg", "{}/chosen"),
        (None, "{}/xdg", "{}/xdg"),
        (None, "here", "{}/home/.cache"),  # a relative one is none, says its standard
        (None, None, "{}/home/.cache"),
    ],
)
def test_the_cache_lies_where_numba_or_the_user_says(tmp_path, monkeypatch, chosen, xdg, expected):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in (("NUMBA_CACHE_DIR", chosen), ("XDG_CACHE_HOME", xdg)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value.format(tmp_path))

    folder = jit._folder.__wrapped__("netsim.flows.maxmin_kernels")

    assert str(folder.parent) == f"{expected.format(tmp_path)}/fabricsim"


def test_the_folders_that_were_not_used_for_longest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_MOST_FOLDERS", 2)
    for age, name in enumerate("abcd"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (10_000 - age, 10_000 - age))

    jit._remove_old(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
