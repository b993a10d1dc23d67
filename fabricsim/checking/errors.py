"""
The base of all errors about an input, and tracebacks that end in the caller's line.

* FabricsimError
  + NetsimError        netsim.common.errors: quantities, fabrics, routings, partitions, models
  + PatternError       patterns.errors: communication patterns
  + SchedulerError     scheduler.errors: job logs, profiles, allocators, queues
  + CouplingError      coupling.errors: experiments, results, snapshots
"""

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, TypeVar

Public = TypeVar("Public", bound=Callable[..., Any])
PublicClass = TypeVar("PublicClass", bound=type)


class FabricsimError(ValueError):
    """
    Base of all errors that say what is wrong with an input.

    The message is one line: the place, what was expected, and what came. Its children are
    `netsim.NetsimError`, `patterns.PatternError`, `scheduler.SchedulerError` and
    `coupling.CouplingError`.

    Tracebacks end in the caller's line; ``python -X dev`` shows all frames.
    """

    __module__ = "fabricsim"
    keeps_cause: ClassVar[bool] = False  # of plug-ins: the cause is a line of the user's


def public(function: Public) -> Public:
    """Let the traceback of a `FabricsimError` end in the line that called a public function."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 (of the function)
        try:
            return function(*args, **options)
        except FabricsimError as error:
            if sys.flags.dev_mode:
                raise
            cause = error.__cause__ if error.keeps_cause else None
            raise error.with_traceback(None) from cause

    # a file that cannot be read: the traceback shows no line of this wrapper
    shown: Any = call
    shown.__code__ = shown.__code__.replace(co_filename="<fabricsim>", co_name=function.__name__)
    made: Public = shown
    return made


def public_class(kind: PublicClass) -> PublicClass:
    """Do so for the constructor and the public methods of a class."""
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(value, FunctionType):
            setattr(kind, name, public(value))
        elif isinstance(value, classmethod):
            setattr(kind, name, classmethod(public(value.__func__)))
    return kind
