"""Sheets: what stands around their axes has its place, and the user's settings stay outside."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import Patch

from coupling.report.plots.style import Picture, Sheet, add_bar, name_ticks, put_key

LONG = ["a name", "another-\nname", "the longest of all"]


def one(figure):
    """Draw a line over large numbers."""
    axes = figure.add_subplot()
    axes.plot([0.0, 9.0], [1.0, 3e7])
    axes.set_title("Title")
    axes.set_xlabel("along")
    axes.set_ylabel("upwards")
    put_key(figure, [Patch(label=name) for name in LONG], 3)


def turned(figure):
    """Draw a picture with turned names and a bar of colours."""
    axes = figure.add_subplot()
    image = axes.imshow(np.arange(9.0).reshape(3, 3), aspect="auto")
    for axis in (axes.xaxis, axes.yaxis):
        name_ticks(axis, range(3), LONG)
    axes.tick_params(axis="x", labelrotation=90)
    add_bar(image, [axes], "what it is", more=True)


def stacked(figure):
    """Draw fields above each other, one with a logarithmic side."""
    for number, axes in enumerate(figure.subplots(3, 1)):
        axes.plot([1.0, 10.0 ** (2 * number)], [1e-3, 1.0])
        axes.set_title("Title", fontsize="small")
    axes.set_xscale("log")
    axes.set_ylabel("upwards")


def bare(figure):
    """Draw a picture without sides, whose texts stand out of it."""
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.plot([0.0, 1.0], [0.0, 1.0])
    axes.annotate("below", (0.0, 0.0), xytext=(0, -20), textcoords="offset points", rotation=90,
                  va="top", annotation_clip=False)  # fmt: skip


@pytest.fixture(params=(one, turned, stacked, bare), ids=lambda paint: paint.__name__)
def paint(request):
    """Return what draws a picture."""
    return request.param


@pytest.fixture
def sheet(paint):
    """Return a sheet that is laid out."""
    sheet = Sheet((5.0, 4.0))
    paint(sheet)
    sheet.draw_without_rendering()
    return sheet


def test_everything_drawn_lies_on_the_sheet(sheet):
    box = sheet.get_tightbbox()  # in inches

    assert (box.x0, box.y0) >= (0.0, 0.0)
    assert box.x1 <= sheet.get_figwidth()
    assert box.y1 <= sheet.get_figheight()


def test_a_key_stands_clear_of_the_title():
    sheet = Sheet((5.0, 4.0))
    one(sheet)
    sheet.draw_without_rendering()

    key = sheet.legends[0].get_window_extent()

    assert not key.overlaps(sheet.axes[0].title.get_window_extent())


def test_fields_and_bar_do_not_overlap(sheet):
    boxes = [axes.get_position() for axes in sheet.axes]

    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])


@pytest.mark.parametrize("name", ["axes.linewidth", "font.size"])
def test_what_a_picture_sets_stays_with_it(name):
    """Settings of all pictures are kept: those of a paper, or of the user, must not get in."""
    before = mpl.rcParams[name]
    page = Picture("one", "one", lambda sheet: sheet.add_subplot().plot([1, 2]))
    first = page.html()
    page.file("pdf")
    with mpl.rc_context({name: 40.0}):
        assert page.html() == first
    assert mpl.rcParams[name] == before
