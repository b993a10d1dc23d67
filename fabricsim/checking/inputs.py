"""Inputs: files and standard input, packed by gzip, xz, Zstandard or not at all, up to a size."""

import codecs
import gzip
import hashlib
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabricsim.checking.outputs import note_read
from fabricsim.checking.values import path_of

MOST_BYTES = 256 * 2**20
"""Of an input that is read whole, unpacked."""

MOST_STREAMED = 2**31
"""Of an input that is read piece by piece, unpacked."""

_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_XZ_MEMORY = 2**28  # bytes that unpacking may take; xz -9 needs 65 MiB
_PIECE = 2**20
_EARLY = "ends too early"


@dataclass(frozen=True, slots=True)
class Input:
    """An input that was read."""

    name: str  # the path as given, or ``<stdin>``; messages begin with it
    data: bytes  # contents, unpacked
    sha256: str  # of the bytes as stored

    def lines(self) -> Iterator[bytes]:
        """Take the contents apart into lines without their ends; there is no empty last line."""
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", start)
            end = len(self.data) if end < 0 else end
            yield self.data[start:end]
            start = end + 1


class Pieces:
    """An input that is read piece by piece."""

    def __init__(self, name: str, stored: io.BufferedIOBase, kind: type[ValueError]) -> None:
        self.name = name
        self._kind = kind
        self._stored = _Stored(stored)
        buffered = io.BufferedReader(self._stored, _PIECE)  # type: ignore[type-var]
        with _convert_errors(name, kind):
            self._next = _unpack_next(buffered)  # type: ignore[arg-type]
        self._read = 0

    @property
    def sha256(self) -> str:
        """Hash of the bytes that were taken from where they are stored; all, at the end."""
        return self._stored.digest.hexdigest()

    def read(self, most: int = MOST_STREAMED) -> bytes:
        """Return about a megabyte, empty at the end; refuse more than `most` bytes in all."""
        with _convert_errors(self.name, self._kind):
            piece = self._next(_PIECE)
        self._read += len(piece)
        if self._read > most:
            raise self._kind(f"{self.name}: more than {most // 2**20} MiB, unpacked.")
        return piece


def without_packing(name: str) -> str:
    """Return the name of a file without ``.gz``, ``.xz`` or ``.zst`` at its end."""
    for ending in (".gz", ".xz", ".zst"):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def _unpack_next(stored: io.BufferedReader) -> Callable[[int], bytes]:
    """Return what gives the next bytes, unpacked as their beginning says."""
    begin = stored.peek(len(_XZ))
    if begin.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stored).read
    if begin.startswith(_XZ):
        return _Xz(stored).read
    if begin.startswith(_ZSTD):
        import pyarrow as pa  # noqa: PLC0415 (slow to import, and rarely needed)

        stream = pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd")
        return lambda size: bytes(stream.read(size))
    return stored.read


class _Xz:
    """Bytes that xz has packed, in one stream or several."""

    def __init__(self, stored: io.BufferedReader) -> None:
        self._stored = stored
        self._stream = self._fresh_unpacker()
        self._left = b""

    def read(self, size: int) -> bytes:
        """Return at most so many bytes; none at the end."""
        while True:
            if self._stream.eof:
                self._left = self._stream.unused_data.lstrip(b"\0") or self._stored.read(_PIECE)
                if not self._left:
                    return b""
                self._stream = self._fresh_unpacker()
            elif self._stream.needs_input and not self._left:
                self._left = self._stored.read(_PIECE)
                if not self._left:
                    raise lzma.LZMAError(_EARLY)
            data, self._left = self._stream.decompress(self._left, size), b""
            if data:
                return data

    @staticmethod
    def _fresh_unpacker() -> lzma.LZMADecompressor:
        """Return what unpacks one stream."""
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


@contextmanager
def opened(path: Path | str, kind: type[ValueError]) -> Iterator[Pieces]:
    """Open a file (plain, gzip, xz, Zstandard) or ``-``, to be read piece by piece."""
    path = path_of("path", path, error=kind)
    if str(path) == "-":
        stdin = getattr(sys.stdin, "buffer", None) or io.BytesIO(sys.stdin.read().encode())
        yield Pieces("<stdin>", stdin, kind)
        return
    note_read(path)
    with _convert_errors(str(path), kind):
        file = path.open("rb")
    with file:
        yield Pieces(str(path), file, kind)


def read_input(path: Path | str, kind: type[ValueError]) -> Input:
    """Read a file (plain, gzip, xz, Zstandard) or ``-`` whole."""
    with opened(path, kind) as pieces:
        data = bytearray()
        while piece := pieces.read(MOST_BYTES):
            data += piece
        return Input(pieces.name, bytes(data), pieces.sha256)


def read_text(path: Path | str, kind: type[ValueError]) -> str:
    """Read a text file (plain, gzip, xz, Zstandard) or ``-`` whole."""
    return decoded(read_input(path, kind), kind)


def decoded(source: Input, kind: type[ValueError]) -> str:
    """Return the text of an input."""
    data = source.data
    require_text(data, source.name, 1, kind)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        start = error.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        line = data.count(b"\n", 0, start) + 1
        raise kind(f"{source.name}:{line}: expected text in UTF-8.") from None


def require_text(data: bytes, name: str, line: int, kind: type[ValueError]) -> None:
    """Refuse bytes that are in no text, and the mark that UTF-16 begins with."""
    if line == 1 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise kind(f"{name}:1: expected text in UTF-8, got UTF-16.")
    zero = data.find(b"\0")
    if zero >= 0:
        at = data.count(b"\n", 0, zero) + line
        raise kind(f"{name}:{at}: expected text, got a binary file (zero byte).")


class _Stored(io.RawIOBase):
    """Bytes as they are stored; takes their hash while they are read."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read some bytes."""
        data = self._file.read1(len(buffer))
        self.digest.update(data)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _convert_errors(name: str, kind: type[ValueError]) -> Iterator[None]:
    """Turn what happens while reading into an error of a kind."""
    try:
        yield
    except EOFError:
        raise kind(f"{name}: cannot be read: the gzip file {_EARLY}.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise kind(f"{name}: cannot be read: the gzip file is damaged.") from None
    except lzma.LZMAError as error:
        what = _EARLY if str(error) == _EARLY else "is damaged"
        raise kind(f"{name}: cannot be read: the xz file {what}.") from None
    except OSError as error:
        if error.errno is None:  # of the library that unpacks Zstandard
            what = _EARLY if "Truncated" in str(error) else "is damaged"
            raise kind(f"{name}: cannot be read: the zst file {what}.") from None
        raise kind(f"{name}: cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # a zero byte in the name
        raise kind(f"{name}: cannot be read: {error}.") from None
