"""Tabled: answers that are tables."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Tabled(ABC):
    """Base of answers with rows, which notebooks show as a table."""

    __slots__ = ()

    @abstractmethod
    def _rows(self) -> list[dict[str, Any]]:
        """Return the rows: fields by name."""

    def to_frame(self) -> "pd.DataFrame":
        """
        Return the rows as a table.

        Result: a row for each job or flow.
        """
        import pandas as pd  # noqa: PLC0415 (slow to import, and rarely needed)

        return pd.DataFrame(self._rows())

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        return str(self.to_frame().to_html(max_rows=20))
