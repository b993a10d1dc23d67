"""LC and LC+S: every legal placement, with links of one's own or shared by bandwidth (Smith21)."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from netsim.topology.fattree import FatTree
from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.choices import (
    BEST_FIT,
    INDEX,
    check_choice,
    check_count,
    largest,
    require_tree,
)
from scheduler.allocators.isolating.indices import Placement, all_indices
from scheduler.allocators.isolating.legal_search import LegalSearch, StepsExhaustedError
from scheduler.allocators.isolating.pods import Pods, PodViews
from scheduler.allocators.isolating.tree_search import in_one_pod
from scheduler.cluster import Cluster
from scheduler.job import Job

CLASSES = 4  # bandwidth classes: 0.5, 1.0, 1.5 and 2.0 GB/s of 5 GB/s are 1..4 units of 10
EMPTY_STEPS = 1_000_000  # of a search on an empty machine; one on a whole tree never goes back
_ID_RANGE = 1 << 63  # job ids below zero are mapped here: seeds are not negative


@dataclass(slots=True)
class LeastConstrained:
    """
    LC: nodes and links that fulfil conditions (1)-(6), whatever the number per leaf.

    Parameters
    ----------
    steps : int, default 200
        Leaves and pods that a search over pods may try before it gives up until the next
        call; on an empty machine there is no such limit, so no job waits for ever.
    order : {"best-fit", "index"}
        Pods and leaves with the fewest free nodes first, or by number.

    Attributes
    ----------
    out_of_steps : int
        Searches given up so far.

    Notes
    -----
    The *least constrained* approach of Smith21, sections 4 and 5.2.3, links exclusive. The
    paper gives up after 5 s; steps do not depend on the machine that runs the simulation,
    and utilisation is flat from 200 of them on. Inside one pod the search is exhaustive.
    """

    name: ClassVar[str] = "lc"
    isolating: ClassVar[bool] = True
    monotone_in_size: ClassVar[bool] = False  # a search may give up for n and succeed for n + 1
    monotone_in_free: ClassVar[bool] = False  # more to search, with the same steps

    steps: int = 200
    order: str = BEST_FIT
    out_of_steps: int = field(default=0, init=False, compare=False)
    _views: PodViews = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("steps", self.steps, 1)
        check_choice("order", self.order, (BEST_FIT, INDEX))
        self._views = PodViews(fewest_first=self.order == BEST_FIT)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a legal placement."""
        check_size(job, cluster)
        tree = require_tree(self.name, cluster.fabric)
        if job.n_nodes > cluster.n_free:
            return None
        pods = self._views.of(cluster)
        found, gave_up = search(job.n_nodes, pods, tree, cluster, self.steps)
        self.out_of_steps += gave_up
        allocation = None if found is None else Allocation(job, cluster.geometry, *found)
        return now_or_later(
            allocation,
            self.name,
            job,
            cluster,
            lambda: largest(lambda n: search(n, pods, tree, cluster, self.steps)[0], job.n_nodes),
        )


@dataclass(slots=True)
class LeastConstrainedShared:
    """
    LC+S: placements as under LC, on links shared up to 80 % of their bandwidth.

    Each job needs one of four bandwidths on every link of its placement: 1 to 4 units of a
    link's 10, of which 8 may be taken. The class is drawn by the job's id.

    Parameters
    ----------
    seed : int, default 1
        Of the draw of classes.
    steps : int, default 200
        As for `LeastConstrained`.
    order : {"best-fit", "index"}
        Pods and leaves with the fewest free nodes first, or by number.

    Attributes
    ----------
    out_of_steps : int
        Searches given up so far.

    Notes
    -----
    Smith21, sections 5.2.3 and 5.4.2: a bound rather than a scheduler, since nobody knows
    what bandwidth a job needs. Jobs on a single leaf take no links.

    The links are book-keeping: they decide where a job may start. Its traffic goes the way of the
    fabric's routing, not over those links alone, since a class is drawn and says nothing of what
    the job sends: kept to links that others share, its own messages meet more often.
    """

    name: ClassVar[str] = "lc+s"
    isolating: ClassVar[bool] = False  # links are shared, within their capacity
    monotone_in_size: ClassVar[bool] = False  # a larger job may be of a lower class
    monotone_in_free: ClassVar[bool] = False  # more to search, with the same steps

    seed: int = 1
    steps: int = 200
    order: str = BEST_FIT
    out_of_steps: int = field(default=0, init=False, compare=False)
    _views: tuple[PodViews, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("seed", self.seed, 0)
        check_count("steps", self.steps, 1)
        check_choice("order", self.order, (BEST_FIT, INDEX))
        fewest = self.order == BEST_FIT
        self._views = tuple(
            PodViews(fewest_first=fewest, units=units) for units in range(1, CLASSES + 1)
        )

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a legal placement on links that have room."""
        check_size(job, cluster)
        tree = require_tree(self.name, cluster.fabric)
        if job.n_nodes > cluster.n_free:
            return None
        units = bandwidth_units(self.seed, job.id)
        pods = self._views[units - 1].of(cluster)
        found, gave_up = search(job.n_nodes, pods, tree, cluster, self.steps)
        self.out_of_steps += gave_up
        allocation = (
            None if found is None else Allocation(job, cluster.geometry, *found, units=units)
        )
        return now_or_later(
            allocation,
            self.name,
            job,
            cluster,
            lambda: largest(lambda n: search(n, pods, tree, cluster, self.steps)[0], job.n_nodes),
        )


@lru_cache(maxsize=1 << 17)
def bandwidth_units(seed: int, job_id: int) -> int:
    """
    Return how many tenths of a link's bandwidth a job needs.

    Parameters
    ----------
    seed : int
        Of the draw.
    job_id : int
        Number of the job.

    Returns
    -------
    int
        1, 2, 3 or 4, equally likely.
    """
    draw = np.random.default_rng((seed, job_id % _ID_RANGE)).integers(1, CLASSES, endpoint=True)
    return int(draw)


def search(
    size: int, pods: Pods, tree: FatTree, cluster: Cluster, steps: int
) -> tuple[Placement | None, bool]:
    """
    Search a placement in one pod, then over pods.

    `steps`: limit of the search over pods; `EMPTY_STEPS` when the machine is empty. Result: `found`
    (leaves, l2s): as in `Allocation`; `gave_up`: whether the steps ran out.
    """
    leaves = in_one_pod(pods, size, cluster, leaf_links=False)
    if leaves is not None:
        return (leaves, ()), False
    if not cluster.l2_up:
        return None, False
    limit = steps if cluster.running else EMPTY_STEPS
    try:
        found = LegalSearch(pods.views, size, cluster, limit).find()
    except StepsExhaustedError:
        return None, True
    return None if found is None else all_indices(tree).placed(found, cluster), False
