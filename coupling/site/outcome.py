"""Outcome of a scene: what jobs do to each other in every sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coupling.site.drawn_traffic import JobLoads
from coupling.site.state import SiteState
from netsim.common.arrays import Bools, Floats, Ints
from netsim.fluid.demand import JobDemand
from netsim.fluid.model import Fluid

NO_JOB = -1


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What D samples make of J jobs."""

    # factor, interference: (D, J): alone / ideal, and together / alone, of the jobs in the order
    # of the scene
    factor: Floats
    interference: Floats
    together_s: Floats  # (D, J): seconds of an iteration among the others; nan where none is sent
    culprit: Ints  # (D, J): place of the job that costs each most; `NO_JOB` where nothing is lost
    worst: Ints  # (D, J): directed link that holds each up most; -1 for none
    # link, job: (K,): pairs of link and place of a job that uses it in some sample, by link
    link: Ints
    job: Ints
    share: Floats  # (K,): part of the link's capacity that the job takes, mean over the samples
    shared: Bools  # (E,): links that several jobs use in some sample
    apart: frozenset[int]  # Places of jobs whose nodes nothing connects; they send nothing

    @property
    def network_slowdown(self) -> Floats:
        """Together / ideal, (D, J)."""
        found: Floats = self.factor * self.interference
        return found


def solve(
    scene: SiteState,
    loads: JobLoads | None = None,
    *,
    detail: bool = True,
    models: list[Fluid] | None = None,
) -> Outcome:
    """
    Let the jobs of a scene run together, sample by sample.

    `detail`: also find culprits, worst links and use of links. `models`: gets the converged model
    of each sample.
    """
    drawn, apart = (loads or JobLoads(scene)).all_samples()
    numbers = [job.number for job in scene.jobs]
    place = {number: at for at, number in enumerate(numbers)}
    shape = len(drawn), len(numbers)
    factor, interference = np.ones(shape), np.ones(shape)
    together_s = np.full(shape, np.nan)
    culprit, worst = np.full(shape, NO_JOB), np.full(shape, -1)
    rows: list[tuple[Ints, Ints, Floats]] = []
    known: dict[int, tuple[Ints, Floats]] = {}
    model = empty_model(scene)
    for row, here in enumerate(drawn):
        order = sorted(here)
        if models is not None:
            model = empty_model(scene)
            models.append(model)
        model.start_over({n: here[n].demand for n in order})
        found = model.solve()
        at = [place[n] for n in order]
        factor[row, at] = [here[n].placement_factor for n in order]
        interference[row, at] = [found[n] for n in order]
        together_s[row, at] = [found[n] * here[n].demand.iteration_s for n in order]
        if detail:
            worst[row, at] = model.worst_links(order)
            _note_blame(culprit[row], model, order, place)
            demands, n_links = [here[n].demand for n in order], scene.topology.n_links
            rows.append(_note_use(demands, together_s[row, at], at, known, n_links))
    link, job, share, shared = _mean_use(rows, len(numbers), scene.topology.n_links)
    gone = frozenset(place[number] for number in apart)
    return Outcome(factor, interference, together_s, culprit, worst, link, job, share, shared, gone)


def empty_model(scene: SiteState) -> Fluid:
    """Return a model in which no job runs."""
    return Fluid(scene.topology, fairness=scene.fairness, **scene.options)


def _note_blame(
    culprit: Ints, model: Fluid, order: Sequence[int], place: Mapping[int, int]
) -> None:
    """Write down which job costs each most, in one sample."""
    table = model.culprits(order)
    if not table.victim.size:
        return
    first = np.flatnonzero(np.diff(table.victim, prepend=-1))  # numbers of jobs are 0 or more
    count = np.diff(first, append=table.victim.size)
    most = table.share == np.repeat(np.maximum.reduceat(table.share, first), count)
    rows = np.flatnonzero(most)
    rows = rows[np.diff(table.victim[rows], prepend=-1) != 0]  # the first of equal ones
    for victim, by in zip(table.victim[rows].tolist(), table.culprit[rows].tolist(), strict=True):
        culprit[place[victim]] = place[by]


def _note_use(
    demands: Sequence[JobDemand],
    together_s: Floats,
    places: Sequence[int],
    known: dict[int, tuple[Ints, Floats]],
    n_links: int,
) -> tuple[Ints, Ints, Floats]:
    """
    Return which job takes how much of which link, limiters left out, in one sample.

    `known`: links and seconds on them, by entries, which samples have in common.
    """
    if not demands:
        none = np.empty(0, dtype=np.int64)
        return none, none, np.empty(0)
    parts = []
    for demand in demands:
        key = id(demand.entries)
        if key not in known:
            own = demand.records["link"] < n_links
            known[key] = demand.records["link"][own].astype(np.int64), demand.drain_s[own]
        parts.append(known[key])
    link, busy = (np.concatenate(own) for own in zip(*parts, strict=True))
    sizes = [links.size for links, _ in parts]
    return link, np.repeat(places, sizes), busy / np.repeat(together_s, sizes)


def _mean_use(
    rows: Sequence[tuple[Ints, Ints, Floats]], n_jobs: int, n_links: int
) -> tuple[Ints, Ints, Floats, Bools]:
    """Return the mean use of each link by each job, and which links several jobs use at once."""
    shared = np.zeros(n_links, dtype=np.bool_)
    if not rows:
        none = np.empty(0, dtype=np.int64)
        return none, none, np.empty(0), shared
    for link, _, _ in rows:
        shared |= np.bincount(link, minlength=n_links) > 1
    link, job, share = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    pair, inverse = np.unique(link * max(n_jobs, 1) + job, return_inverse=True)
    mean = np.bincount(inverse, weights=share, minlength=pair.size) / max(len(rows), 1)
    return pair // max(n_jobs, 1), pair % max(n_jobs, 1), mean, shared
