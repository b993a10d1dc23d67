"""Small Parquet files that stand for far more are refused before they are decoded."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sampling import sampled

from coupling.errors import ResultError
from coupling.results.columns import COLUMNS, read_table
from fabricsim.checking.parquets import parquet_table
from scheduler.errors import WorkloadError
from scheduler.workload.table import read_csv, read_parquet

DIGITS = "0" * 100_000


def stored(table):
    data = io.BytesIO()
    parquet.write_table(table, data)
    return data.getvalue()


def repeated(text, rows):
    """Return rows that all hold one text, which is stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def zeros(rows, columns):
    return pa.table({f"c{at}": np.zeros(rows, np.int8) for at in range(columns)})


def in_one_list(values):
    return pa.table({"a": pa.ListArray.from_arrays([0, len(values)], values)})


BOMBS = {
    "rows": (lambda: zeros(2_000_001, 1), "expected at most 2,000,000 rows, got more."),
    "cells": (lambda: zeros(1_900_000, 20), "more than 256 MiB, decoded: 1,900,000 rows of 20 col"),
    "texts": (lambda: pa.table({"a": repeated(DIGITS, 10_000)}), "most of it texts"),
    "a list": (lambda: in_one_list(pa.array(np.zeros(34_000_000, np.int8))), "1 rows of 1 columns"),
    "a list of texts": (lambda: in_one_list(repeated(DIGITS, 10_000)), "most of it texts"),
    "packed": (lambda: pa.table({"a": ["0" * 300_000_000]}), "more than 256 MiB, decoded"),
}


@pytest.mark.parametrize("bomb", sampled(BOMBS, BOMBS.keys() - {"packed"}))
def test_a_job_log_that_decodes_to_far_more_than_its_size_is_refused(bomb, tmp_path):
    made, words = BOMBS[bomb]
    data = stored(made())
    path = tmp_path / "jobs.parquet"
    path.write_bytes(data)
    assert len(data) < 20_000_000

    with pytest.raises(WorkloadError) as error:
        read_parquet(path)

    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_of_a_result_is_bounded_too(tmp_path):
    """Six million links, each with two names of 200 letters, which are stored once."""
    columns = {name: np.zeros(6_000_000) for name in COLUMNS["links"]}
    columns["link"] = columns["class"] = repeated("x" * 200, 6_000_000)

    with pytest.raises(ResultError, match=r"links\.parquet: more than 1024 MiB, decoded, most of"):
        read_table("links", tmp_path / "links.parquet", stored(pa.table(columns)))


def test_texts_and_lists_are_read_as_they_are_from_csv(tmp_path):
    """Names that are stored once for many rows, a list of hosts, and what is missing."""
    (tmp_path / "jobs.csv").write_text(
        "id,submit,runtime,nodes,user,nodelist\n"
        '1,0,5,2,ann,"a,b"\n2,3,6,1,ann,c\n3,4,6,1,,d\n4,4,6,1,bob,e\n'
    )
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "submit": [0, 3, 4, 4],
            "runtime": [5, 6, 6, 6],
            "nodes": [2, 1, 1, 1],
            "user": pa.array(["ann", "ann", None, "bob"]).dictionary_encode(),
            "nodelist": [["a", "b"], ["c"], ["d"], ["e"]],
        }
    )
    (tmp_path / "jobs.parquet").write_bytes(stored(table))

    assert read_parquet(tmp_path / "jobs.parquet").jobs == read_csv(tmp_path / "jobs.csv").jobs


def test_no_changed_byte_of_the_metadata_ends_the_process():
    """Where sizes of levels are damaged, pyarrow ends the process that asks for them."""
    whole = stored(pa.table({"a": [1.0, None], "b": ["x", "y"]}))
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = 0
    for at in range(begin, len(whole)):
        for bit in (0, 1, 4):
            data = bytearray(whole)
            data[at] ^= 1 << bit
            try:
                parquet_table(bytes(data), "t.parquet", 10, 2**20, ResultError)
            except ResultError:
                refused += 1
    assert refused > 0
