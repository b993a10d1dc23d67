"""Receivers that many senders saturate are named, and links that jobs overload."""

import numpy as np
import pytest

from coupling.site.estimate import estimate

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
TREE = {"kind": "fat-tree", "radix": 8}
TORUS = {"kind": "torus", "dims": [4, 4, 4]}
ONE_SWITCH = {"kind": "fat-tree", "children": [32, 1], "parents": [1, 1]}


def line(topology, step, model="fluid"):
    """Return what an estimate of one job of 20 ranks says of its truth."""
    job = {"id": 1, "nodes": list(range(20)), "steps": [step], "compute_s": 0}
    found = estimate({"topology": topology, "model": model, "jobs": [job]})
    return found.network["accuracy"]


def all_to_one(senders):
    """Return a step in which ranks 1, 2, ... send to rank 0."""
    return [[k + 1, 0, "64 KiB"] for k in range(senders)]


@pytest.mark.parametrize("topology", [DRAGONFLY, TREE, TORUS], ids=lambda spec: spec["kind"])
@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_seventeen_senders_to_one_node_are_said(topology, model):
    """Those on the receiver's own switch do not count: 3 of 17, 3 of 17, none."""
    behind = {"torus": 17}.get(topology["kind"], 14)

    assert line(topology, all_to_one(17), model).endswith(
        f"{behind} senders to n0 saturate its link: ask `packets`."
    )


@pytest.mark.parametrize(
    ("topology", "step"),
    [
        (ONE_SWITCH, all_to_one(17)),
        (DRAGONFLY, all_to_one(6)),
        (DRAGONFLY, [[a, b, "1 KiB"] for a in range(20) for b in range(20) if a != b]),
    ],
)
def test_one_switch_few_senders_and_all_to_alls_have_no_hot_spot(topology, step):
    """
    Six senders are three from elsewhere; GPCNeT measured no impact on one switch (issue 5 there).

    In an all-to-all each of 19 senders has a nineteenth of a link for each receiver.
    """
    assert "saturate" not in line(topology, step)


@pytest.mark.parametrize("senders", [4, 8, 16])
def test_no_silent_1_beside_what_packets_show(senders):
    """An incast beside a ring on a tree whose switches choose: packets 1.9, 4.5 and 8.6."""
    perm = np.random.default_rng(5).permutation(128).tolist()
    ring = {"pattern": {"name": "ring", "nbytes": "64 KiB"}, "compute_s": 1e-6}
    incast = {"steps": [[[k, 0, "256 KiB"] for k in range(1, senders + 1)]], "compute_s": 0}
    found = estimate(
        {
            "topology": TREE,
            "routing": "adaptive",
            "jobs": [
                {"id": "ring", "nodes": perm[40:72], **ring},
                {"id": "incast", "nodes": perm[: senders + 1], **incast},
            ],
        }
    )

    assert f"{senders} senders to n{perm[0]} saturate" in found.network["accuracy"]


def test_a_link_is_named_that_would_carry_more_than_it_can():
    """
    A message over two paths beside one over a link of these, both always: 1/2 + 1/1.5 = 7/6.

    The example of the page of the model. Without the first, two messages fill the link.
    """
    torus = {"kind": "torus", "dims": [3, 3], "nodes_per_router": 2, "latency": "none"}
    send = {"steps": [[[0, 1, "1 MiB"]]], "compute_s": 0}
    over_two, over_one = {"id": 1, "nodes": [0, 8], **send}, {"id": 2, "nodes": [1, 2], **send}
    document = {"topology": torus, "routing": "adaptive", "jobs": [over_two, over_one]}

    found = estimate(document)
    full = estimate({**document, "jobs": [{**over_two, "nodes": [0, 3]}, over_one]})

    assert found.network["accuracy"].endswith("; r0>r1 would be 117 % busy: ask `packets`.")
    assert full.busiest[1] == pytest.approx(1.0, rel=1e-2)
    assert "busy" not in full.network["accuracy"]
