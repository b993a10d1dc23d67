"""Files of a result with right hashes that no run writes: their contents are refused."""

import json
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from result_readers import READERS, refused, sealed
from sampling import thinned

from coupling.results.columns import COLUMNS, read_table


def nameless(table):
    table.loc[2, "dropped"] = None
    return table


TABLES = {
    "no column": ("jobs", lambda t: t.drop(columns="aph"), "expected one column 'aph', got ['id'"),
    "text for times": ("jobs", lambda t: t.astype({"end_s": str}), "'end_s': expected values of"),
    "halves of nodes": (
        "jobs",
        lambda t: t.astype({"n_nodes": float}),
        "column 'n_nodes': expected values of type int64, got float64",
    ),
    "numbers for texts": ("jobs", lambda t: t.assign(nodes=5), "'nodes': expected values of type"),
    "a reason that is nothing": (
        "jobs",
        nameless,
        "column 'dropped': expected values of type text",
    ),
    "every job twice": (
        "jobs",
        lambda t: pd.concat([t, t]),
        "column 'id': expected every job once, got 1 twice",
    ),
    "no number": (
        "jobs",
        lambda t: t.assign(end_s=float("inf")),
        "column 'end_s': expected numbers up to 1e+60, got inf",
    ),
    "no time": (
        "jobs",
        lambda t: t.assign(end_s=float("nan")),
        "column 'end_s': expected a number for every job",
    ),
    "no loss": (
        "jobs",
        lambda t: t.assign(interference_delay_s=t["interference_delay_s"].where(t["id"] > 1)),
        "column 'interference_delay_s': expected a number for every job",
    ),
    "no class of links": ("links", lambda t: t.drop(columns="class"), "one column 'class'"),
    "counts as texts": ("timeline", lambda t: t.astype({"queued": str}), "'queued': expected"),
    "classes as numbers": ("blame", lambda t: t.assign(link_class=1), "'link_class': expected"),
}


@pytest.mark.parametrize("tried", thinned(list(product(TABLES, READERS)), 3), ids=" - ".join)
def test_a_table_of_another_shape_is_refused_even_with_its_hash(here, command, tried):
    """As another version, or a program that imitates this one, would write it."""
    case, reader = tried
    table, change, words = TABLES[case]
    name = f"random/{table}.parquet"
    sealed(here, name, change(pd.read_parquet(here / name)).to_parquet(index=False))

    refused(command(*READERS[reader]), f"out/{name}: ", words)


def test_a_table_without_rows_has_the_types_of_its_columns():
    empty = pd.DataFrame({name: pd.Series(dtype="str") for name in COLUMNS["timeline"]})

    found = read_table("timeline", Path("t.parquet"), empty.to_parquet(index=False))

    assert found.empty
    assert {name: str(kind) for name, kind in found.dtypes.items()} == COLUMNS["timeline"]


def test_a_number_that_a_summary_lacks_has_no_ratio(here, command):
    summary = json.loads((here / "random/summary.json").read_text())
    del summary["makespan_s"]
    sealed(here, "random/summary.json", json.dumps(summary).encode())

    status, out, _ = command("compare", "out", "--json")

    (found,) = (run for run in json.loads(out)["runs"] if run["name"] == "random")
    assert (status, found["makespan_ratio"]) == (0, None)


NETWORK = {
    "model": "fluid",
    "fairness": "per-sender",
    "machine": "",
    "routings": [],
    "ranks_per_node": [],
    "buffer_bytes": 0.0,
}
NUMBERS = {
    "no nodes": ("summary", {"nodes": None}, "summary.json: nodes: expected a whole number from 1"),
    "a text": ("summary", {"makespan_s": "1"}, "makespan_s: expected a number or null, got '1'"),
    "no number": (
        "summary",
        {"mean_wait_s": float("nan")},
        "mean_wait_s: expected a finite number, got nan",
    ),
    "true": ("summary", {"killed": True}, "killed: expected a number or null, got True"),
    "a list of reasons": ("summary", {"dropped_by_reason": []}, "dropped_by_reason: expected"),
    "texts in a group": (
        "summary",
        {"infinite_network": {"makespan_s": "1"}},
        "summary.json: infinite_network: makespan_s: expected a number or null, got '1'",
    ),
    "a text as the network": ("summary", {"network": "torus"}, "summary.json: network: expected"),
    "a network without a machine": ("summary", {"network": {"model": "fluid"}}, "fairness"),
    "a routing as a number": (
        "summary",
        {"network": NETWORK | {"routings": [1]}},
        "summary.json: network: routings: expected a list of texts, got [1]",
    ),
    "half a rank": (
        "summary",
        {"network": NETWORK | {"ranks_per_node": [0.5]}},
        "network: ranks_per_node: expected a list of whole numbers, got [0.5]",
    ),
    "an unknown traffic class": (
        "summary",
        {"network": NETWORK | {"traffic_class": "loud"}},
        "network: traffic_class: expected",
    ),
    "more of a network": (
        "summary",
        {"network": NETWORK | {"hops": 1}},
        "network: hops: unknown key",
    ),
    "no name": ("summary", {"name": 3}, "summary.json: name: expected a text, got 3"),
    "cost as a text": ("cost", {"events": "1"}, "cost.json: events: expected a number or null"),
}


@pytest.mark.parametrize("tried", thinned(list(product(NUMBERS, READERS)), 3), ids=" - ".join)
def test_numbers_of_another_type_are_refused_even_with_their_hash(here, command, tried):
    case, reader = tried
    file, change, words = NUMBERS[case]
    name = f"random/{file}.json"
    numbers = json.loads((here / name).read_text()) | change
    sealed(here, name, json.dumps(numbers).encode())

    refused(command(*READERS[reader]), "out/random/", words)


def test_a_network_of_no_kind_has_no_known_error(here, command):
    """Every field there, and nothing in them."""
    name = "random/summary.json"
    numbers = json.loads((here / name).read_text()) | {"network": NETWORK}
    sealed(here, name, json.dumps(numbers).encode())

    status, out, _ = command(*READERS["compare"])

    assert status == 0
    assert "How true: not known" in out


def test_rerun_tells_of_a_column_that_holds_other_things(here, command):
    """Lists of numbers, which pandas cannot compare one by one."""
    table = pd.read_parquet(here / "random" / "waits.parquet")
    listed = table.assign(wait_s=[[value, value] for value in table["wait_s"]])
    sealed(here, "random/waits.parquet", listed.to_parquet(index=False))

    status, out, _ = command("rerun", "out")

    assert status == 1
    assert "wait_s holds float64, now object" in out or "wait_s holds object, now float64" in out
