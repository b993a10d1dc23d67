"""Tables of a terminal: names that are copied stay whole, folded cells go on below."""

import pytest

from coupling.report.columns import table, text_of


@pytest.mark.parametrize("columns", ["20", "80"])
def test_a_table_is_wider_than_the_terminal_rather_than_without_its_names(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    job, cable = "4179512", "S-0008f105002036b4/P4>" * 4
    rows = [(job, cable, "1.001"), (job + "3", cable, "1")]

    text = text_of(table(("job", "cable", "slowed"), rows, left=(0, 1), whole=(1,)))

    assert [line.split() for line in text.splitlines()[2:]] == [list(row) for row in rows]


def test_a_folded_cell_goes_on_below_the_first_line_of_its_row(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    rows = [("leaf1>spine1", "37 %", "4101 19 %, 4102 17 %"), ("leaf2>spine1", "1 %", "-")]

    text = text_of(table(("cable", "busy", "jobs on it"), rows, left=(0, 2), whole=(0,)))

    _, _, first, *more, last = text.splitlines()
    assert first.split()[:3] == ["leaf1>spine1", "37", "%"]
    assert all(line.startswith(" " * len("leaf1>spine1")) for line in more)
    assert last.split() == ["leaf2>spine1", "1", "%", "-"]
