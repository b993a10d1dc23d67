"""All-to-all, among all ranks or inside the lines of a process grid."""

from dataclasses import dataclass

import numpy as np

from patterns.base import Step
from patterns.errors import PatternError
from patterns.grid import DEFAULT_DIMS, check_grid, grid_for, lines
from patterns.messages import all_pairs, message_step, non_empty
from patterns.options import DEFAULT_NBYTES, integers, positive, settle


@dataclass(frozen=True, slots=True)
class AllToAll:
    """
    Every rank sends a message to every other, all at once.

    Parameters
    ----------
    nbytes : float
        Bytes of each message.

    Notes
    -----
    M_a2a of seed 004, section on communication pattern matrices.
    """

    nbytes: float = DEFAULT_NBYTES

    def __post_init__(self) -> None:
        """Check the options."""
        settle(self, nbytes=positive("nbytes", self.nbytes))

    def steps(self, n_ranks: int) -> list[Step]:
        """
        Return the steps of one iteration.

        Parameters
        ----------
        n_ranks : int
            Ranks of the job, at least 1.

        Returns
        -------
        list of Step
            One step; none for one rank.
        """
        src, dst = all_pairs(np.arange(n_ranks)[None, :])
        return non_empty([message_step(src, dst, self.nbytes)])


@dataclass(frozen=True, slots=True)
class SubAllToAll:
    """
    All-to-all inside the lines of a process grid, one step per dimension.

    Parameters
    ----------
    grid : sequence of int, optional
        Extents, x first; the product must be the number of ranks. Default: near-cubic.
    over : sequence of int, optional
        Dimensions along which the lines run, in the order of their steps; 0 is x. Default:
        all.
    dims : int
        Dimensions, 1 to 4; as many as `grid` has where one is given.
    nbytes : float
        Bytes of each message.

    Notes
    -----
    Sub-a2a of seed 000, section V: "sub-communicator based all-to-all communication on a 3D
    process grid", over two of the dimensions or over all.
    """

    grid: tuple[int, ...] | None = None
    over: tuple[int, ...] | None = None
    dims: int = DEFAULT_DIMS
    nbytes: float = DEFAULT_NBYTES

    def __post_init__(self) -> None:
        """Check the options."""
        dims, grid = check_grid(self.dims, self.grid)
        over = tuple(range(dims)) if self.over is None else integers("over", self.over, 0, dims - 1)
        if len(set(over)) < len(over):
            raise PatternError(f"over must name a dimension once, got {list(over)}.")
        nbytes = positive("nbytes", self.nbytes)
        settle(self, dims=dims, grid=grid, over=over, nbytes=nbytes)

    def steps(self, n_ranks: int) -> list[Step]:
        """
        Return the steps of one iteration.

        Parameters
        ----------
        n_ranks : int
            Ranks of the job, at least 1.

        Returns
        -------
        list of Step
            One step per dimension in `over` that is longer than one rank.

        Raises
        ------
        PatternError
            If the given grid does not hold so many ranks.
        """
        grid = grid_for(n_ranks, self.dims, self.grid)
        pairs = (all_pairs(lines(grid, dimension)) for dimension in self.over or ())
        return non_empty(message_step(src, dst, self.nbytes) for src, dst in pairs)
