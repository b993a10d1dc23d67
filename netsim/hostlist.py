"""Host lists as Slurm and Flux write them: ``n[001-018,20],login1``."""

import re
from collections.abc import Iterable, Iterator

from netsim.errors import TopologyError

_LIMIT = 1_000_000  # names; a typing error should not fill the memory
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_COUNTED = re.compile(r"(.*?)([0-9]{1,18})")


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
    TopologyError
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
                raise TopologyError(f"host list {text[:40]!r}: expected at most {_LIMIT} names.")
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
        raise TopologyError(f"host list {text[:40]!r}: expected matching brackets.")
    if text:
        yield _named(text[start:], text)


def _named(part: str, text: str) -> str:
    """Refuse an empty name."""
    if not part.strip():
        raise TopologyError(f"host list {text[:40]!r}: expected a name between commas, got none.")
    return part.strip()


def _numbers(inside: str, text: str) -> list[str]:
    """Return the numbers in one bracket."""
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if match is None or int(last) < int(first) or int(last) - int(first) >= _LIMIT:
            raise TopologyError(
                f"host list {text[:40]!r}: expected a number or range such as 001-018, "
                f"got {part[:40]!r}."
            )
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]
    return numbers


def fold_hostlist(names: Iterable[str]) -> str:
    """
    Write names as a host list.

    Parameters
    ----------
    names : iterable of str
        Names without brackets and commas.

    Returns
    -------
    str
        The names in their order; neighbours that count up by one are folded into a range.

    Examples
    --------
    >>> fold_hostlist(["n08", "n09", "n10", "n3", "login"])
    'n[08-10,3],login'
    """
    folded: list[str] = []
    spans: list[str] = []
    stem = start = last = ""
    for name in [*names, ""]:
        match = _COUNTED.fullmatch(name)
        head, digits = (match[1], match[2]) if match else (name, "")
        if digits and head == stem and last:
            if digits == str(int(last) + 1).zfill(len(start)):
                last = digits
                continue
            spans.append(start if start == last else f"{start}-{last}")
        else:
            if last:
                spans.append(start if start == last else f"{start}-{last}")
                folded.append(stem + (spans[0] if spans == [start] else f"[{','.join(spans)}]"))
            elif stem:
                folded.append(stem)
            spans = []
        stem, start, last = head, digits, digits
    return ",".join(folded)
