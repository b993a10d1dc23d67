"""Where text reaches the terminal: nothing that came in can move the cursor or forge a line."""

import io
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from coupling.errors import CouplingError, Stopped

_ALLOWED = re.compile(r"([\n\t]+)")
_ALLOWED_IN_COLOUR = re.compile(r"((?:[\n\t\r]|\x1b\[(?:[0-9;]*m|[0-9]*[AK]|\?25[lh]))+)")
_COLOUR = ("FORCE_COLOR", "TTY_COMPATIBLE")  # with which Rich writes colours into a pipe
_BREAKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"


def visible(text: str) -> str:
    r"""
    Write what a terminal would obey, or not show, as an escape.

    Result: one line; control characters, line breaks, invisible marks and bytes that are no text
    are written as in Python.

    >>> print(visible("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    return text if text.isprintable() else "".join(map(_escape_letter, text))


def visible_lines(text: str, allowed: re.Pattern[str] = _ALLOWED) -> str:
    """Write what a terminal would obey as escapes, but keep lines."""
    parts = allowed.split(text)
    return "".join(part if at % 2 else visible(part) for at, part in enumerate(parts))


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments that are no text: they could stand in no result."""
    for argument in arguments:
        check_text(argument, "argument")


def check_text(name: str, what: str) -> None:
    """Refuse the name of a file that is no text."""
    if re.search("[\ud800-\udfff]", name):
        raise CouplingError(
            f"{what} {name}: expected text in UTF-8, got bytes that are none; a file or folder of "
            "that name must be renamed."
        )


@contextmanager
def guarded() -> Iterator[None]:
    """Put guards before standard output and standard error, and mend what was closed."""
    for name, flags in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:  # else the next file opened would take its number
            number = os.open(os.devnull, flags)  # reading, or writing, is an error then
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (a descriptor, for good)
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        _EscapedStream(sys.stdout, "standard output"),
        _EscapedStream(sys.stderr),
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _EscapedStream(io.TextIOBase):
    """A stream to people: lines and our own colours as they are, the rest `visible`."""

    def __init__(self, stream: TextIO, name: str = "") -> None:
        self._stream, self._name = stream, name
        colour = stream.isatty() or any(map(os.environ.get, _COLOUR))
        self._allowed = _ALLOWED_IN_COLOUR if colour else _ALLOWED

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there
        """Encoding of the stream."""
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        """Return whether a terminal is attached; a closed stream has none."""
        return not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write text for people."""
        shown = visible_lines(text, self._allowed)
        encodable = shown.encode(self.encoding, "backslashreplace").decode(self.encoding)
        with self._end_on_failure():
            self._stream.write(encodable)
        return len(text)

    def write_data(self, text: str) -> None:
        """Write text for programs, in UTF-8 and as it is."""
        with self._end_on_failure():
            if hasattr(self._stream, "buffer"):
                self._stream.flush()
                self._stream.buffer.write(text.encode())
            else:
                self._stream.write(text)

    def flush(self) -> None:
        """Hand over what was written."""
        with self._end_on_failure():
            self._stream.flush()

    @contextmanager
    def _end_on_failure(self) -> Iterator[None]:
        """End the command when what it says cannot be written."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):  # what is left must not be tried again at the very end
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, self.fileno())
                os.close(null)
            if self._name and isinstance(error, BrokenPipeError):
                raise Stopped(signal.SIGPIPE) from None
            if self._name:
                raise OSError(error.errno, error.strerror, self._name) from None


def remark(text: str) -> None:
    """Write something else than the result, on standard error."""
    sys.stderr.write(f"{visible(text)}\n")


def write_data(text: str) -> None:
    """Write a document to standard output, for programs."""
    if isinstance(sys.stdout, _EscapedStream) and not sys.stdout.isatty():
        sys.stdout.write_data(text)
    else:
        sys.stdout.write(text)


def _escape_letter(letter: str) -> str:
    """Write a letter as in Python where it does not show; a byte that is no text as a byte."""
    if letter.isprintable() or (letter.isspace() and letter not in _BREAKS):
        return letter
    if "\udc80" <= letter <= "\udcff":
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode("ascii")
