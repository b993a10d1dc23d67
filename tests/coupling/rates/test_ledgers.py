"""The ledgers hold to the last bit what a slow twin finds, however their tables grow."""

from collections import Counter

import numpy as np
import pytest
from naive.ledger import Book

from coupling.errors import CouplingError
from coupling.rates import accounts
from coupling.rates.accounts import Accounts
from coupling.rates.ledgers import NetworkLedger
from coupling.runs.assembly import assemble
from coupling.runs.engine import run
from coupling.runs.setup import Setup
from netsim.flows.contention import Culprits, no_culprits
from netsim.flows.traffic import TrafficTimes
from netsim.fluid.model import Fluid
from scheduler.cluster import Cluster
from scheduler.simulator import _Simulation, simulate
from scheduler.traffic import TrafficOf

CROWDED = {"generator": "synth", "mean_nodes": 3, "n_jobs": 400, "seed": 2}


def culprits(*rows):
    """Return a table of victim, culprit, class and share."""
    victim, culprit, kind, share = zip(*rows, strict=True)
    return Culprits(np.array(victim), np.array(culprit), np.array(kind), np.array(share))


def goes_on(opened, now_s, interference, job=1):
    """Give a job a rate, held up at link 0, and return what is closed."""
    return opened.account(now_s, [], ([opened.slot_of[job]], [interference], [1.0], [0]))


@pytest.fixture
def opened():
    """Return the account of job 1 on 2 nodes, opened at time 0."""
    opened = Accounts(np.zeros(3))
    opened.open(1, 2, 0.0)
    return opened


@pytest.mark.parametrize(
    ("model", "allocator"),
    [("fluid", "random"), ("hop-cost", "first-free")],
)
def test_ledgers_hold_what_the_twin_holds_to_the_last_bit(
    experiment, monkeypatch, model, allocator
):
    monkeypatch.setattr(accounts, "_ROWS", 8)  # so that the tables grow many times
    asked = experiment(workload=CROWDED, model=model, allocator=allocator)
    setup = Setup.of(asked, assemble(asked))
    placer = setup.allocator()
    network = setup.rates.begin(placer).network
    ledger, book = NetworkLedger(network), Book(network)
    cluster = Cluster(setup.parts.topology)

    simulate(
        setup.parts.workload.jobs,
        cluster,
        placer,
        setup.policy(),
        rates=network,
        observers=[ledger, book],
    )

    blame = ledger.blame
    rows = zip(
        blame.victim, blame.culprit, blame.kind_of_row, blame.interference_delay_node_s, strict=True
    )
    assert list(rows) == book.rows
    assert len(book.rows) > 150
    assert ledger.links.nbytes.tolist() == book.nbytes
    assert ledger.links.interference_delay_node_s.tolist() == book.lost


def test_a_loss_of_which_no_culprit_was_told_is_nobodys(opened):
    """By hand: 10 s at twice the time lose 5 s on 2 nodes; half the work is done."""
    goes_on(opened, 0.0, 2.0)

    keys, interference_delay_node_s, work_s = opened.account(10.0, [1], ([], [], [], []))

    assert keys.T.tolist() == [[1, -1, -1]]
    assert interference_delay_node_s.tolist() == [10.0]
    assert work_s.tolist() == [5.0]


def test_who_is_told_nothing_new_keeps_the_culprits_of_before(opened):
    """By hand: 12 s at 4/3 lose 3 s on 2 nodes, a quarter of it to job 7; then 4 s to job 8."""
    goes_on(opened, 0.0, 4 / 3)
    opened.blame([1], culprits((1, 7, 0, 0.25), (1, 8, 2, 0.75)))
    goes_on(opened, 8.0, 4 / 3)
    opened.blame([1], no_culprits())
    goes_on(opened, 12.0, 4 / 3)
    opened.blame([1], culprits((1, 8, 2, 1.0)))

    keys, interference_delay_node_s, _ = opened.account(16.0, [1], ([], [], [], []))

    assert keys.T.tolist() == [[1, 7, 0], [1, 8, 2]]
    assert interference_delay_node_s == pytest.approx([1.5, 6.5])


def test_a_culprit_that_is_told_twice_counts_twice(opened):
    goes_on(opened, 0.0, 2.0)
    opened.blame([1], culprits((1, 7, 0, 0.25), (1, 8, 0, 0.5), (1, 7, 0, 0.25)))

    keys, interference_delay_node_s, _ = opened.account(4.0, [1], ([], [], [], []))

    assert keys.T.tolist() == [[1, 7, 0], [1, 8, 0]]
    assert interference_delay_node_s.tolist() == [2.0, 2.0]


def test_culprits_of_a_job_that_was_not_asked_for_are_refused(opened):
    with pytest.raises(CouplingError, match="rows of the jobs asked for, got one of job 5"):
        opened.blame([1], culprits((5, 7, 0, 1.0)))


def test_a_job_is_routed_once_and_looked_at_once_and_culprits_are_asked_for_once_an_event(
    experiment, monkeypatch
):
    """Work that grows by itself shows here without a clock."""
    counts = Counter()

    def counted(kind, name):
        inner = getattr(kind, name)

        def call(*arguments):
            counts[name] += 1
            return inner(*arguments)

        monkeypatch.setattr(kind, name, call)

    for kind, name in ((TrafficOf, "_routed_traffic"), (Fluid, "add"), (Fluid, "culprits")):
        counted(kind, name)
    counted(TrafficTimes, "__call__")
    counted(_Simulation, "_end_jobs")  # once an instant

    result = run(experiment(workload=CROWDED, self_check=False))

    talking = int((result.jobs["comm_fraction"] * (result.jobs["n_nodes"] > 1) > 0).sum())
    assert counts["_routed_traffic"] == counts["add"] == counts["__call__"] == talking
    assert counts["culprits"] <= counts["_end_jobs"]
