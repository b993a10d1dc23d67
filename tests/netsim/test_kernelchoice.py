"""Small calls are run as plain Python, with the bits of compiled code; large ones are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = """
from typing import NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, njit, types

ROW = np.dtype([("count", np.int32), ("share", np.float64)], align=True)
_ROWS = from_dtype(ROW)[::1]
LIMIT = 7


class Own(NamedTuple):
    one: int


@njit(int64(int64[::1]), cache=True)
def spread(values):
    for i in range(values.size):
        values[i] = i
    return values.size


@njit(float64(float64[::1], float64[::1]), cache=True, error_model="numpy")
def divided(left, right):
    left[0] = 3.0
    return left[1] / right[0]


@njit(int64(int64[::1], int64[::1]), cache=True)
def both(one, other):
    one[0] = 5
    return other[0]


@njit(int64(int64[::1], types.Array(int64, 1, "C", readonly=True)), cache=True)
def before(one, other):
    one[0] = 5
    return other[0]


@njit(int64(int64[::1]), cache=True)
def outside(values):
    values[0] = 5
    return values[values.size + 1_000_000]


@njit((_ROWS,), cache=True)
def swapped(rows):
    first, spare = rows[0], rows.size - 1
    rows[spare] = rows[0]
    rows[0] = rows[1]
    rows[1] = rows[spare]
    return first.count, rows[1].share


@njit((float64[::1],), cache=True)
def named(values):
    return Own(values.size)
"""
SAID = """
import logging, sys
import numpy as np
logging.basicConfig(format="%(message)s")
from netsim import kernelchoice
from netsim.plain.arrays import Tally
made = kernelchoice.kernels_of("some_kernels", "test kernels", 3)
numbers = np.zeros(10, np.int64)
def compiled():
    return "numba" in sys.modules
"""


@pytest.fixture
def choose(tmp_path):
    """Return a function that runs code on a module of kernels, and returns what it printed."""
    (tmp_path / "some_kernels.py").write_text(KERNELS, encoding="utf-8")

    def run(code):
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", SAID + code],
            env={
                **os.environ,
                "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr.splitlines()

    return run


def test_a_small_call_compiles_nothing_and_says_nothing(choose):
    told, said = choose("print(made.spread(numbers), numbers.sum(), made.LIMIT, compiled())")

    assert told == ["10", "45", "7", "False"]
    assert said == []


def test_large_arrays_are_for_compiled_kernels(choose):
    told, said = choose(
        "numbers = np.zeros(kernelchoice._LARGE + 1, np.int64)\n"
        "print(made.spread(numbers), numbers[-1], compiled())"
    )

    assert told == ["200001", "200000", "True"]
    assert said == ["compiling the test kernels (first use on this machine, about 3 s)"]


LONG = """
calls, numbers = 0, np.zeros(10_000, np.int64)
while not compiled():
    numbers[:] = -1
    assert made.spread(numbers) == 10_000
    assert (numbers == np.arange(10_000)).all()
    calls += 1
print(calls, type(made.spread).__name__)
"""
TURNS = 10_000 + 30 + 10_000 // 400  # of such a call: of its loop, and for its sake


def test_much_work_in_small_calls_ends_in_compiled_kernels(choose):
    """In the middle of a call, which then is as if it had not begun."""
    told, said = choose(LONG)

    assert told == [str(2_400_000 // TURNS + 1), "CPUDispatcher"]
    assert said == ["compiling the test kernels (first use on this machine, about 3 s)"]


def test_less_is_done_plainly_where_compiled_code_lies_at_hand(choose):
    choose("made.compiled('spread')")

    told, said = choose(LONG)

    assert told == [str(400_000 // TURNS + 1), "CPUDispatcher"]
    assert said == []


def test_still_less_is_done_plainly_where_numba_is_imported_anyhow(choose):
    choose("made.compiled('spread')")

    told, said = choose(
        "import numba\ndef compiled():\n    return 'some_kernels' in sys.modules\n" + LONG
    )

    assert told == [str(50_000 // TURNS + 1), "CPUDispatcher"]
    assert said == []


def test_one_call_does_not_use_up_what_many_may(choose):
    """A call may ask once for more."""
    told, _ = choose("made.spread(np.zeros(200_000, np.int64))\nprint(compiled())")
    assert told == ["False"]

    told, _ = choose(
        "kernelchoice._LARGE = 10**9\nmade.spread(np.zeros(900_000, np.int64))\nprint(compiled())"
    )
    assert told == ["True"]


@pytest.mark.parametrize(("turns", "at_once"), [(2_000_000, False), (3_000_000, True)])
def test_who_expects_much_has_compiled_kernels_at_once(choose, turns, at_once):
    told, _ = choose(f"kernelchoice.expect({turns})\nmade.spread(numbers)\nprint(compiled())")

    assert told == [str(at_once)]


def test_what_python_refuses_is_for_compiled_kernels_and_has_changed_nothing(choose):
    """Python divides by no zero; compiled kernels do as NumPy does."""
    told, _ = choose(
        "left = np.array([1.0, -2.0])\n"
        "from netsim.plain.loading import plain_module, run\n"
        "try:\n"
        "    run(plain_module('some_kernels').divided, (left, np.zeros(1)))\n"
        "except ZeroDivisionError:\n"
        "    print(left[0], compiled())\n"
        "print(made.divided(left, np.zeros(1)), left[0], compiled())"
    )

    assert told == ["1.0", "False", "-inf", "3.0", "True"]


def test_a_place_outside_an_array_is_an_error_as_compiled_kernels_would_look_there(choose):
    told, _ = choose(
        "try:\n"
        "    made.outside(numbers)\n"
        "except IndexError:\n"
        "    print('refused', numbers[0], compiled())"
    )

    assert told == ["refused", "0", "False"]


@pytest.mark.parametrize("call", ["both(numbers[:5], numbers[:5])", "before(numbers, numbers)"])
def test_two_names_of_one_array_are_for_compiled_kernels(choose, call):
    """Also where a kernel writes under one of them alone."""
    told, _ = choose(f"print(made.{call}, compiled())")

    assert told == ["5", "True"]


def test_what_is_read_beside_what_is_written_is_no_second_name(choose):
    told, _ = choose("print(made.before(numbers[:5], numbers[5:]), numbers[0], compiled())")

    assert told == ["0", "5", "False"]


def test_other_arrays_than_a_kernel_takes_are_refused_as_ever(choose):
    told, _ = choose(
        "for other in (numbers[::2], numbers.astype(np.int32), numbers.tolist(), 3):\n"
        "    try:\n"
        "        made.spread(other)\n"
        "    except TypeError:\n"
        "        print('refused')"
    )

    assert told == ["refused"] * 4


def test_rows_are_seen_as_they_are_now_and_copied_when_put(choose):
    """By hand: the row looked at first is then the second one."""
    told, _ = choose(
        "ROW = np.dtype([('count', np.int32), ('share', np.float64)], align=True)\n"
        "rows = np.array([(1, 0.5), (2, 0.25), (0, 0.0)], ROW)\n"
        "print(*made.swapped(rows), *rows['count'], *rows['share'], compiled())"
    )

    assert told == ["2", "0.5", "2", "1", "1", "0.25", "0.5", "0.5", "False"]


@pytest.mark.parametrize("call", ["named(np.zeros(4))", "Own(4)"])
def test_a_class_of_a_module_of_kernels_never_leaves_a_plain_one(choose, call):
    """Compiled kernels, which may be next, have another of that name."""
    told, _ = choose(f"print(made.{call}.one, compiled())")

    assert told == ["4", "True"]
