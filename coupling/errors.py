"""
Errors of the coupling package.

* CouplingError
  + ExperimentError    an experiment file that cannot be read or does not make sense
  + ResultError        a result directory that cannot be read or written
  + SnapshotError      a snapshot, or a file beside it, that cannot be read or does not make sense
* Stopped              no error: a signal asks the command to end
"""

from fabricsim.checking.errors import FabricsimError


class CouplingError(FabricsimError):
    """Base of all errors that the coupling package raises on purpose."""


class ExperimentError(CouplingError):
    """An experiment file cannot be read, or asks for what does not exist."""


class ResultError(CouplingError):
    """A result directory cannot be read or written."""


class SnapshotError(CouplingError):
    """A snapshot or a file that goes with it cannot be read, or does not make sense."""


class Stopped(BaseException):
    """A signal (`signum`) asks the command to end; its notes say how to go on."""

    # No `KeyboardInterrupt`, which the command-line library answers in ways of its own.

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum
