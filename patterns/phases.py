"""Training jobs of GPUs: phases of computation and collectives of groups of ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from patterns.base import Ints, Step
from patterns.errors import PatternError
from patterns.messages import repeated
from patterns.placed import Collective, Layout, PlacedPattern, require_groups

DIMENSIONS = ("tp", "cp", "pp", "dp")
"""
Tensor, context, pipeline and data parallelism; ``ep``, of experts, divides ``dp``.

``edp`` are the replicas of an expert: ``dp`` without ``ep``.
"""

REPLICAS = "edp"

_BYTES = 2  # of a number in 16 bits: parameters, gradients and activations
_PASSES = 4  # collectives of a layer in both directions of tensor and of expert parallelism


@dataclass(frozen=True, slots=True)
class Part:
    """A collective of all groups of ranks that differ in some dimensions."""

    over: tuple[str, ...]  # dimensions; all where empty
    collective: Collective | None  # None: sends between neighbours, both ways
    nbytes: float
    times: int = 1  # one after the other
    hot: float = 1.0  # largest over mean bytes of a receiver of an all-to-all
    dimension: str = ""  # what tables call `over`; absent: its names

    @property
    def label(self) -> str:
        """What tables call it."""
        what = "send" if self.collective is None else self.collective.operation
        return f"{what} over {self.dimension or '+'.join(self.over) or 'all'}"


@dataclass(frozen=True, slots=True)
class Phase:
    """Computation, and collectives after it or beside it."""

    compute_s: float
    parts: tuple[Part, ...] = ()
    hidden: bool = False  # whether the collectives run beside the computation


@dataclass(frozen=True, slots=True)
class Phases(PlacedPattern):
    """
    One iteration of a training job: phases in order.

    Rank r has coordinates in the mixed base of the sizes, the first of the order fastest.
    """

    phases: tuple[Phase, ...]
    sizes: tuple[tuple[str, int], ...] = ()  # fastest first, without dp
    order: tuple[str, ...] = DIMENSIONS
    ep: int = 1  # ranks of dp that share experts

    def axes(self, n_ranks: int) -> dict[str, int]:
        """Return the sizes of the dimensions of so many ranks, fastest first."""
        sizes = dict(self.sizes)
        others = prod(size for name, size in self.sizes if name != "dp")
        what = " x ".join(name for name, _ in self.sizes if name != "dp") or "1"
        dp = require_groups(what, n_ranks, others)
        if sizes.get("dp", dp) != dp:
            raise PatternError(
                f"dp: expected {dp}, or left out: {n_ranks} ranks make {dp} replicas of {others}, "
                f"got {sizes['dp']}."
            )
        require_groups("ep", dp, self.ep, "replicas (dp)")
        found = {}
        for name in self.order:
            if name == "dp":
                found["ep"], found["dp"] = self.ep, dp // self.ep
            else:
                found[name] = sizes.get(name, 1)
        return found

    def groups(self, n_ranks: int, over: Sequence[str]) -> Ints:
        """Return the groups (G, m) of ranks that differ in some dimensions; all where empty."""
        axes = self.axes(n_ranks)
        names = [*over, "ep"] if "dp" in over else list(over)
        if REPLICAS in over:
            names.append("dp")
        ranks = np.arange(n_ranks).reshape(tuple(axes.values()), order="F")
        moved = [at for at, name in enumerate(axes) if name in names or not over]
        ranks = np.moveaxis(ranks, moved[::-1], range(-len(moved), 0))
        return ranks.reshape(-1, prod(ranks.shape[-len(moved) :]))

    def placed_steps(self, layout: Layout) -> list[Step]:
        """Return the steps of ranks on hosts."""
        found: list[Step] = []
        for phase in self.phases:
            steps = [step for part in phase.parts for step in self._steps_of(part, layout)]
            if phase.hidden and steps:
                steps = [replace(step, hide_s=None) for step in steps]
                steps[-1] = replace(steps[-1], hide_s=phase.compute_s)
            found += steps
        return found

    def exposed_compute_s(self, n_ranks: int) -> float:
        """Return the computation of an iteration that no collective runs beside."""
        return sum(
            phase.compute_s
            for phase in self.phases
            if not (phase.hidden and self._sends(phase, n_ranks))
        )

    def compute_s(self) -> float:
        """Return all computation of an iteration."""
        return sum(phase.compute_s for phase in self.phases)

    def _sends(self, phase: Phase, n_ranks: int) -> bool:
        """Say whether a phase has a group of two ranks or more."""
        return any(self.groups(n_ranks, part.over).shape[1] > 1 for part in phase.parts)

    def check(self, n_ranks: int) -> None:
        """Refuse groups of one rank and sizes that do not fill the ranks."""
        for phase in self.phases:
            for part in phase.parts:
                if self.groups(n_ranks, part.over).shape[1] < 2:  # noqa: PLR2004 (a pair)
                    raise PatternError(f"{part.label}: a group has one rank of {n_ranks}.")

    def _steps_of(self, part: Part, layout: Layout) -> list[Step]:
        """Return the steps of a collective of all its groups."""
        groups = self.groups(layout.host.size, part.over)
        if groups.shape[1] == 1:
            return []
        if part.collective is None:
            ends = groups[:, :-1].ravel(), groups[:, 1:].ravel()
            src, dst = np.concatenate(ends), np.concatenate(ends[::-1])
            steps = [Step(src, dst, np.full(src.size, part.nbytes))]
        else:
            steps = part.collective.steps(groups, layout)
            if part.hot > 1.0:
                steps = [_uneven(step, groups, part.hot) for step in steps]
        return [replace(repeated(step, part.times), label=part.label) for step in steps]


def _uneven(step: Step, groups: Ints, hot: float) -> Step:
    """Return an all-to-all in which the first of each group gets `hot` times the mean."""
    size = groups.shape[1]
    if hot > size:
        raise PatternError(f"hot: expected at most the {size} ranks of a group, got {hot:g}.")
    first = np.isin(step.dst, groups[:, 0])
    rest = (size - hot) / (size - 1)
    return replace(step, nbytes=step.nbytes * np.where(first, hot, rest))


@dataclass(frozen=True, slots=True)
class Model:
    """
    A transformer and how its training is spread over GPUs.

    Layout and collectives of Megatron-LM (Narayanan et al. 2021) and of fully sharded data
    parallelism. Numbers have 16 bits.
    """

    params: float  # of the whole model
    layers: int
    hidden: int
    seq: int  # tokens of a sequence
    compute_s: float  # of an iteration on a GPU, without the bubble of the pipeline
    micro_batch: int = 1  # sequences
    micro_batches: int = 1  # of an iteration, for each replica
    tp: int = 1
    cp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int | None = None  # default: as the ranks have room for
    interleave: int = 1  # parts of the model on a stage of the pipeline
    top_k: int = 2  # experts of a token
    hot: float = 1.0  # busiest expert over the mean
    fsdp: bool = False  # parameters are sharded over dp
    overlap: bool = True  # gradients and shards travel beside computation
    order: tuple[str, ...] = DIMENSIONS

    def phases(self) -> Phases:
        """Return the phases of an iteration."""
        if sorted(self.order) != sorted(DIMENSIONS):
            raise PatternError(f"order: expected each of {', '.join(DIMENSIONS)} once.")
        stages = require_groups("pp", self.layers, self.pp, "layers")
        count, batches = stages * self.micro_batches, self.micro_batches
        tokens = self.micro_batch * self.seq / self.cp
        activations = tokens * self.hidden * _BYTES
        exposed = [
            self._part("tp", "allreduce", activations, _PASSES * count),
            self._part("cp", "allgather", 2 * activations * self.cp / self.tp, count),
            self._part("cp", "reduce-scatter", 2 * activations * self.cp / self.tp, count),
            self._part(
                "ep",
                "all-to-all",
                activations / self.tp * self.top_k / self.ep,
                _PASSES * count,
                self.hot,
            ),
        ]
        parts = tuple(part for part in exposed if part is not None)
        if self.pp > 1:  # one send of each way waits; the others run beside computation
            parts += (Part(("pp",), None, activations / self.tp),)
        bubble_s = self.compute_s * (self.pp - 1) / (self.interleave * batches)
        sends: tuple[Part, ...] = ()
        if self.pp > 1 and batches > 1:
            sends = (Part(("pp",), None, activations / self.tp, batches - 1),)
        beside = self._beside(sends)
        spent_s = sum(phase.compute_s for phase in beside)
        main = Phase(max(0.0, self.compute_s - spent_s) + bubble_s, parts)
        named = (("tp", self.tp), ("cp", self.cp), ("pp", self.pp))
        sizes = named if self.dp is None else (*named, ("dp", self.dp))
        return Phases((main, *beside), sizes, self.order, self.ep)

    def _part(
        self, over: str, operation: str, nbytes: float, times: int, hot: float = 1.0
    ) -> Part | None:
        """Return a collective over a dimension, None where that has one rank."""
        if getattr(self, over) == 1:
            return None
        return Part((over,), Collective(operation, "auto", nbytes), nbytes, times, hot)

    def _beside(self, sends: tuple[Part, ...]) -> list[Phase]:
        """
        Return the phases of data parallelism, and most sends of a pipeline.

        A third of the computation is the forward pass.
        """
        nbytes = self.params / (self.tp * self.pp) * _BYTES

        def over_dp(operation: str) -> Part:
            collective = Collective(operation, "auto", nbytes)
            return Part(("dp", "cp"), collective, nbytes, dimension=dimension)

        dimension = "fsdp" if self.fsdp else "dp" if self.cp == 1 else "dp+cp"
        if self.fsdp:  # shards before the forward pass, and beside the backward one
            again = (over_dp("allgather"), over_dp("reduce-scatter"))
            rows = [(1 / 3, (over_dp("allgather"),)), (2 / 3, (*sends, *again))]
        else:  # beside the backward pass of the last micro-batch
            last = 2 / 3 / self.micro_batches
            rows = [(last, (over_dp("allreduce"),)), *([(1 - last, sends)] if sends else [])]
        shares = [(share if self.overlap else 0.0, parts) for share, parts in rows]
        return [Phase(self.compute_s * share, parts, hidden=True) for share, parts in shares]


def sizes_of(parallel: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the sizes of dimensions in their usual order."""
    return tuple((name, parallel[name]) for name in DIMENSIONS if name in parallel)
