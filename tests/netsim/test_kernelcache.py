"""Kernels are compiled once, with one announcement, wherever something can be written."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netsim import kernelcache

ROOT = Path(__file__).parents[2]
OUTER = """
from numba import njit

from inner_kernels import twice


@njit("float64(float64)", cache=True)
def eightfold(x):
    return twice(4.0 * x)
"""
INNER = """
from numba import njit


@njit("float64(float64)", cache=True)
def twice(x):
    return 2.0 * x
"""
CALL = """
import logging, sys
logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
from netsim.kernelcache import load_kernels
module = load_kernels("outer_kernels", "test kernels", 3)
assert load_kernels("outer_kernels", "test kernels", 3) is module
print(module.eightfold(1.0))
"""


@pytest.fixture
def kernels(tmp_path):
    """Return a folder with two kernel modules, and a function that runs them in a process."""
    (tmp_path / "outer_kernels.py").write_text(OUTER, encoding="utf-8")
    (tmp_path / "inner_kernels.py").write_text(INNER, encoding="utf-8")

    def run(code=CALL, **environment):
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout), done.stderr.splitlines()

    return tmp_path, run


def test_the_first_compilation_is_announced_and_later_ones_come_from_disk(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    announcement = (
        "fabricsim WARNING compiling the test kernels (first use on this machine, about 3 s)"
    )

    assert run(**cache) == (8.0, [announcement])  # two modules, in the same words
    assert run(**cache) == (8.0, [])


def test_numba_can_still_compile_after_it_loaded_what_was_compiled(kernels):
    """Loading leaves out what only compiling needs; who compiles then has all of it, BLAS too."""
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    after = """
import sys
assert "scipy.linalg" not in sys.modules, "loading needs no linear algebra"
import numpy as np
from numba import njit
product = njit(lambda a, b: a @ b)(np.eye(2), np.full((2, 2), 3.0))
print(module.eightfold(1.0) + product.sum() - 12.0)
"""

    answer, said = run(code=CALL.rpartition("print")[0] + after, **cache)

    assert answer == 8.0
    assert said == []


def test_code_of_kernels_is_loaded_when_they_are_called(kernels):
    """Those that only others use never are: their callers hold a copy."""
    _, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(kernels[0] / "cache")}
    run(**cache)
    look = """
import inner_kernels
print(module.eightfold(1.0) + 100 * len(module.eightfold.overloads))
assert not inner_kernels.twice.overloads
"""

    assert run(code=CALL.rpartition("print")[0] + look, **cache) == (108.0, [])


def test_kernels_that_are_not_loaded_yet_can_be_used_by_what_is_compiled(kernels):
    """As declared: numba would compile a second version for whole numbers, by itself."""
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    use = """
from numba import njit
eightfold = module.eightfold
own = njit(lambda x: eightfold(x) + 1.0)
print(own(1))
assert len(eightfold.overloads) == 1
"""

    assert run(code=CALL.rpartition("print")[0] + use, **cache) == (9.0, [])


def test_kernels_whose_files_vanish_before_they_are_called_are_compiled_again(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    lost = "import shutil, os\nshutil.rmtree(os.environ['NUMBA_CACHE_DIR'])\n"
    head, _, call = CALL.rpartition("print")

    value, announced = run(code=f"{head}{lost}print{call}", **cache)

    assert value == 8.0
    assert len(announced) == 1
    assert run(**cache)[0] == 8.0
    assert run(**cache) == (8.0, [])


def test_code_for_another_processor_is_compiled_once_and_kept_beside(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    other = {**cache, "NUMBA_CPU_NAME": "generic"}

    assert [len(run(**here)[1]) for here in (other, other, cache)] == [1, 0, 0]


def test_threads_that_call_a_kernel_at_once_load_it_once(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    many = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
together = Barrier(8)
def call(number):
    together.wait()
    return module.eightfold(1.0)
with ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(call, range(8))))
assert len(module.eightfold.overloads) == 1
"""

    assert run(code=CALL.rpartition("print")[0] + many, **cache) == (64.0, [])


def test_only_kernels_go_without_entries_for_callers_in_c(kernels):
    """A tenth of the time of every compilation; who compiles for himself has them."""
    folder, run = kernels
    look = """
from numba import njit
own = njit("float64(float64)")(lambda x: 2.0 * x)
with_entry = [
    "define" in code and "@cfunc." in code
    for kernel in (module.eightfold, own)
    for code in (next(iter(kernel.overloads.values())).library.get_llvm_str(),)
]
print(10 * with_entry[0] + with_entry[1])
"""

    answer, _ = run(code=CALL.rpartition("print")[0] + look, NUMBA_CACHE_DIR=str(folder / "cache"))

    assert answer == 1.0


@pytest.mark.parametrize(
    "moved",
    [
        "import numba.core.cpu; del numba.core.cpu.CPUTargetOptions",
        "import numba.core.runtime.nrt; del numba.core.runtime.nrt.rtsys",
        "import netsim.kernelcache; netsim.kernelcache._ASKED = 'of_another_name', 'moved'",
    ],
)
def test_kernels_are_compiled_and_loaded_where_numba_has_moved_what_it_promises_nobody(
    kernels, moved
):
    folder, run = kernels
    code = f"{moved}\n{CALL}"

    answers = [run(code=code, NUMBA_CACHE_DIR=str(folder / "cache")) for _ in range(2)]

    assert [answer for answer, _ in answers] == [8.0, 8.0]
    assert answers[1][1] == []


def test_a_change_of_an_imported_kernel_is_not_missed(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)

    (folder / "inner_kernels.py").write_text(INNER.replace("2.0", "5.00"), encoding="utf-8")

    assert run(**cache)[0] == 20.0


def test_two_versions_that_share_a_cache_compile_once_each(kernels):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    texts = (INNER, INNER.replace("2.0", "5.00"))
    told = []
    for text in (*texts, *texts):
        (folder / "inner_kernels.py").write_text(text, encoding="utf-8")
        told.append(run(**cache))

    assert [value for value, _ in told] == [8.0, 20.0, 8.0, 20.0]
    assert [len(announced) for _, announced in told] == [1, 1, 0, 0]


def versions_made(folder, ages):
    """Return folders of older versions of a module, last used so many days ago; None: damaged."""
    made = {}
    for number, age in enumerate(ages):
        old = folder / f"some_kernels-{number:016x}"
        old.mkdir()
        if age is not None:
            (old / "sealed").touch()
            used_s = time.time() - 86400.0 * age
            os.utime(old / "sealed", (used_s, used_s))
        made[old.name] = age
    return made


def test_versions_unused_for_30_days_and_all_but_the_latest_four_go(tmp_path):
    made = versions_made(tmp_path, [1, 40, None, 3, 29, 2, 5])
    other = tmp_path / "others_kernels-1"
    other.mkdir()
    new = tmp_path / "some_kernels-new"
    new.mkdir()

    kernelcache._clear_beside(new)

    left = {path.name for path in tmp_path.iterdir()}
    assert {made[name] for name in left & made.keys()} == {1, 2, 3, 5}
    assert left - made.keys() == {new.name, other.name}


@pytest.mark.parametrize(("age", "noted"), [(2.0, True), (0.5, False)])
def test_use_is_noted_once_a_day(tmp_path, age, noted):
    (name,) = versions_made(tmp_path, [age])
    before_s = kernelcache._used_s(tmp_path / name)

    kernelcache._note_use(tmp_path / name / "sealed")

    assert (kernelcache._used_s(tmp_path / name) > before_s) is noted


def test_kernels_run_where_nothing_can_be_written(kernels):
    """A file stands where each cache folder would be made."""
    folder, run = kernels
    (folder / "file").touch()
    nowhere = str(folder / "file" / "sub")
    code = (
        f"import netsim.kernelcache as k, pathlib\nk._places = lambda: [pathlib.Path({nowhere!r})]"
    )
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")

    value, announced = run()

    assert value == 8.0
    assert len(announced) == 1


@pytest.mark.parametrize("damage", ["truncated", "emptied", "changed", "removed"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_compiled_code_is_compiled_again(kernels, kind, damage):
    folder, run = kernels
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    run(**cache)
    for path in (folder / "cache").rglob(f"*.{kind}"):
        whole = path.read_bytes()
        half = len(whole) // 2
        path.write_bytes(
            {
                "truncated": whole[:half],
                "emptied": b"",
                "changed": whole[:half] + bytes(byte ^ 255 for byte in whole[half:]),
                "removed": b"",
            }[damage]
        )
        if damage == "removed":
            path.unlink()

    value, announced = run(**cache)

    assert value == 8.0
    assert len(announced) == 1
    assert run(**cache) == (8.0, [])


def test_compiled_code_that_cannot_be_written_whole_is_compiled_elsewhere(kernels):
    """The file system takes small files only, as one that is nearly full does."""
    folder, run = kernels
    (folder / "sitecustomize.py").write_text(
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n",
        encoding="utf-8",
    )

    value, announced = run(NUMBA_CACHE_DIR=str(folder / "cache"))

    assert value == 8.0
    assert len(announced) == 1
    assert not list((folder / "cache").rglob("*.nb?"))


def test_kernels_run_where_there_is_no_home(kernels):
    _, run = kernels
    code = (
        "import pathlib\npathlib.Path.expanduser = lambda self: (_ for _ in ()).throw(RuntimeError)"
    )
    folder = kernels[0]
    (folder / "file").touch()
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")

    assert run(NUMBA_CACHE_DIR=str(folder / "cache"))[0] == 8.0


@pytest.mark.parametrize(
    ("cache", "home", "last"),
    [
        ("here", "/home/ann", "/home/ann/.cache/fabricsim"),
        ("/caches", "/home/ann", "/caches/fabricsim"),
        ("here", "there", None),
    ],
)
def test_no_code_is_loaded_from_the_folder_where_somebody_is(monkeypatch, cache, home, last):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", home)

    beside, *others = map(str, kernelcache._places())

    assert beside == str(Path(kernelcache.__file__).parent / "__pycache__")
    assert others == ([] if last is None else [last])


def test_compiled_code_is_known_where_it_would_be_loaded_from(kernels):
    """Not where an earlier place, still empty, would have it compiled."""
    folder, run = kernels
    (folder / "file").touch()
    code = (
        "import pathlib, netsim.kernelcache as k\n"
        f"one, two, no = [pathlib.Path({str(folder)!r}, name) for name in ('a', 'b', 'file/c')]\n"
        "def known(*places):\n"
        "    k._places = lambda: places\n"
        "    return k.is_compiled('outer_kernels')\n"
    )
    run(code=f"{code}k._places = lambda: [two]\n{CALL}")

    told, _ = run(
        code=f"{code}print(1000 * known(two) + 100 * known(no, two) + 10 * known(one, two))"
    )

    assert told == 1100
