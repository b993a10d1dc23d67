"""Host lists as Slurm and Flux write them: ``n[001-018,20],login1``."""

import re
from collections.abc import Iterator

from scheduler.errors import WorkloadError

_LIMIT = 1_000_000  # names; a typing error should not fill the memory
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def expand_hostlist(text: str) -> list[str]:
    """
    Return the names in a host list.

    Parameters
    ----------
    text : str
        Names separated by commas; brackets hold numbers and ranges, with leading zeros
        where the names have them. Several brackets in a name give all combinations.

    Returns
    -------
    list of str
        Names in the order in which they are written, repeats kept.

    Raises
    ------
    WorkloadError
        If brackets do not match, a range is none or runs backwards, or the list is too
        long.

    Examples
    --------
    >>> expand_hostlist("n[08-10,3],login1")
    ['n08', 'n09', 'n10', 'n3', 'login1']
    >>> expand_hostlist("r[1-2]n[0-1]")
    ['r1n0', 'r1n1', 'r2n0', 'r2n1']
    """
    names: list[str] = []
    for part in _parts(text):
        found = [""]
        for piece in re.split(r"(\[[^\]]*\])", part):
            numbers = _numbers(piece[1:-1], text) if piece.startswith("[") else [piece]
            if len(found) * len(numbers) + len(names) > _LIMIT:
                raise WorkloadError(f"host list {text[:40]!r}: expected at most {_LIMIT} names.")
            found = [name + number for name in found for number in numbers]
        names += found
    return names


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside brackets."""
    start = depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth not in {0, 1}:
            break
        if letter == "," and not depth:
            yield _named(text[start:place], text)
            start = place + 1
    if depth:
        raise WorkloadError(f"host list {text[:40]!r}: expected matching brackets.")
    if text:
        yield _named(text[start:], text)


def _named(part: str, text: str) -> str:
    """Refuse an empty name."""
    if not part.strip():
        raise WorkloadError(f"host list {text[:40]!r}: expected a name between commas, got none.")
    return part.strip()


def _numbers(inside: str, text: str) -> list[str]:
    """Return the numbers in one bracket."""
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if match is None or int(last) < int(first) or int(last) - int(first) >= _LIMIT:
            raise WorkloadError(
                f"host list {text[:40]!r}: expected a number or range such as 001-018, "
                f"got {part[:40]!r}."
            )
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
    return numbers
