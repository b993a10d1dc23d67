"""The model `hop-cost-ratio`: what a placement costs over what Slurm's best fit would."""

import pytest

from coupling.errors import ExperimentError
from coupling.rates.baseline_rates import CostRatio, HopCostRateModel
from coupling.runs.engine import run
from netsim.topology.fattree import build_fat_tree
from patterns.collectives import RecursiveDoubling
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Communication, Job

TREE = build_fat_tree((4, 2), (1, 1), (1, 1), "1 B/s")


def placed(number, masks, fraction=0.5):
    """Return a job on nodes of the two leaves."""
    n_nodes = sum(mask.bit_count() for mask in masks)
    communication = Communication("rd", RecursiveDoubling(), fraction) if fraction else None
    job = Job(number, 0.0, n_nodes, 1.0, 1.0, communication=communication)
    leaves = tuple((leaf, mask, 0) for leaf, mask in enumerate(masks) if mask)
    return Allocation(job, Cluster(TREE).geometry, leaves)


def test_figure_5_half_of_the_time_takes_15_5_over_8():
    """
    A job runs on n0 and n1; the next one gets n2 to n5, best fit would give it n4 to n7.

    On n4 to n7 C = 4/4 in both steps: 2 (1 + 1) twice, 8. On n2 to n5 the pairs of the first
    step meet 4/4 on s0, 4; those of the second 4/4 + 2/4 + 6/16 = 1.875 over s2, 4 x 2.875 = 11.5.
    """
    job_rate = HopCostRateModel(TREE, CostRatio())
    job_rate.change([], [placed(1, (0b0011, 0))], 0.0)

    job_rates = job_rate.change([], [placed(2, (0b1100, 0b0011))], 1.0)

    assert job_rates[2].interference == 1.0
    assert job_rates[2].placement_factor == pytest.approx(0.5 + 0.5 * 15.5 / 8)


def test_nodes_of_jobs_that_ended_count_no_more():
    """Alone, n2 to n5 meet 2/4 in step 1 (3) and 2/4 + 2/4 + 4/16 (9); n0 to n3 are 8."""
    job_rate, first = HopCostRateModel(TREE, CostRatio()), placed(1, (0b0011, 0))
    job_rate.change([], [first], 0.0)

    job_rates = job_rate.change([first], [placed(2, (0b1100, 0b0011), 1.0)], 1.0)

    assert job_rates[2].placement_factor == pytest.approx((3 + 9) / 8)


def test_the_default_itself_and_jobs_that_do_not_communicate_keep_their_time():
    job_rate = HopCostRateModel(TREE, CostRatio())
    job_rates = job_rate.change([], [placed(1, (0b1111, 0)), placed(2, (0, 0b0101), 0.0)], 0.0)

    assert [job_rates[number].network_slowdown for number in (1, 2)] == [1.0, 1.0]


def test_a_run_under_the_default_takes_as_long_as_on_an_infinite_network(experiment):
    made = {"allocator": "slurm-best-fit", "self_check": False}
    priced = run(experiment(model="hop-cost-ratio", **made)).jobs
    free = run(experiment(model="null", links_timeline=True, **made)).jobs  # routed: it has costs

    assert (priced["end_s"] == free["end_s"]).all()
    assert (priced["communication_cost"] == free["communication_cost"]).all()
    assert (priced["communication_cost"] > 0).any()


def test_what_it_cannot_price_is_refused(experiment):
    with pytest.raises(AllocationError, match="cost"):
        CostRatio("bytes")
    with pytest.raises(ExperimentError, match="'hop-cost-ratio' needs a fat-tree"):
        run(experiment(model="hop-cost-ratio", topology={"kind": "torus", "dims": [8, 8, 8]}))
    with pytest.raises(ExperimentError, match=r"\[network\].*costs"):
        run(experiment(model="hop-cost-ratio", model_options={"costs": "hops"}))
