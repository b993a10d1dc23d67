"""Partitions across a failure: which stay non-blocking, and what their jobs lose."""

from pathlib import Path

import pytest

import fabricsim as fs
from coupling.errors import SnapshotError
from coupling.inputs.snapshot import read_snapshot

EXAMPLE = Path(__file__).parents[3] / "examples" / "partitions.json"


def verdicts(*failed):
    found = fs.verify(read_snapshot(EXAMPLE), fail=failed)
    return {job.id: job for job in found.jobs}


def test_a_partition_that_loses_a_cable_between_its_leaves_blocks_and_others_do_not():
    """
    By hand: job 1 has four nodes and uplinks on one leaf, three on another, to switches 0 to 2.

    Three flows may cross; without the first leaf's cable to switch 0 two switches are common.
    """
    whole, hurt = verdicts(), verdicts("s1.0>s2.0")

    assert whole["job1"].rearrangeable.holds
    assert hurt["job1"].rearrangeable.holds is False
    for other in ("job2", "job3"):
        assert hurt[other].rearrangeable.holds
        assert hurt[other].isolated


def test_a_partition_that_loses_a_cable_that_no_permutation_needs_does_not_block():
    """By hand: the cable to switch 3 is the fourth of a leaf, and three flows cross at most."""
    hurt = verdicts("s1.0>s2.3")["job1"]

    assert hurt.rearrangeable.holds
    assert hurt.conditions.holds is False  # not balanced any more


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        (("s1.0",), "fail: job job1 loses 4 of its nodes, n0 among them: it ends"),
        (("s9.0",), "fail: .*'s9.0'"),
        (("",), "fail: expected the name of what fails"),
        (("s1.0>s3.0",), "fail: .*s1.0>s3.0"),
    ],
)
def test_failures_that_leave_no_partition_are_refused_in_a_line(failed, message):
    with pytest.raises(SnapshotError, match=message):
        verdicts(*failed)


def test_the_command_takes_failures(command):
    status, out, _ = command("verify", str(EXAMPLE), "--fail", "s1.0>s2.0")

    assert status == 1
    assert "job1" in out
