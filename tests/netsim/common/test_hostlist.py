"""Host lists fold and expand to the names that Slurm means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist, fold_hostlist


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["n1"], "n1"),
        (["n1", "n2"], "n[1-2]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n08", "n09", "n10"], "n[08-10]"),
        (["n008", "n10"], "n[008,10]"),
        (["n099", "n100", "m1", "n2"], "n[099-100],m1,n2"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["n2", "n1"], "n[2,1]"),
        (["a", "b", "b1"], "a,b,b1"),
    ],
)
def test_names_fold_into_ranges(names, text):
    assert fold_hostlist(names) == text
    assert expand_hostlist(text) == names


@settings(deadline=None, max_examples=100)
@given(st.lists(st.from_regex(r"[an.-]{0,2}[0-9]{0,3}", fullmatch=True).filter(bool), max_size=12))
def test_what_was_folded_expands_to_the_same_names(names):
    assert expand_hostlist(fold_hostlist(names)) == names


def test_a_number_too_long_for_a_machine_is_refused():
    with pytest.raises(TopologyError, match="expected a number or range"):
        expand_hostlist(f"n[{'9' * 5000}]")
