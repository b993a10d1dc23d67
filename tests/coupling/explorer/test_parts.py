"""Address, numbers over time, colours: the parts of the explorer that need no browser."""

import numpy as np
import pandas as pd
import pytest
from coupling_samples import sample
from hypothesis import given
from hypothesis import strategies as st

from coupling.explorer.address import Address, read_address
from coupling.explorer.colours import JobColours, picture_of, points_of, shades_of
from coupling.explorer.figures import TimeAxis
from coupling.explorer.raster_kernels import Cells
from coupling.explorer.run_view import lost_share, series_of
from coupling.results.picture_values import LinkLoads, heat, load_of


@given(
    st.builds(
        Address,
        run=st.text(max_size=5),
        by=st.sampled_from(["slowdown", "user", "job"]),
        begin_s=st.none() | st.integers(-5, 10).map(float),
        end_s=st.none() | st.integers(11, 20).map(float),
        low=st.none() | st.just(0.5),
        job=st.text(max_size=5),
        cable=st.text(max_size=5),
        at_s=st.none() | st.floats(0, 1e6).map(lambda x: round(x, 3)),
    )
)
def test_what_is_written_is_read_back(address):
    assert read_address(f"#{address.written()}") == address


@pytest.mark.parametrize(
    "text", ["", "#", "&&&", "#from=nan&to=inf", "#from=9&to=3", "#by=x", "#run=other", "#%ff=%00"]
)
def test_an_address_of_nonsense_shows_everything(text):
    assert read_address(text, ["one"]) == Address()


def test_what_is_lost_is_spread_over_the_run_of_a_job():
    """2 nodes lose 3 of 6 s, 1 node 2 of 2 s: of 4 nodes 1 node in each of the first 4 s, say."""
    jobs = pd.DataFrame(
        {
            "start_s": [0.0, 4.0],
            "end_s": [6.0, 6.0],
            "interference_delay_s": [3.0, 2.0],
            "n_nodes": [2, 1],
        }
    )

    share = lost_share(jobs, 4, np.array([0.0, 2.0, 4.0, 6.0, 8.0]))

    np.testing.assert_allclose(share, [0.25, 0.25, 0.5, 0.0], atol=1e-12)


def test_the_overview_has_means_over_time():
    run = sample("random")  # 7 of 8 nodes busy until 1800 s, 6 until 3600, 4 until 5400

    found = series_of(run.jobs, run.timeline, 8, np.array([0.0, 3600.0, 5400.0]))

    np.testing.assert_allclose(found["utilization"], [(7 + 6) / 16, 0.5])
    np.testing.assert_allclose(found["queued"], [0, 0])
    np.testing.assert_allclose(found["lost"], [0, 0])


def test_colours_are_kept_as_points():
    assert points_of(["#0072b2"]).tolist() == [0xFFB27200]


def test_classes_have_colours_of_their_own_and_the_rest_one():
    jobs = pd.DataFrame(
        {"pattern": ["a"] * 3 + ["b"] * 2 + [""], "id": range(6), "network_slowdown": 1.0}
    )

    found = shades_of(jobs, "pattern", "random", ["#000000"], 2.0)

    assert list(found.key) == ["a", "b", ""]
    assert found.place.tolist() == [0, 0, 0, 1, 1, 2]
    assert shades_of(jobs, "user", "random", ["#000000"], 2.0).missing
    assert list(shades_of(jobs, "allocator", "ta", ["#000000"], 2.0).key) == ["ta"]


def test_the_ramp_ends_at_the_scale():
    jobs = pd.DataFrame({"network_slowdown": [1.0, 1.5, 2.0, 9.0]})

    assert shades_of(jobs, "slowdown", "", ["#000000"] * 11, 2.0).place.tolist() == [
        0,
        5,
        10,
        10,
    ]


def test_idle_cells_are_transparent_and_full_ones_opaque():
    cells = Cells(
        np.array([[0.0, 1.0, 0.5]]), np.array([[0.0, 1.0, 0.5]]), np.array([[-1, 0, 1]]),
        np.array([[0.0, 1.0, 0.5]]),
    )  # fmt: skip
    shades = JobColours({}, np.array([0, 1]), points_of(["#000000", "#ffffff"]))

    for mean, last in ((True, 0xFFFFFF), (False, 0xFFFFFF)):
        idle, full, half = picture_of(cells, shades, mean=mean)[0].tolist()
        assert idle == 0
        assert full >> 24 == 255
        assert 128 < half >> 24 < 255
        assert half & 0xFFFFFF == last


def test_load_over_time_is_that_of_the_bin():
    links = pd.DataFrame({"busy_fraction": [0.5, 0.1], "class": ["b", "a"], "link": ["x", "y"]})
    timeline = pd.DataFrame(
        {
            "begin_s": [0.0, 10.0],
            "end_s": [10.0, 15.0],
            "link": np.array([0, 1], dtype=np.int32),
            "busy_fraction": [0.75, 0.3],
        }
    )

    found = load_of(links, timeline)

    assert found.at(None).tolist() == [0.5, 0.1]
    np.testing.assert_allclose(found.at(9.9), [0.75, 0.0])
    np.testing.assert_allclose(found.at(10.0), [0.0, 0.3])
    np.testing.assert_allclose(found.at(99.0), [0.0, 0.0])
    assert found.most == pytest.approx(0.75)
    assert "not recorded" in load_of(links, None).why_not
    assert load_of(links, None).at(3.0).tolist() == [0.5, 0.1]


@given(
    st.integers(1, 6), st.integers(1, 5), st.floats(-3, 10), st.integers(1, 7),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_heat_holds_the_largest_load_of_each_cell(n_links, n_bins, begin, columns, random):
    width = random.uniform(0.5, 12)
    edges = np.cumsum([0.0] + [random.choice([0.5, 1.0, 2.0]) for _ in range(n_bins)])
    bins = np.array(
        [[random.random() for _ in range(n_bins)] for _ in range(n_links)], dtype=np.float32
    )
    order = np.array(random.sample(range(n_links), n_links))
    height = random.randint(1, n_links)

    found = heat(
        LinkLoads(np.zeros(n_links), edges, bins), order, (begin, begin + width), (height, columns)
    )

    cuts = np.linspace(begin, begin + width, columns + 1)
    for row, column in np.ndindex(height, columns):
        own = [order[i] for i in range(n_links) if i * height // n_links == row]
        held = [
            bins[link, b]
            for link in own
            for b in range(n_bins)
            if edges[b] < cuts[column + 1] and edges[b + 1] > cuts[column]
        ]
        assert found[row, column] == pytest.approx(max(held)) if held else True
        assert bool(held) or np.isnan(found[row, column])


def test_dates_are_those_of_the_log_s_time_zone():
    """2026-01-15 12:00 UTC is 13:00 in Berlin, and half a year later 14:00."""
    noon = 1768478400.0
    axis = TimeAxis(noon, "Europe/Berlin")

    assert axis.words == "Dates are in Europe/Berlin (UTC+0100, as at the begin)."
    assert axis.place(60.0) == (noon + 3600 + 60) * 1e3  # Bokeh writes it as UTC
    assert axis.seconds(axis.place(7.5)) == pytest.approx(7.5)
    assert axis.date(0.0) == "2026-01-15 13:00"
    assert axis.date(181 * 86400.0) == "2026-07-15 14:00"
    assert TimeAxis(noon).date(60.0) == "2026-01-15 12:01"
    assert TimeAxis(noon, "clock of the record").date(0.0) == "2026-01-15 12:00"
    assert TimeAxis(None, "Europe/Berlin").words == TimeAxis(None).date(3.0) == ""
