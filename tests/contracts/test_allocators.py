"""What every allocator of the registry keeps, on every kind of machine that it takes."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from isolation import Ledger, Meter, same_state

from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import FatTree, build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import exclude, fail
from netsim.topology.partial import depopulate
from netsim.topology.torus import build_torus
from patterns.algorithms import RecursiveDoubling
from patterns.alltoall import OneToAll
from patterns.pairs import Ring
from scheduler.allocators import ALIASES, ALLOCATORS, make_allocator
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Communication, Job

WHOLE = {
    "radix-4": fat_tree_of_radix(4, "1 B/s"),
    "radix-6": fat_tree_of_radix(6, "1 B/s"),
    "two-level": fat_tree_of_radix(6, "1 B/s", levels=2),
    "top-cables": build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), "1 B/s"),
    "tapered": build_fat_tree((4, 4, 3), (1, 2, 2), (1, 1, 1), "1 B/s"),
    "four-level": build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), "1 B/s"),
    "two-rail": build_fat_tree((3, 3, 2), (2, 3, 3), (1, 1, 1), "1 B/s"),
    "torus": build_torus((5, 4, 4), "1 B/s"),
    "two-node-routers": build_torus((4, 3, 3), "1 B/s", nodes_per_router=2),
    "dragonfly": build_dragonfly(4, (2, 5), "1 B/s", nodes_per_router=2),
}
DAMAGED = {
    "holes": depopulate(fat_tree_of_radix(6, "1 B/s"), ["n4", "n9", "s1.5"]),
    "login-nodes": exclude(fat_tree_of_radix(6, "1 B/s", levels=2), ["n0", "n1", "n17"]),
    "service-routers": exclude(build_torus((4, 4, 3), "1 B/s"), ["n5", "n6", "n47"]),
    "broken-links": fail(fat_tree_of_radix(6, "1 B/s"), ["s1.3>s2.4", "s2.7>s3.4"]),
}
MACHINES = WHOLE | DAMAGED
SEED = 7
TALK = (
    None,
    Communication("ring", Ring(2**20), 0.3),
    Communication("doubling", RecursiveDoubling(2**16), 1.0),
    Communication("one-to-all", OneToAll(2**10), 0.5, iteration_s=0.01),
    Communication("silent", Ring(), 0.0),
)


def job(n_nodes, number=0, communication=None):
    return Job(number, 0.0, n_nodes, 100.0, 100.0, communication=communication)


def accepts(name, machine):
    """Whether an allocator takes a machine at all."""
    try:
        return (
            make_allocator(name, {}, SEED).allocate(job(1), Cluster(MACHINES[machine])) is not None
        )
    except AllocationError:
        return False
    return True


PAIRS = [(name, machine) for name in ALLOCATORS for machine in MACHINES if accepts(name, machine)]


class Ownership:
    """Nodes given once, on any machine; links too where the machine is a tree of one rail."""

    def __init__(self, cluster):
        self.cluster = cluster
        fabric = cluster.fabric
        self.tree = fabric if isinstance(fabric, FatTree) and fabric.ports[0] == 1 else None
        self.ledger = Ledger(self.tree) if self.tree else None
        self.meter = Meter()
        self.taken = set()

    def change(self, allocation, sign):
        if self.tree:
            self.meter.change(allocation, self.tree, sign)
            if sign > 0:
                self.ledger.place(allocation)
            else:
                self.ledger.release(allocation.job.id)
            return
        nodes = set(allocation.nodes(self.cluster.nodes_per_leaf).tolist())
        assert len(nodes) == allocation.job.n_nodes
        assert nodes <= set(self.cluster.fabric.usable_nodes.tolist())
        assert self.taken.isdisjoint(nodes) if sign > 0 else nodes <= self.taken
        self.taken ^= nodes

    @property
    def n_free(self):
        return (
            self.ledger.n_free
            if self.tree
            else self.cluster.fabric.usable_nodes.size - len(self.taken)
        )


@contextmanager
def damage_may_refuse(machine):
    """Let a damaged machine say that some size has no legal place on it at all."""
    try:
        yield
    except AllocationError as error:
        if machine in WHOLE or "does not fit under allocator" not in str(error):
            raise


def same(one, other):
    """Whether two answers of an allocator are the same."""
    if one is None or other is None:
        return one is other
    return (one.leaves, one.l2s, one.order, one.idle, one.units) == (
        other.leaves,
        other.l2s,
        other.order,
        other.idle,
        other.units,
    )


class Use(RuleBasedStateMachine):
    """Jobs come and go in any order; the subclasses say under which allocator and where."""

    name = machine = ""

    @initialize()
    def empty_machine(self):
        self.cluster = Cluster(MACHINES[self.machine])
        self.allocator = make_allocator(self.name, {}, SEED)
        self.owner = Ownership(self.cluster)
        self.number = 0

    def size(self, share):
        """Sizes from 1 to the whole machine, small ones more often."""
        return max(1, round(self.cluster.n_nodes * share**3))

    @rule(share=st.floats(0, 1), talk=st.sampled_from(TALK))
    def submit(self, share, talk):
        """Ask for a placement: it depends on the state alone, and asking changes nothing."""
        self.number += 1
        wanted = job(self.size(share), self.number, talk)
        before = self.cluster.copy()

        allocation = self.ask(self.allocator, wanted, self.cluster)

        assert same_state(self.cluster, before)
        assert same(allocation, self.ask(self.allocator, wanted, self.cluster))
        fresh = make_allocator(self.name, {}, SEED)
        assert same(allocation, self.ask(fresh, wanted, before))
        if allocation is None:
            if self.allocator.monotone_in_size and wanted.n_nodes < self.cluster.n_nodes:
                larger = job(wanted.n_nodes + 1, self.number, talk)
                assert self.ask(self.allocator, larger, self.cluster) is None
            return
        assert allocation.job is wanted
        if self.allocator.monotone_in_free:
            self.still_fits_when_others_leave(wanted)
        self.cluster.place(allocation)
        self.owner.change(allocation, 1)

    def ask(self, allocator, wanted, cluster):
        """Ask for a placement; only a damaged machine may say "never", and only when empty."""
        try:
            return allocator.allocate(wanted, cluster)
        except AllocationError:
            assert self.machine in DAMAGED
            assert not cluster.running
            return None

    def still_fits_when_others_leave(self, wanted):
        """Freed nodes and links never turn a placement into a refusal."""
        emptier = self.cluster.copy()
        for running in list(emptier.running):
            emptier.release(running)
            assert self.allocator.allocate(wanted, emptier) is not None

    @precondition(lambda self: self.cluster.running)
    @rule(choice=st.integers(0, 10**6))
    def end(self, choice):
        """Give back exactly what was given."""
        running = list(self.cluster.running)

        allocation = self.cluster.release(running[choice % len(running)])

        self.owner.change(allocation, -1)

    @rule(size=st.sampled_from([-1, 0, 1]))
    def submit_what_can_never_run(self, size):
        """No nodes at all, or one more than there are."""
        wanted = job(size if size < 1 else self.cluster.n_nodes + 1, -1)

        with pytest.raises(AllocationError, match="n_nodes must be in"):
            self.allocator.allocate(wanted, self.cluster)

    @invariant()
    def free_nodes_are_those_that_nobody_holds(self):
        assert self.cluster.n_free == self.owner.n_free == sum(self.cluster.pod_free)
        assert self.cluster.n_free == sum(mask.bit_count() for mask in self.cluster.leaf_free)

    @invariant()
    def leaves_count_the_nodes_of_jobs_that_communicate(self):
        comm = [0] * self.cluster.n_leaves
        for allocation in self.cluster.running.values():
            if allocation.job.communication is not None:
                for leaf, nodes, _ in allocation.leaves:
                    comm[leaf] += nodes.bit_count()
        assert self.cluster.leaf_comm == comm

    def teardown(self):
        """All of it is back when all jobs have ended."""
        for running in list(self.cluster.running):
            self.cluster.release(running)
        assert same_state(self.cluster, Cluster(self.cluster.fabric))


@pytest.mark.parametrize(("name", "machine"), PAIRS)
def test_nodes_and_links_are_given_once_and_come_back(name, machine):
    use = type("UseOf", (Use,), {"name": name, "machine": machine})

    run_state_machine_as_test(
        use,
        settings=settings(
            max_examples=10,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(("name", "machine"), PAIRS)
def test_an_empty_machine_takes_every_size(name, machine):
    """Else a job could wait for ever; an error is for jobs that can never run."""
    cluster = Cluster(MACHINES[machine])
    allocator = make_allocator(name, {}, SEED)

    for n_nodes in range(1, cluster.n_nodes + 1):
        wanted = job(n_nodes, communication=TALK[n_nodes % len(TALK)])
        with damage_may_refuse(machine):
            allocation = allocator.allocate(wanted, cluster)

            assert allocation is not None
            assert np.unique(allocation.nodes(cluster.nodes_per_leaf)).size == n_nodes


@pytest.mark.parametrize("name", ALLOCATORS)
def test_each_allocator_takes_a_machine_and_refuses_others_with_a_reason(name):
    """The error names the allocator and the fabric."""
    taken = [machine for machine in MACHINES if (name, machine) in PAIRS]
    assert taken

    for machine in MACHINES.keys() - set(taken):
        fabric = MACHINES[machine]
        with pytest.raises(AllocationError, match=f"allocator '.*needs .*{fabric.name[:4]}"):
            make_allocator(name, {}, SEED).allocate(job(1), Cluster(fabric))


@pytest.mark.parametrize("name", ALLOCATORS)
def test_the_registry_makes_what_the_protocol_asks_for(name):
    allocator: Allocator = make_allocator(name, {}, SEED)

    assert allocator.name == name
    for promise in ("isolating", "monotone_in_size", "monotone_in_free"):
        assert isinstance(getattr(allocator, promise), bool)


def test_aliases_name_registered_allocators():
    assert {ALIASES[alias] for alias in ALIASES} <= ALLOCATORS.keys()
    assert make_allocator("baseline", {}, SEED).name == "first-free"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("jigsav", {}, "unknown allocator 'jigsav'; choose from .*jigsaw"),
        ("jigsaw", {"oder": "index"}, "allocator 'jigsaw': unknown option 'oder'.* order"),
        ("jigsaw", {"order": "worst"}, "order: expected one of best-fit, index, got 'worst'"),
        ("jigsaw", {"single_leaf_links": 1}, "single_leaf_links: expected true or false, got 1"),
        ("laas", {"order": []}, "order: expected one of"),
        ("ta", {"order": "best-fit"}, "order: expected one of sorted, index, got 'best-fit'"),
        ("ta", {"whole_leaves": "no"}, "whole_leaves: expected true or false, got 'no'"),
        ("lc+s", {"steps": 0}, "steps: expected a whole number from 1, got 0"),
        ("lc+s", {"steps": 2.5}, "steps: expected a whole number, got 2.5"),
        ("random", {"seed": -1}, "seed: expected a whole number from 0, got -1"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_that_says_what_is_allowed(name, options, message):
    with pytest.raises(AllocationError, match=message):
        make_allocator(name, options, SEED)
