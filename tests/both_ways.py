"""Kernels run both ways: plainly, as processes with little to do run them, and compiled."""

import numpy as np

from netsim import kernelchoice
from netsim.kernelcache import load_kernels
from netsim.plain.arrays import Tally
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


class BothWays:
    """
    Takes the place of `netsim.plain.loading.run`: runs a kernel both ways and compares the bits.

    `calls`: how often each kernel was run so; `refused`: why others were not.
    """

    def __init__(self):
        self.calls, self.refused = {}, {}

    def __call__(self, function, arguments):
        """Run a kernel plainly, with what the compiled one finds beside it."""
        name = f"{function.__module__}.{function.__name__}"
        twins = [copied(argument) for argument in arguments]
        Tally.left = 1 << 40
        try:
            told = run(function, arguments)
        except Exception as error:
            self.refused[name] = repr(error)
            raise
        compiled = getattr(load_kernels(function.__module__, "kernels", 1), function.__name__)
        expected = compiled(*twins)
        assert bits(told) == bits(expected), f"{name}: results"
        for place, (argument, twin) in enumerate(zip(arguments, twins, strict=True)):
            assert bits(argument) == bits(twin), f"{name}: argument {place}"
        self.calls[name] = self.calls.get(name, 0) + 1
        return told


def run_both_ways(monkeypatch):
    """Let a test run kernels both ways; return who compares them."""
    both = BothWays()
    process = type("Process", (), {"compiles": False, "has_added": False, "kernels": {}})
    monkeypatch.setattr(kernelchoice, "_Process", process)
    monkeypatch.setattr(kernelchoice, "_LARGE", 1 << 40)
    monkeypatch.setattr(kernelchoice, "_is_loaded", lambda _: False)
    monkeypatch.setattr(kernelchoice, "_FEW_TURNS", 1 << 40)
    monkeypatch.setattr(kernelchoice, "run", both)
    monkeypatch.setattr(Tally, "left", 1 << 40)
    return both
