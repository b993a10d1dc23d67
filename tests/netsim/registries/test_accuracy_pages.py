"""What the pages say of the models' errors is what the table of comparisons says."""

import re
from pathlib import Path

import pytest

from netsim.registries.accuracy import (
    comparisons,
)

ROOT = Path(__file__).parents[3]
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
    [("benchmarks/evidence.md", "Contention models against packet level", 12)],
)
def test_pages_state_the_errors_of_the_table(path, section, least):
    known = {
        (one.load, one.buffer_bytes == 0, one.model): one
        for one in comparisons()
        if one.machine == "full fat-tree" and one.traffic_class == "mixed"
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
