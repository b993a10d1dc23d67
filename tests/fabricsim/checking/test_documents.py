"""JSON and TOML are read within bounds, and what is beyond them is named with its place."""

import json

import pytest

from fabricsim.checking.documents import MOST_DEPTH, parse_json, parse_toml
from netsim.common.errors import TopologyError

DEEP = "values at most 50 levels inside each other, got more."


@pytest.mark.parametrize("depth", [MOST_DEPTH, MOST_DEPTH + 1, 900, 990, 100_000])
@pytest.mark.parametrize("inside", ["list", "table", "both"])
def test_json_is_bounded_in_depth(depth, inside):
    begin, end = {"list": ("[", "]"), "table": ('{"a":', "}"), "both": ('[{"a":', "}]")}[inside]
    times = depth // 2 if inside == "both" else depth
    text = begin * times + "1" + end * times

    if depth == MOST_DEPTH:
        assert parse_json(text, "f", TopologyError) == json.loads(text)
        return
    if inside == "both" and depth == MOST_DEPTH + 1:
        return  # an even number of levels
    with pytest.raises(TopologyError) as error:
        parse_json(text, "f", TopologyError)
    assert str(error.value) == f"f: expected {DEEP}"


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 900 + "]" * 900,
        "a = " + "{a=" * 300 + "1" + "}" * 300,
        ".".join("a" * 900) + " = 1",
        f"[{'.'.join('a' * 100)}]",
        "[[a.b]]\n" * 3 + ".".join("a" * 60) + " = 1",
        "a = " + "[" * 100_000,
    ],
)
def test_toml_is_bounded_in_depth(text):
    with pytest.raises(TopologyError) as error:
        parse_toml(text, "f", TopologyError)

    assert str(error.value) == f"f: expected {DEEP}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("9" * 5000, "f: expected a whole number of 64 bits, got a number of thousands of digits."),
        (
            '{"a": [1, {"b": -9223372036854775809}]}',
            "f: a[1].b: expected a whole number of 64 bits",
        ),
        ('{"a": [0.5, 1e999]}', "f: a[1]: expected a finite number, got inf."),
        ("[NaN]", "f: [0]: expected a finite number, got nan."),
        ('{"a": "\\ud800"}', r"f: a: expected text, got '\ud800'."),
        ('{"\\udfff": 1}', r"f: expected text, got '\udfff'."),
        ('{"a": 1, "a": 2}', "f: expected JSON, got: field 'a' twice in one object."),
        ("", "f: expected some content, got an empty file."),
        (" \n", "f: expected some content, got an empty file."),
        ('{\n"a": }', "f:2: expected JSON, got: Expecting value in column 6."),
        ("[" + "0," * 10_000_000 + "0]", "f: expected at most 10,000,000 values, got more."),
    ],
)
def test_json_beyond_the_bounds_is_refused_with_its_place(text, fault):
    with pytest.raises(TopologyError) as error:
        parse_json(text, "f", TopologyError)

    assert str(error.value).startswith(fault)


def test_what_other_programs_write_is_left_to_their_readers():
    assert parse_json('{"a": NaN, "a": 1e999}', "f", TopologyError, strict=False) == {"a": 1e999}
    with pytest.raises(TopologyError, match="whole number of 64 bits"):
        parse_json("9223372036854775808", "f", TopologyError, strict=False)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\n\na = " + "9" * 5000, "f:3: expected TOML, got: a number of thousands of digits."),
        (
            "a = 0x" + "f" * 5000,
            "f: a: expected a whole number of 64 bits, got a number of thousands",
        ),
        (
            "a.b = [1, 9223372036854775808]",
            "f: a.b[1]: expected a whole number of 64 bits, got 922",
        ),
        ("a = inf", "f: a: expected a finite number, got inf."),
        ("[[a]]\nb = -nan", "f: a[0].b: expected a finite number, got nan."),
        ("a = 1e999", "f: a: expected a finite number, got inf."),
        ("a = ", "f: expected TOML, got: Invalid value (at end of document)."),
        ("a = 1979-13-01", "f: expected TOML, got: "),
        ("#" * 2**23, "f: expected TOML of at most 4 MiB, got more."),
    ],
)
def test_toml_beyond_the_bounds_is_refused_with_its_place(text, fault):
    with pytest.raises(TopologyError) as error:
        parse_toml(text, "f", TopologyError)

    assert str(error.value).startswith(fault)


def test_what_is_within_the_bounds_is_read_as_it_is():
    text = 'a = [0.5, -9223372036854775808, "ü", 1979-05-27, true]'

    assert parse_toml(text, "f", TopologyError)["a"][1] == -(2**63)
    assert parse_json('{"a": ["\\ud83d\\ude00", 1e308]}', "f", TopologyError) == {
        "a": ["😀", 1e308]
    }
