"""What the pages say of the models' errors is what the table of comparisons says."""

import re
from pathlib import Path

import numpy as np
import pytest

from netsim.accuracy import (
    comparisons,
)

ROOT = Path(__file__).parents[2]
COLUMNS = {  # heading, field and what one of the page's units is
    "mean": ("mean_error", 100),
    "p90": ("p90_error", 100),
    "worst": ("worst_error", 100),
    "contended": ("contended_error", 100),
    "bias": ("bias", 1),
    "rank": ("rank", 1),
}


def packet_tables(path, section):
    """Yield load, whether buffers are stated, model and numbers of the rows of a page's table."""
    text = (ROOT / path).read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    title = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "cases" in cells[0] and "mean" in cells:
            heads = cells
            continue
        if len(cells) < 8 or cells[0].startswith("---"):
            continue
        title = cells[0] or title
        load = re.sub(r"^jobs with | \(.*\)$|, no buffers$", "", title)
        numbers = {
            head: cell.replace(" %", "")
            for head, cell in zip(heads, cells, strict=True)
            if head in COLUMNS
        }
        dry = "no buffers" in title or "without buffers" in cells[1]
        for place, model in enumerate(cells[1].removesuffix(" without buffers").split(" / ")):
            own = {head: cell.split(" / ") for head, cell in numbers.items()}
            yield load, dry, model, {head: v[min(place, len(v) - 1)] for head, v in own.items()}


@pytest.mark.parametrize(
    ("path", "section", "least"),
    [
        ("docs/model.md", "How true it is", 10),
        ("benchmarks/evidence.md", "Contention models against packet level", 16),
    ],
)
def test_pages_state_the_errors_of_the_table(path, section, least):
    known = {
        (one.load, one.buffer_bytes == 0, one.model): one
        for one in comparisons()
        if one.machine == "full fat-tree" and one.mix == "mixed"
    }
    seen = 0
    for load, dry, model, numbers in packet_tables(path, section):
        one = known[load, dry, model]
        for head, text in numbers.items():
            name, unit = COLUMNS[head]
            decimals = len(text.partition(".")[2])
            rounded = f"{unit * getattr(one, name):.{decimals}f}"
            assert text == rounded, (load, dry, model, head)
        seen += 1

    assert seen >= least


def pipe_rows(text):
    """Return the cells of all rows of the tables of a text, without rulers and heads of jobs."""
    lines = [line[1:].rstrip("| ") for line in text.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [row for row in rows if row[0] not in ("---", "machine", "kind", "jobs")]


def test_the_page_on_the_model_states_the_matrix_of_the_evidence():
    """Each machine and routing, and each way to talk: jobs, and the first three numbers."""
    page = (ROOT / "docs/model.md").read_text(encoding="utf-8")
    evidence = (ROOT / "benchmarks/evidence.md").read_text(encoding="utf-8")
    matrix = evidence.split("\n## Validation matrix")[1].split("\n## ")[0]
    known = {}
    for row in pipe_rows(matrix.split("Part for design")[0]):
        known[row[0], row[1].lower().replace("-", " ")] = [row[3], row[5], *row[6:9]]
    for row in pipe_rows(matrix.split("By pattern, f and ranks")[1]):
        known[row[0].removeprefix("talk: "), ""] = row[1:5]
    seen, title = set(), ""
    for row in pipe_rows(page.split("\n## How true it is\n")[1].split("\n### ")[0]):
        title = row[0] or title
        key = (title, row[1].lower().replace("-", " "))
        told = row[2:] if key in known else row[1:]
        key = key if key in known else (title, "")
        if key in known:
            short = [" / ".join(cell.split(" / ")[:3]) for cell in known[key]]
            assert told == short, key
            seen.add(key)

    assert len(seen) == 15 + 4


def test_the_prose_of_the_page_on_the_model_states_the_bias_of_the_table():
    text = (ROOT / "docs/model.md").read_text(encoding="utf-8")
    bias = {
        (one.load, one.model): one.bias
        for one in comparisons()
        if one.buffer_bytes and one.mix == "mixed"
    }

    said = re.search(
        r"`fast` finds\s+(\d\.\d+) of the true excess with compute phases.*?"
        r"`phased` finds (\d\.\d+) there, `accurate` (\d\.\d+)\.",
        text,
        re.DOTALL,
    )

    expected = [
        bias["compute phases", "fast"],
        bias["compute phases", "phased"],
        bias["compute phases", "accurate"],
    ]
    np.testing.assert_allclose([float(one) for one in said.groups()], expected, atol=0.0051)
