"""Victims and culprits as a matrix, by hand."""

import numpy as np
import pandas as pd
from matplotlib import colormaps

from coupling.report.plots.blame import blame_matrix, cell_ink, named_most


def test_the_largest_victims_and_culprits_are_named_and_the_rest_summed_up():
    blame = pd.DataFrame(
        [("a", "x", 5.0), ("a", "x", 1.0), ("a", "y", 1.0), ("b", "x", 3.0), ("c", "z", 2.0)],
        columns=["victim", "culprit", "lost"],
    )

    matrix = blame_matrix(blame, most=2)

    assert matrix.index.tolist() == ["a", "b", "others"]
    assert matrix.columns.tolist() == ["x", "z", "others"]
    assert matrix.to_numpy().tolist() == [[6, 0, 1], [3, 0, 0], [0, 2, 0]]
    assert named_most(matrix) == 6


def test_all_are_named_where_they_are_few():
    blame = pd.DataFrame({"victim": [2, 1], "culprit": [1, 2], "lost": [1.0, 4.0]})

    matrix = blame_matrix(blame)

    assert matrix.index.tolist() == ["1", "2"]
    assert matrix.to_numpy().tolist() == [[4, 0], [0, 1]]


def test_where_nobody_loses_there_is_no_matrix():
    blame = pd.DataFrame({"victim": [1], "culprit": [2], "lost": [0.0]})

    assert blame_matrix(blame).empty


def test_numbers_on_cells_have_a_contrast_of_4_5():
    """Contrast by WCAG 2: (lighter + 0.05) / (darker + 0.05) of relative luminances."""
    colours = colormaps["cividis"](np.linspace(0.0, 1.0, 256))[:, :3]
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    white = np.array([cell_ink(colour) == "white" for colour in colours])

    contrast = np.where(white, 1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05)

    assert contrast.min() >= 4.5
    assert white[0]
    assert not white[-1]
