"""Links over time in a report: a picture for each run that recorded it, on one scale."""

import numpy as np
import pandas as pd
from coupling_samples import sample

from coupling.report.figures import run_figures
from coupling.report.plots.gantt import link_time_pictures


def recorded(name, busy):
    """Return a run of which one link is busy for a time."""
    run = sample(name)
    rows = pd.DataFrame(
        {
            "begin_s": [0.0, 64.0],
            "end_s": [64.0, 128.0],
            "link": np.array([1, 1], dtype=np.int32),
            "bytes": [1.0, 1.0],
            "busy_fraction": [busy, 0.0],
        }
    )
    run.extras["links/timeline"] = rows
    return run


def test_a_run_that_recorded_its_links_has_a_picture_with_its_numbers():
    """Of 480 columns over 128 s the first 240 are the first bin."""
    pictures = link_time_pictures([recorded("random", 0.75), sample("jigsaw")])

    assert list(pictures) == ["random"]
    table = pictures["random"].data()
    assert table["first_link"].unique().tolist() == [sample("random").links["link"].iloc[1]]
    assert len(table) == 240
    assert table["busy_fraction"].unique().tolist() == [0.75]
    assert table["time_s"].iloc[-1] == round(239 * 128 / 480, 3)


def test_a_report_without_recorded_links_has_no_such_section():
    assert run_figures([sample("random")])["link-time"].figures == ()
    drawn = run_figures([recorded("random", 0.5)])["link-time"].figures
    assert [figure.name for figure in drawn] == ["random"]
    assert b"<svg" in drawn[0].picture.file("svg")
