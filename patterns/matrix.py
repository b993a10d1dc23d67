"""Communication matrices from files, as patterns."""

import io
import re
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from fabricsim.checking import brief
from fabricsim.checking.inputs import MOST_BYTES, read_input
from fabricsim.checking.sheets import refuse_separator
from patterns.base import Floats, Ints, Step, Template, positive, settle
from patterns.errors import PatternError
from patterns.messages import total_messages

_ZIP_MAGIC = b"PK"
_PACKED = (ZIP_STORED, ZIP_DEFLATED)
_DAMAGE = (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile, zlib.error)

MOST_ENTRIES = 20_000_000
"""Of a matrix."""

_MAX_RANKS = 2**31  # a pair of ranks must fit in one 64-bit number
_WHOLE = re.compile(r"\d{1,12}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MARKET = (  # words of the first line; others hold no amounts
    ("%%matrixmarket",),
    ("matrix",),
    ("coordinate", "array"),
    ("real", "double", "integer", "unsigned-integer", "pattern"),
    ("general", "symmetric"),
)
_COLUMNS = (["src", "dst", "bytes"], ["src", "dst", "messages"])


@dataclass(frozen=True, slots=True, eq=False)
class MatrixFile:
    """What a file says: bytes of each sender and receiver."""

    entries: Step  # positive entries off the diagonal, in order of sender, then receiver
    n_ranks: int  # ranks of the matrix; in a CSV file, the highest that occurs plus one
    square: bool  # whether the file itself states the number of ranks
    digest: str


def read_matrix(file: str) -> MatrixFile:
    """
    Read a matrix: ``.csv``, ``.mtx`` (MatrixMarket) or ``.npz``, with or without ``.gz``.

    CSV has a header ``src,dst,bytes`` or ``src,dst,messages``; ``.npz`` one square array, or what
    `scipy.sparse.save_npz` writes. Equal pairs are summed, zeros and the diagonal left out.
    """
    suffix = Path(file.removesuffix(".gz")).suffix
    if suffix not in _READERS:
        raise PatternError(f"{file}: expected a name that ends in {', '.join(_READERS)} (.gz).")
    content = read_input(file, PatternError)
    try:
        src, dst, value, size = _READERS[suffix](content.data)
    except MemoryError:
        raise PatternError(f"{file}: does not fit into the memory.") from None
    except _DAMAGE as error:
        raise PatternError(f"{file}: {error}") from None
    if not np.all(np.isfinite(value) & (value >= 0)):
        bad = int(np.argmin(np.isfinite(value) & (value >= 0)))
        raise PatternError(
            f"{file}: entries must be finite and not negative, "
            f"{src[bad]} -> {dst[bad]} has {value[bad]}."
        )
    kept = (value > 0) & (src != dst)
    if not kept.any():
        raise PatternError(f"{file}: no traffic between different ranks.")
    n_ranks = size or int(max(src.max(), dst.max())) + 1
    entries = total_messages([Step(src[kept], dst[kept], value[kept])], n_ranks)
    return MatrixFile(entries, n_ranks, size is not None, content.sha256)


_Parsed = tuple[Ints, Ints, Floats, int | None]


def _read_csv(content: bytes) -> _Parsed:
    """Return senders, receivers and values of a table."""
    lines = io.StringIO(content.decode("utf-8-sig"), newline=None)
    header = [name.strip() for name in lines.readline().split(",")]
    refuse_separator(header, "line 1", PatternError)
    if header not in _COLUMNS:
        got = brief(header)
        raise PatternError(f"line 1: expected src,dst,bytes or src,dst,messages, got {got}.")
    rows = array("d")
    for number, line in enumerate(lines, start=2):
        if line.strip():
            rows.extend(_line_values(number, line))
            _check_count(len(rows) // 3)
    src, dst, value = np.array(rows).reshape(-1, 3).T
    return src.astype(np.int64), dst.astype(np.int64), value, None


def _check_count(n_entries: int) -> None:
    """Refuse more entries than fit into memory."""
    if n_entries > MOST_ENTRIES:
        raise PatternError(f"expected at most {MOST_ENTRIES:,} entries, got more.")


def _line_values(number: int, line: str) -> tuple[int, int, float]:
    """Return the values of a line."""
    try:
        src, dst, value = line.split(",")
        row = int(src), int(dst), float(value)
    except ValueError:
        raise PatternError(
            f"line {number}: expected two ranks and a number, got {brief(line.rstrip())}."
        ) from None
    if not 0 <= min(row[:2]) <= max(row[:2]) < _MAX_RANKS:
        raise PatternError(
            f"line {number}: ranks must be in 0..{_MAX_RANKS - 1}, got {brief(line.rstrip())}."
        )
    return row


def _read_matrix_market(content: bytes) -> _Parsed:
    """
    Return senders, receivers and values of a MatrixMarket file.

    Each line is checked here: `scipy.io.mmread` takes ``7,5`` for 7, and ends the process where
    something follows the last value of a file without a last end of line.
    """
    lines = iter(enumerate(io.StringIO(content.decode("utf-8-sig"), newline=None), start=1))
    coordinate, pattern, symmetry = _market_header(next(lines, (1, ""))[1])
    said = ((number, line) for number, line in lines if line.strip() and line[0] != "%")
    number, line = next(said, (2, ""))
    sizes = _market_numbers(
        number, line, 3 if coordinate else 2, 0, "rows, columns and entries, as whole numbers"
    )
    n_rows, n_columns = (int(size) for size in sizes[:2])
    if n_rows != n_columns or n_rows > _MAX_RANKS:
        raise PatternError(
            f"line {number}: expected a square matrix of at most {_MAX_RANKS:,} ranks, got "
            f"{n_rows:,} times {n_columns:,}."
        )
    dense = n_rows**2 if symmetry == "general" else n_rows * (n_rows + 1) // 2
    count = int(sizes[2]) if coordinate else dense
    _check_count(count)
    whole, real = 2 * coordinate, 1 - pattern
    width = whole + real
    expected = " and ".join(["two ranks"] * coordinate + ["a number"] * (not pattern))
    values = array("d")
    for number, line in said:
        if len(values) == width * count:
            raise PatternError(f"line {number}: expected {count:,} entries, got more.")
        row = _market_numbers(number, line, whole, real, expected)
        if coordinate and not 1 <= min(row[:2]) <= max(row[:2]) <= n_rows:
            raise PatternError(
                f"line {number}: ranks must be in 1..{n_rows}, got {brief(line.strip())}."
            )
        values.extend(row)
    if len(values) != width * count:
        raise PatternError(f"expected {count:,} entries, got {len(values) // width:,}.")
    table = np.array(values).reshape(-1, width)
    if coordinate:
        src, dst = (table[:, :2].astype(np.int64) - 1).T
        value = np.ones(count) if pattern else table[:, 2]
    else:
        src, dst = _dense_places(n_rows, symmetry)
        value = table[:, 0]
    if symmetry != "general":
        mirrored = src != dst
        src, dst = np.concatenate([src, dst[mirrored]]), np.concatenate([dst, src[mirrored]])
        value = np.concatenate([value, value[mirrored]])
    return src, dst, value, n_rows


def _market_header(line: str) -> tuple[bool, bool, str]:
    """Return whether entries have coordinates, whether they have no values, and the symmetry."""
    words = line.lower().split()
    if (
        len(words) != len(_MARKET)
        or any(word not in known for word, known in zip(words, _MARKET, strict=True))
        or words[2:4] == ["array", "pattern"]
    ):
        expected = " ".join("/".join(choices) for choices in _MARKET)
        raise PatternError(f"line 1: expected {expected!r}, got {brief(line.strip())}.")
    return words[2] == "coordinate", words[3] == "pattern", words[4]


def _market_numbers(number: int, line: str, whole: int, real: int, what: str) -> list[float]:
    """Return the numbers of a line: first so many whole ones, then so many others."""
    words = line.split()
    if (
        len(words) != whole + real
        or not all(map(_WHOLE.fullmatch, words[:whole]))
        or not all(map(_NUMBER.fullmatch, words[whole:]))
    ):
        raise PatternError(f"line {number}: expected {what}, got {brief(line.strip())}.")
    return [float(word) for word in words]


def _dense_places(n: int, symmetry: str) -> tuple[Ints, Ints]:
    """Return rows and columns of these entries, which stand column by column."""
    if symmetry == "general":
        return np.tile(np.arange(n), n), np.repeat(np.arange(n), n)
    column, row = np.triu_indices(n)
    return row, column


def _read_npz(content: bytes) -> _Parsed:
    """Return senders, receivers and values of an archive of numpy or scipy."""
    from scipy.sparse import load_npz  # noqa: PLC0415 (few jobs have a measured matrix)

    if not content.startswith(_ZIP_MAGIC):
        raise PatternError("expected an NPZ archive, as numpy and scipy write them.")
    with ZipFile(io.BytesIO(content)) as parts:
        sizes = [part.file_size for part in parts.infolist()]
        if any(part.compress_type not in _PACKED or part.flag_bits & 1 for part in parts.filelist):
            raise PatternError("expected an NPZ archive, as numpy and scipy write them.")
    if sum(sizes) > MOST_BYTES:
        raise PatternError(f"more than {MOST_BYTES // 2**20} MiB, unpacked.")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        if "format" not in archive:
            if len(archive.files) != 1:
                raise PatternError(f"expected one array, got {', '.join(archive.files)}.")
            return _of_matrix(archive[archive.files[0]])
    matrix = load_npz(io.BytesIO(content))
    if hasattr(matrix, "check_format"):  # else a conversion may write past the end of an array
        matrix.check_format(full_check=True)
    return _of_matrix(matrix)


def _of_matrix(matrix: object) -> _Parsed:
    """Return senders, receivers and values of a dense or sparse matrix."""
    from scipy.sparse import coo_array  # noqa: PLC0415 (few jobs have a measured matrix)

    shape: tuple[int, ...] = getattr(matrix, "shape", ())
    kind = getattr(matrix, "dtype", np.dtype(object))
    if kind.kind not in "iufb" or len(shape) != 2 or len(set(shape)) != 1:  # noqa: PLR2004 (rows, columns)
        raise PatternError(
            f"expected a square matrix of real numbers, got shape {shape} of {kind}."
        )
    if shape[0] > _MAX_RANKS:
        raise PatternError(f"expected at most {_MAX_RANKS:,} ranks, got {shape[0]:,}.")
    dense = isinstance(matrix, np.ndarray)
    _check_count(int(np.count_nonzero(matrix) if dense else matrix.nnz))  # type: ignore[call-overload, attr-defined]
    sparse = coo_array(matrix)  # type: ignore[call-overload]
    src, dst = sparse.row.astype(np.int64), sparse.col.astype(np.int64)
    return src, dst, sparse.data.astype(np.float64), shape[0]


_READERS: dict[str, Callable[[bytes], _Parsed]] = {
    ".csv": _read_csv,
    ".mtx": _read_matrix_market,
    ".npz": _read_npz,
}


_LEAST, _MOST = 1e-30, 1e30  # entries may be shares of a whole; beyond, their sums mean nothing


@dataclass(frozen=True, slots=True)
class Matrix(Template):
    """
    All messages of a measured matrix, in one step.

    The file is read once, when the pattern is made; patterns are equal when they name the same file
    with the same content and scale.
    """

    # path of a CSV, MatrixMarket or NPZ file, as `patterns.matrix.read_matrix` takes. A matrix
    # of a stated size is for jobs of just so many ranks; a CSV file, which states none, for all
    # jobs that have its ranks.
    file: str = ""
    # factor on every entry: bytes of a message where the file counts messages, the reciprocal of
    # the iterations that were measured, 0.5 where an entry counts both directions
    scale: float = 1.0
    digest: str = field(init=False, repr=False)
    _read: MatrixFile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options and read the file."""
        if not isinstance(self.file, str) or not self.file:
            raise PatternError(f"file must be the path of a matrix, got {self.file!r}.")
        scale, read = positive("scale", self.scale), read_matrix(self.file)
        smallest, largest = read.entries.nbytes.min(), read.entries.nbytes.max()
        if not (smallest >= _LEAST / scale and largest <= _MOST / scale):
            raise PatternError(
                f"{self.file}: expected entries of {_LEAST:g} to {_MOST:g} after scaling, got "
                f"{smallest:g} to {largest:g} with scale {scale:g}."
            )
        settle(self, scale=scale, digest=read.digest, _read=read)

    def _steps(self, n_ranks: int) -> list[Step]:
        read, fits = self._read, n_ranks == self._read.n_ranks
        if not fits and (read.square or n_ranks < read.n_ranks):
            wanted = "just" if read.square else "at least"
            raise PatternError(
                f"{self.file} is for {wanted} {read.n_ranks} ranks, the job has {n_ranks}."
            )
        entries = read.entries
        return [Step(entries.src, entries.dst, entries.nbytes * self.scale)]
