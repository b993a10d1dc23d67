"""Data-, tensor- and pipeline-parallel training."""

import numpy as np
import pytest

from patterns import PatternError, make_pattern

SPEC = {"name": "training", "dp": 2, "tp": 4, "pp": 3}
SIZES = {"nbytes": 600, "activation_bytes": 40, "layers": 5, "microbatches": 7}


def rank(t, d, p):
    """Return the rank of tensor part t, replica d, stage p in SPEC."""
    return t + 4 * (d + 2 * p)


def messages(step):
    """Return the bytes of a round by (sender, receiver)."""
    pairs = zip(step.src.tolist(), step.dst.tolist(), strict=True)
    return dict(zip(pairs, (step.nbytes / step.rounds).tolist(), strict=True))


def each_round(steps):
    """Return the messages of every round, in order."""
    return [messages(step) for step in steps for _ in range(step.rounds)]


def test_an_iteration_has_its_collectives_in_order_with_their_bytes():
    """
    Dp 2, tp 4, pp 3: 24 ranks.

    Tensor allreduces: 2 x 5 layers x 7 microbatches x 40 bytes = 2800 bytes round a ring of 4,
    6 rounds of 700; activations: 7 x 40 / 4 = 70 bytes to the next stage; gradients: 600
    bytes round a ring of 2, 2 rounds of 300.
    """
    steps = make_pattern({**SPEC, **SIZES}).steps(24)

    replicas, stages = range(2), range(3)
    tensor = {
        (rank(t, d, p), rank((t + 1) % 4, d, p)): 700.0
        for t in range(4)
        for d in replicas
        for p in stages
    }
    forward = {
        (rank(t, d, p), rank(t, d, p + 1)): 70.0 for t in range(4) for d in replicas for p in (0, 1)
    }
    backward = {(b, a): nbytes for (a, b), nbytes in forward.items()}
    data = {
        (rank(t, d, p), rank(t, 1 - d, p)): 300.0
        for t in range(4)
        for d in replicas
        for p in stages
    }
    expected = [tensor] * 6 + [forward] + [tensor] * 6 + [backward] + [data] * 2
    assert each_round(steps) == expected
    assert len(steps) == 5


def test_only_the_parallelism_in_use_communicates():
    kinds = {}
    for name in ("dp", "tp", "pp"):
        spec = {"name": "training", "dp": 1, "tp": 1, "pp": 1, name: 6, "nbytes": 60}
        kinds[name] = make_pattern({**spec, "activation_bytes": 12}).steps(6)

    ring = {(a, (a + 1) % 6): 10.0 for a in range(6)}
    assert each_round(kinds["dp"]) == [ring] * 10
    assert each_round(kinds["tp"]) == [dict.fromkeys(ring, 4.0)] * 20
    chain = {(a, a + 1): 12.0 for a in range(5)}
    assert [messages(step) for step in kinds["pp"]] == [chain, {(b, a): 12.0 for a, b in chain}]


def test_training_on_4096_ranks_is_two_steps_of_4096_messages_each():
    """Tp 8, dp 512: 2 x 14 rounds of tensor parts and 1,022 of gradients, 4.3 million messages."""
    steps = make_pattern({"name": "training", "tp": 8}).steps(4096)

    assert [(step.rounds, step.src.size) for step in steps] == [(28, 4096), (1022, 4096)]


def test_replicas_fill_the_job():
    given, filled = (
        make_pattern({"name": "training", "tp": 2, "pp": 2, **dp}).steps(12)
        for dp in ({"dp": 3}, {})
    )

    assert [messages(step) for step in given] == [messages(step) for step in filled]


def test_layers_and_microbatches_change_bytes_not_steps():
    few, many = (
        make_pattern({**SPEC, "layers": layers, "microbatches": 8}).steps(24) for layers in (1, 96)
    )

    assert len(few) == len(many)
    np.testing.assert_allclose(many[0].nbytes, 96 * few[0].nbytes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dp": 2, "tp": 2, "pp": 2}, "= 2 x 2 x 2 must be the number of ranks, the job has 12"),
        ({"tp": 5}, "= dp x 5 x 1 must be the number of ranks, the job has 12"),
    ],
)
def test_a_job_that_the_parallelism_does_not_fill_is_an_error(options, message):
    with pytest.raises(PatternError, match=message):
        make_pattern({"name": "training", **options}).steps(12)


@pytest.mark.parametrize("option", ["dp", "tp", "pp", "layers", "microbatches"])
def test_a_degree_below_one_is_an_error(option):
    with pytest.raises(PatternError, match=f"{option}: expected a whole number from 1, got 0"):
        make_pattern({"name": "training", option: 0})
