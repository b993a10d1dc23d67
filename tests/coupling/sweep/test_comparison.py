"""What a sweep says, on cells whose answer is known."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coupling.errors import ResultError
from coupling.report.sweep import sweep_answer
from coupling.sweep.comparison import REST, compare_policies, explained
from coupling.sweep.plan import Plan
from coupling.sweep.spec import Spec
from coupling.sweep.store import SweepTables
from coupling.sweep.sweep import Sweep

TABLES = {"topology": "cab", "workload": {"generator": "synth"}}
FACTOR = {"first-free": 1.0, "ta": 1.2, "jigsaw": 0.9}
METRIC = ("mean_wait_s",)
LOAD = "workload.mean_nodes"


def sweep_of(wait, seeds=(1, 2, 3), loads=(4, 8), allocators=tuple(FACTOR)):
    """Return a sweep whose cells wait as a function of allocator, load and seed says."""
    varied = {"scheduler.allocator": list(allocators), LOAD: list(loads), "run.seed": list(seeds)}
    spec = Spec.make(TABLES, varied)
    cells = pd.DataFrame([spec.factors_of(values) for values in spec.combinations])
    cells.insert(0, "cell", [f"c{at}" for at in range(len(cells))])
    rows = zip(cells["scheduler.allocator"], cells[LOAD], cells["run.seed"], strict=True)
    cells["mean_wait_s"] = [wait(*row) for row in rows]
    cells["jobs"], cells["killed"] = 4, 0
    sums = pd.concat(
        [
            cells[["cell"]].assign(
                day=day, size=size, pattern="", jobs=2, wait_s=2 * cells["mean_wait_s"] * weight
            )
            for day, size, weight in ((0, "1", 0.5), (1, "2-4", 1.5), (2, "2-4", 1.5))
        ],
        ignore_index=True,
    )
    return swept(spec, cells, sums)


def swept(spec, cells, sums):
    """Return a sweep of which these cells are known, and these sums of their jobs."""
    tables = {"cells": cells, "classes": sums.drop(columns="day"), "days": sums}
    return Sweep(Plan(spec, ()), SweepTables(Path(), {}, tables))


def constant(allocator, load, seed):
    """Wait twice as long under twice the load, a tenth longer or shorter by the policy."""
    return FACTOR[allocator] * 100.0 * load * seed


def row_of(found, policy, by="all", name="all"):
    table = found.differences
    own = table[(table["policy"] == policy) & (table["by"] == by) & (table["class"] == name)]
    return own.iloc[0]


def test_differences_are_paired():
    """The samples differ threefold, the policies by a fixed share: no width at all."""
    found = compare_policies(sweep_of(constant), metrics=METRIC)
    ta, jigsaw = row_of(found, "ta"), row_of(found, "jigsaw")

    assert found.baseline == "first-free"
    assert (ta["difference"], ta["low"], ta["high"]) == pytest.approx((0.2, 0.2, 0.2))
    assert (jigsaw["difference"], jigsaw["samples"]) == (pytest.approx(-0.1), 3)
    assert (ta["baseline"], ta["mean"]) == pytest.approx((1200.0, 1440.0))


def test_a_sample_is_a_seed_with_its_mean_over_the_other_factors():
    """By hand: seed 1 has 0.1 and 0.3, each further one 0.1 more; logarithms."""
    told = {(4, 1): 0.1, (8, 1): 0.3, (4, 2): 0.2, (8, 2): 0.4, (4, 3): 0.3, (8, 3): 0.5}
    made = sweep_of(
        lambda name, load, seed: 100 * (1 + (name == "ta") * told[load, seed]),
        seeds=(1, 2, 3),
        allocators=("first-free", "ta"),
    )
    ta = row_of(compare_policies(made, metrics=METRIC), "ta")

    logs = np.log([1.1 * 1.3, 1.2 * 1.4, 1.3 * 1.5]) / 2
    mean, reach = logs.mean(), 4.30265 * logs.std(ddof=1) / 3**0.5
    assert ta["difference"] == pytest.approx(np.exp(mean) - 1)
    assert ta["low"] == pytest.approx(np.exp(mean - reach) - 1, abs=1e-4)
    assert ta["high"] == pytest.approx(np.exp(mean + reach) - 1, abs=1e-4)


@pytest.mark.parametrize(
    ("metric", "before", "after", "ends"),
    [
        ("utilization_steady", 0.5, (0.6, 0.99, 0.99), (-1.0, 1.0)),
        ("max_slowdown", 2.0, (1.01, 1.01, 1.9), (-0.5, np.inf)),
    ],
)
def test_no_interval_holds_what_is_impossible(metric, before, after, ends):
    """A utilisation of 50 % doubles at most, a slowdown of 2 halves."""
    made = sweep_of(
        lambda name, _, seed: after[seed - 1] if name == "ta" else before,
        allocators=("first-free", "ta"),
    )
    cells = made.cells.rename(columns={"mean_wait_s": metric})
    sums = made.days.assign(**{metric: 0.0})
    ta = row_of(compare_policies(swept(made.plan.spec, cells, sums), metrics=(metric,)), "ta")

    assert ends[0] <= ta["low"] <= ta["difference"] <= ta["high"] <= ends[1]
    assert ta["low"] == ends[0] or ta["high"] == ends[1]


def test_the_interval_of_a_wait_ends_above_none():
    """Waits of 1, 5 and 90 s for 100 s: the geometric mean of the ratios is 0.00045^(1/3)."""
    made = sweep_of(
        lambda name, _, seed: (1.0, 5.0, 90.0)[seed - 1] if name == "ta" else 100.0,
        allocators=("first-free", "ta"),
    )
    ta = row_of(compare_policies(made, metrics=METRIC), "ta")

    assert ta["difference"] == pytest.approx(0.00045 ** (1 / 3) - 1)
    assert -1.0 < ta["low"] < ta["difference"] < ta["high"]


def test_a_wait_that_vanishes_is_averaged_as_it_is():
    """Ratios 0, 0.5 and 1 have no logarithm: the mean difference is -50 %."""
    made = sweep_of(
        lambda name, _, seed: 50.0 * (seed - 1) if name == "ta" else 100.0,
        allocators=("first-free", "ta"),
    )
    ta = row_of(compare_policies(made, metrics=METRIC), "ta")

    assert ta["difference"] == pytest.approx(-0.5)
    assert ta["low"] == -1.0


def test_there_is_no_difference_to_none_but_where_both_are_none():
    """Seed 1 waits for 0 s under the baseline: no ratio under `ta`, 1 under `jigsaw`."""
    told = {"first-free": (0.0, 100.0, 100.0), "ta": (1.0, 50.0, 50.0), "jigsaw": (0.0, 50.0, 50.0)}
    found = compare_policies(sweep_of(lambda name, _, seed: told[name][seed - 1]), metrics=METRIC)
    ta, jigsaw = row_of(found, "ta"), row_of(found, "jigsaw")

    assert np.isnan(ta[["difference", "low", "high"]].astype(float)).all()
    assert (ta["baseline"], ta["mean"]) == pytest.approx((200 / 3, 101 / 3))
    assert jigsaw["difference"] == pytest.approx(0.5 ** (2 / 3) - 1)
    answer = sweep_answer(found)
    assert answer.sections[0].rows[0][-2:] == ("-", "-")
    assert "No difference (-) where first-free has 0 in a sample, others more." in answer.closing
    assert answer.closing[-1].startswith("Intervals: Student's, from 3 samples")


def test_a_bounded_slowdown_is_the_inverse_with_the_other_baseline():
    """By hand: ratios of 1/4 and 2 have the geometric mean 1/sqrt 2, and at least 1/8 and 1/2."""
    told = {"first-free": (8.0, 2.0, 4.0), "ta": (2.0, 4.0, 4.0 / 2**0.5)}
    metric = "mean_bounded_slowdown"
    made = sweep_of(lambda name, _, seed: told[name][seed - 1], allocators=tuple(told))
    cells = made.cells.rename(columns={"mean_wait_s": metric})
    one, other = (
        compare_policies(swept(made.plan.spec, cells, made.days), baseline=name, metrics=(metric,))
        for name in told
    )

    there, back = row_of(one, "ta"), row_of(other, "first-free")
    assert there["difference"] == pytest.approx(2**-0.5 - 1)
    assert back["difference"] == pytest.approx(2**0.5 - 1)
    assert there["low"] == pytest.approx(1 / 4 - 1)  # all that is possible: a slowdown of 1


@pytest.mark.heavy
def test_intervals_hold_a_known_difference_in_95_of_100_sweeps():
    """Ten seeds, a difference of 10 % that varies by sample; 80 sweeps."""
    rng, held, repeats = np.random.default_rng(11), 0, 80
    for _ in range(repeats):
        base = dict(zip(range(10), rng.lognormal(5, 0.5, 10), strict=True))
        ratio = {(load, seed): rng.normal(1.1, 0.05) for load in (4, 8) for seed in range(10)}
        made = sweep_of(
            lambda name, load, seed, base=base, ratio=ratio: (
                base[seed] * (ratio[load, seed] if name == "ta" else 1.0)
            ),
            seeds=range(10),
            allocators=("first-free", "ta"),
        )
        ta = row_of(compare_policies(made, metrics=METRIC), "ta")
        held += ta["low"] <= 0.1 <= ta["high"]

    assert 0.89 <= held / repeats <= 0.995


def test_a_number_that_no_cell_has_is_told_as_missing():
    """No steady utilisation where no job ever waits: nothing to compare, and nothing breaks."""
    found = compare_policies(sweep_of(lambda *_: np.nan), metrics=METRIC)

    own = row_of(found, "ta")
    assert np.isnan(own[["baseline", "mean", "difference", "low", "high"]].astype(float)).all()
    assert own["samples"] == 0


def test_wins_ties_and_kendalls_tau_by_hand():
    """Ta wins in seed 1, ties in seed 2, loses in seed 3; jigsaw always wins."""
    ta = {1: 90.0, 2: 100.0, 3: 110.0}
    made = sweep_of(
        lambda name, _, seed: {"first-free": 100.0, "ta": ta[seed], "jigsaw": 50.0}[name],
        loads=(4,),
    )
    ranks = compare_policies(made, metrics=METRIC).ranks.set_index("policy")

    assert ranks.loc["ta", ["wins", "ties", "samples", "first"]].tolist() == [1, 1, 3, 0]
    assert ranks.loc["jigsaw", ["wins", "ties", "samples", "first"]].tolist() == [3, 0, 3, 3]


def test_policies_under_which_other_jobs_ran_are_named():
    made = sweep_of(constant)
    assert compare_policies(made, metrics=METRIC).unlike == {}
    made.cells.loc[(made.cells["scheduler.allocator"] == "ta").idxmax(), "killed"] = 1

    found = compare_policies(made, metrics=METRIC)

    assert found.unlike == {"ta": 1}
    told = "Other numbers of jobs ran or were killed than under first-free: ta in 1 sample; "
    assert any(line.startswith(told) for line in sweep_answer(found).closing)


def test_tau_is_one_where_the_order_never_changes():
    ranks = compare_policies(sweep_of(constant), metrics=METRIC).ranks

    assert ranks["tau"].tolist() == [1.0, 1.0]


def test_tau_counts_pairs_that_are_turned_round():
    """In one of three samples one of three pairs is the other way: (1 + 1 + 1/3) / 3."""
    order = {1: (1, 2, 3), 2: (1, 2, 3), 3: (1, 3, 2.9)}
    made = sweep_of(
        lambda name, _, seed: dict(zip(FACTOR, order[seed], strict=True))[name], loads=(4,)
    )
    ranks = compare_policies(made, metrics=METRIC).ranks

    assert ranks["tau"].iloc[0] == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_differences_by_size_class_are_those_of_its_jobs():
    """Class means: half and one and a half times those of all, the same shares."""
    found = compare_policies(sweep_of(constant), metrics=METRIC)

    assert row_of(found, "ta", "size", "1")["difference"] == pytest.approx(0.2)
    assert row_of(found, "ta", "size", "1")["baseline"] == pytest.approx(600.0)
    assert row_of(found, "ta", "size", "2-4")["baseline"] == pytest.approx(1800.0)
    assert row_of(found, "ta", "pattern", "no traffic")["difference"] == pytest.approx(0.2)


def test_the_factor_that_makes_the_difference_is_found():
    """The policy's gain depends on the load alone, waits on seed, load and policy."""
    made = sweep_of(
        lambda name, load, seed: 100 * seed * (1 + (name == "ta") * 0.1 * load),
        seeds=range(1, 9),
        allocators=("first-free", "ta"),
    )
    variance = compare_policies(made, metrics=METRIC).variance
    gain = variance[variance["outcome"] == "difference of ta"].set_index("factor")["share"]

    assert gain[LOAD] == pytest.approx(1.0)
    assert gain["run.seed"] == 0.0
    assert gain[REST] == pytest.approx(0.0)


def test_a_factor_without_effect_explains_nothing_in_the_mean():
    """Epsilon squared is free of bias: of noise, 0 within its spread, before cutting below 0."""
    rng = np.random.default_rng(2)
    shares = []
    for _ in range(200):
        noise = pd.Series(rng.normal(size=60))
        found = explained(noise, pd.DataFrame({"workload.x": np.tile(range(6), 10)}))
        shares.append(found["workload.x"])

    assert np.mean(shares) < 0.04
    assert np.mean(np.array(shares) == 0) > 0.4


def test_a_number_with_many_values_is_put_into_classes():
    x = np.linspace(0, 1, 200)

    found = explained(pd.Series(x**2), pd.DataFrame({"workload.x": x}))

    assert 0.9 < found["workload.x"] < 1


def test_two_factors_share_the_variance_as_analysis_of_variance_does():
    """By hand: a of 0 and 2, b of 0 and 1, ten times each: 1.0 and 0.25 of 1.25."""
    a, b = np.tile([0, 0, 1, 1], 10), np.tile([0, 1, 0, 1], 10)
    shares = explained(pd.Series(2.0 * a + b), pd.DataFrame({"network.a": a, "network.b": b}))

    assert shares["network.a"] == pytest.approx(0.8, abs=0.01)
    assert shares["network.b"] == pytest.approx(0.2, abs=0.03)


def test_what_varies_with_the_sample_alone_is_left_to_chance():
    """By hand: a of 0 and 2, ten times each, and a seed that each sample has of its own."""
    a, sample = np.tile([0, 0, 1, 1], 10), np.arange(40) // 2
    factors = {"network.a": a, "sample": sample, "run.seed": 100 - sample, "network.b": 5 * a}
    shares = explained(pd.Series(2.0 * a + sample % 3), pd.DataFrame(factors))

    known = shares.pop("network.a")
    assert 0 < known < 1
    assert shares.pop(REST) == pytest.approx(1 - known)
    assert shares.keys() == {"run.seed", "network.b"}
    assert np.isnan(list(shares.values())).all()


def test_over_days_the_log_is_resampled():
    """Every day has the same ratio: no width; one row per metric."""
    found = compare_policies(sweep_of(constant), metrics=METRIC, over="days")
    ta = row_of(found, "ta")

    assert (ta["difference"], ta["low"], ta["high"], ta["samples"]) == pytest.approx(
        (0.2, 0.2, 0.2, 3)
    )


def test_another_factor_may_be_what_is_compared():
    found = compare_policies(sweep_of(constant), metrics=METRIC, by=[LOAD])

    assert found.baseline == "4"
    assert row_of(found, "8")["difference"] == pytest.approx(1.0)


def test_options_of_policies_stand_beside_each_other():
    """Two factors of policy make one name."""
    varied = {"scheduler.allocator": ["ta", "lc"], "network.routing": ["jigsaw", "d-mod-k"]}
    spec = Spec.make(TABLES, varied)
    cells = pd.DataFrame([spec.factors_of(values) for values in spec.combinations])
    cells = cells.assign(cell=["a", "b", "c", "d"], mean_wait_s=[1.0, 2.0, 3.0, 4.0])
    cells = cells.assign(jobs=1, killed=0)
    sums = cells[["cell"]].assign(day=0, size="1", pattern="", jobs=1, wait_s=cells["mean_wait_s"])
    found = compare_policies(swept(spec, cells, sums), metrics=METRIC)

    assert found.baseline == "ta / jigsaw"
    assert found.ranks["policy"].tolist() == ["ta / d-mod-k", "lc / jigsaw", "lc / d-mod-k"]
    assert row_of(found, "lc / d-mod-k")[["difference", "samples"]].tolist() == [3.0, 1]
    assert np.isnan(row_of(found, "lc / d-mod-k")["low"])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"metrics": ["nix"]}, r"unknown metric 'nix'; choose from mean_wait_s"),
        ({"baseline": "nix"}, r"unknown policy 'nix'; choose from first-free, ta, jigsaw"),
        ({"by": ["nix"]}, r"unknown factor 'nix'; choose from scheduler.allocator"),
        ({"over": "weeks"}, r"over: expected one of seeds, days, got 'weeks'"),
    ],
)
def test_what_is_unknown_is_told_with_what_there_is(asked, told):
    with pytest.raises(ResultError, match=told):
        compare_policies(sweep_of(constant), **({"metrics": METRIC} | asked))


def test_a_sweep_without_policies_has_nothing_to_compare():
    made = sweep_of(constant, allocators=("ta",))

    with pytest.raises(ResultError, match="expected two policies to compare, got ta alone"):
        compare_policies(made, metrics=METRIC)
