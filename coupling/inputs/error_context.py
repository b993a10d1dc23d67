"""Tell errors of the other packages where in the experiment they come from."""

from collections.abc import Iterator
from contextlib import contextmanager

from coupling.errors import CouplingError, ExperimentError
from netsim.common.errors import NetsimError
from patterns.errors import PatternError
from scheduler.errors import SchedulerError


@contextmanager
def placed(where: str) -> Iterator[None]:
    """
    Put file and table before an error of our own packages.

    `where`: file and table, e.g. ``"easy.toml: [scheduler]"``.
    """
    try:
        yield
    except (NetsimError, PatternError, SchedulerError, CouplingError) as error:
        raise ExperimentError(f"{where} {error}") from error
