"""
Kernels, run as plain Python where that is sooner done than loading or compiling them.

Both ways give the same bits. A kernel that is handed large arrays is compiled, and so are all once
a process has done much by plain ones, or says that it will. Where numba is imported anyhow, because
some kernels are always compiled, less is much.
"""

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from netsim.kernelcache import is_compiled, load_kernels
from netsim.plain.arrays import Exhausted, Tally
from netsim.plain.loading import plain_module, run

_LARGE = 200_000  # numbers and rows in the arrays of a call
_CALL_TURNS, _TURN_NUMBERS = 30, 400  # turns that a call takes, and numbers copied in one more
_FEW_TURNS = 400_000  # take as long as to load what is compiled, 0.4 s
_FEWER_TURNS = 50_000  # as long as to load them alone, once numba is imported
_TIMES_MORE = 5  # where nothing is compiled yet: a fifth of what compiling takes
_ASKS: tuple[type[Exception], ...] = (Exception,)  # errors that leave it to compiled kernels
_ANY = "netsim.contention.traffic_kernels"  # compiled in whatever uses kernels


class _Process:
    """What a process has decided."""

    compiles = False  # no plain kernels any more
    times_more = _TIMES_MORE  # that turns may be added
    has_added = False  # in the call that runs
    has_numba = False  # which somebody else has imported: its time is spent
    kernels: dict[str, "Kernels"] = {}  # noqa: RUF012 (there is one process)


Tally.left = _FEW_TURNS


class Kernels:
    """The kernels of a module, as functions, and its constants."""

    def __init__(self, module: str, what: str, seconds: float) -> None:
        self._of = module, what, seconds

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (functions and constants)
        """Return a kernel or a constant, and keep it."""
        if name.startswith("__"):
            raise AttributeError(name)
        if _Process.compiles or _is_loaded(self._of[0]):
            return self.compiled(name)
        try:
            found = getattr(plain_module(self._of[0]), name)
        except _ASKS:
            return self.compiled(name)
        if isinstance(found, type):  # compiled kernels would not know it
            return self.compiled(name)
        if isinstance(found, FunctionType):
            found = _Kernel(self, name, found)
        setattr(self, name, found)
        return found

    def compiled(self, name: str) -> Any:  # noqa: ANN401 (functions and constants)
        """Return what is compiled, and keep it."""
        found = getattr(load_kernels(*self._of), name)
        setattr(self, name, found)
        return found

    def more_turns(self) -> int:
        """Return how many turns more a call may take: some where nothing is compiled yet."""
        if _Process.has_added or not _Process.times_more or is_compiled(self._of[0]):
            return 0
        _Process.has_added = True
        _Process.times_more -= 1
        return _FEW_TURNS


class _Kernel:
    """A kernel that is still run as plain Python."""

    def __init__(self, kernels: Kernels, name: str, function: FunctionType) -> None:
        self._kernels, self._name, self._function = kernels, name, function
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 (whatever kernels take and return)
        """Run the kernel, one way or the other."""
        if self._compiled is None:
            numbers = sum([getattr(argument, "size", 1) for argument in arguments])
            if numbers <= _LARGE and not _Process.compiles:
                _Process.has_added = False
                _note_numba()
                try:
                    Tally.more = self._kernels.more_turns
                    Tally.take(_CALL_TURNS + numbers // _TURN_NUMBERS)
                    return run(self._function, arguments)
                except Exhausted:
                    _Process.compiles = True
                except IndexError:  # compiled code would look there, and say nothing
                    raise
                except _ASKS:  # nothing has happened
                    pass
            self._compiled = self._kernels.compiled(self._name)
        return self._compiled(*arguments)


def _is_loaded(module: str) -> bool:
    """Say whether a module of compiled kernels is imported."""
    return module in sys.modules


def _note_numba() -> None:
    """Let plain kernels do less once numba is imported."""
    if not _Process.has_numba and _is_loaded("numba"):
        _Process.has_numba = True
        Tally.left = min(Tally.left, _FEWER_TURNS)


def kernels_of(module: str, what: str, seconds: float) -> Kernels:
    """Return the kernels of a module; the arguments are those of `kernelcache.load_kernels`."""
    kernels = _Process.kernels.get(module)
    if kernels is None:
        kernels = _Process.kernels[module] = Kernels(module, what, seconds)
    return kernels


def expect(turns: float) -> None:
    """Say how many turns the loops of kernels will take, about; many are for compiled ones."""
    many = _FEW_TURNS * (1 + _TIMES_MORE)
    if turns > many or (turns > _FEW_TURNS and is_compiled(_ANY)):
        _Process.compiles = True
