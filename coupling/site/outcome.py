"""Outcome of a scene: what jobs do to each other in every sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coupling.site.drawn_traffic import JobLoads, SampleLoads
from coupling.site.state import SiteState
from netsim.common.arrays import Bools, Floats, Ints
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
    model = empty_model(scene)
    use = LinkUse(drawn, place, scene.topology.n_links) if detail else None
    for row, here in enumerate(drawn):
        if models is not None:
            model = empty_model(scene)
            models.append(model)
        here.start(model)
        found = model.solve()
        at = [place[n] for n in here.jobs]
        factor[row, at] = here.placement_factor
        interference[row, at] = [found[n] for n in here.jobs]
        together_s[row, at] = interference[row, at] * here.iterations_s
        if use is not None:
            worst[row, at] = model.worst_links(here.jobs)
            _note_blame(culprit[row], model, here.jobs, place)
            use.add(here, together_s[row, at])
    gone = frozenset(place[number] for number in apart)
    link, job, share, shared = no_use(scene.topology.n_links) if use is None else use.mean()
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


class LinkUse:
    """Which job takes how much of which link, limiters left out, over D samples."""

    def __init__(
        self, samples: Sequence[SampleLoads], place: Mapping[int, int], n_links: int
    ) -> None:
        self._n_jobs, self._n_links, self._samples = max(len(place), 1), n_links, len(samples)
        self._shared: Bools = np.zeros(n_links, dtype=np.bool_)
        self._demands = demands = samples[0].bases.demands
        self._busy_s, self._link = (
            demands.drain_s(),
            demands.tables.records["link"].astype(np.int64),
        )
        job = np.zeros(demands.sizes.shape[1], dtype=np.int64)  # of each load
        for here in samples:
            job[here.rows] = [place[n] for n in here.jobs]
        pair = self._link * self._n_jobs + np.repeat(job, demands.sizes[0])
        self._pair, self._row = np.unique(pair, return_inverse=True)
        self._sum: Floats = np.zeros(self._pair.size)
        self._used: Bools = np.zeros(self._pair.size, dtype=np.bool_)

    def add(self, here: SampleLoads, together_s: Floats) -> None:
        """Add one sample, in which iterations take so long."""
        first, count = self._demands.first[0][here.rows], self._demands.sizes[0][here.rows]
        records = ranges_of(first, count)
        own_s = np.repeat(together_s, count)
        inside = self._link[records] < self._n_links
        if not inside.all():
            records, own_s = records[inside], own_s[inside]
        rows = self._row[records]  # each once: a job is on a link once
        self._sum[rows] += self._busy_s[records] / own_s
        self._used[rows] = True
        self._shared |= np.bincount(self._link[records], minlength=self._n_links) > 1

    def mean(self) -> tuple[Ints, Ints, Floats, Bools]:
        """Return the mean use of each link by each job, and which links several use at once."""
        pair, mean = self._pair[self._used], self._sum[self._used] / self._samples
        return pair // self._n_jobs, pair % self._n_jobs, mean, self._shared


def ranges_of(first: Ints, count: Ints) -> Ints:
    """Return the numbers from each first one on, so many of them, one after the other."""
    end = np.cumsum(count)
    found: Ints = np.arange(int(end[-1]) if end.size else 0) + np.repeat(first - end + count, count)
    return found


def no_use(n_links: int) -> tuple[Ints, Ints, Floats, Bools]:
    """Return that no link is used."""
    none = np.empty(0, dtype=np.int64)
    return none, none, np.empty(0), np.zeros(n_links, dtype=np.bool_)
