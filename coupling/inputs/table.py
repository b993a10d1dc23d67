"""Tables of the coupling's own documents: experiments and snapshots."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coupling.errors import CouplingError, ExperimentError
from fabricsim.checking import Table as CheckedTable
from fabricsim.checking import brief, plain
from fabricsim.checking.documents import parse_toml
from netsim.common.errors import NetsimError
from patterns.errors import PatternError
from scheduler.errors import SchedulerError

__all__ = ["Table", "brief", "plain", "value_of"]


def value_of(text: str, place: str) -> Any:  # noqa: ANN401 (a TOML value)
    """Read a value as it is typed on a command line: TOML within its bounds, or a bare word."""
    import tomllib  # noqa: PLC0415 (most commands read none)

    line = f"value = {text}"
    try:
        tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return text.strip()
    except (RecursionError, ValueError):
        pass  # beyond the bounds, which the next line reports
    return parse_toml(line, place, ExperimentError)["value"]


class Table(CheckedTable):
    """One table of a file; every field is asked for once, what is left over is an error."""

    def __init__(
        self, values: object, place: str, kind: type[CouplingError] = ExperimentError
    ) -> None:
        super().__init__(values, place, kind)


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Put file and table, e.g. ``"easy.toml: [scheduler]"``, before an error of ours."""
    try:
        yield
    except (NetsimError, PatternError, SchedulerError, CouplingError) as error:
        raise ExperimentError(f"{where} {error}") from error
