"""Weighted sums, sequences and mixes; how much a job sends."""

import numpy as np
import pytest

from patterns import PatternError, Step, make_pattern
from patterns.compose import Mix
from patterns.messages import injection_bytes, total_messages

PAIR = {"name": "shift", "nbytes": 10}
FAN = {"name": "one-to-all", "nbytes": 10}
RING = {"name": "allreduce", "algorithm": "ring", "nbytes": 40}


def matrix(steps, n):
    """Return the dense matrix of all bytes."""
    total = np.zeros((n, n))
    for step in steps:
        np.add.at(total, (step.src, step.dst), step.nbytes)
    return total


def test_demand_sums_the_messages_of_all_steps():
    first = Step(np.array([0, 2]), np.array([1, 0]), np.array([1.0, 2.0]))
    second = Step(np.array([0, 1]), np.array([1, 0]), np.array([4.0, 8.0]))

    total = total_messages([first, second], 3)

    assert total.src.tolist() == [0, 1, 2]
    assert total.dst.tolist() == [1, 0, 0]
    assert total.nbytes.tolist() == [5.0, 8.0, 2.0]


def test_injection_bytes_are_those_of_the_busiest_rank_in_each_step():
    """A fan out of 3 x 10 bytes is limited by its sender, a gather by its receiver."""
    fan, gather = (
        make_pattern({**FAN, "name": name}).steps(4) for name in ("one-to-all", "all-to-one")
    )

    assert injection_bytes(fan, 4) == 30.0
    assert injection_bytes([*fan, *gather], 4) == 60.0
    assert injection_bytes(make_pattern(PAIR).steps(4), 4) == 10.0


@pytest.mark.parametrize("n", [2, 5, 16])
def test_a_hybrid_is_the_weighted_sum_of_its_matrices(n):
    """Each part is scaled to the same sum, weighted, and all ranks together send n x nbytes."""
    parts, weights = [{"name": "all-to-all"}, {"name": "rhvd"}, FAN], [0.5, 0.3, 0.2]
    spec = {"name": "hybrid", "parts": parts, "weights": weights, "nbytes": 100}

    steps = make_pattern(spec).steps(n)

    expected = np.zeros((n, n))
    for part, weight in zip(parts, weights, strict=True):
        alone = matrix(make_pattern(part).steps(n), n)
        expected += weight * n * 100 * alone / alone.sum()
    assert len(steps) == 1
    np.testing.assert_allclose(matrix(steps, n), expected)


def test_a_sequence_does_its_parts_in_order():
    parts = [PAIR, {"name": "recursive-doubling"}, PAIR]
    steps = make_pattern({"name": "sequence", "parts": parts}).steps(8)

    expected = [step for part in parts for step in make_pattern(part).steps(8)]
    for step, other in zip(steps, expected, strict=True):
        np.testing.assert_array_equal(step.dst, other.dst)
        np.testing.assert_array_equal(step.nbytes, other.nbytes)


@pytest.mark.parametrize("n", [2, 7, 16])
def test_shares_of_a_sequence_are_those_of_injection_time(n):
    """The time of the whole stays, that of each part is its share."""
    parts = [make_pattern(part).steps(n) for part in (RING, FAN)]
    total = sum(injection_bytes(part, n) for part in parts)
    spec = {"name": "sequence", "parts": [RING, FAN], "shares": [0.8, 0.2]}

    steps = make_pattern(spec).steps(n)

    first, second = steps[: len(parts[0])], steps[len(parts[0]) :]
    assert injection_bytes(first, n) == pytest.approx(0.8 * total)
    assert injection_bytes(second, n) == pytest.approx(0.2 * total)


def test_equal_rounds_stay_one_object_when_scaled():
    steps = make_pattern({"name": "sequence", "parts": [RING, FAN], "shares": [0.5, 0.5]}).steps(9)

    assert len({id(step) for step in steps}) == 2


@pytest.mark.parametrize(
    ("mix", "fraction", "shares"),
    [
        ("A", 0.33, [1]),
        ("B", 0.5, [1]),
        ("C", 0.7, [1]),
        ("D", 0.5, [0.3, 0.7]),
        ("E", 0.7, [0.3, 0.7]),
    ],
)
def test_a_mix_has_the_shares_of_mishra20(mix, fraction, shares):
    """A to C are RHVD; D is 15 % RD and 35 % binomial of the run time, E 21 % and 49 %."""
    n = 16
    pattern = make_pattern({"name": "mix", "mix": mix, "nbytes": 100})
    names = ["rhvd"] if len(shares) == 1 else ["recursive-doubling", "binomial"]
    parts = [make_pattern({"name": name, "nbytes": 100}).steps(n) for name in names]

    steps = pattern.steps(n)

    assert isinstance(pattern, Mix)
    assert pattern.comm_fraction == pytest.approx(fraction)
    assert len(steps) == sum(len(part) for part in parts)
    total = injection_bytes(steps, n)
    assert total == pytest.approx(sum(injection_bytes(part, n) for part in parts))
    first = injection_bytes(steps[: len(parts[0])], n)
    assert first / total == pytest.approx(shares[0])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"name": "hybrid", "parts": [PAIR], "weights": [0.5]},
            r"weights must sum to 1, got \[0\.5",
        ),
        ({"name": "hybrid", "parts": [PAIR], "weights": [0.5, 0.5]}, "weights must be a list of 1"),
        ({"name": "hybrid", "parts": [PAIR, FAN], "weights": [2, -1]}, "each entry of weights"),
        ({"name": "hybrid", "parts": [PAIR]}, "weights must be a list of 1 numbers"),
        ({"name": "hybrid", "parts": ["ring"], "weights": [1]}, "parts must be a list of patterns"),
        ({"name": "sequence", "parts": PAIR}, "parts must be a list of patterns"),
        ({"name": "sequence", "parts": []}, "parts must be a list of patterns"),
        ({"name": "sequence", "parts": [{"name": "rign"}]}, "unknown pattern 'rign'"),
        ({"name": "sequence", "parts": [PAIR], "shares": 1}, "shares must be a list of 1 numbers"),
        ({"name": "mix", "mix": "F"}, "mix: expected one of A, B, C, D, E, got 'F'"),
    ],
)
def test_an_impossible_composition_is_an_error(spec, message):
    with pytest.raises(PatternError, match=message):
        make_pattern(spec)


def test_a_part_that_sends_nothing_cannot_have_a_share():
    """A shift by two among two ranks is silent."""
    parts = [FAN, {"name": "shift", "distance": 2}]
    for spec in (
        {"name": "hybrid", "parts": parts, "weights": [0.5, 0.5]},
        {"name": "sequence", "parts": parts, "shares": [0.5, 0.5]},
    ):
        with pytest.raises(PatternError, match=r"part 1 of Shift.* sends nothing among 2 ranks"):
            make_pattern(spec).steps(2)
