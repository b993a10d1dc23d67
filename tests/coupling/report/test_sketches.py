"""Drawings of letters: as long as the numbers say, within the terminal, silent in a pipe."""

import io

import numpy as np
import pytest
from coupling_samples import sample
from rich.console import Console

from coupling.report.sketches import Bar, SlowdownBars
from coupling.report.terminal import ComparisonTable, UtilizationLines, sparkline


def drawn(what, width=80, encoding="utf-8", terminal=True):
    """Return the lines that a terminal shows."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None)
    console.print(what)
    out.flush()
    return out.buffer.getvalue().decode(encoding).splitlines()


def test_bars_are_as_long_as_the_slowdown_above_one():
    """Of 80 columns 1 is the name, 1 a blank and 8 the number: 70 for 2.0, half for 1.5."""
    lines = drawn(SlowdownBars([Bar("a", 1.5, 1.0), Bar("b", 2.0, 1.25), Bar("c", 1.0, 1.0)]))

    assert lines[0].startswith("b ")
    assert [line.count("█") for line in lines[:2]] == [70, 35]
    assert lines[0].endswith(" 2.000")
    assert lines[2].startswith("slowdown from 1:")
    assert len(lines) == 3


def test_the_part_of_the_placement_comes_first():
    """In ASCII: 0.25 of 1 is 17.5 of 70 letters."""
    (line, *_) = drawn(SlowdownBars([Bar("b", 2.0, 1.25)]), encoding="ascii")

    assert line == f"b {'=' * 18}{'#' * 52} 2.000"


@pytest.mark.parametrize("width", [40, 80, 133])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_nothing_is_wider_than_the_terminal(width, encoding):
    runs = [
        sample(
            "first-free",
            runtimes_s=(7200.0, 3600.0, 1800.0),
            interference_delay_s=(1800.0, 0.0, 0.0),
        ),
        sample("x" * 60),
    ]
    bars = SlowdownBars([Bar("y" * 60, 1e6, 3.0), Bar("名" * 30, 1.001, 1.0)])

    for what in (UtilizationLines(runs), bars):
        lines = drawn(what, width, "utf-8" if what is bars else encoding)
        assert lines
        assert all(Console().render_str(line).cell_len <= width for line in lines)


def test_utilisation_is_a_letter_for_each_part_of_the_time():
    """7 of 8 nodes for half an hour, 6 for the next, 4 for an hour: the eighth, 7th and 5th."""
    lines = drawn(UtilizationLines([sample("a", runtimes_s=(7200.0, 3600.0, 1800.0))]), width=18)

    assert [line for line in lines if line.startswith("a ")] == ["a ██▇▇▅▅▅▅ -"]


def test_shares_beyond_their_range_and_none_have_letters():
    assert sparkline(np.array([-0.0, 1.5, np.nan]), plain=True) == "_# "


def test_a_comparison_is_drawn_on_a_terminal_and_silent_in_a_pipe():
    runs = [sample("first-free", interference_delay_s=(1800.0, 0.0, 0.0)), sample("jigsaw")]

    shown, piped = (drawn(ComparisonTable(runs), terminal=on) for on in (True, False))

    assert any("█" in line for line in shown)
    assert not any("█" in line for line in piped)
    assert max(map(len, shown)) <= 80
