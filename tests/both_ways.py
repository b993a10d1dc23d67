"""Kernels run both ways: plainly, as processes with little to do run them, and compiled."""

import numpy as np

from netsim import kernelchoice
from netsim.kernelcache import load_kernels
from netsim.plain.arrays import Exhausted, Tally
from netsim.plain.loading import run


def copied(value):
    """Return a copy of an argument, read-only where it is."""
    if isinstance(value, tuple):
        parts = [copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    copy.flags.writeable = value.flags.writeable
    return copy


def bits(value):
    """Return what tells a value from every other, its type included."""
    if isinstance(value, tuple):
        return [bits(part) for part in value]
    if isinstance(value, np.ndarray):
        columns = [value[name] for name in value.dtype.names or ()] or [value]
        return [str(value.dtype), value.shape, *[column.tobytes() for column in columns]]
    return [type(value).__name__, np.array(value).tobytes()]


_ENDLESS = 1 << 40  # turns
_STOPS = 3  # calls of a kernel that are stopped half-way


class BothWays:
    """
    Takes the place of `netsim.plain.loading.run`: runs a kernel both ways and compares the bits.

    The compiled kernel goes on with arrays on which the plain one was stopped half-way, for the
    first few calls. `calls`: how often each kernel was run so; `refused`: why others were not;
    `stopped`: how often each was stopped; `turns`: how many the last call took.
    """

    def __init__(self):
        self.calls, self.refused, self.stopped, self.turns = {}, {}, {}, {}

    def __call__(self, function, arguments):
        """Run a kernel plainly, with what the compiled one finds beside it."""
        name = f"{function.__module__}.{function.__name__}"
        twins = self._left_half_way(name, function, arguments)
        Tally.left = _ENDLESS
        try:
            told = run(function, arguments)
        except Exception as error:
            self.refused[name] = repr(error)
            raise
        self.turns[name] = _ENDLESS - Tally.left
        compiled = getattr(load_kernels(function.__module__, "kernels", 1), function.__name__)
        expected = compiled(*twins)
        assert bits(told) == bits(expected), f"{name}: results"
        for place, (argument, twin) in enumerate(zip(arguments, twins, strict=True)):
            assert bits(argument) == bits(twin), f"{name}: argument {place}"
        self.calls[name] = self.calls.get(name, 0) + 1
        return told

    def _left_half_way(self, name, function, arguments):
        """Return copies of arguments, those of a call that was stopped where there is one."""
        twins = [copied(argument) for argument in arguments]
        if self.stopped.get(name, 0) >= _STOPS:
            return twins
        Tally.left, Tally.more = self.turns.get(name, 0) // 2, int
        try:
            run(function, twins)
        except Exhausted:
            self.stopped[name] = self.stopped.get(name, 0) + 1
            assert bits(tuple(twins)) == bits(tuple(arguments)), f"{name}: stopped half-way"
            return twins
        return [copied(argument) for argument in arguments]


def run_both_ways(monkeypatch):
    """Let a test run kernels both ways; return who compares them."""
    both = BothWays()
    own = {"compiles": False, "has_added": False, "has_numba": False, "kernels": {}}
    process = type("Process", (), own)
    monkeypatch.setattr(kernelchoice, "_Process", process)
    monkeypatch.setattr(kernelchoice, "_LARGE", _ENDLESS)
    monkeypatch.setattr(kernelchoice, "_is_loaded", lambda _: False)
    monkeypatch.setattr(kernelchoice, "_FEW_TURNS", _ENDLESS)
    monkeypatch.setattr(kernelchoice, "run", both)
    monkeypatch.setattr(Tally, "left", _ENDLESS)
    return both
