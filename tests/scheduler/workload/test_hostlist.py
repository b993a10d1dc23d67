"""Host lists expand to the names that Slurm means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.errors import WorkloadError
from scheduler.workload.entries import expand_hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("login1", ["login1"]),
        ("n[001-003]", ["n001", "n002", "n003"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[008-11]", ["n008", "n009", "n010", "n011"]),
        ("cn[049-050,164],hm[008,050-051]", ["cn049", "cn050", "cn164", "hm008", "hm050", "hm051"]),
        ("r[0-1]-n[1,3].site", ["r0-n1.site", "r0-n3.site", "r1-n1.site", "r1-n3.site"]),
        ("a, b", ["a", "b"]),
    ],
)
def test_lists_expand(text, names):
    assert expand_hostlist(text) == names


def test_the_hpcg_runs_of_the_data_folder_have_as_many_nodes_as_stated():
    """`cn[...]` of the 16 x 8 and 8 x 8 runs."""
    assert len(expand_hostlist("cn[024,049-050,091-094,137-139,164-169]")) == 16
    assert len(expand_hostlist("cn[049-050,164-169]")) == 8


@pytest.mark.parametrize(
    "text",
    [
        "n[1-2",
        "n1]",
        "n[[1]",
        "n[[[[[1]]]]]",
        "n[1[a]]",
        "n[2-1]",
        "n[a]",
        "n[]",
        "a,,b",
        ",",
        "n[1-99999999]",
        "n[0-999]" * 3,
    ],
)
def test_senseless_lists_are_refused(text):
    with pytest.raises(WorkloadError, match="host list"):
        expand_hostlist(text)


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="n01[]-, ", max_size=20))
def test_any_text_expands_or_is_refused(text):
    try:
        names = expand_hostlist(text)
    except WorkloadError:
        return
    assert all(names)
    assert not any(set("[],") & set(name) for name in names)
