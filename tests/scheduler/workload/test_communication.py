"""Jobs get the communication that the profile says, each by a draw of its own."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from patterns.registry import make_pattern
from scheduler.errors import WorkloadError
from scheduler.job import Communication, Job
from scheduler.workload.communication import N_SEEDS, assign, busiest_bytes
from scheduler.workload.profile import DEFAULT_PROFILE, profile_from
from scheduler.workload.synthetic import synth

PAIRS = {"name": "pairs", "seed": 0}
FIXED = {"pattern": PAIRS, "comm_fraction": 0.3, "bytes_per_flow": 1000}
FRACTION = ("comm_fraction", "bytes_per_flow")


def profile(*rules):
    """Return a profile of these rules."""
    return profile_from({"version": 1, "rule": list(rules)})


def job(number=1, n_nodes=4, **fields):
    """Return a job of which only some fields matter."""
    return Job(number, 0.0, n_nodes, 60.0, 60.0, **fields)


def labels(jobs, *rules, seed=1):
    """Return what the rules make of each job."""
    given = assign(jobs, profile(*rules), seed)
    return [job.communication.label if job.communication else None for job in given]


def test_the_first_rule_that_matches_decides():
    jobs = [job(1, 1), job(2, 2), job(3, 8), job(4, 64)]

    assert labels(
        jobs,
        {"match": {"max_nodes": 4}, "label": "small", **FIXED},
        {"match": {"min_nodes": 2, "max_nodes": 8}, "label": "middle", **FIXED},
    ) == [None, "small", "middle", None]


@pytest.mark.parametrize(
    "match",
    [
        {"user": 3},
        {"group": [9, 4]},
        {"executable": 5},
        {"queue": 6},
        {"size": [4, 8]},
        {"name": "lammps*"},
        {"name": ["x", "*-water"]},
        {"pattern": "RD"},
        {"column": {"comm": 1}},
        {"column": {"comm": [0, 1], "pattern": ["RD", "RHVD"]}},
        {"min_nodes": 4, "max_nodes": 4},
    ],
)
def test_every_condition_finds_its_job_and_no_other(match):
    mine = job(
        1,
        user=3,
        group=4,
        executable=5,
        queue=6,
        name="lammps-water",
        extra=(("comm", "1"), ("pattern", "RD")),
    )
    other = job(2, 5, user=30, name="Lammps", extra=(("comm", "10"), ("pattern", "rd")))

    assert labels([mine, other], {"match": match, **FIXED}) == ["pairs", None]


def test_chance_takes_its_share_and_leaves_the_rest_to_the_next_rule():
    jobs = [job(number) for number in range(10_000)]

    counts = Counter(
        labels(
            jobs,
            {"chance": 0.3, "label": "first", **FIXED},
            {"chance": 0.5, "label": "second", **FIXED},
        )
    )

    for label, share in (("first", 0.3), ("second", 0.35), (None, 0.35)):
        assert counts[label] == pytest.approx(
            share * 1e4, abs=5 * (share * (1 - share) * 1e4) ** 0.5
        )


def test_what_a_job_draws_depends_on_no_other_job_and_not_on_their_order():
    jobs = list(synth(16, 300, seed=5).jobs)
    expected = {given.id: given for given in assign(jobs, DEFAULT_PROFILE, 7)}
    jobs = [jobs[place] for place in np.random.default_rng(3).permutation(len(jobs))]

    assert all(expected[given.id] == given for given in assign(jobs[:100], DEFAULT_PROFILE, 7))
    assert assign(jobs, DEFAULT_PROFILE, 8) != assign(jobs, DEFAULT_PROFILE, 7)


def test_the_default_profile_spreads_five_patterns_evenly():
    given = assign(synth(16, 10_000, seed=1).jobs, DEFAULT_PROFILE, 1)

    talking = [job.communication for job in given if job.communication]
    counts = Counter(communication.label for communication in talking)
    assert len(counts) == 5
    assert all(
        abs(count - len(talking) / 5) < 5 * (len(talking) * 0.16) ** 0.5
        for count in counts.values()
    )
    fractions = [communication.fraction for communication in talking]
    assert 0.1 <= min(fractions) < 0.11
    assert 0.49 < max(fractions) <= 0.5
    assert all((job.communication is None) == (job.n_nodes == 1) for job in given)


def test_random_patterns_come_in_few_variants_and_equal_ones_are_one_object():
    given = assign([job(number, 8) for number in range(1000)], DEFAULT_PROFILE, 1)
    patterns = {}
    for communication in (job.communication for job in given):
        patterns.setdefault(communication.label, []).append(communication.pattern)

    assert len(set(patterns["pairs"])) == len(set(patterns["unstructured-mesh"])) == N_SEEDS
    assert len(set(patterns["stencil-3d"])) == 1
    assert all(len(set(map(id, made))) == len(set(made)) for made in patterns.values())


def test_fraction_and_bytes_leave_the_iteration_to_follow():
    (given,) = assign([job()], profile(FIXED), 1)

    pattern = make_pattern({**PAIRS, "nbytes": 1000})
    assert given == replace(job(), communication=Communication("pairs", pattern, 0.3, None))


def test_fraction_and_iteration_leave_the_bytes_to_follow():
    rule = {"pattern": PAIRS, "comm_fraction": 0.3, "iteration": "2 ms"}

    (given,) = assign([job()], profile(rule), 1)

    assert (given.communication.fraction, given.communication.iteration_s) == (0.3, 0.002)


def test_bytes_and_iteration_give_the_fraction_of_the_node_bandwidth():
    """A 1D ring of four: each rank sends 1000 bytes both ways, 2000 in 1 ms at 10 MB/s: 0.2 ms."""
    ring = {"name": "stencil", "dims": 1}
    rule = {"pattern": ring, "bytes_per_flow": 1000, "iteration": "1 ms"}

    (given,) = assign([job()], profile(rule), 1, node_bandwidth=1e7)

    assert given.communication.fraction == pytest.approx(0.2)
    assert given.communication.iteration_s is None
    with pytest.raises(WorkloadError, match="rule 1: expected comm_fraction, or the bandwidth"):
        assign([job()], profile(rule), 1)
    with pytest.raises(WorkloadError, match=r"job 1 on 4 nodes needs 0.002 s .* of 0.001 s"):
        assign([job()], profile(rule), 1, node_bandwidth=1e6)


def test_the_busiest_rank_may_receive():
    """All send 10 bytes to rank 0: it receives 30."""
    assert busiest_bytes(make_pattern({"name": "all-to-one", "nbytes": 10}), np.arange(4)) == 30


def test_only_what_leaves_a_node_counts_where_nodes_hold_several_ranks():
    """Four ranks on two nodes: of three messages to rank 0, the two of the other node arrive."""
    pattern = make_pattern({"name": "all-to-one", "nbytes": 10})

    assert busiest_bytes(pattern, np.array([0, 0, 1, 1])) == 20
    (given,) = assign(
        [job(1, 2)],
        profile({"pattern": {"name": "all-to-one", "nbytes": 10}, "iteration": 50.0}),
        1,
        node_bandwidth=1.0,
        slots={1: np.array([0, 0, 1, 1])},
    )
    assert given.communication.fraction == 20 / 50


def test_a_pattern_of_so_many_ranks_looks_at_ranks_not_nodes():
    rule = {"pattern": {"name": "stencil", "grid": [2, 2]}, **{k: FIXED[k] for k in FRACTION}}
    slots = {1: np.array([0, 0, 1, 1])}

    (given,) = assign([job(1, 2)], profile(rule), 1, slots=slots)

    assert given.communication.label == "stencil"
    with pytest.raises(WorkloadError, match="job 1: "):
        assign([job(1, 2)], profile(rule), 1)


@pytest.mark.parametrize(
    ("match", "extra"),
    [
        ({"user": "u01*"}, (("user_name", "u0166"),)),
        ({"user": ["x", "u0166"]}, (("user", "u0166"),)),
        ({"account": "bio"}, (("account", "bio"), ("group", "users"))),
        ({"account": "bio"}, (("group", "bio"),)),
        ({"account": 123}, (("account", "123"),)),
        ({"partition": "gpu*"}, (("queue", "gpu-long"),)),
        ({"queue": "gpu"}, (("partition", "gpu"),)),
    ],
)
def test_rules_find_jobs_by_the_names_of_users_accounts_and_partitions(match, extra):
    mine, other = job(1, extra=extra), job(2, extra=tuple((key, "-") for key, _ in extra))

    assert labels([mine, other], {"match": match, **FIXED}) == ["pairs", None]


def test_a_name_of_digits_is_found_where_the_log_keeps_it_as_a_number():
    assert labels([job(1, group=7), job(2)], {"match": {"account": "7"}, **FIXED}) == [
        "pairs",
        None,
    ]


def test_the_log_may_state_the_fraction():
    rule = {**FIXED, "comm_fraction": {"column": "comm_perc", "scale": 0.01}}
    jobs = [job(1, extra=(("comm_perc", "90"),)), job(2, extra=(("comm_perc", "0"),))]

    given = assign(jobs, profile(rule), 1)

    assert given[0].communication.fraction == pytest.approx(0.9)
    assert given[1].communication is None
    for extra in ((), (("comm_perc", "many"),), (("comm_perc", "101"),), (("comm_perc", "nan"),)):
        with pytest.raises(WorkloadError, match=r"comm_fraction: expected fractions .* in column"):
            assign([job(extra=extra)], profile(rule), 1)


def test_a_drawn_fraction_never_exceeds_the_whole():
    rule = {**FIXED, "comm_fraction": {"lognormal": [0.0, 2.0]}}

    given = assign([job(number) for number in range(200)], profile(rule), 1)

    fractions = np.array([job.communication.fraction for job in given])
    assert fractions.max() == 1
    assert (fractions == 1).mean() == pytest.approx(0.5, abs=0.18)  # half of the draws exceed e^0


def test_a_rule_with_fraction_zero_silences_its_jobs():
    assert labels([job(user=3), job(2)], {"match": {"user": 3}, "comm_fraction": 0}, FIXED) == [
        None,
        "pairs",
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        {"name": "stencil", "grid": [2, 2], "dims": 2},
        {"name": "training", "dp": 2, "tp": 2},
        {"name": "sequence", "parts": [{"name": "stencil", "grid": [2, 2], "dims": 2}]},
    ],
)
def test_a_pattern_that_does_not_fit_a_job_is_refused_before_anything_runs(pattern):
    rule = {"pattern": pattern, "comm_fraction": 0.3, "label": "mine"}
    if pattern["name"] != "sequence":
        rule["bytes_per_flow"] = 1000

    assert labels([job(n_nodes=4)], rule) == ["mine"]
    with pytest.raises(WorkloadError, match="rule 1: job 9: "):
        assign([job(n_nodes=4), job(9, 5)], profile(rule), 1)


def test_earlier_communication_is_replaced():
    given = assign([job()], profile(FIXED), 1)

    assert assign(given, profile({"match": {"user": 1}, **FIXED}), 1) == (job(),)


TINY = [1e-320, 1e-10, {"choice": [1e-320]}, {"lognormal": [-500, 1]}, {"column": "share"}]


@pytest.mark.parametrize("share", TINY)
def test_a_share_of_which_nothing_is_left_is_refused(share):
    rule = {"pattern": {"name": "ring"}, "comm_fraction": share, "bytes_per_flow": "1 MB"}
    jobs = [replace(job(), extra=(("share", "1e-320"),))]

    with pytest.raises(WorkloadError, match="comm_fraction: expected 0, or fractions from 1e-09"):
        assign(jobs, profile(rule), 1)
