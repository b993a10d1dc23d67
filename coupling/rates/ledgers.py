"""Ledgers: what links carried, and which job delayed which, recorded by an observer."""

from array import array
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from coupling.rates.accounts import Accounts
from coupling.rates.network import CompletedWork, NetworkRateModel
from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import ContentionModel
from netsim.flows.traffic import bytes_per_link
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.observer import Observer
from scheduler.rates import JobRate, JobRates
from scheduler.traffic import PlacedTraffic

_NO_SLOT = -1  # of a job that puts nothing on the network
_ATTRIBUTED_ANEW = 0.002  # relative change of a job's interference; 0.005 moves 5 % of a loss


class LinkLedger:
    """Bytes of each directed link, and node-seconds lost while it was a job's worst."""

    def __init__(self, n_links: int) -> None:
        self.nbytes: Floats = np.zeros(n_links)
        self.interference_delay_node_s: Floats = np.zeros(n_links)


class BlameLedger:
    """Node-seconds lost to interference, by victim, culprit (-1: unknown) and class of link."""

    def __init__(self, topology: Topology) -> None:
        self.classes, self.kind = topology.link_kinds(np.arange(topology.n_links))
        self.victim = array("q")
        self.culprit = array("q")
        self.kind_of_row = array("q")
        self.interference_delay_node_s = array("d")

    def write(self, keys: Ints, interference_delay_node_s: Floats) -> None:
        """Add node-seconds (R,) by victim, culprit and class of link (3, R)."""
        if not interference_delay_node_s.size:
            return
        for column, values in zip((self.victim, self.culprit, self.kind_of_row), keys, strict=True):
            column.frombytes(values.tobytes())
        self.interference_delay_node_s.frombytes(interference_delay_node_s.tobytes())


class NetworkLedger(Observer):
    """
    Writes down what happens on the network.

    Culprits of a job are asked for anew only when its interference has changed by 0.2 %: what a
    victim loses is exact, 2 % of it go to another culprit, and a third of the work is left.

    Parameters
    ----------
    network : NetworkRateModel
        The rate model of the simulation.
    attribution : bool, default True
        Whether to ask for culprits; otherwise all losses are of unknown culprits.

    Attributes
    ----------
    links : LinkLedger
        What the links have carried so far, over jobs that have ended.
    blame : BlameLedger
        Which job delayed which, over jobs that have ended.
    """

    def __init__(self, network: NetworkRateModel, *, attribution: bool = True) -> None:
        self._attribution = attribution
        self.links = LinkLedger(network.topology.n_links)
        self.blame = BlameLedger(network.topology)
        self._network = network
        self._accounts = Accounts(self.links.interference_delay_node_s)
        self._sends: dict[int, PlacedTraffic] = {}
        self._attributed: dict[int, float] = {}  # interference when culprits were asked for

    def on_change(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """Close the accounts of jobs that left, and go on with the others at their new rates."""
        accounts, entered, model = self._accounts, self._network.entered, self._network.model
        slot_of = accounts.slot_of
        for allocation in started:
            job = allocation.job
            placed = entered.get(job.id)
            if placed is not None:
                accounts.open(job.id, allocation.weight, now_s)
                self._sends[job.id] = placed
        gone = [one.job.id for one in ended if one.job.id in slot_of]
        slots, jobs, interference, alone = _on_network(JobRates.of(job_rates), slot_of)
        if not slots and not gone:
            return  # no job on the network changes
        worst = [-1] * len(jobs) if model is None else _worst_links(model, jobs)
        keys, interference_delay_node_s, work_s = accounts.account(
            now_s, gone, (slots, interference, alone, worst)
        )
        if self._network.completed_work:
            keys, interference_delay_node_s, work_s = _as_simulated(
                self._network.completed_work, ended
            )
        for number, done_s in zip(gone, work_s.tolist(), strict=True):
            placed = self._sends.pop(number)
            links, nbytes = bytes_per_link(placed.traffic)
            self.links.nbytes[links] += nbytes * (done_s / placed.ideal_s)
        self.blame.write(keys, interference_delay_node_s)
        for number in gone:
            self._attributed.pop(number, None)
        if model is None or not self._attribution:
            return
        if victims := self._changed_jobs(jobs, interference):
            accounts.blame(victims, model.culprits(victims, self.blame.kind))

    def _changed_jobs(self, jobs: Sequence[int], interference: Sequence[float]) -> list[int]:
        """Return the jobs that are delayed otherwise than when culprits were last asked for."""
        attributed, changed = self._attributed, []
        for job, factor in zip(jobs, interference, strict=True):
            last = attributed.get(job, 1.0)
            if factor > 1.0 and (last == 1.0 or abs(factor - last) > _ATTRIBUTED_ANEW * last):
                attributed[job] = factor
                changed.append(job)
        return changed


def _worst_links(model: ContentionModel, jobs: Sequence[int]) -> Sequence[int]:
    """Return the links that hold jobs up most, all at once where the model can tell."""
    at_once: Callable[[Sequence[int]], Sequence[int]] | None = getattr(model, "worst_links", None)
    return [model.worst_link(job) for job in jobs] if at_once is None else at_once(jobs)


def _as_simulated(
    left: Mapping[int, CompletedWork], ended: Sequence[Allocation]
) -> tuple[Ints, Floats, Floats]:
    """Return keys and node-seconds of blame, which has no culprit, and the work of each job."""
    gone = [one for one in ended if one.job.id in left]
    lost = [
        (one.job.id, left[one.job.id].interference_delay_s * one.weight)
        for one in gone
        if left[one.job.id].interference_delay_s
    ]
    keys = np.array([[job for job, _ in lost], *([[-1] * len(lost)] * 2)], dtype=np.int64)
    work_s = np.array([left[one.job.id].work_s for one in gone])
    return keys, np.array([node_s for _, node_s in lost], dtype=float), work_s


def _on_network(
    job_rates: JobRates, slot_of: Mapping[int, int]
) -> tuple[list[int], list[int], list[float], list[float]]:
    """Return slots of jobs that have some, and the columns of their rates."""
    jobs, interference, placement_factor = (
        job_rates.jobs,
        job_rates.interference,
        job_rates.placement_factor,
    )
    slots = [slot_of.get(job, _NO_SLOT) for job in jobs]
    if _NO_SLOT not in slots:
        return slots, jobs, interference, placement_factor
    places = [place for place, slot in enumerate(slots) if slot != _NO_SLOT]
    return (
        [slots[place] for place in places],
        [jobs[place] for place in places],
        [interference[place] for place in places],
        [placement_factor[place] for place in places],
    )
