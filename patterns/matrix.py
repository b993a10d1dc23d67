"""Measured communication matrix as a pattern."""

from dataclasses import dataclass, field

from patterns.base import Step
from patterns.errors import PatternError
from patterns.matrixfile import MatrixFile, read_matrix
from patterns.options import positive, settle
from patterns.template import Template

_LEAST, _MOST = 1e-30, 1e30  # entries may be shares of a whole; beyond, their sums mean nothing


@dataclass(frozen=True, slots=True)
class Matrix(Template):
    """
    All messages of a measured matrix, in one step.

    The file is read once, when the pattern is made; patterns are equal when they name the same file
    with the same content and scale.
    """

    # path of a CSV, MatrixMarket or NPZ file, as `patterns.matrixfile.read_matrix` takes. A matrix
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
        """Return the steps."""
        read, fits = self._read, n_ranks == self._read.n_ranks
        if not fits and (read.square or n_ranks < read.n_ranks):
            wanted = "just" if read.square else "at least"
            raise PatternError(
                f"{self.file} is for {wanted} {read.n_ranks} ranks, the job has {n_ranks}."
            )
        entries = read.entries
        return [Step(entries.src, entries.dst, entries.nbytes * self.scale)]
