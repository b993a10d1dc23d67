"""Records on the clock of a time zone, which is set forward in spring and back in autumn."""

import re

import pytest
from sacct_logs import line, sacct

import fabricsim as fs
from coupling.errors import SnapshotError
from coupling.inputs.record import NO_ZONE
from coupling.site.running_jobs import running_at
from scheduler.errors import WorkloadError

TWICE = "jobs with a time that the clock of their time zone showed twice"


def replayed(log, **replay):
    """Replay a record on 8 nodes."""
    tree = {"kind": "fat-tree", "radix": 4, "levels": 2}
    return fs.run(
        fs.Experiment(topology=tree, workload={"path": str(log)}, replay=replay, self_check=False)
    )


def record(folder, day, *jobs):
    """Write a log of jobs, given by number, start and end on a day and run time."""
    return sacct(
        folder / "log",
        *(
            f"{n}|{n}|a|b|c|d|1|COMPLETED|{day}T{start}|{day}T{start}|{day}T{end}|{took}|60|||n{n}"
            for n, start, end, took in jobs
        ),
    )


def test_a_time_zone_turns_local_times_with_two_three_oclocks_into_moments(tmp_path):
    """In Paris 2024-10-27 02:30 was twice: a job of 90 minutes from 02:00 ended the second time."""
    text = line(7, 0, 1800, "n0,n2", elapsed=5400).replace(
        "2024-05-29T08:00:00", "2024-10-27T02:00:00"
    )
    text = text.replace("2024-05-29T08:30:00", "2024-10-27T02:30:00")
    log = sacct(tmp_path / "log", text)

    found = replayed(log, timezone="Europe/Paris")

    (job,) = found.jobs.to_dict("records")
    assert job["end_s"] == 5400.0
    assert found.summary["log_begin_unix_s"] == 1729987200.0  # 2024-10-27 00:00 UTC


def test_a_start_that_a_clock_showed_twice_follows_from_the_run_time(tmp_path):
    """In Paris 2024-10-27 job 7 ran from the second 02:30 to 03:30, job 5 from the first."""
    jobs = [(6, "01:30:00", "01:40:00", 600), (7, "02:30:00", "03:30:00", 3600)]
    log = record(tmp_path, "2024-10-27", *jobs, (5, "02:30:00", "03:30:00", 7200))

    found = replayed(log, timezone="Europe/Paris").jobs.set_index("id")

    assert found["start_s"].to_dict() == {6: 0.0, 7: 7200.0, 5: 3600.0}
    assert found["end_s"].to_dict() == {6: 600.0, 7: 10800.0, 5: 10800.0}


def test_times_that_a_clock_skipped_are_counted(tmp_path):
    """In Paris 2024-03-31 went from 02:00 to 03:00: job 7 says that it ended between."""
    jobs = [(6, "01:50:00", "03:10:00", 1200), (7, "01:50:00", "02:10:00", 1200)]
    log = record(tmp_path, "2024-03-31", *jobs)

    told = [
        replayed(log, timezone=zone).summary["replay"] for zone in ("Europe/Paris", "Africa/Tunis")
    ]

    what = "jobs with a time over which the clock of their time zone was set forward"
    assert [each.get(what) for each in told] == [1, None]


def test_times_that_a_clock_showed_twice_are_counted(tmp_path):
    """In Paris 2024-10-27 three was two again: nobody knows in which of two hours job 7 ran."""
    jobs = [(6, "01:50:00", "03:10:00", 8400), (7, "02:10:00", "02:20:00", 600)]
    log = record(tmp_path, "2024-10-27", *jobs)

    told = [
        replayed(log, timezone=zone).summary["replay"] for zone in ("Europe/Paris", "Africa/Tunis")
    ]

    assert [each.get(TWICE) for each in told] == [1, None]


def test_a_moment_that_a_clock_showed_twice_is_refused_and_can_be_told_in_seconds(tmp_path):
    """02:30 in Paris was 00:30 UTC, and an hour later once more."""
    jobs = [(6, "01:50:00", "03:10:00", 8400), (7, "03:00:00", "03:20:00", 1200)]
    log = record(tmp_path, "2024-10-27", *jobs)

    with pytest.raises(SnapshotError) as told:
        replayed(log, timezone="Europe/Paris", free_from="2024-10-27T02:30")
    found = replayed(log, timezone="Europe/Paris", free_from="1729992600")

    assert str(told.value).endswith(
        "[replay] free_from: expected a time that the clock of Europe/Paris showed once, or "
        "seconds since 1970, got '2024-10-27T02:30', which it showed twice."
    )
    assert found.summary["free_from_s"] == 1729992600 - 1729986600  # from 01:50, which is 23:50


def mixed(folder):
    """Write a log of which the second job tells an offset."""
    lines = [line(7, 0, 100, "n0,n2"), line(9, 50, 150, "n[1,4]")]
    lines[1] = re.sub(r"T08(:..:..)", r"T10\1+02:00", lines[1])
    return sacct(folder / "log", *lines)


def test_times_with_and_without_an_offset_need_a_time_zone(tmp_path):
    """08:00:00 of job 7 may be before or long after 10:00:50+02:00 of job 9."""
    log = mixed(tmp_path)

    with pytest.raises(WorkloadError) as told:
        replayed(log)
    starts = [
        replayed(log, timezone=zone).jobs["start_s"].tolist() for zone in ("UTC", "Asia/Tokyo")
    ]

    assert str(told.value).endswith(
        "log:3: field submit: expected a time with no offset, as at "
        f"{log}:2, or timezone, which says what times without an offset are, got "
        "'2024-05-29T10:00:50+02:00'."
    )
    assert starts == [[0.0, 50.0], [0.0, 9 * 3600 + 50.0]]


def zoned(folder):
    """Write a log whose times all tell that they are of Paris in summer."""
    text = line(7, 0, 100, "n0,n2").replace("T08", "T10")
    return sacct(folder / "log", re.sub(r"(T10:..:..)", r"\1+0200", text))


def test_a_moment_of_records_with_offsets_has_one_too(tmp_path):
    log = zoned(tmp_path)
    wanted = r"expected a time with an offset such as .*, got '2024-05-29T10:00:00'"

    for ask in (
        lambda moment: replayed(log, free_from=moment).summary["free_from_s"],
        lambda moment: len(running_at(log, moment).jobs) - 1.0,
    ):
        with pytest.raises(SnapshotError, match=wanted):
            ask("2024-05-29T10:00:00")
        assert ask("2024-05-29T09:00:00+01:00") == 0.0


def test_that_nobody_tells_the_time_zone_is_told_once(tmp_path):
    tree = {"kind": "fat-tree", "radix": 4, "levels": 2}
    local, told = sacct(tmp_path / "local", line(7, 0, 100, "n0,n2")), zoned(tmp_path)

    found = [
        fs.replay(local, tree),
        fs.replay(local, tree, timezone="Europe/Paris"),
        fs.replay(told, tree),
    ]

    assert [each.assumed.count(NO_ZONE) for each in found] == [1, 0, 0]
    assert [each.recorded.summary["log_time_zone"] for each in found] == [
        "clock of the record",
        "Europe/Paris",
        "UTC",
    ]
