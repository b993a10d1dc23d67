"""Damage to files as bytes, lines and tokens."""

import gzip
import re
import zlib
from collections.abc import Callable
from functools import cache
from random import Random

from fuzz.values import MEANT, NUMBERS, TEXTS

_TOKEN = re.compile(r"[A-Za-z_]+|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
_MARKS = "0123456789abn[]-,=:#\"'<>(){}|@;\\\n\t \0é"
_MANY = 2000
_HUGE = 64 * 2**20


def damage_bytes(chance: Random, data: bytes) -> bytes:
    """Flip, insert, drop or repeat bytes, cut the file, or dress it as another kind."""
    place, size = chance.randrange(len(data) + 1), chance.randint(1, 9)
    head, part, tail = data[:place], data[place : place + size], data[place + size :]
    ends = (b"\r\n", b"\r", b"", b"\n\n", b"\0")
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: head,
        lambda: head + chance.randbytes(size) + part + tail,
        lambda: head + tail,
        lambda: head + bytes([chance.randrange(256)]) + part[1:] + tail,
        lambda: head + part * chance.choice((2, 50)) + tail,
        lambda: part + tail + head,
        lambda: data.replace(b"\n", chance.choice(ends)),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: chance.choice((b"", b"\n", b"\0" * 64, b"\xff\xfe", chance.randbytes(40))),
        lambda: data.decode("utf-8", "replace").encode("utf-16"),
        lambda: _packed(chance, data),
    )
    return chance.choice(ways)()


def _packed(chance: Random, data: bytes) -> bytes:
    """Pack a file with gzip: whole, cut, twice, or what unpacks to gigabytes."""
    packed = gzip.compress(data, mtime=0)
    how = chance.randrange(5)
    if how == 0:
        return packed[: chance.randrange(len(packed))]
    if how == 1:
        return gzip.compress(packed, mtime=0)
    if how == 2 and chance.random() < 0.1:
        return packed + _zeros() * 50
    return packed


@cache
def _zeros() -> bytes:
    """Return a member of a gzip file that unpacks to 64 MiB."""
    return gzip.compress(bytes(_HUGE), 9, mtime=0)


def unpacked(data: bytes) -> bytes:
    """Return a file as the readers see it, packed or not; as it is where it cannot be unpacked."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return data


def damage_lines(chance: Random, data: bytes) -> bytes:
    """Drop, double, exchange, join, shuffle or multiply lines."""
    lines = data.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.randrange(8)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(other, lines[one])
    elif how == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 3:
        lines[one : one + 2] = [b"".join(lines[one : one + 2])]
    elif how == 4:
        chance.shuffle(lines)
    elif how == 5:
        lines[one:one] = [lines[one]] * chance.choice((30, _MANY))
    elif how == 6:
        cut = chance.randrange(len(lines[one]) + 1)
        lines[one : one + 1] = [lines[one][:cut], lines[one][cut:]]
    else:
        lines[one] = lines[one] + chance.choice((b" #", b"\\", b",", b" ", b"\t", b";", b"\r"))
    return b"\n".join(lines)


def damage_tokens(chance: Random, data: bytes) -> bytes:
    """Replace, drop, double or exchange words, numbers and marks."""
    tokens = _TOKEN.findall(data.decode("utf-8", "surrogateescape"))
    if not tokens:
        return data
    meant = [place for place, token in enumerate(tokens) if not token.isspace()]
    one = chance.choice(meant or [0])
    other = chance.choice(meant or [0])
    how = chance.randrange(7)
    if how == 0:
        del tokens[one]
    elif how == 1:
        tokens.insert(other, tokens[one])
    elif how == 2:
        tokens[one], tokens[other] = tokens[other], tokens[one]
    elif how == 3:
        tokens[one] = chance.choice(_MARKS)
    elif how == 4:
        tokens[one] = chance.choice((*TEXTS, *MEANT))
    elif how == 5:
        tokens[one] = word(chance)
    else:
        tokens[one] = tokens[one][:-1] + chance.choice(_MARKS)
    return "".join(tokens).encode("utf-8", "surrogatepass")


def damage_numbers(chance: Random, data: bytes) -> bytes:
    """Replace a number by another one."""
    text = data.decode("utf-8", "surrogateescape")
    found = list(re.finditer(r"-?[0-9]+(?:\.[0-9]+)?", text))
    if not found:
        return data
    match = chance.choice(found)
    near = str(int(chance.choice(found)[0].split(".")[0][:99]) + chance.choice((-1, 0, 1)))
    new = chance.choice((near, near, word(chance)))
    text = text[: match.start()] + new + text[match.end() :]
    return text.encode("utf-8", "surrogateescape")


def word(chance: Random) -> str:
    """Return a number as a word; now and then one of 5,000 digits."""
    if chance.random() < 0.05:
        return "9" * 5000
    number = chance.choice(NUMBERS)
    return f"{number:d}" if isinstance(number, int) else repr(number)


def damage_text(chance: Random, data: bytes) -> bytes:
    """Damage a text file somehow."""
    ways = (damage_bytes, damage_lines, damage_lines, damage_tokens, damage_tokens, damage_numbers)
    return chance.choice(ways)(chance, data)
