"""Training jobs of a log: a model, spread over as many GPUs as each job has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fabricsim.checking import Table
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import UnitError
from netsim.common.units import parse_time
from patterns.errors import PatternError
from patterns.phases import DIMENSIONS, Model, Phases
from patterns.placed import Layout
from scheduler.errors import WorkloadError
from scheduler.job import Communication, Job

REFUSE, PLAIN = "refuse", "plain"
MISFITS = (REFUSE, PLAIN)
"""What becomes of jobs whose GPUs a model does not fill: an error, or data parallelism alone."""


def read_model(table: Table) -> Model:
    """Read a model and how it is spread."""
    counts = ("layers", "hidden", "seq")
    optional = ("micro_batch", "micro_batches", "tp", "cp", "pp", "ep", "dp", "interleave", "top_k")
    table.require("params", *counts)
    given: dict[str, int] = {name: table.integer(name, least=1) for name in counts}
    given |= {name: table.integer(name, least=1) for name in optional if name in table}
    hot = table.number("hot", 1.0, 1.0)
    for key, stated in (("hot", hot > 1.0), ("top_k", "top_k" in given)):
        if stated and given.get("ep", 1) == 1:
            raise table.fault(key, "expected ep above 1 beside it: there are no experts.")
    found = Model(
        params=_amount(table, "params"),
        compute_s=read_seconds(table, "compute_s", required=True),
        hot=hot,
        fsdp=table.flag("fsdp", default=False),
        overlap=table.flag("overlap", default=True),
        order=table.names("order") or DIMENSIONS,
        **given,
    )
    table.finish()
    return found


def _amount(table: Table, key: str) -> float:
    """Read a positive number, also as a text such as "70e9"."""
    value = table.raw(key)
    try:
        number = float(value) if isinstance(value, (int, float, str)) else 0.0
    except ValueError:
        number = 0.0
    if isinstance(value, bool) or not 0.0 < number < 1e18:  # noqa: PLR2004 (beyond any model)
        raise table.error(key, 'a positive number, such as "70e9"')
    return number


def read_seconds(table: Table, key: str, *, required: bool) -> float:
    """Read a time."""
    if key not in table and not required:
        return 0.0
    try:
        return parse_time(table.raw(key))
    except (UnitError, TypeError):
        raise table.error(key, "seconds, or a text such as '3 ms'") from None


class TrainingJobs:
    """
    Gives jobs of one rule their communication: the GPUs of each decide `dp`.

    `layout`: of so many ranks on as many of the lowest hosts as said; None where there are no GPUs.
    """

    def __init__(
        self, model: Model, misfit: str, place: str, layout: Callable[[int, int], Layout] | None
    ) -> None:
        if layout is None:
            raise WorkloadError(
                f"{place}: model: expected a run on a fabric of kind 'gpu-cluster'."
            )
        self._model, self._misfit, self._place, self._layout = model, misfit, place, layout
        one = replace(model, tp=1, cp=1, pp=1, ep=1, dp=None, interleave=1, hot=1.0)
        self._phases = {False: model.phases(), True: one.phases()}
        self._known: dict[tuple[int, int], Communication | None] = {}

    def communications(self, jobs: Sequence[Job], label: str) -> list[Communication | None]:
        """Return what each job sends; None for one that sends nothing."""
        return [self._of(job, label) for job in jobs]

    def _of(self, job: Job, label: str) -> Communication | None:
        if job.sizes:
            what = "model: expected jobs of one size, which decides dp, got several sizes"
            raise WorkloadError(f"{self._place}: job {job.id}: {what}.")
        most = job.n_nodes * self._layout(1, 1).gpus
        n_ranks = job.gpus or most
        if n_ranks > most:
            what = f"expected at most the {most} GPUs of its {job.n_nodes} hosts, got {n_ranks}"
            raise WorkloadError(f"{self._place}: job {job.id}: {what}.")
        key = n_ranks, job.n_nodes
        if key not in self._known:
            plain = self._is_plain(job, n_ranks)
            self._known[key] = self._made(self._phases[plain], self._layout(*key), label)
        return self._known[key]

    def _is_plain(self, job: Job, n_ranks: int) -> bool:
        """Say whether a job is by data parallelism alone; refuse one that does not fit."""
        model = self._model
        unit = model.tp * model.cp * model.pp * (model.dp or model.ep)
        if n_ranks % unit == 0 and (model.dp is None or n_ranks == unit):
            return False
        if self._misfit == PLAIN:
            return True
        low = n_ranks // unit * unit
        near = [unit] if model.dp else [size for size in (low, low + unit) if size]
        last = f"dp = {model.dp}" if model.dp else f"ep = {model.ep}"
        raise WorkloadError(
            f"{self._place}: job {job.id}: {n_ranks} GPUs do not fill tp x cp x pp = "
            f"{model.tp * model.cp * model.pp} and {last}; nearest: "
            f"{' or '.join(map(str, near))}, or misfit = 'plain'."
        )

    def _made(self, phases: Phases, layout: Layout, label: str) -> Communication | None:
        """Return the communication of ranks; its share is that on the lowest hosts."""
        n_ranks = layout.host.size
        try:
            steps, compute_s = phases.placed_steps(layout), phases.exposed_compute_s(n_ranks)
        except PatternError as error:
            raise WorkloadError(f"{self._place}: model: {error}") from None
        busiest = sum(
            _busiest_bytes(step.src, step.dst, step.nbytes, layout.host) for step in steps
        )
        if not busiest:
            return None
        sent_s = busiest / (layout.nic_rate * layout.nics)
        return Communication(
            label, phases, sent_s / (sent_s + phases.compute_s()), compute_s=compute_s
        )


def _busiest_bytes(src: Ints, dst: Ints, nbytes: Floats, host: Ints) -> float:
    """Return the bytes that the busiest host sends to others."""
    out = host[src] != host[dst]
    sent = np.bincount(host[src][out], weights=nbytes[out])
    return float(sent.max(initial=0.0))


def model_rule(fields: Table, given: Mapping[str, Any], place: str) -> tuple[Model, str]:
    """Read the keys ``model`` and ``misfit`` of a rule, which has no other of its traffic."""
    for key in ("pattern", "comm_fraction", "bytes_per_flow", "iteration"):
        if key in given:
            raise WorkloadError(
                f"{place}: {key}: expected none beside a model, which says what is sent."
            )
    misfit = fields.text("misfit", REFUSE, choices=MISFITS)
    return read_model(Table(given["model"], f"{place}: model:", WorkloadError)), misfit
