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
        """Return the rows as a table: one for each job or flow."""
        import pandas as pd  # noqa: PLC0415 (slow to import, and rarely needed)

        rows = self._rows()
        frame = pd.DataFrame(rows)
        for name in frame.columns:
            values = [row.get(name) for row in rows]
            there = [value for value in values if value is not None]
            kinds = {type(one) for one in there}
            if kinds == {int} and len(there) < len(values):
                frame[name] = pd.array(values, dtype="Int64")  # pandas would make 4105 4105.0
            elif kinds == {int, str}:  # ids such as 4105 and 4106_3: files want one type
                frame[name] = [None if one is None else str(one) for one in values]
        return frame

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it."""
        return str(self.to_frame().to_html(max_rows=20))
