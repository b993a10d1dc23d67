"""A communication profile is read whole or refused with file, rule and key."""

from pathlib import Path

import pytest

from scheduler.errors import WorkloadError
from scheduler.workload.distributions import Distribution
from scheduler.workload.profile import DEFAULT_PROFILE, profile_from, read_profile, seeded

PAIRS = {"name": "pairs"}
F = {"comm_fraction": 0.3}
BYTES = {"bytes_per_flow": "1 MiB"}
TIME = {"iteration": "2 ms"}


def rule(**keys):
    """Return a profile of one rule."""
    return {"version": 1, "rule": [keys]}


def test_the_default_profile_is_the_example_that_explains_it():
    path = Path(__file__).parents[3] / "examples" / "mixed.toml"

    assert read_profile(path).table == DEFAULT_PROFILE.table


def test_quantities_arrive_in_si_units():
    (made,) = profile_from(rule(pattern=PAIRS, **BYTES, **TIME)).rules

    assert made.quantities["bytes_per_flow"] == Distribution("constant", (2.0**20,))
    assert made.quantities["iteration"] == Distribution("constant", (0.002,))
    assert (made.label, made.chance) == ("pairs", 1.0)


@pytest.mark.parametrize(
    "keys",
    [
        {"pattern": PAIRS, **F, **BYTES},
        {"pattern": PAIRS, **F, **TIME},
        {"pattern": PAIRS, **BYTES, **TIME},
        {"pattern": {**PAIRS, "nbytes": 5}, **F},
        {"pattern": {**PAIRS, "nbytes": 5}, **TIME},
        {"pattern": PAIRS, **BYTES, "comm_fraction": {"column": "comm_perc", "scale": 0.01}},
        {"comm_fraction": 0},
    ],
)
def test_two_of_fraction_bytes_and_iteration_are_enough(keys):
    assert len(profile_from(rule(**keys)).rules) == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, r"expected at least one \[\[rule\]\]"),
        ({"version": 2, "rule": []}, "version: expected 1, got 2"),
        ({"version": True, "rule": []}, "version: expected 1, got True"),
        ({"version": 1}, "expected at least one"),
        (
            {"version": 1, "rules": []},
            "rules: unknown key .*choose from model, pattern, rule",
        ),
        ({"version": 1, "rule": [5]}, "rule 1: expected a table"),
        (
            rule(patern=PAIRS),
            "rule 1: patern: unknown key .*'pattern'.*; choose from bytes_per_flow, chance",
        ),
        (rule(pattern=PAIRS, **F), "rule 1: expected two of .* got comm_fraction"),
        (rule(pattern=PAIRS), "got none"),
        (rule(pattern=PAIRS, **F, **BYTES, **TIME), "expected two of"),
        (rule(pattern={**PAIRS, "nbytes": 5}, **F, **BYTES), "bytes_per_flow: expected none"),
        (rule(pattern={**PAIRS, "nbytes": 5}, **F, **TIME), "expected two of"),
        (rule(**F, **BYTES), "pattern: expected a name or a table with one, got None"),
        (rule(pattern="pears", **F, **BYTES), "pattern: unknown pattern .pears. .*pairs"),
        (rule(pattern={"name": "pears"}, **F, **BYTES), "pattern: unknown pattern 'pears'"),
        (
            rule(pattern={"name": "pairs", "x": 1}, **F, **BYTES),
            "pattern 'pairs': unknown option 'x'",
        ),
        (rule(pattern={"name": "stencil", "dims": 9}, **F, **BYTES), "rule 1: pattern: "),
        (rule(pattern=PAIRS, comm_fraction=1.5, **BYTES), "comm_fraction: expected fractions"),
        (rule(pattern=PAIRS, comm_fraction=-0.5, **BYTES), "comm_fraction: expected fractions"),
        (rule(pattern=PAIRS, bytes_per_flow="0 B", **F), "bytes_per_flow: expected values from"),
        (rule(pattern=PAIRS, bytes_per_flow=1e308, **F), "bytes_per_flow: expected values from"),
        (
            rule(pattern=PAIRS, bytes_per_flow="1e-320 B", **F),
            "expected values from 0.001 to 1e.18",
        ),
        (rule(pattern=PAIRS, iteration=1e308, **F), "iteration: expected values from .* seconds"),
        (rule(pattern=PAIRS, iteration={"lognormal": [1000, 1]}, **F), "expected values from"),
        (rule(pattern=PAIRS, iteration={"lognormal": [0, 9]}, **F), "expected values from"),
        (rule(pattern=PAIRS, comm_fraction={"lognormal": [999, 1]}, **BYTES), "fractions in 0..1"),
        (rule(pattern=PAIRS, bytes_per_flow="1 MiX", **F), "bytes_per_flow: expected a size"),
        (rule(pattern=PAIRS, iteration="1 day", **F), "iteration: expected a duration"),
        (rule(pattern=PAIRS, iteration={"column": 3}, **F), "expected {column = NAME"),
        (rule(pattern=PAIRS, iteration={"column": "t", "x": 3}, **F), "expected {column = NAME"),
        (rule(chance=1.2), "chance: expected a number from 0 to 1, got 1.2"),
        (rule(chance="half"), "chance: expected a number"),
        (rule(label=3, pattern=PAIRS, **F, **BYTES), "label: expected a text, got 3"),
        (rule(match=[]), r"match: expected a table, got \[\]"),
        (rule(match={"nodes": 3}), "match: unknown key 'nodes' .*; choose from min_nodes"),
        (rule(match={"min_nodes": "two"}), "match.min_nodes: expected a whole number, got 'two'"),
        (rule(match={"user": [3, "x"]}), "match.user: expected a text, got 3"),
        (rule(match={"user": [3, True]}), "match.user: expected a whole number, got True"),
        (rule(match={"size": ["x"]}), "match.size: expected a whole number, got 'x'"),
        (rule(match={"account": [[]]}), r"match.account: expected a text, got \[\]"),
        (rule(match={"name": 3}), "match.name: expected a text, got 3"),
        (rule(match={"column": 3}), "match.column: expected a table, got 3"),
        (rule(match={"column": {"a": [[]]}}), "match.a: expected a text or a number"),
    ],
)
def test_a_profile_that_says_too_little_or_too_much_is_refused(table, message):
    with pytest.raises(WorkloadError, match=message) as error:
        profile_from(table, "mixed.toml")

    assert str(error.value).startswith("mixed.toml: ")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"version = ", ": expected TOML, got: Invalid value"),
        (b"\xff\xfe", ":1: expected text in UTF-8, got UTF-16."),
        (b"a = " + b"[" * 5000, ": expected values at most 50 levels inside each other, got more."),
    ],
)
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path, data, fault):
    path = tmp_path / "p.toml"
    path.write_bytes(data)

    with pytest.raises(WorkloadError) as error:
        read_profile(path)

    assert str(error.value).startswith(f"{path}{fault}")


def test_seeds_reach_patterns_inside_patterns_and_spare_those_that_have_one():
    spec = {"name": "sequence", "parts": [{"name": "pairs"}, {"name": "pairs", "seed": 9}]}

    assert seeded(spec, 4)["parts"] == [
        {"name": "pairs", "seed": 4},
        {"name": "pairs", "seed": 9},
    ]


def test_a_matrix_file_is_looked_for_in_the_folder_of_the_profile(tmp_path, monkeypatch):
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "two.csv").write_text("src,dst,bytes\n0,1,100\n1,0,50\n")
    path = tmp_path / "p.toml"
    path.write_text(
        "version = 1\n[[rule]]\ncomm_fraction = 0.2\n"
        'pattern = {name = "matrix", file = "measured/two.csv"}\n'
    )
    monkeypatch.chdir("/")

    (rule,) = read_profile(path).rules

    assert rule.pattern["file"] == str(tmp_path / "measured" / "two.csv")
    assert read_profile(path).table["rule"][0]["pattern"]["file"] == "measured/two.csv"
    path.write_text(path.read_text().replace("two", "three"))
    with pytest.raises(WorkloadError, match=r"rule 1: pattern: .*three\.csv"):
        read_profile(path)
