"""
What every allocator keeps: jobs come and go, and nodes and links are given once.

Holders of nodes and links are kept from node numbers and link ends alone, without masks of a
cluster: links are known by the numbers that the topology's arrays give them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from operator import attrgetter

import numpy as np

from netsim.common.errors import NetsimError
from netsim.flows.isolation import used_links
from netsim.registries.routings import make_routing
from netsim.routing.base import RankRouting
from netsim.topology.base import Topology
from patterns.alltoall import OneToAll
from patterns.collectives import RecursiveDoubling
from patterns.pairs import Ring
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator, fits_by_count
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.geometry import tree_of
from scheduler.job import Communication, Job

_MOST_UNITS, _MOST_OF_A_JOB = 8, 4  # of the 10 units of a link under lc+s
Breach = tuple[str, str]
"""Rule, and what was seen."""


def held_nodes(allocation: Allocation) -> set[int]:
    """Return all nodes that an allocation holds, those beyond the request included."""
    nodes_per_leaf = allocation.geometry.nodes_per_leaf
    return {
        leaf * nodes_per_leaf + bit
        for leaf, mask, _ in allocation.leaves
        for bit in range(nodes_per_leaf)
        if mask >> bit & 1
    }


def links_of(allocation: Allocation) -> list[int]:
    """Return the directed links that an allocation owns, or has units of."""
    partition = replace(allocation, units=0).partition()
    return [] if partition.links is None else partition.links.tolist()


class OwnershipLedger:
    """Holders of nodes and links; says what is held twice. `tree`: The fabric."""

    def __init__(self, tree: Topology) -> None:
        self.tree = tree
        self.usable = set(tree.usable_nodes.tolist())
        self.absent = set() if tree.absent is None else set(tree.absent.tolist())
        self.node_of: dict[int, int] = {}
        self.link_of: dict[int, int] = {}
        self.holdings: dict[int, tuple[set[int], list[int]]] = {}

    def place(self, allocation: Allocation) -> list[str]:
        """Write an allocation down. Result: what is wrong with it; nothing is written down then."""
        job = allocation.job
        nodes = held_nodes(allocation)
        links = [] if allocation.units else links_of(allocation)
        given = allocation.nodes().tolist()
        right = {
            f"{job.n_nodes} different nodes are given": len(set(given))
            == len(given)
            == job.n_nodes,
            "the nodes of ranks are among those held": set(given) <= nodes,
            "idle nodes are counted": len(nodes) == job.n_nodes + allocation.idle,
            "only usable nodes are given": nodes <= self.usable,
            "a link is listed once": len(set(links)) == len(links),
            "no absent link is given": self.absent.isdisjoint(links),
            "no node is given twice": nodes.isdisjoint(self.node_of),
            "no link is given twice": self.link_of.keys().isdisjoint(links),
        }
        broken = [f"job {job.id}: not true: {what}" for what, holds in right.items() if not holds]
        if not broken:
            self.node_of.update(dict.fromkeys(nodes, job.id))
            self.link_of.update(dict.fromkeys(links, job.id))
            self.holdings[job.id] = (nodes, links)
        return broken

    def release(self, job_id: int) -> None:
        """Strike a job out."""
        nodes, links = self.holdings.pop(job_id)
        for node in nodes:
            del self.node_of[node]
        for link in links:
            del self.link_of[link]

    @property
    def n_free(self) -> int:
        """Usable nodes that no job holds."""
        return len(self.usable) - len(self.node_of)


class Meter:
    """Units taken of every link under LC+S; never more than 8 of 10."""

    def __init__(self) -> None:
        self.units: Counter[int] = Counter()

    def change(self, allocation: Allocation, tree: Topology, sign: int) -> list[str]:
        """Add (`sign` 1) or subtract (-1) a job; return links with too many or too few."""
        if not allocation.units:
            return []
        name, broken = f"job {allocation.job.id}", []
        if not 1 <= allocation.units <= _MOST_OF_A_JOB:
            broken.append(f"{name}: takes {allocation.units} units")
        for link in links_of(allocation):
            self.units[link] += sign * allocation.units
            if not 0 <= self.units[link] <= _MOST_UNITS:
                broken.append(f"{name}: {self.units[link]} units of {tree.link_name(link)}")
        return broken


class Ownership:
    """Nodes are given once; so are links where jobs can own some."""

    def __init__(self, fabric: Topology) -> None:
        self.tree = None if tree_of(fabric) is None else fabric
        self.ledger = OwnershipLedger(self.tree) if self.tree else None
        self.meter = Meter()
        self.usable = set(fabric.usable_nodes.tolist())
        self.taken: set[int] = set()

    def place(self, allocation: Allocation) -> list[str]:
        """Write a job down."""
        if self.tree is not None and self.ledger is not None:
            return self.ledger.place(allocation) + self.meter.change(allocation, self.tree, 1)
        given = allocation.nodes().tolist()
        nodes = set(given)
        right = {
            f"{allocation.job.n_nodes} different nodes are given": len(nodes)
            == len(given)
            == allocation.job.n_nodes,
            "only usable nodes are given": nodes <= self.usable,
            "no node is given twice": self.taken.isdisjoint(nodes),
        }
        self.taken |= nodes
        return [
            f"job {allocation.job.id}: not true: {what}"
            for what, holds in right.items()
            if not holds
        ]

    def release(self, allocation: Allocation) -> list[str]:
        """Strike a job out."""
        if self.tree is not None and self.ledger is not None:
            self.ledger.release(allocation.job.id)
            return self.meter.change(allocation, self.tree, -1)
        nodes = set(allocation.nodes().tolist())
        broken = [] if nodes <= self.taken else ["other nodes come back than were given"]
        self.taken -= nodes
        return broken

    @property
    def n_free(self) -> int:
        """Usable nodes that no job holds."""
        return self.ledger.n_free if self.ledger else len(self.usable) - len(self.taken)


def same_state(cluster: Cluster, other: Cluster) -> bool:
    """Say whether two clusters have the same nodes and links free and the same jobs running."""
    names = ("n_free", "leaf_free", "leaf_up", "l2_up", "pod_free", "leaf_comm", "running")
    return all(getattr(cluster, name) == getattr(other, name) for name in names) and (
        _shared_units(cluster) == _shared_units(other)
    )


def _shared_units(cluster: Cluster) -> object:
    """Return the shared units of a cluster; none taken is as good as none ever taken."""
    shared = cluster.shared
    if shared is None or not any(map(np.any, (*shared.leaf, *shared.l2))):
        return None
    return shared.leaf, shared.l2


def raised(error: Exception) -> str:
    """Return the sentence for an unexpected error."""
    text = " ".join(str(error).split())[:200]
    return f"raises {type(error).__name__}: {text}" if text else f"raises {type(error).__name__}"


PROMISES = "it has a name, and says whether it isolates and is monotone"
UNTOUCHED = "asking for a placement changes nothing"
SAME = "the same state gives the same placement, also to a fresh allocator"
OWN = "nodes and links are given once and come back"
COUNTS = "what the machine counts as free is what no job holds"
SIZES = "a job of no nodes, or of more than there are, is refused with an AllocationError"
LARGER = "monotone_in_size: where n nodes find no place, n + 1 find none"
FREED = "monotone_in_free: what finds a place finds one when others have left"
COUNTED = "fits_by_count: a job waits only for want of nodes, and holds no more than it wants"
EMPTY = "an empty machine takes every size, each on different nodes"
ISOLATES = "isolating: two jobs never share a link between switches"
RULES = (
    PROMISES,
    UNTOUCHED,
    SAME,
    OWN,
    COUNTS,
    SIZES,
    LARGER,
    FREED,
    COUNTED,
    EMPTY,
    ISOLATES,
)


def unclaimed(allocator: Allocator) -> frozenset[str]:
    """Return the rules about what an allocator does not say of itself."""
    said = {
        LARGER: getattr(allocator, "monotone_in_size", False),
        FREED: getattr(allocator, "monotone_in_free", False),
        COUNTED: fits_by_count(allocator),
        ISOLATES: getattr(allocator, "isolating", False),
    }
    return frozenset(rule for rule, claimed in said.items() if not claimed)


TALK = (
    None,
    Communication("ring", Ring(2**20), 0.3),
    Communication("doubling", RecursiveDoubling(2**16), 1.0),
    Communication("one-to-all", OneToAll(2**10), 0.5, iteration_s=0.01),
    Communication("silent", Ring(), 0.0),
)
_NEVER = "does not fit under allocator"
_STEPS, _SEED = 40, 7
_FITTING = ("jigsaw", "d-mod-k")  # routings under which allocators of trees isolate


def job_of(n_nodes: int, number: int = 0, communication: Communication | None = None) -> Job:
    """Return a job. Result: submitted at once, for 100 s."""
    return Job(number, 0.0, n_nodes, 100.0, 100.0, communication=communication)


class Churn:
    """Jobs that come and go on one machine; faults are gathered in `broken`."""

    # A machine that is not `whole` may have no place at all for some size.

    def __init__(
        self, make: Callable[[], Allocator], fabric: Topology, *, whole: bool = True
    ) -> None:
        self.make, self.fabric, self.whole = make, fabric, whole
        self.cluster = Cluster(fabric)
        self.allocator = make()
        self.owner = Ownership(fabric)
        self.number = 0
        self.broken: list[Breach] = []

    def submit(self, n_nodes: int, talk: Communication | None) -> None:
        """Ask for a placement, in several ways, and place the job."""
        self.number += 1
        wanted = job_of(n_nodes, self.number, talk)
        before = self.cluster.copy()
        found = self._ask_placement(self.allocator, wanted, self.cluster)
        self._expect(
            UNTOUCHED, same_state(self.cluster, before), f"job of {n_nodes} nodes: it does"
        )
        again = self._ask_placement(self.allocator, wanted, self.cluster)
        fresh = self._ask_placement(self.make(), wanted, before)
        for other, who in ((again, "asked again"), (fresh, "a fresh one")):
            self._expect(
                SAME, _same_answer(found, other), f"job of {n_nodes} nodes: {who} says otherwise"
            )
        if found is None:
            self._finds_none_for_more(wanted)
            enough = n_nodes <= self.cluster.n_free and fits_by_count(self.allocator)
            self._expect(COUNTED, not enough, f"{n_nodes} nodes wait, {before.n_free} are free")
            return
        self._expect(OWN, found.job is wanted, "the placement is of another job")
        idle = found.idle if fits_by_count(self.allocator) else 0
        self._expect(COUNTED, not idle, f"{n_nodes} nodes are wanted, {idle} more are held")
        if self.allocator.monotone_in_free:
            self._still_fits_when_others_leave(wanted)
        wrong = self.owner.place(found)
        self.broken += [(OWN, sentence) for sentence in wrong]
        if not wrong:
            self.cluster.place(found)

    def end(self, choice: int) -> None:
        """End a job: it gives back exactly what it was given."""
        running = list(self.cluster.running)
        allocation = self.cluster.release(running[choice % len(running)])
        self.broken += [(OWN, sentence) for sentence in self.owner.release(allocation)]

    def submit_what_can_never_run(self, size: int) -> None:
        """Ask for no nodes at all, and for `size` more than there are."""
        n_nodes = size if size < 1 else self.cluster.n_nodes + size
        said = ""
        try:
            self.allocator.allocate(job_of(n_nodes, -1), self.cluster)
        except AllocationError as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            said = raised(error)
        holds = "n_nodes must be in" in said
        self._expect(SIZES, holds, f"{n_nodes} nodes: {said or 'nothing is raised'}")

    def count(self) -> None:
        """Compare what the machine counts with what is held."""
        cluster, free = self.cluster, self.owner.n_free
        counts = (
            cluster.n_free,
            sum(cluster.pod_free),
            sum(mask.bit_count() for mask in cluster.leaf_free),
        )
        self._expect(COUNTS, set(counts) == {free}, f"{counts} are free of which {free} are")
        comm = [0] * cluster.n_leaves
        for allocation in cluster.running.values():
            if allocation.job.communication is not None:
                for leaf, nodes, _ in allocation.leaves:
                    comm[leaf] += nodes.bit_count()
        self._expect(COUNTS, cluster.leaf_comm == comm, "communicating nodes are miscounted")

    def close(self) -> None:
        """End all jobs: the machine is as new."""
        for running in list(self.cluster.running):
            self.cluster.release(running)
        self._expect(OWN, same_state(self.cluster, Cluster(self.fabric)), "something stays taken")

    def share_no_link(self) -> None:
        """Route between all nodes of every job: those of an isolating allocator never meet."""
        if not self.allocator.isolating:
            return
        shared = [self._shared_link_jobs(name) for name in _FITTING]
        known = [pair for pair in shared if pair is not None]
        if known and "" not in known:
            self._expect(ISOLATES, holds=False, sentence=known[0])

    def fill(self, sizes: Iterator[int] | range | None = None) -> None:
        """Ask the empty machine for many sizes."""
        cluster = Cluster(self.fabric)
        for n_nodes in sizes or range(1, cluster.n_nodes + 1):
            wanted = job_of(n_nodes, communication=TALK[n_nodes % len(TALK)])
            try:
                found = self.allocator.allocate(wanted, cluster)
            except AllocationError as error:
                allowed = not self.whole and _NEVER in str(error)
                self._expect(EMPTY, allowed, f"{n_nodes} nodes: {error}")
                continue
            self._expect(EMPTY, found is not None, f"{n_nodes} nodes wait on the empty machine")
            if found is not None:
                n_given = np.unique(found.nodes()).size
                self._expect(EMPTY, n_given == n_nodes, f"{n_nodes} nodes: {n_given} are given")

    def promise(self) -> None:
        """Look at the attributes."""
        name = getattr(self.allocator, "name", None)
        self._expect(PROMISES, isinstance(name, str) and bool(name), f"name is {name!r}")
        for promise in ("isolating", "monotone_in_size", "monotone_in_free"):
            value = getattr(self.allocator, promise, None)
            self._expect(PROMISES, isinstance(value, bool), f"{promise} is {value!r}")

    def _shared_link_jobs(self, routing: str) -> str | None:
        """Return two jobs that share a link under a routing, or nothing; None without one."""
        try:
            way = RankRouting(self.fabric, make_routing(routing, self.fabric))
            used = {}
            for allocation in self.cluster.running.values():
                part = allocation.partition()
                src, dst = (ends.ravel() for ends in np.meshgrid(part.nodes, part.nodes))
                used[allocation.job.id] = used_links(way.of_nodes(src, dst, part)[0])
        except NetsimError:
            return None
        for (one, links), (other, others) in combinations(used.items(), 2):
            both = np.intersect1d(links, others)
            if both.size:
                link = self.fabric.link_name(int(both[0]))
                return f"jobs {one} and {other} both use {link} under routing {routing!r}"
        return ""

    def _ask_placement(
        self, allocator: Allocator, wanted: Job, cluster: Cluster
    ) -> Allocation | None:
        """Ask for a placement; only a damaged machine may say "never", and only when empty."""
        try:
            return allocator.allocate(wanted, cluster)
        except AllocationError as error:
            allowed = not self.whole and not cluster.running
            self._expect(EMPTY, allowed, f"{wanted.n_nodes} nodes, {cluster.n_free} free: {error}")
            return None

    def _finds_none_for_more(self, wanted: Job) -> None:
        """Look at a refusal: where that is promised, a larger job is refused as well."""
        if self.allocator.monotone_in_size and wanted.n_nodes < self.cluster.n_nodes:
            larger = job_of(wanted.n_nodes + 1, self.number, wanted.communication)
            found = self._ask_placement(self.allocator, larger, self.cluster)
            self._expect(
                LARGER, found is None, f"{wanted.n_nodes} nodes find none, {larger.n_nodes} do"
            )

    def _still_fits_when_others_leave(self, wanted: Job) -> None:
        """Freed nodes and links never turn a placement into a refusal."""
        emptier = self.cluster.copy()
        for running in list(emptier.running):
            emptier.release(running)
            found = self.allocator.allocate(wanted, emptier)
            self._expect(
                FREED, found is not None, f"{wanted.n_nodes} nodes wait after an end of another"
            )

    def _expect(self, rule: str, holds: bool, sentence: str) -> None:
        """Gather what does not hold."""
        if not holds:
            self.broken.append((rule, sentence))


def broken(
    make: Callable[[], Allocator], fabric: Topology, *, whole: bool = True
) -> Iterator[Breach]:
    """Yield what an allocator breaks while jobs come and go at random. Yields rule and sentence."""
    churn = Churn(make, fabric, whole=whole)
    rng = np.random.default_rng(_SEED)
    try:
        churn.promise()
        if not churn.broken:
            _churn_jobs(churn, rng)
    except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
        churn.broken.append((OWN, raised(error)))
    yield from churn.broken


def _churn_jobs(churn: Churn, rng: np.random.Generator) -> None:
    """Let jobs come and go, small ones more often than large ones."""
    n_nodes = churn.cluster.n_nodes
    churn.fill()
    for size in (-1, 0, 1):
        churn.submit_what_can_never_run(size)
    for _ in range(_STEPS):
        if churn.cluster.running and rng.random() < 1 / 3:
            churn.end(int(rng.integers(10**6)))
        else:
            size = max(1, round(n_nodes * float(rng.random()) ** 3))
            churn.submit(size, TALK[rng.integers(len(TALK))])
        churn.count()
        churn.share_no_link()
        if churn.broken:
            return
    churn.close()


def _same_answer(one: Allocation | None, other: Allocation | None) -> bool:
    """Say whether two answers of an allocator are the same."""
    if one is None or other is None:
        return one is other
    parts = attrgetter("leaves", "l2s", "order", "idle", "units")
    return bool(parts(one) == parts(other))
