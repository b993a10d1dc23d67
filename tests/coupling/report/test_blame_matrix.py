"""Victims and culprits as a matrix, by hand."""

import pandas as pd

from coupling.report.plots.blame import blame_matrix, named_most


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
