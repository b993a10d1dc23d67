"""Inputs of somebody who breaks things."""

import json
from pathlib import Path

import pytest


def test_a_matrix_whose_last_line_does_not_end_is_read_as_one_that_does(case):
    command = case("01-mtx-segfault")
    here = command("estimate", "s.json", "--json")
    text = Path("z.mtx").read_text()
    assert not text.endswith("\n")

    Path("z.mtx").write_text(text.rstrip() + "\n")
    ended = command("estimate", "s.json", "--json")
    Path("z.mtx").write_text(text + "x")
    letter = command("estimate", "s.json", "--json")

    assert here == ended
    assert (here[0], here[2]) == (0, "")
    assert (letter[0], letter[1], letter[2].count("\n")) == (2, "", 1)


@pytest.mark.parametrize("value", ["7,5 GB", "1e3x", "7,5", "1 2", "seven"])
def test_a_value_of_a_matrix_that_is_no_number_is_refused(case, value):
    command = case("02-mtx-garbage-value")
    text = Path("z.mtx").read_text()
    Path("z.mtx").write_text(text.replace("7,5 GB", value))

    status, out, err = command("estimate", "s.json", "--json")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"z.mtx: line 3: expected two ranks and a number, got '4 1 {value}'" in err


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
