"""What every allocator of the registry keeps, on every kind of machine that it takes."""

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

from coupling.checks.allocators import COUNTED, TALK, Churn, job_of
from coupling.checks.topologies import damaged_fabrics, whole_fabrics
from scheduler.allocators import ALIASES, ALLOCATORS, make_allocator
from scheduler.allocators.base import Allocator
from scheduler.allocators.jigsaw import Laas
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError

WHOLE = whole_fabrics()
MACHINES = WHOLE | damaged_fabrics()
SEED = 7


def accepts(name, machine):
    """Whether an allocator takes a machine at all."""
    cluster = Cluster(MACHINES[machine])
    try:
        return make_allocator(name, {}, SEED).allocate(job_of(1), cluster) is not None
    except AllocationError:
        return False


PAIRS = [(name, machine) for name in ALLOCATORS for machine in MACHINES if accepts(name, machine)]


class Use(RuleBasedStateMachine):
    """Jobs come and go in any order; the subclasses say under which allocator and where."""

    name = machine = ""

    @initialize()
    def empty_machine(self):
        self.churn = churn_of(self.name, self.machine)

    @rule(share=st.floats(0, 1), talk=st.sampled_from(TALK))
    def submit(self, share, talk):
        """Sizes from 1 to the whole machine, small ones more often."""
        self.churn.submit(max(1, round(self.churn.cluster.n_nodes * share**3)), talk)

    @precondition(lambda self: self.churn.cluster.running)
    @rule(choice=st.integers(0, 10**6))
    def end(self, choice):
        self.churn.end(choice)

    @rule(size=st.sampled_from([-1, 0, 1]))
    def submit_what_can_never_run(self, size):
        self.churn.submit_what_can_never_run(size)

    @invariant()
    def nothing_is_broken(self):
        self.churn.count()
        self.churn.share_no_link()
        assert not self.churn.broken

    def teardown(self):
        """All of it is back when all jobs have ended."""
        self.churn.close()
        assert not self.churn.broken


def churn_of(name, machine):
    """Return an empty machine under an allocator."""
    return Churn(lambda: make_allocator(name, {}, SEED), MACHINES[machine], whole=machine in WHOLE)


@pytest.mark.parametrize(
    ("name", "machine", "examples"),
    [
        *((*pair, 2) for pair in PAIRS[::2]),
        *(pytest.param(*pair, 20, marks=pytest.mark.heavy) for pair in PAIRS),
    ],
)
def test_nodes_and_links_are_given_once_and_come_back(name, machine, examples):
    use = type("UseOf", (Use,), {"name": name, "machine": machine})

    run_state_machine_as_test(
        use,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        *PAIRS[1::2],
        *(pytest.param(*pair, marks=pytest.mark.heavy) for pair in PAIRS[::2]),
    ],
)
def test_an_empty_machine_takes_every_size(name, machine):
    """Else a job could wait for ever; an error is for jobs that can never run."""
    churn = churn_of(name, machine)

    churn.fill()

    assert not churn.broken


@pytest.mark.parametrize("name", ALLOCATORS)
def test_each_allocator_takes_a_machine_and_refuses_others_with_a_reason(name):
    """The error names the allocator and the fabric."""
    taken = [machine for machine in MACHINES if (name, machine) in PAIRS]
    assert taken

    for machine in MACHINES.keys() - set(taken):
        fabric = MACHINES[machine]
        with pytest.raises(AllocationError, match=f"allocator '.*needs .*{fabric.name[:4]}"):
            make_allocator(name, {}, SEED).allocate(job_of(1), Cluster(fabric))


@pytest.mark.parametrize("name", ALLOCATORS)
def test_the_registry_makes_what_the_protocol_asks_for(name):
    allocator: Allocator = make_allocator(name, {}, SEED)
    churn = Churn(lambda: allocator, WHOLE["radix-4"])

    churn.promise()

    assert not churn.broken
    assert allocator.name == name


def test_aliases_name_registered_allocators():
    assert {ALIASES[alias] for alias in ALIASES} <= ALLOCATORS.keys()
    assert make_allocator("baseline", {}, SEED).name == "first-free"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("jigsav", {}, r"unknown allocator 'jigsav' \(did you mean 'jigsaw'\?\); choose from .*"),
        ("jigsaw", {"oder": "index"}, "allocator 'jigsaw': unknown option 'oder'.* order"),
        ("jigsaw", {"order": "worst"}, "order: expected one of best-fit, index, got 'worst'"),
        ("jigsaw", {"single_leaf_links": 1}, "single_leaf_links: expected true or false, got 1"),
        ("laas", {"order": []}, "order: expected one of"),
        ("ta", {"order": "best-fit"}, "order: expected one of sorted, index, got 'best-fit'"),
        ("ta", {"whole_leaves": "no"}, "whole_leaves: expected true or false, got 'no'"),
        ("lc+s", {"steps": 0}, "steps: expected a whole number from 1, got 0"),
        ("lc+s", {"steps": 2.5}, "steps: expected a whole number from 1, got 2.5"),
        ("random", {"seed": -1}, "seed: expected a whole number from 0, got -1"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_that_says_what_is_allowed(name, options, message):
    with pytest.raises(AllocationError, match=message):
        make_allocator(name, options, SEED)


class Generous(Laas):
    """LaaS, which holds whole leaves, and yet says that nodes may be counted."""

    fits_by_count = True


def test_who_holds_more_nodes_than_wanted_must_not_let_them_be_counted():
    churn = Churn(Generous, WHOLE["radix-6"], whole=True)

    churn.submit(10, None)  # a pod has 9

    assert [rule for rule, _ in churn.broken] == [COUNTED]
