"""Jobs as bars: what is drawn is what a slow and plain twin draws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.bars import cells

from coupling.explorer.bars import Window, bars_of
from coupling.results.picture_values import hosts_of
from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist, fold_hostlist

N_NODES = 7


def drawn(bars, weight, window, shape):
    """Return cells of bars given as node, job, start and end."""
    start, end = np.zeros(weight.size), np.ones(weight.size)
    for _, job, begin, stop in bars:
        start[job], end[job] = begin, stop
    node, job = (np.array([bar[at] for bar in bars], dtype=np.int64) for at in (0, 1))
    laid = bars_of(job, node, N_NODES, start, end)
    return laid, laid.cells(Window(*window), *shape, weight)


@st.composite
def scenes(draw):
    """Draw jobs on nodes, that may overlap, and a part of the plane."""
    bars, n_jobs = [], draw(st.integers(1, 8))
    for job in range(n_jobs):
        start = draw(st.integers(0, 20))
        end = start + draw(st.integers(1, 9))
        nodes = draw(st.sets(st.integers(0, N_NODES - 1), min_size=1))
        bars += [(node, job, start * 0.5, end * 0.5) for node in nodes]
    begin, low = draw(st.integers(0, 10)), draw(st.integers(0, N_NODES - 1))
    wide = draw(st.floats(0.3, 15.0))
    window = (float(begin), begin + wide, float(low), float(draw(st.integers(low + 1, 9))))
    return bars, n_jobs, window, draw(st.integers(1, 5)), draw(st.integers(1, 6))


@settings(deadline=None, max_examples=60)
@given(scenes())
def test_cells_are_those_of_a_plain_twin(scene):
    bars, n_jobs, window, rows, columns = scene
    weight = np.arange(n_jobs) * 1.5 + 1

    _, found = drawn(bars, weight, window, (rows, columns))

    busy, heavy, _, most = cells(bars, weight, window, rows, columns)
    np.testing.assert_allclose(found.busy, busy, atol=1e-9)
    np.testing.assert_allclose(found.weight, heavy, atol=1e-9)
    np.testing.assert_allclose(found.most, most, atol=1e-9)
    assert (found.top[most > 1e-9] >= 0).all()
    assert (found.top[most == 0] == -1).all()


def test_a_cell_belongs_to_the_job_that_fills_most_of_it():
    bars = [(0, 0, 0.0, 3.0), (0, 1, 3.0, 10.0), (1, 2, 4.0, 5.0)]

    _, found = drawn(bars, np.ones(3), (0.0, 10.0, 0.0, 2.0), (2, 1))

    assert found.top.tolist() == [[1], [2]]
    np.testing.assert_allclose(found.busy, [[1.0], [0.1]])


def test_a_place_is_the_job_that_ran_there():
    bars = [(0, 0, 0.0, 3.0), (0, 1, 3.0, 10.0), (1, 1, 3.0, 10.0)]
    laid, _ = drawn(bars, np.ones(2), (0.0, 10.0, 0.0, 2.0), (1, 1))

    assert laid.at(0, 2.9).tolist() == [0]
    assert laid.at(0, 3.0).tolist() == [1]
    assert laid.at(0, 10.0).tolist() == []
    assert laid.at(-1, 1.0).tolist() == []
    assert laid.at(N_NODES, 1.0).tolist() == []


@pytest.mark.parametrize(
    "names",
    [
        [f"n{i}" for i in range(30)],
        [f"cn{i:03d}" for i in range(30)],
        [f"rack{i // 10}n{i % 10}" for i in range(30)],
        [f"n{i}" for i in range(1, 30)] + ["login"],
    ],
    ids=["plain", "padded", "two numbers", "no number"],
)
def test_host_lists_are_read_as_one_by_one(names):
    rng = np.random.default_rng(3)
    chosen = [rng.choice(names, size, replace=False).tolist() for size in (1, 5, 12, 30)]
    chosen.append(sorted(names, key=names.index)[3:9])
    lists = pd.Series([fold_hostlist(own) for own in chosen] + [""])

    job, node = hosts_of(lists, names)

    for row, text in enumerate(lists):
        assert [names[own] for own in node[job == row]] == expand_hostlist(text)


def test_lists_written_otherwise_are_read_as_well():
    names = [f"n{i}" for i in range(12)]
    lists = pd.Series(["n[1-2,4]", "n1,n[3,5-6]", "n1[0-1]", "n7, n8", "n[9]"])

    job, node = hosts_of(lists, names)

    assert [node[job == row].tolist() for row in range(5)] == [
        [1, 2, 4], [1, 3, 5, 6], [10, 11], [7, 8], [9],
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["n[1-99]", "n01", "m1", "n", "n[2-1]", "n[1", "n1,,n2"])
def test_names_that_are_no_node_are_refused(text):
    with pytest.raises(TopologyError):
        hosts_of(pd.Series(["n1", text]), [f"n{i}" for i in range(12)])
