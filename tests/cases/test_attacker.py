"""Inputs of somebody who breaks things."""

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "options", [{"iterations": 2}, {"samples": 0}, {"tolerance": "a"}, {"seed": -1}], ids=str
)
@pytest.mark.parametrize("change", [("--fail", "s2.0"), ("--each-switch",)], ids=str)
def test_options_of_a_snapshot_are_refused_by_whatif_as_by_estimate(case, options, change):
    command = case("03-whatif-unknown-option")
    fields = json.loads(Path("s.json").read_text())
    Path("s.json").write_text(json.dumps(fields | {"options": options}))

    refused = command("estimate", "s.json")

    assert refused[:2] == (2, "")
    assert "s.json: options: contention model " in refused[2]
    assert command("whatif", "s.json", *change) == refused
