"""Read the bytes of an input: a file, a gzip file or standard input, with clear errors."""

import codecs
import gzip
import hashlib
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from checking import path_of
from scheduler.errors import WorkloadError

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Source:
    """
    An input that was read.

    Parameters
    ----------
    name : str
        The path as given, or ``<stdin>``; messages begin with it.
    data : bytes
        Contents, decompressed.
    sha256 : str
        Of the bytes as stored.
    """

    name: str
    data: bytes
    sha256: str

    def lines(self) -> list[bytes]:
        """
        Split the contents into lines.

        Returns
        -------
        list of bytes
            Line k + 1 of the file at place k, without line ends; no empty last line.
        """
        lines = self.data.split(b"\n")
        return lines[:-1] if lines[-1] == b"" else lines


def read_source(path: str | Path, *, binary: bool = False) -> Source:
    """
    Read an input whole; gzip is recognised by its content.

    Parameters
    ----------
    path : str or Path
        A file, or ``-`` for standard input.
    binary : bool, default False
        Whether zero bytes are expected; in text they are refused.

    Returns
    -------
    Source
        At least one byte.

    Raises
    ------
    WorkloadError
        If there is no such file, it cannot be read, is empty, is no text or is a damaged
        gzip file.
    """
    path = path_of("path", path, error=WorkloadError)
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        stored = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        why = getattr(error, "strerror", None) or str(error)
        raise WorkloadError(f"{name}: expected a readable file, got: {why}.") from error
    data = _decompressed(stored, name)
    if not data:
        raise WorkloadError(f"{name}: expected some content, got an empty file.")
    if not binary and b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise WorkloadError(f"{name}:{line}: expected text, got a binary file (zero byte).")
    if not binary:
        data = data.removeprefix(codecs.BOM_UTF8)
    return Source(name, data, hashlib.sha256(stored).hexdigest())


def _decompressed(stored: bytes, name: str) -> bytes:
    """Undo gzip where the content begins as gzip does."""
    if not stored.startswith(_GZIP):
        return stored
    try:
        return gzip.decompress(stored)
    except (OSError, EOFError, zlib.error) as error:
        raise WorkloadError(f"{name}: expected a whole gzip file, got: {error}.") from error
