"""A plain kernel that fails has changed nothing, so that the compiled one begins anew."""

from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from both_ways import bits

from netsim.plain.arrays import Rows, Table, Tally
from netsim.plain.loading import plain_module, run
from netsim.plain.types import Array, Tuple

ROOT = Path(__file__).parents[2]
ROOMS = ("netsim", "coupling", "scheduler")
SAYS = "through `netsim.kernelchoice`"  # in the docstrings of modules whose kernels may run plainly


@pytest.fixture(autouse=True)
def _much_to_do(monkeypatch):
    """Kernels may do what they need, whatever ran in this process before."""
    monkeypatch.setattr(Tally, "left", 10**9)


def modules():
    """Return the modules of kernels that may run plainly."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*kernels.py")):
            words = " ".join(path.read_text(encoding="utf-8").split('"""')[1].split())
            if SAYS in words:
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return found


def kernels(module):
    """Return the kernels of a module that Python calls."""
    found = vars(plain_module(module)).values()
    own = [each for each in found if isinstance(each, FunctionType)]
    return [each for each in own if each.__module__ == module and "signature" in vars(each)]


def argument(kind, rows):
    """Return an argument that a kernel takes, all ones."""
    if isinstance(kind, Tuple):
        return kind.made([argument(part, rows) for part in kind.parts])
    if not isinstance(kind, Array):
        return kind.dtype.type(1)
    values = np.zeros((rows,) * kind._n_axes, kind._dtype)
    for column in [values[name] for name in values.dtype.names or ()] or [values]:
        column[...] = 1
    return values


def scribbled(value):
    """Write over all that a kernel was handed."""
    if isinstance(value, tuple):
        for part in value:
            scribbled(part)
    elif isinstance(value, Table):
        for place in range(value.size):
            row = value[place]
            for name in vars(row):
                setattr(row, name, 0)
    elif isinstance(value, Rows):
        for place in range(value.shape[0]):
            value[place, :] = 0
    elif hasattr(value, "shape") and len(value.shape) > 0:
        for place in np.ndindex(*value.shape):
            value[place if len(place) > 1 else place[0]] = 0


def broken(kernel, *, fails):
    """Return what takes the place of a kernel, and writes over all before it fails."""

    def wrong(*taken):
        scribbled(taken)
        if fails:
            raise ZeroDivisionError

    vars(wrong)["signature"] = vars(kernel)["signature"]
    return wrong


@pytest.mark.parametrize("rows", [3, 9], ids=["few rows", "many rows"])
@pytest.mark.parametrize("module", modules())
def test_a_plain_kernel_that_fails_has_changed_none_of_its_arguments(module, rows):
    for kernel in kernels(module):
        kinds = vars(kernel)["signature"].arguments
        given = tuple(argument(kind, rows) for kind in kinds)
        before = bits(given)

        with pytest.raises(ZeroDivisionError):
            run(broken(kernel, fails=True), given)

        assert bits(given) == before, kernel.__name__


def test_modules_that_may_run_plainly_have_kernels_that_write():
    """Else the test above would see nothing."""
    written = 0
    for module in modules():
        for kernel in kernels(module):
            given = tuple(argument(kind, 3) for kind in vars(kernel)["signature"].arguments)
            before = bits(given)
            run(broken(kernel, fails=False), given)
            written += bits(given) != before

    assert written > 10
