"""Who ran in a time, where the clock of the records was set back while a job ran."""

import pytest

from coupling.site.running_jobs import running_at

RECORDS = """\
JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|NNodes|NodeList
1|1|COMPLETED|2024-10-27T01:00:00|2024-10-27T01:00:00|2024-10-27T04:00:00|14400|2|n0,n2
2|2|COMPLETED|2024-10-27T02:00:00|2024-10-27T02:50:00|2024-10-27T02:10:00|1200|2|n1,n4
"""


@pytest.mark.parametrize(
    ("at", "lasting_s", "ran_s"),
    [
        ("2024-10-27T02:30", 3600.0, {1: 3600.0, 2: 1200.0}),
        ("2024-10-27T02:55", 1200.0, {1: 1200.0, 2: 900.0}),
        ("2024-10-27T02:20", 2400.0, {1: 2400.0, 2: 600.0}),
        ("2024-10-27T02:55", 0.0, {1: 1.0, 2: 1.0}),
        ("2024-10-27T03:10", 600.0, {1: 600.0}),
    ],
)
def test_a_job_over_whose_start_the_clock_was_set_back_ran_for_its_run_time(
    tmp_path, at, lasting_s, ran_s
):
    """Job 2 ran twenty minutes from ten to three on, at three it was two again."""
    (tmp_path / "log.txt").write_text(RECORDS)

    found = running_at(tmp_path / "log.txt", at, lasting_s=lasting_s)

    assert {job.id: job.runtime_s for job in found.jobs} == ran_s
    assert sum(found.left_out.values()) == 2 - len(ran_s)
