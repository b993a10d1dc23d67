"""Sheets: Matplotlib measures what stands around their axes, and finds it where it should be."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from coupling.report.plots.rulers import extent, points
from coupling.report.plots.sheet import Sheet, add_bar, name_ticks
from coupling.report.plots.style import Picture

LONG = ["a name", "another-\nname", "the longest of all"]


def one(figure):
    """Draw a line over large numbers."""
    axes = figure.add_subplot()
    axes.plot([0.0, 9.0], [1.0, 3e7])
    axes.set_title("Title")
    axes.set_xlabel("along")
    axes.set_ylabel("upwards")


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
    with mpl.rc_context({"axes.titley": 1.0, "text.parse_math": False}):
        sheet = Sheet(figsize=(5.0, 4.0), dpi=72)
        FigureCanvasSVG(sheet)
        paint(sheet)
        sheet.lay_out()
    return sheet


def texts_of(figure):
    """Return the texts of a figure that are drawn."""
    return [own for own in figure.findobj(Text) if own.get_text() and own.axes is not None] + [
        own for own in figure.texts if own.get_text()
    ]


def test_everything_written_lies_on_the_sheet(sheet):
    for text in texts_of(sheet):
        box = text.get_window_extent()
        assert sheet.bbox.x0 <= box.x0 < box.x1 <= sheet.bbox.x1, text.get_text()
        assert sheet.bbox.y0 <= box.y0 < box.y1 <= sheet.bbox.y1, text.get_text()


def test_names_of_axes_stand_clear_of_the_words_at_their_ticks(sheet):
    words = [own.get_window_extent() for axes in sheet.axes for own in axes.findobj(Text)
             if own.get_text() and own.get_zorder() < 1]  # fmt: skip

    for name in sheet.texts:
        if name.get_text() in {"along", "upwards", "what it is"}:
            assert not any(name.get_window_extent().overlaps(box) for box in words)


def test_axes_without_sides_have_none():
    sheet = Sheet(figsize=(5.0, 4.0), dpi=72)
    FigureCanvasSVG(sheet)
    bare(sheet)
    sheet.lay_out()

    assert [text.get_text() for text in texts_of(sheet)] == ["below"]


def test_fields_and_bar_do_not_overlap(sheet):
    boxes = [axes.get_position() for axes in sheet.axes]

    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])


@pytest.mark.parametrize("turn", [0, 90])
def test_a_text_is_as_large_as_matplotlib_finds(turn):
    figure = Figure(dpi=72)
    FigureCanvasSVG(figure)
    text = figure.text(0.5, 0.5, "lp of a\nlonger text", fontsize=9, rotation=turn)

    box = text.get_window_extent()

    assert extent("lp of a\nlonger text", 9, turn) == pytest.approx((box.width, box.height), 0.06)


def test_words_for_sizes_of_letters_mean_those_of_the_picture_at_hand():
    """A picture for a paper was drawn before: it must not change a page's."""
    sizes = []
    for usual in (7.0, 9.0, 7.0):
        with mpl.rc_context({"font.size": usual}):
            sizes.append(points("small"))
    assert sizes == pytest.approx([0.833 * 7, 0.833 * 9, 0.833 * 7])


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
