"""Host lists as Slurm and Flux write them: ``n[001-018,20],login1``."""

import re
from collections.abc import Iterable, Iterator

from netsim.common.errors import TopologyError

MOST_NAMES = 2**18
"""Names that a list, or all lists of a file, may stand for; no machine has as many hosts."""

_DEEPEST = 4  # brackets inside each other
_SHORT = 18  # characters of a number or range that is quickly read
_SHOWN = 40  # characters of a list that an error shows
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_COUNTED = re.compile(r"(.*?)([0-9]{1,18})")
_PLAIN = re.compile(r"([^][,\s]*)\[([0-9,-]+)\]")
_DIGITS = re.compile(r"([0-9]{1,18})")
_PIECE = re.compile(r"\[|\]|[^][]+")


def expand_hostlist(text: str, taken: int = 0) -> list[str]:
    """
    Return the names in a host list.

    Result: names in the order in which they are written, repeats included.

    Examples
    --------
    >>> expand_hostlist("n[08-10,3],login1")
    ['n08', 'n09', 'n10', 'n3', 'login1']
    >>> expand_hostlist("r[1-2]n[0-1]")
    ['r1n0', 'r1n1', 'r2n0', 'r2n1']
    >>> expand_hostlist("n[1,2[0-1]]")
    ['n1', 'n20', 'n21']
    """
    names: list[str] = []
    plain = _PLAIN.fullmatch(text)
    if plain and (counted := _counted_names(plain[1], plain[2], MOST_NAMES - taken)):
        return counted
    if text:
        for part in _comma_parts(text, text):
            names += _all_combinations(part, text, 0, MOST_NAMES - taken - len(names))
    return names


def _counted_names(stem: str, numbers: str, room: int) -> list[str]:
    """Return the names of one bracket of whole numbers; none where they need a closer look."""
    names: list[str] = []
    for part in numbers.split(","):
        first, dash, last = part.partition("-")
        if not (first.isdigit() and (last.isdigit() or not dash) and len(part) <= _SHORT):
            return []
        if not dash:
            names.append(stem + first)
        elif 0 <= int(last) - int(first) < room - len(names):
            width = len(first)
            names += [f"{stem}{n:0{width}d}" for n in range(int(first), int(last) + 1)]
        else:
            return []
    return names if len(names) <= room else []


def _comma_parts(text: str, whole: str) -> Iterator[str]:
    """Split at the commas outside brackets."""
    start = depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if not 0 <= depth <= _DEEPEST:
            break
        if letter == "," and not depth:
            yield _require_name(text[start:place], whole)
            start = place + 1
    if depth:
        raise _list_error(
            whole, f"expected matching brackets, at most {_DEEPEST} inside each other"
        )
    yield _require_name(text[start:], whole)


def _require_name(part: str, whole: str) -> str:
    """Refuse an empty name."""
    if not part.strip():
        raise _list_error(whole, "expected a name or number between commas, got none")
    return part.strip()


def _all_combinations(part: str, whole: str, depth: int, room: int) -> list[str]:
    """Return all combinations of the pieces of a name, or of a part of a bracket."""
    found = [""]
    for piece in _bracket_pieces(part):
        choices = [piece]
        if piece.startswith("["):
            choices = []
            for inner in _comma_parts(piece[1:-1], whole):
                choices += _all_combinations(inner, whole, depth + 1, room - len(choices))
        elif depth:
            choices = _range_numbers(piece, whole, room)
        if len(found) * len(choices) > room:
            raise _too_many(whole)
        found = [name + choice for name in found for choice in choices]
    return found


def _bracket_pieces(part: str) -> Iterator[str]:
    """Part a name into what stands in brackets and what does not."""
    start = depth = 0
    for match in _PIECE.finditer(part):
        if match[0] == "[":
            start = start if depth else match.start()
            depth += 1
        elif match[0] == "]":
            depth -= 1
            if not depth:
                yield part[start : match.end()]
        elif not depth:
            yield match[0]


def _range_numbers(text: str, whole: str, room: int) -> list[str]:
    """Return the numbers of a range, as wide as its first."""
    match = _RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if match is None or last < first:
        raise _list_error(
            whole, f"expected a number or range such as 001-018, got {text.strip()[:_SHOWN]!r}"
        )
    if last - first >= room:
        raise _too_many(whole)
    width = len(match[1])
    return [str(number).zfill(width) for number in range(first, last + 1)]


def _too_many(whole: str) -> TopologyError:
    """Make the error of a list that is too long."""
    return _list_error(whole, f"expected at most {MOST_NAMES:,} names in all lists together")


def _list_error(whole: str, what: str) -> TopologyError:
    """Make the error of a list."""
    return TopologyError(f"host list {whole[:_SHOWN]!r}: {what}.")


def fold_hostlist(names: Iterable[str]) -> str:
    """
    Write names as a host list.

    Result: the names in their order; neighbours that count up by one are folded into a range.

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


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a key by which n10 comes after n9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]
