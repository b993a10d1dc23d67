"""The packet simulation against another one (CODES on ROSS, 128 nodes)."""

import json

import pytest
from measured.judge import (
    ALWAYS,
    DUTY,
    JUDGED,
    RANKS,
    VARIANTS,
    close,
    judged,
    micro_errors,
    tree_of_packets,
)


@pytest.mark.parametrize("variant", ["default", "vc16K", "fcfs"])
def test_flows_of_small_cases_end_when_they_do_there(shared, variant):
    """One flow, shared cables, senders, receivers, and chains of them."""
    document = json.loads(shared("reference/packet/micro.json").read_text(encoding="utf-8"))
    cases = document["default"] if variant == "default" else document["variants"][variant]

    far = [
        case["id"]
        for case in cases
        if not close(*micro_errors(tree_of_packets(), case, VARIANTS[variant]))
    ]

    assert len(cases) == 26
    assert far == []


@pytest.mark.parametrize(("title", "every"), [(ALWAYS, 4), (DUTY, 30), (RANKS, 8)])
def test_jobs_of_some_cases_take_as_long_as_there(shared, title, every):
    """A sample; the bars are those of all cases, but for the mean of a few jobs."""
    found = judged(title, shared(f"reference/packet/{JUDGED[title]}"), every).quantities()

    assert found["alone mean"] <= 0.5
    assert found["alone worst"] <= 2.0
    assert found["mean"] <= 1.0
    assert found["contended"] <= 1.5
