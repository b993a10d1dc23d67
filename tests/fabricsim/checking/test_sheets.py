"""Tables that people open in a spreadsheet: no text of an input becomes a formula there."""

import csv
import io
import re
from pathlib import Path

import pytest

from fabricsim.checking.sheets import plain_cell, sheet

FORMULAS = [
    "=1+1",
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1+1",
    "-",
    "=a,b",
    '=HYPERLINK("http://x","y")',
]
TEXTS = ["", "'", "'tis", "a=b", "cn[001-003]", "''=1", "-1", "+1.5e3", "1e9", " =1", 'say "no"']


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_starts_like_a_formula_gets_an_apostrophe(text):
    (header, row) = csv.reader(io.StringIO(sheet([text], [[text]]), newline=""))

    assert header == row == [f"'{text}"]


@pytest.mark.parametrize("text", [*FORMULAS, *(f"'{text}" for text in FORMULAS), *TEXTS])
def test_what_is_read_back_is_the_text(text):
    _, (cell, _) = csv.reader(io.StringIO(sheet(["a", "b"], [[text, 1]]), newline=""))

    assert plain_cell(cell) == text


def test_nothing_else_writes_comma_separated_values():
    root = Path(__file__).parents[3]
    packages = ("netsim", "patterns", "scheduler", "coupling", "fabricsim")
    sources = [path for package in packages for path in (root / package).rglob("*.py")]
    own = root / "fabricsim" / "checking" / "sheets.py"

    writing = [
        path for path in sources if re.search(r"to_csv|csv\.writer", path.read_text("utf-8"))
    ]

    assert writing == [own]


def test_numbers_stay_numbers_and_what_is_missing_is_empty():
    rows = [[-0.5, -7, "-7", 1e-320], [None, float("nan"), True, 1e300]]

    assert sheet(["a", "b", "c", "d"], rows) == "a,b,c,d\n-0.5,-7,-7,1e-320\n,,True,1e+300\n"
