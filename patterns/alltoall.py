"""All-to-all among all ranks or inside lines of a process grid; one-to-all and all-to-one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from patterns.base import (
    DEFAULT_NBYTES,
    Rooted,
    Step,
    Template,
    check_root,
    choice,
    integers,
    settle,
    size,
)
from patterns.collective_steps import alltoall_bruck, alltoall_direct, alltoall_pairwise
from patterns.collectives import Algorithm, Collective, alltoall_mpich
from patterns.errors import PatternError
from patterns.grid import DEFAULT_DIMS, check_grid, grid_for, grid_lines
from patterns.messages import message_step, within_groups


@dataclass(frozen=True, slots=True)
class AllToAll(Collective):
    """Every rank to every other (MPI_Alltoall; M_a2a of Yang)."""

    # "direct", "pairwise", "bruck", "mpich": all messages at once; n - 1 rounds in which a rank
    # exchanges with one other; messages gathered and passed on in log2 n steps (Bruck); or what
    # MPICH takes for such sizes
    algorithm: str = "direct"

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "direct": alltoall_direct,
        "pairwise": alltoall_pairwise,
        "bruck": alltoall_bruck,
        "mpich": alltoall_mpich,
    }


@dataclass(frozen=True, slots=True)
class SubAllToAll(Template):
    """
    All-to-all in the lines of a process grid, axis after axis.

    Sub-a2a of Pollard18, section V: "sub-communicator based all-to-all communication on a 3D
    process grid", over two of the dimensions or over all.
    """

    # extents, x first; the product must be the number of ranks. Default: near-cubic.
    grid: tuple[int, ...] | None = None
    # dimensions along which the lines run, in the order of their steps; 0 is x. Default: all.
    over: tuple[int, ...] | None = None
    dims: int = DEFAULT_DIMS  # dimensions, 1 to 4; as many as `grid` has where one is given
    # "direct", "pairwise", "bruck", "mpich": how each line does it, as in `AllToAll`; ``"direct"``
    # is one step per dimension
    algorithm: str = "direct"
    nbytes: float = DEFAULT_NBYTES  # bytes that a rank has for each other in its line

    def __post_init__(self) -> None:
        dims, grid = check_grid(self.dims, self.grid)
        over = tuple(range(dims)) if self.over is None else integers("over", self.over, 0, dims - 1)
        if len(set(over)) < len(over):
            raise PatternError(f"over must name a dimension once, got {list(over)}.")
        algorithm = choice("algorithm", self.algorithm, AllToAll.algorithms)
        nbytes = size("nbytes", self.nbytes)
        settle(self, dims=dims, grid=grid, over=over, algorithm=algorithm, nbytes=nbytes)

    def _steps(self, n_ranks: int) -> list[Step]:
        grid, steps = grid_for(n_ranks, self.dims, self.grid), []
        for dimension in self.over or ():
            alltoall = AllToAll.algorithms[self.algorithm](grid[dimension], self.nbytes)
            steps += within_groups(grid_lines(grid, dimension), alltoall)
        return steps


@dataclass(frozen=True, slots=True)
class OneToAll(Rooted):
    """One rank sends a message to every other, all at once: M_o2a of Yang."""

    def _steps(self, n_ranks: int) -> list[Step]:
        root = check_root(self.root, n_ranks)
        return [message_step(np.full(n_ranks, root), np.arange(n_ranks), self.nbytes)]


@dataclass(frozen=True, slots=True)
class AllToOne(Rooted):
    """Every rank sends to one of them, all at once: M_a2o of Yang."""

    def _steps(self, n_ranks: int) -> list[Step]:
        root = check_root(self.root, n_ranks)
        return [message_step(np.arange(n_ranks), np.full(n_ranks, root), self.nbytes)]
