"""How jobs talk: four kinds by what is open at once, and the mix that most of the traffic makes."""

from itertools import product

import numpy as np
import pytest

from netsim.flows.partition import Partition
from netsim.registries.accuracy import FEW, MANY, ONE, STEPS
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK
from patterns.errors import PatternError
from patterns.registry import make_pattern
from scheduler.traffic import (
    RankFlows,
    TrafficOf,
    communicating_nodes,
    dominant_class,
    messages_key,
    pattern_class,
    rank_flows,
    traffic_class,
)


@pytest.mark.parametrize(
    ("spec", "n_ranks", "kind"),
    [
        ({"name": "pairs"}, 16, FEW),
        ({"name": "pairs"}, 2, FEW),
        ({"name": "permutation"}, 100, FEW),
        ({"name": "stencil", "dims": 3}, 64, FEW),
        ({"name": "unstructured-mesh"}, 200, FEW),
        ({"name": "all-to-all"}, 17, FEW),  # 16 messages at once
        ({"name": "all-to-all"}, 18, MANY),
        ({"name": "stencil", "dims": 3, "points": "all"}, 64, MANY),  # 26 neighbours
        ({"name": "one-to-all"}, 5, ONE),
        ({"name": "one-to-all"}, 4, FEW),  # three messages are no crowd
        ({"name": "all-to-one"}, 40, ONE),
        ({"name": "recursive-doubling"}, 8, STEPS),
        ({"name": "recursive-doubling"}, 4, FEW),  # two steps
        ({"name": "pairwise"}, 30, STEPS),
        ({"name": "training"}, 16, STEPS),
    ],
)
def test_a_pattern_talks_as_what_is_open_at_once_says(spec, n_ranks, kind):
    assert pattern_class(make_pattern(spec), n_ranks) == kind


def test_bytes_decide_between_a_large_exchange_with_few_and_a_small_one_with_all():
    ring, all_to_all = (
        rank_flows(make_pattern({"name": name}), 40) for name in ("ring", "all-to-all")
    )
    both = {
        scale: RankFlows(
            np.concatenate([ring.step, all_to_all.step + 1]),
            np.concatenate([ring.src, all_to_all.src]),
            np.concatenate([ring.dst, all_to_all.dst]),
            np.concatenate([np.full(80, 39.0 * scale), np.full(40 * 39, 2.0)]),
        )
        for scale in (1.0, 2.0)
    }

    assert traffic_class(both[1.0]) == MANY  # half of the bytes 2 at once, half 39: mean 20.5
    assert traffic_class(both[2.0]) == FEW  # (2 * 2 + 39) / 3 = 14.3


def test_a_job_without_messages_talks_to_few():
    assert traffic_class(rank_flows(make_pattern({"name": "pairs"}), 1)) == FEW


@pytest.mark.parametrize(
    ("told", "mix"),
    [
        ([], "mixed"),
        ([(FEW, 0.0)], "mixed"),
        ([(FEW, 2.0), (STEPS, 1.0)], FEW),
        ([(FEW, 1.0), (STEPS, 1.0), (FEW, 1.0)], FEW),
        ([(FEW, 1.99), (STEPS, 1.0)], "mixed"),
    ],
)
def test_two_thirds_of_the_traffic_name_a_mix(told, mix):
    assert dominant_class(told) == mix


def test_the_weight_of_a_job_is_its_nodes_times_its_share_of_communication():
    tree = make_topology({"kind": "fat-tree", "radix": 4})
    flows = rank_flows(make_pattern({"name": "ring"}), 8)
    nodes = np.repeat([0, 5, 9, 14], 2)

    placed = TrafficOf(tree, DModK(tree)).of_flows(flows, Partition(nodes, None), fraction=0.25)
    assert communicating_nodes(placed) == pytest.approx(4 * 0.25)


def test_seeds_of_a_pattern_are_one_where_they_draw_the_same_messages():
    drawn = [make_pattern({"name": "pairs", "seed": seed}) for seed in range(8)]
    for n_ranks in (2, 4, 9):
        sent = [rank_flows(pattern, n_ranks) for pattern in drawn]
        equal = [
            np.array_equal(a.src, b.src) and np.array_equal(a.dst, b.dst)
            for a, b in product(sent, repeat=2)
        ]
        keys = [messages_key(pattern, n_ranks) for pattern in drawn]
        assert [a == b for a, b in product(keys, repeat=2)] == equal
    assert messages_key(drawn[0], 2) != messages_key(make_pattern({"name": "ring"}), 3)


def test_more_messages_than_memory_are_refused(monkeypatch):
    """A machine of 1 GiB: 2,500 ranks send 6 million messages, of 200 bytes each while placed."""
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 18}
    monkeypatch.setattr("scheduler.traffic.os.sysconf", pages.__getitem__)
    pattern = make_pattern({"name": "all-to-all", "nbytes": 8.0})

    with pytest.raises(PatternError, match=r"6,247,500 messages .* about 1 GiB, .* has 1;"):
        rank_flows(pattern, 2500)
    assert rank_flows(pattern, 1000).step.size == 999_000


def test_of_patterns_with_many_messages_only_the_latest_is_kept():
    """All-to-alls of 5,000 ranks take 0.8 GB each; a log has dozens."""
    small, large = (make_pattern({"name": "all-to-all", "nbytes": n}) for n in (16.0, 8.0))

    few, many = rank_flows(small, 100), rank_flows(large, 200)

    assert rank_flows(large, 200) is many
    assert rank_flows(small, 101) is not few
    assert rank_flows(small, 100) is few
    assert rank_flows(large, 200) is not many
