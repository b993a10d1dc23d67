"""Cluster: free nodes and links as bit masks, and the running allocations."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fabricsim.checking import shortened
from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from scheduler.allocation import L2_UP, LEAF_UP, Allocation, NodeUnits, mask_bits
from scheduler.errors import AllocationError
from scheduler.footprint import Footprint, join_all, join_masks, links_of, mask_parts, split_masks
from scheduler.geometry import Geometry, tree_of, working_ports
from scheduler.job import Job


@dataclass(slots=True)
class Tally:
    """Work counted; the copies of a cluster count into the same tally."""

    allocator_calls: int = 0  # how often an allocator was asked for a placement
    cluster_copies: int = 0  # copies made of the machine, to ask what would be
    rate_changes: int = 0  # how often a job was given a rate, its first one among them


CAP = 8  # units of a link that may be taken: 80 % of its capacity of 10 (Smith21, 5.4.2)


def _has_room(left: NodeUnits, share: NodeUnits) -> bool:
    """Say whether what is left of a node is enough; of GPUs `left` has the mask."""
    return (
        left.cores >= share.cores
        and left.gpus.bit_count() >= share.gpus
        and left.memory_mb >= share.memory_mb
    )


class SharedLinks:
    """
    Units taken on every uplink of leaves and L2 switches, as `CAP` masks of each switch.

    Units are counted in unary: bit q of the k-th mask of a switch is set when at least k + 1 units
    of its up-port q are taken, so one operation changes all ports of a switch.
    """

    __slots__ = ("l2", "leaf")

    def __init__(self, n_leaves: int, n_l2: int) -> None:
        self.leaf: list[tuple[int, ...]] = [(0,) * CAP] * n_leaves
        self.l2: list[tuple[int, ...]] = [(0,) * CAP] * n_l2

    def copy(self) -> "SharedLinks":
        """Return an independent copy."""
        twin = SharedLinks(0, 0)
        twin.leaf, twin.l2 = self.leaf.copy(), self.l2.copy()
        return twin


def without_room(taken: tuple[int, ...], units: int) -> int:
    """Return the up-ports that cannot take so many units more; `CAP` asks for unused ports."""
    return taken[CAP - units]


def add_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """Take units on some up-ports of a switch."""
    shifted = (ports,) * units + taken[:-units]
    return tuple([old | new & ports for old, new in zip(taken, shifted, strict=True)])


def remove_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """Give back units on up-ports of a switch on which at least so many are taken."""
    shifted = taken[units:] + (0,) * units
    return tuple([old & ~ports | new & ports for old, new in zip(taken, shifted, strict=True)])


def fill_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """Take units on some up-ports of a switch, or all that is left where there is less."""
    full = without_room(taken, units) & ports
    return tuple([mask | full for mask in add_units(taken, ports & ~full, units)])


_RESERVED = -1  # stands for waiting jobs among the running ones of a blocked copy
_WAITING = Job(_RESERVED, 0.0, 0, 0.0, 0.0)


class Cluster:
    """
    Free nodes and links of a machine, and the allocations that hold the rest.

    On a fat-tree a *group* is a leaf and a *pod* a two-level subtree; on other machines all groups
    are in one pod, without links: leaves of a tree of switches, else blocks of 64 consecutive nodes
    (see `Geometry`). Where nodes of a fat-tree have several rails, a group is the nodes that share
    their leaves, and no links are recorded. Nodes that take no jobs and links that carry nothing
    are never free.

    Parameters
    ----------
    fabric : Topology
        The machine.
    node : NodeUnits, optional
        What a node has, where jobs that ask for less share nodes. Default: jobs have whole nodes.

    Attributes
    ----------
    fabric : Topology
        The machine.
    geometry : Geometry
        How its nodes lie in groups.
    n_nodes : int
        Nodes that take jobs.
    n_free : int
        Free nodes.
    node : NodeUnits or None
        As given.
    partly : dict of int to NodeUnits
        What is free of nodes that are used in part, by their places; of GPUs the mask.
    leaf_free : list of int
        Mask of free nodes of each group.
    leaf_up : list of int
        Mask of free up-ports of each leaf.
    leaf_width, l2_width : int
        Up-ports of a leaf and of an L2 switch; 0 where no links are recorded.
    l2_up : list of int
        Mask of free up-ports of each L2 switch; empty in a two-level tree. L2 switch i of
        pod p has number ``p * l2_per_pod + i``.
    pod_free : list of int
        Free nodes of each pod.
    leaf_comm : list of int
        Nodes of each group that communication-intensive jobs hold (Mishra20, L_comm).
    stamp : list of object
        A mark for each pod that is replaced whenever anything in the pod changes: two pods
        with the same mark, in this cluster or a copy, are the same pod in the same state.
        Allocators remember by it what they found out about a pod.
    shared : SharedLinks or None
        Units taken of links that jobs share; None until the first job takes some.
    closed : list of int or None
        Mask of the nodes of each group that take no jobs for now, though running ones may still
        hold them; None where there are none, and all cables work. See `set_closed`.
    down : Footprint or None
        These nodes, and the cables that are down.
    draining : bool
        Whether running jobs held some of these nodes when they were closed, which then do not come
        free with the others.
    inside : tuple of int or None
        Of a part of the machine: mask of its nodes of each group; None: all. See `part`.
    running : dict of int to Allocation
        By job id, in the order of their start.
    tally : Tally
        Work counted, together with all copies.
    """

    __slots__ = (
        "closed",
        "down",
        "draining",
        "fabric",
        "geometry",
        "inside",
        "l2_links",
        "l2_per_pod",
        "l2_up",
        "l2_width",
        "leaf_comm",
        "leaf_free",
        "leaf_links",
        "leaf_nodes",
        "leaf_up",
        "leaf_width",
        "leaves_per_pod",
        "n_free",
        "n_leaves",
        "n_nodes",
        "n_pods",
        "node",
        "nodes_per_leaf",
        "partly",
        "pod_free",
        "running",
        "shared",
        "stamp",
        "tally",
    )

    def __init__(self, fabric: Topology, node: NodeUnits | None = None) -> None:
        self.fabric, self.geometry = fabric, Geometry.of(fabric)
        self.node, self.partly = node, dict[int, NodeUnits]()
        self.leaf_links: tuple[int, ...]
        self.l2_links: tuple[int, ...] = ()
        self.leaf_width = self.l2_width = 0
        self.nodes_per_leaf = self.geometry.nodes_per_leaf
        self.leaves_per_pod = self.geometry.leaves_per_pod
        self.n_pods, self.n_leaves = self.geometry.n_pods, self.geometry.n_leaves
        tree = self.geometry.tree
        if tree is not None:
            self.l2_per_pod = tree.parents[1]
            self.leaf_links = working_ports(tree, LEAF_UP)
            self.leaf_width = tree.ports[LEAF_UP]
            if tree.levels > L2_UP:
                self.l2_links = working_ports(tree, L2_UP)
                self.l2_width = tree.ports[L2_UP]
        else:
            self.l2_per_pod = 0
            self.leaf_links = (0,) * self.n_leaves
        self.leaf_free = [0] * self.n_leaves
        self.pod_free = [0] * self.n_pods
        for place in self.geometry.places(fabric.usable_nodes).tolist():
            leaf, bit = divmod(place, self.nodes_per_leaf)
            self.leaf_free[leaf] |= 1 << bit
            self.pod_free[leaf // self.leaves_per_pod] += 1
        self.leaf_nodes = tuple(self.leaf_free)
        self.n_nodes = self.n_free = sum(self.pod_free)
        self.leaf_up, self.l2_up = list(self.leaf_links), list(self.l2_links)
        self.leaf_comm = [0] * self.n_leaves
        self.stamp = [object() for _ in range(self.n_pods)]
        self.shared: SharedLinks | None = None
        self.closed: list[int] | None = None
        self.down: Footprint | None = None
        self.draining = False
        self.inside: tuple[int, ...] | None = None
        self.running: dict[int, Allocation] = {}
        self.tally = Tally()

    def __repr__(self) -> str:
        return (
            f"<Cluster {shortened(self.fabric.name)}: {self.n_free} of {self.n_nodes} nodes free, "
            f"{len(self.running)} jobs>"
        )

    def free_nodes(self) -> Ints:
        """
        Return the free nodes.

        Returns
        -------
        (F,) int array
            Ascending.
        """
        width = self.nodes_per_leaf
        found = [
            leaf * width + node
            for leaf, mask in enumerate(self.leaf_free)
            for node in mask_bits(mask)
        ]
        places = np.array(found, dtype=np.int64)
        return places if self.geometry.node_at is None else np.sort(self.geometry.nodes(places))

    @property
    def n_open(self) -> int:
        """Nodes that are free or used in part: no job finds a place on more."""
        return self.n_free + len(self.partly)

    def has_nodes(self, job: Job) -> bool:
        """
        Say whether so many nodes are free, or perhaps have room for a job that shares them.

        Parameters
        ----------
        job : Job
            Any.

        Returns
        -------
        bool
            False where it surely finds no place.
        """
        shared = self.partly and self.share_of(job) is not None
        return job.n_nodes <= (self.n_open if shared else self.n_free)

    def share_of(self, job: Job) -> NodeUnits | None:
        """
        Return what a job takes of each of its nodes.

        Parameters
        ----------
        job : Job
            Any; what it asks for is spread evenly, rounded up.

        Returns
        -------
        NodeUnits or None
            Of what `node` counts; None for whole nodes: where it says nothing of that, or takes all
            cores (of nodes without cores: all GPUs).

        Raises
        ------
        AllocationError
            If a node has less.
        """
        node = self.node
        if node is None:
            return None
        asked = job.cores, job.gpus, job.memory_mb
        share = NodeUnits(
            *(-(-own // job.n_nodes) if has else 0 for own, has in zip(asked, node, strict=True))
        )
        for unit, own, has in zip(NodeUnits._fields, share, node, strict=True):
            if own > has:
                raise AllocationError(
                    f"job {job.id}: {unit}: expected at most {has} on each of {job.n_nodes} nodes, "
                    f"got {own}."
                )
        full = share.cores == node.cores if node.cores else share.gpus == node.gpus
        return None if full or share == NodeUnits() else share

    def weight(self, job: Job) -> float:
        """
        Return how many nodes a job counts as: by its GPUs, else its cores, else its memory.

        Parameters
        ----------
        job : Job
            Any.

        Returns
        -------
        float
            Nodes, or parts of them where it shares nodes.
        """
        share = self.share_of(job)
        if share is None or self.node is None:
            return job.n_nodes
        counted = self.node.gpus or self.node.cores or self.node.memory_mb
        own = share.gpus if self.node.gpus else share.cores if self.node.cores else share.memory_mb
        return job.n_nodes * own / counted

    def free_gpus(self, place: int) -> int:
        """
        Return the mask of free GPUs of a node that is free or used in part.

        Parameters
        ----------
        place : int
            Place of the node.

        Returns
        -------
        int
            Mask.
        """
        own = self.partly.get(place)
        return self._whole_node().gpus if own is None else own.gpus

    def with_room(self, share: NodeUnits) -> list[int]:
        """
        Return the places of nodes used in part that have room for a share, the fullest first.

        Parameters
        ----------
        share : NodeUnits
            What a job takes of each node.

        Returns
        -------
        list of int
            By what is left of GPUs, cores and memory, then by place.
        """
        width, closed = self.nodes_per_leaf, self.closed
        found = []
        for place, left in self.partly.items():
            if closed is not None and closed[place // width] >> place % width & 1:
                continue
            if _has_room(left, share):
                found.append((left.gpus.bit_count(), left.cores, left.memory_mb, place))
        return [place for *_, place in sorted(found)]

    def place(self, allocation: Allocation) -> None:
        """
        Take nodes and links for a job.

        Parameters
        ----------
        allocation : Allocation
            Made by an allocator for the present state.

        Raises
        ------
        AllocationError
            If it is of another machine, if a node or an exclusive link is taken already, or if
            the job runs already.
        """
        if allocation.geometry.fabric is not self.fabric:
            raise AllocationError(
                f"job {allocation.job.id}: expected a placement on {self.fabric.name}, got one on "
                f"another machine, {allocation.geometry.fabric.name}."
            )
        if not self.fits(allocation) or allocation.job.id in self.running:
            raise AllocationError(
                f"job {allocation.job.id} was given nodes or links that are taken, or runs already."
            )
        self.running[allocation.job.id] = allocation
        self._toggle_masks(allocation, -1)

    def set_closed(self, nodes: Iterable[int], fabric: Topology | None = None) -> None:
        """
        State which nodes take no jobs for now, down or drained, and which cables are down.

        Parameters
        ----------
        nodes : iterable of int
            All of them. Nodes that a running job holds are not free when it ends.
        fabric : Topology, optional
            The fabric without the cables that are down, none of which a running job owns; default:
            all work that worked at the beginning.
        """
        masks = self.geometry.masks(nodes)
        closed = [masks.get(leaf, 0) for leaf in range(self.n_leaves)]
        taken = closed.copy()
        self.leaf_up, self.l2_up = list(self.leaf_links), list(self.l2_links)
        tree = None if fabric is None else tree_of(fabric)
        if tree is not None and self.leaf_width:
            self.leaf_up = list(working_ports(tree, LEAF_UP))
            self.l2_up = list(working_ports(tree, L2_UP)) if self.l2_width else []
        lost = [
            [own & ~up for own, up in zip(whole, now, strict=True)]
            for whole, now in ((self.leaf_links, self.leaf_up), (self.l2_links, self.l2_up))
        ]
        down = Footprint(
            join_all(self.nodes_per_leaf, closed),
            join_all(self.leaf_width, lost[0]) if any(lost[0]) else 0,
            join_all(self.l2_width, lost[1]) if any(lost[1]) else 0,
        )
        self.closed, self.down = (closed, down) if down != Footprint() else (None, None)
        self.draining = False
        for allocation in self.running.values():
            for leaf, held, ports in allocation.leaves:
                self.draining |= bool(held & closed[leaf])
                taken[leaf] |= held
                self.leaf_up[leaf] &= ~(0 if allocation.units else ports)
            for switch, ports in () if allocation.units else allocation.l2s:
                self.l2_up[switch] &= ~ports
        own = self.inside or self.leaf_nodes
        self.leaf_free = [mask & ~gone for mask, gone in zip(own, taken, strict=True)]
        self._count_free()

    def _count_free(self) -> None:
        """Count the free nodes, and give every pod a new mark."""
        per_pod, free_of = self.leaves_per_pod, [free.bit_count() for free in self.leaf_free]
        self.pod_free = [sum(free_of[pod * per_pod :][:per_pod]) for pod in range(self.n_pods)]
        self.n_free = sum(self.pod_free)
        self.stamp = [object() for _ in range(self.n_pods)]

    def fits(self, allocation: Allocation) -> bool:
        """
        Say whether all that an allocation takes is free.

        Parameters
        ----------
        allocation : Allocation
            A placement, perhaps made in another state of the machine.

        Returns
        -------
        bool
            True when its nodes, and its links or their units, are free.
        """
        leaf_free, leaf_up, l2_up = self.leaf_free, self.leaf_up, self.l2_up
        for leaf, nodes, ports in allocation.leaves:
            taken = nodes & ~leaf_free[leaf]
            if (taken and not self._share_fits(allocation, leaf, taken)) or (
                leaf_up[leaf] & ports != ports
            ):
                return False
        for switch, ports in allocation.l2s:
            if l2_up[switch] & ports != ports:
                return False
        return self.shared is None or not self._lacks_room(allocation, self.shared)

    def block(self, taken: Footprint) -> None:
        """
        Take whatever is free of the nodes and links that reservations want.

        What is taken cannot be given back: only copies are blocked, to ask an allocator what
        it would do given the reservations.

        Parameters
        ----------
        taken : Footprint
            Of placements of waiting jobs, made in other states of the machine.
        """
        nodes = split_masks(taken.nodes, self.n_leaves, self.nodes_per_leaf)
        self._keep_free([~mask for mask in nodes])
        # A copy that reservations fill is not empty: a job that is refused in it may fit later.
        self.running.setdefault(_RESERVED, Allocation(_WAITING, self.geometry, ()))
        if taken.leaf_ports:
            ports = split_masks(taken.leaf_ports, self.n_leaves, self.leaf_width)
            self.leaf_up = [free & ~mask for free, mask in zip(self.leaf_up, ports, strict=True)]
        if taken.l2_ports:
            ports = split_masks(taken.l2_ports, len(self.l2_up), self.l2_width)
            self.l2_up = [free & ~mask for free, mask in zip(self.l2_up, ports, strict=True)]
        for sharer in taken.sharers:
            self._share_links(sharer, fill_units)

    def part(self, inside: tuple[int, ...]) -> "Cluster":
        """
        Return a copy that has some nodes alone, with all running jobs and links.

        Parameters
        ----------
        inside : tuple of int
            Mask of its nodes for each group.

        Returns
        -------
        Cluster
            A copy; a job that ends there frees the nodes inside.
        """
        twin = self.copy()
        twin.inside = inside
        twin._keep_free(inside)  # noqa: SLF001 (of its own class)
        return twin

    def freed_by(self, job_id: int) -> int:
        """
        Return how many nodes come free when a job ends.

        Parameters
        ----------
        job_id : int
            A running job.

        Returns
        -------
        int
            Those that it holds, but for closed ones; in a part of the machine those inside.
        """
        allocation, inside = self.running[job_id], self.inside or self.leaf_nodes
        closed = self.closed if self.draining else None
        if self.inside is None and closed is None:
            return allocation.held
        return sum(
            (held & inside[leaf] & ~(closed[leaf] if closed else 0)).bit_count()
            for leaf, held, _ in allocation.leaves
        )

    def _keep_free(self, nodes: Sequence[int]) -> None:
        """Leave free no others than these nodes, given as the mask of each group."""
        self.leaf_free = [free & mask for free, mask in zip(self.leaf_free, nodes, strict=True)]
        if self.partly:
            width = self.nodes_per_leaf
            self.partly = {
                place: left
                for place, left in self.partly.items()
                if nodes[place // width] >> place % width & 1
            }
        self._count_free()

    def expected(self, free: Footprint, leaving: Collection[int]) -> "Cluster":
        """
        Return a copy with some jobs gone and reservations blocked.

        Pods in which the same is free get the same mark, so that allocators know them again.

        Parameters
        ----------
        free : Footprint
            The nodes and links that are free then.
        leaving : collection of int
            Running jobs that have ended by then.

        Returns
        -------
        Cluster
            As after `release` and `block`; for machines on which no job takes units of links.
        """
        self.tally.cluster_copies += 1
        twin = object.__new__(Cluster)
        for name in Cluster.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.leaf_free = split_masks(free.nodes, self.n_leaves, self.nodes_per_leaf)
        per_pod, n_pods = self.leaves_per_pod, self.n_pods
        l2_per_pod = self.l2_per_pod if self.l2_up else 0
        nodes = mask_parts(free.nodes, n_pods, per_pod, self.nodes_per_leaf)
        leaf_up, ports = links_of(free.leaf_ports, n_pods, per_pod, self.leaf_width)
        l2_up, l2_ports = links_of(free.l2_ports, n_pods, l2_per_pod, self.l2_width)
        twin.leaf_up, twin.l2_up = leaf_up.copy(), l2_up.copy()
        twin.stamp = [
            (self.geometry, *pod) for pod in zip(range(n_pods), nodes, ports, l2_ports, strict=True)
        ]
        twin.pod_free = [int.from_bytes(pod, "little").bit_count() for pod in nodes]
        twin.n_free = sum(twin.pod_free)
        twin.leaf_comm = self.leaf_comm.copy()
        for job_id in leaving:
            if self.running[job_id].job.communication is not None:
                for leaf, held, _ in self.running[job_id].leaves:
                    twin.leaf_comm[leaf] -= held.bit_count()
        twin.running = self.running.copy()
        for job_id in leaving:
            del twin.running[job_id]
        twin.running.setdefault(_RESERVED, Allocation(_WAITING, self.geometry, ()))
        return twin

    def footprint(self, allocation: Allocation) -> Footprint:
        """
        Return what an allocation takes, as masks over the whole machine.

        Parameters
        ----------
        allocation : Allocation
            A job placed on this machine.

        Returns
        -------
        Footprint
            Nodes and links.
        """
        nodes = join_masks(
            self.nodes_per_leaf, ((leaf, mask) for leaf, mask, _ in allocation.leaves)
        )
        if allocation.units:
            return Footprint(nodes, sharers=(allocation,))
        leaf_ports = ((leaf, ports) for leaf, _, ports in allocation.leaves)
        return Footprint(
            nodes,
            join_masks(self.leaf_width, leaf_ports),
            join_masks(self.l2_width, allocation.l2s),
        )

    def release(self, job_id: int) -> Allocation:
        """
        Give back what a job holds.

        Parameters
        ----------
        job_id : int
            A running job.

        Returns
        -------
        Allocation
            What it held.

        Raises
        ------
        AllocationError
            If the job does not run.
        """
        allocation = self.running.pop(job_id, None)
        if allocation is None:
            raise AllocationError(f"job {job_id} is released but does not run.")
        self._toggle_masks(allocation, 1)
        return allocation

    def copy(self) -> "Cluster":
        """
        Return a copy that can be changed without touching this cluster.

        Returns
        -------
        Cluster
            Same state; allocations are shared, being immutable.
        """
        self.tally.cluster_copies += 1
        twin = object.__new__(Cluster)
        for name in Cluster.__slots__:
            value = getattr(self, name)
            setattr(
                twin, name, value.copy() if isinstance(value, (list, dict, SharedLinks)) else value
            )
        return twin

    def _toggle_masks(self, allocation: Allocation, sign: int) -> None:
        """Flip the masks of an allocation; sign +1 frees, -1 takes."""
        leaf_free, leaf_up, per_pod = self.leaf_free, self.leaf_up, self.leaves_per_pod
        pod_free, stamp, closed, inside = self.pod_free, self.stamp, self.closed, self.inside
        owned = not allocation.units
        communicates = allocation.job.communication is not None
        changed = None if allocation.share is None else self._change_shares(allocation, sign)
        total = 0
        for leaf, held, ports in allocation.leaves:
            if changed is not None:
                held = changed.get(leaf, 0)  # noqa: PLW2901 (nodes that others use in part stay)
            nodes = held if closed is None else held & ~closed[leaf]
            if inside is not None:
                nodes &= inside[leaf]
            leaf_free[leaf] ^= nodes
            count = nodes.bit_count()
            total += count
            pod = leaf // per_pod
            pod_free[pod] += sign * count
            stamp[pod] = object()
            if owned:
                leaf_up[leaf] ^= ports
            if communicates:
                self.leaf_comm[leaf] -= sign * held.bit_count()
        if owned:
            for switch, ports in allocation.l2s:
                self.l2_up[switch] ^= ports
                stamp[switch // self.l2_per_pod] = object()
        else:
            self._share_links(allocation, add_units if sign < 0 else remove_units)
        self.n_free += sign * total

    def _whole_node(self) -> NodeUnits:
        """Return what is free of a free node, as `partly` has it."""
        assert self.node is not None  # noqa: S101 (jobs share nodes)
        return self.node._replace(gpus=(1 << self.node.gpus) - 1)

    def _share_fits(self, allocation: Allocation, leaf: int, nodes: int) -> bool:
        """Say whether nodes that are not free have room for what an allocation takes of them."""
        share, closed = allocation.share, self.closed
        if share is None or (closed is not None and closed[leaf] & nodes):
            return False
        gpus = dict(allocation.gpus)
        for bit in mask_bits(nodes):
            place = leaf * self.nodes_per_leaf + bit
            left = self.partly.get(place)
            if left is None or not _has_room(left, share):
                return False
            if gpus and left.gpus & gpus[place] != gpus[place]:
                return False
        return True

    def _change_shares(self, allocation: Allocation, sign: int) -> dict[int, int]:
        """Take or free parts of nodes; return the nodes, by group, that begin or end to be used."""
        share, whole, changed = allocation.share, self._whole_node(), dict[int, int]()
        assert share is not None  # noqa: S101 (the caller has asked)
        gpus = dict(allocation.gpus)
        for leaf, nodes, _ in allocation.leaves:
            for bit in mask_bits(nodes if self.inside is None else nodes & self.inside[leaf]):
                place = leaf * self.nodes_per_leaf + bit
                left = self.partly.get(place, whole)
                now = NodeUnits(
                    left.cores + sign * share.cores,
                    left.gpus ^ gpus.get(place, 0),
                    left.memory_mb + sign * share.memory_mb,
                )
                if now == whole or place not in self.partly:
                    changed[leaf] = changed.get(leaf, 0) | 1 << bit
                if now == whole:
                    del self.partly[place]
                else:
                    self.partly[place] = now
        return changed

    def _lacks_room(self, allocation: Allocation, shared: SharedLinks) -> bool:
        """Whether a link lacks the units wanted; one that is to be owned must be unused."""
        units = allocation.units or CAP
        return any(
            without_room(shared.leaf[leaf], units) & ports for leaf, _, ports in allocation.leaves
        ) or any(without_room(shared.l2[switch], units) & ports for switch, ports in allocation.l2s)

    def _share_links(
        self,
        allocation: Allocation,
        change: Callable[[tuple[int, ...], int, int], tuple[int, ...]],
    ) -> None:
        """Change the units taken of links."""
        if self.shared is None:
            self.shared = SharedLinks(self.n_leaves, len(self.l2_up))
        leaf_units, l2_units = self.shared.leaf, self.shared.l2
        for leaf, _, ports in allocation.leaves:
            leaf_units[leaf] = change(leaf_units[leaf], ports, allocation.units)
        for switch, ports in allocation.l2s:
            l2_units[switch] = change(l2_units[switch], ports, allocation.units)
