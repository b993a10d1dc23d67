"""Ranges: which rows of a table are taken, where rows never move."""

from bisect import bisect_left, insort


class Ranges:
    """
    Rows of a table that are handed out in contiguous ranges, lowest first.

    Attributes
    ----------
    size : int
        Rows of the table; grows when none is left.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # begin and end, ascending, never adjacent

    def take(self, count: int) -> int:
        """Return the first of so many rows."""
        for at, (begin, end) in enumerate(self._free):
            if end - begin >= count:
                self._free[at : at + 1] = [(begin + count, end)] if end - begin > count else []
                return begin
        tail = self._free.pop() if self._free and self._free[-1][1] == self.size else None
        begin = self.size if tail is None else tail[0]
        self.size = max(begin + count, 2 * self.size)
        if begin + count < self.size:
            self._free.append((begin + count, self.size))
        return begin

    def give(self, begin: int, count: int) -> None:
        """Take rows back."""
        end, at = begin + count, bisect_left(self._free, (begin, 0))
        if at < len(self._free) and self._free[at][0] == end:
            end = self._free.pop(at)[1]
        if at and self._free[at - 1][1] == begin:
            begin = self._free.pop(at - 1)[0]
        insort(self._free, (begin, end))
