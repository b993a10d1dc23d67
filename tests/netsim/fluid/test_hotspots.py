"""Receivers that many senders saturate are named, on dragonflies alone."""

import pytest

from coupling.site.estimate import estimate

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
TREE = {"kind": "fat-tree", "radix": 8}


def line(topology, step, model="fluid"):
    """Return what an estimate of one job of 20 ranks says of its truth."""
    job = {"id": 1, "nodes": list(range(20)), "steps": [step], "compute_s": 0}
    found = estimate({"topology": topology, "model": model, "jobs": [job]})
    return found.network["accuracy"]


def all_to_one(senders):
    """Return a step in which ranks 1, 2, ... send to rank 0."""
    return [[k + 1, 0, "64 KiB"] for k in range(senders)]


def test_seventeen_senders_to_one_node_of_a_dragonfly_are_said():
    assert line(DRAGONFLY, all_to_one(17)).endswith(
        "; 17 senders to n0 saturate its link: ask `packets`."
    )


@pytest.mark.parametrize(
    ("topology", "step"),
    [
        (TREE, all_to_one(17)),
        (DRAGONFLY, all_to_one(7)),
        (DRAGONFLY, [[a, b, "1 KiB"] for a in range(20) for b in range(20) if a != b]),
    ],
)
def test_trees_few_senders_and_all_to_alls_have_no_hot_spot(topology, step):
    """In an all-to-all each of 19 senders has a nineteenth of a link for each receiver."""
    assert "saturate" not in line(topology, step)
