"""Collectives move the data that MPI promises, in the messages that are announced."""

import numpy as np
import pytest
from naive import patterns as naive

from patterns import PatternError, make_pattern
from patterns.alltoall import AllToAll
from patterns.base import Step
from patterns.collectives import AllGather, AllReduce, Broadcast, Gather, ReduceScatter, Scatter

NBYTES = 840.0
ALL = range(1, 41)
SOME = (*range(1, 18), 24, 31, 32, 33, 40)


PROMISES = {
    "allreduce": lambda held, n: all(
        set(parts.values()) == {frozenset(range(n))} and parts.keys() == held[0].keys()
        for parts in held
    ),
    "allgather": lambda held, n: held == [{r: frozenset({r}) for r in range(n)}] * n,
    "reduce-scatter": lambda held, n: held == [{r: frozenset(range(n))} for r in range(n)],
    "all-to-all": lambda held, n: all(
        parts == {(a, r): frozenset({a}) for a in range(n) if a != r}
        for r, parts in enumerate(held)
    ),
    "broadcast": lambda held, n: held == [dict.fromkeys(held[0], frozenset({0}))] * n,
    "scatter": lambda held, n: held == [{r: frozenset({0})} for r in range(n)],
    "gather": lambda held, n: held == [{r: frozenset({r}) for r in range(n)}] + [{}] * (n - 1),
}
"""What the ranks hold at the end, each part with whose contributions it sums."""


def whole(_n):
    """Return the bytes of a part where a part is all."""
    return NBYTES


def per_rank(n):
    """Return the bytes of a part where ranks share the vector."""
    return NBYTES / n


def per_member(n):
    """Return the bytes of a part where the largest power of two shares the vector."""
    return NBYTES / 2 ** (n.bit_length() - 1)


CASES = [
    ("allreduce", "recursive-doubling", naive.allreduce_recursive_doubling, whole),
    ("allreduce", "rabenseifner", naive.allreduce_rabenseifner, per_member),
    ("allreduce", "rhvd", naive.allreduce_rhvd, per_member),
    ("allreduce", "ring", naive.allreduce_ring, per_rank),
    ("allreduce", "binomial", naive.allreduce_binomial, whole),
    ("allgather", "recursive-doubling", naive.allgather_recursive_doubling, whole),
    ("allgather", "bruck", naive.allgather_bruck, whole),
    ("allgather", "ring", naive.allgather_ring, whole),
    ("reduce-scatter", "recursive-halving", naive.reduce_scatter_recursive_halving, per_rank),
    ("reduce-scatter", "pairwise", naive.reduce_scatter_pairwise, per_rank),
    ("reduce-scatter", "ring", naive.reduce_scatter_ring, per_rank),
    ("all-to-all", "direct", naive.alltoall_direct, whole),
    ("all-to-all", "pairwise", naive.alltoall_pairwise, whole),
    ("all-to-all", "bruck", naive.alltoall_bruck, whole),
    ("broadcast", "binomial", naive.broadcast_binomial, whole),
    ("broadcast", "scatter-ring", naive.broadcast_scatter_ring, per_rank),
    (
        "broadcast",
        "scatter-recursive-doubling",
        naive.broadcast_scatter_recursive_doubling,
        per_rank,
    ),
    ("scatter", "binomial", naive.scatter_binomial, whole),
    ("scatter", "linear", naive.scatter_linear, whole),
    ("gather", "binomial", naive.gather_binomial, whole),
    ("gather", "linear", naive.gather_linear, whole),
]
"""Operation, algorithm, its naive twin, and the bytes of a part for so many ranks."""


def each_round(steps):
    """Return the steps with every round as a step of its own."""
    return [Step(s.src, s.dst, s.nbytes / s.rounds) for s in steps for _ in range(s.rounds)]


def listed(step, nbytes=1.0):
    """Return the messages of a step in order, with bytes counted in units of a part."""
    triples = zip(
        step.src.tolist(), step.dst.tolist(), (step.nbytes / nbytes).tolist(), strict=True
    )
    return sorted(triples)


@pytest.mark.parametrize(("operation", "algorithm", "play", "_part"), CASES)
def test_the_twin_leaves_every_rank_with_what_mpi_promises(operation, algorithm, play, _part):
    """The movement is played block by block; nothing is sent twice, counted twice or lost."""
    for n in range(1, 41):
        assert PROMISES[operation](play(n).held, n), f"{operation} by {algorithm}, {n} ranks"


@pytest.mark.parametrize("ranks", [SOME, pytest.param(ALL, marks=pytest.mark.heavy)], ids=len)
@pytest.mark.parametrize(("operation", "algorithm", "play", "part"), CASES)
def test_steps_are_the_messages_of_the_twin(operation, algorithm, play, part, ranks):
    """Same partners, same order of steps, same bytes: so bytes are conserved."""
    pattern = make_pattern({"name": operation, "algorithm": algorithm, "nbytes": NBYTES})
    for n in ranks:
        steps, expected = each_round(pattern.steps(n)), play(n).steps

        assert len(steps) == len(expected)
        for step, messages in zip(steps, expected, strict=True):
            found = listed(step, part(n))
            assert [message[:2] for message in found] == [message[:2] for message in messages]
            np.testing.assert_allclose([m[2] for m in found], [m[2] for m in messages])


def test_every_algorithm_but_the_choice_of_mpich_has_a_twin():
    kinds = {
        "allreduce": AllReduce,
        "allgather": AllGather,
        "reduce-scatter": ReduceScatter,
        "all-to-all": AllToAll,
        "broadcast": Broadcast,
        "gather": Gather,
        "scatter": Scatter,
    }
    known = {(name, a) for name, kind in kinds.items() for a in kind.algorithms if a != "mpich"}

    assert {case[:2] for case in CASES} == known


def test_rhvd_halves_far_away_first_and_rabenseifner_nearby_first():
    """Eight ranks, 80 bytes: 40, 20, 10 and back; distances 4, 2, 1 and 1, 2, 4."""
    for name, distances in (("rhvd", [4, 2, 1]), ("rabenseifner", [1, 2, 4])):
        steps = make_pattern({"name": name, "nbytes": 80}).steps(8)

        assert [step.nbytes.tolist() for step in steps] == [
            [b] * 8 for b in (40, 20, 10, 10, 20, 40)
        ]
        assert [(step.src ^ step.dst).tolist() for step in steps] == [
            [d] * 8 for d in distances + distances[::-1]
        ]


def test_an_excess_rank_lends_its_vector_to_its_neighbour():
    """Three ranks: 0 lends to 1, then 1 and 2 exchange, then 0 gets the result."""
    steps = make_pattern({"name": "recursive-doubling", "nbytes": 5}).steps(3)

    assert [listed(step) for step in steps] == [
        [(0, 1, 5)],
        [(1, 2, 5), (2, 1, 5)],
        [(1, 0, 5)],
    ]


def test_reduce_scatter_sends_two_blocks_where_the_partner_answers_for_two_ranks():
    """Five ranks, blocks of 2: members 1 (for 0 and 1), 2, 3, 4, as in MPICH."""
    spec = {"name": "reduce-scatter", "algorithm": "recursive-halving", "nbytes": 10}

    steps = make_pattern(spec).steps(5)

    assert [listed(step) for step in steps] == [
        [(0, 1, 10)],
        [(1, 3, 4), (2, 4, 4), (3, 1, 6), (4, 2, 6)],
        [(1, 2, 2), (2, 1, 4), (3, 4, 2), (4, 3, 2)],
        [(1, 0, 2)],
    ]


def test_a_binomial_scatter_sends_what_the_subtree_needs():
    """Six ranks: 0 gives 4 the blocks of 4 and 5, then 2 those of 2 and 3, then neighbours."""
    steps = make_pattern({"name": "scatter", "nbytes": 3}).steps(6)

    assert [listed(step) for step in steps] == [
        [(0, 4, 6)],
        [(0, 2, 6)],
        [(0, 1, 3), (2, 3, 3), (4, 5, 3)],
    ]


@pytest.mark.parametrize("name", ["broadcast", "gather", "scatter", "binomial"])
def test_another_root_takes_the_part_of_rank_zero(name):
    plain, moved = (make_pattern({"name": name, "root": root}).steps(11) for root in (0, 7))

    for step, other in zip(plain, moved, strict=True):
        np.testing.assert_array_equal((step.src + 7) % 11, other.src)
        np.testing.assert_array_equal((step.dst + 7) % 11, other.dst)
        np.testing.assert_array_equal(step.nbytes, other.nbytes)


@pytest.mark.parametrize(
    "name", ["broadcast", "gather", "scatter", "binomial", "one-to-all", "all-to-one"]
)
def test_a_root_that_the_job_lacks_is_an_error(name):
    with pytest.raises(PatternError, match=r"root must be a rank of the job, 0\.\.6, got 7"):
        make_pattern({"name": name, "root": 7}).steps(7)


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("recursive-doubling", ("allreduce", "recursive-doubling")),
        ("rhvd", ("allreduce", "rhvd")),
        ("rabenseifner", ("allreduce", "rabenseifner")),
        ("binomial", ("broadcast", "binomial")),
        ("bruck", ("allgather", "bruck")),
        ("pairwise", ("all-to-all", "pairwise")),
    ],
)
def test_an_algorithm_by_name_is_that_of_its_operation(name, twin):
    alone = make_pattern({"name": name, "nbytes": 7})
    chosen = make_pattern({"name": twin[0], "algorithm": twin[1], "nbytes": 7})
    for n in (2, 7, 16, 23):
        for step, other in zip(alone.steps(n), chosen.steps(n), strict=True):
            assert listed(step) == listed(other)


MPICH = [  # Thakur, Rabenseifner and Gropp 2005, section 4, and the defaults of MPICH 4
    ("allreduce", 2048, 16, "recursive-doubling"),
    ("allreduce", 2049, 16, "rabenseifner"),
    ("allreduce", 4095, 512, "recursive-doubling"),  # fewer doubles than members
    ("allreduce", 4096, 512, "rabenseifner"),
    ("allgather", 32767, 16, "recursive-doubling"),  # 16 x 32767 < 512 KiB
    ("allgather", 32768, 16, "ring"),
    ("allgather", 8191, 10, "bruck"),  # 10 x 8191 < 80 KiB, no power of two
    ("allgather", 8192, 10, "ring"),
    ("reduce-scatter", 524287, 12, "recursive-halving"),
    ("reduce-scatter", 524288, 12, "pairwise"),
    ("broadcast", 12287, 16, "binomial"),
    ("broadcast", 12288, 16, "scatter-recursive-doubling"),
    ("broadcast", 12288, 8, "scatter-recursive-doubling"),
    ("broadcast", 12288, 12, "scatter-ring"),
    ("broadcast", 524288, 16, "scatter-ring"),
    ("broadcast", 1e9, 7, "binomial"),
    ("all-to-all", 256, 8, "bruck"),
    ("all-to-all", 256, 7, "direct"),
    ("all-to-all", 257, 8, "direct"),
    ("all-to-all", 32769, 8, "pairwise"),
]


@pytest.mark.parametrize(("name", "nbytes", "n", "expected"), MPICH)
def test_mpich_takes_an_algorithm_by_size(name, nbytes, n, expected):
    chosen, given = (
        make_pattern({"name": name, "nbytes": nbytes, "algorithm": algorithm}).steps(n)
        for algorithm in ("mpich", expected)
    )

    assert [listed(step) for step in chosen] == [listed(step) for step in given]


def test_an_unknown_algorithm_is_an_error_that_lists_the_known_ones():
    with pytest.raises(
        PatternError, match=r"algorithm: expected one of mpich, .*ring, got 'rings'"
    ):
        make_pattern({"name": "allgather", "algorithm": "rings"})


def test_the_equal_rounds_of_a_ring_are_one_step():
    """A ring among 4096 ranks has 8190 rounds of 4096 messages of 1/4096 of the vector."""
    (step,) = make_pattern({"name": "allreduce", "algorithm": "ring", "nbytes": 4096}).steps(4096)

    assert (step.rounds, step.src.size) == (8190, 4096)
    assert np.all(step.nbytes == 8190)
