"""Collectives of model training with data, tensor and pipeline parallelism."""

from dataclasses import dataclass

import numpy as np

from patterns.base import DEFAULT_NBYTES, Step, Template, integer, settle, size
from patterns.collective_steps import allreduce_ring
from patterns.errors import PatternError
from patterns.grid import grid_lines
from patterns.messages import message_step, repeated, within_groups

_ALLREDUCES_PER_PASS = 2  # of a layer: after attention and after the feed-forward part


@dataclass(frozen=True, slots=True)
class Training(Template):
    """
    One iteration of training a transformer on dp x tp x pp ranks.

    Rank ``t + tp (d + dp p)`` is tensor part t of replica d of pipeline stage p: the ranks of a
    tensor group are neighbours, stages are furthest apart. In order: tensor-parallel allreduces of
    the forward pass, activations to the next stage, tensor-parallel allreduces of the backward
    pass, gradients to the stage before, data-parallel allreduce of all gradients. All allreduces
    run round a ring.

    Layout and collectives of Megatron-LM: Narayanan et al., *Efficient large-scale language model
    training on GPU clusters using Megatron-LM*, 2021: two allreduces for each layer, microbatch and
    direction (section 2.3); each tensor part sends its 1/tp of the activations on to the next stage
    (scatter/gather, section 4.1). Messages of different layers and microbatches are summed, so that
    the number of rounds depends on dp and tp only; stages send all at once, as in the steady state
    of a pipeline. The rounds of a ring are one step.
    """

    # replicas, whose gradients are summed. Default: as many as the job has room for.
    dp: int | None = None
    tp: int = 1  # parts that each layer is split into
    pp: int = 1  # pipeline stages, consecutive parts of the model
    nbytes: float = DEFAULT_NBYTES  # bytes of the gradients that a rank holds
    # bytes of the activations of one microbatch between layers
    activation_bytes: float = DEFAULT_NBYTES
    layers: int = 1  # layers of a stage
    microbatches: int = 1  # microbatches of an iteration, for each replica

    def __post_init__(self) -> None:
        settle(
            self,
            dp=None if self.dp is None else integer("dp", self.dp, 1),
            tp=integer("tp", self.tp, 1),
            pp=integer("pp", self.pp, 1),
            nbytes=size("nbytes", self.nbytes),
            activation_bytes=size("activation_bytes", self.activation_bytes),
            layers=integer("layers", self.layers, 1),
            microbatches=integer("microbatches", self.microbatches, 1),
        )

    def _steps(self, n_ranks: int) -> list[Step]:
        dp = self._replicas(n_ranks)
        grid = (self.tp, dp, self.pp)
        activations = self.activation_bytes * self.microbatches
        reduced = activations * self.layers * _ALLREDUCES_PER_PASS
        tensor = within_groups(grid_lines(grid, 0), allreduce_ring(self.tp, reduced))
        data = within_groups(grid_lines(grid, 1), allreduce_ring(dp, self.nbytes))
        if self.pp == 1:  # the backward pass follows the forward one, round by round alike
            return [*(repeated(step, 2) for step in tensor), *data]
        stage = np.arange(n_ranks - self.tp * dp)
        above = stage + self.tp * dp
        forward = message_step(stage, above, activations / self.tp)
        backward = message_step(above, stage, activations / self.tp)
        return [*tensor, forward, *tensor, backward, *data]

    def _replicas(self, n_ranks: int) -> int:
        """Return the data-parallel replicas of a job."""
        part = self.tp * self.pp
        if n_ranks % part or self.dp not in {None, n_ranks // part}:
            replicas = "dp" if self.dp is None else f"{self.dp}"
            raise PatternError(
                f"dp x tp x pp = {replicas} x {self.tp} x {self.pp} must be the number of ranks, "
                f"the job has {n_ranks}."
            )
        return n_ranks // part
