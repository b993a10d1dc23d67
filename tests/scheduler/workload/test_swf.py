"""Standard Workload Format: real logs give the published counts, bad lines name their place."""

import gzip
import hashlib
import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import swf as naive

from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.swf import read_swf, write_swf
from scheduler.workload.writers import write_trace

GOOD = "1 100 -1 60 8 -1 -1 8 90 -1 1 3 4 5 6 -1 -1 -1"


def row(**changes):
    """Return a line of 18 fields, some of them changed by their place (f1..f18)."""
    words = GOOD.split()
    for place, value in changes.items():
        words[int(place[1:]) - 1] = str(value)
    return " ".join(words)


def dropped(workload):
    """Return number and reason of the jobs that are not run."""
    return tuple((job.id, job.reason) for job in workload.dropped_jobs)


@pytest.fixture
def log(tmp_path):
    """Return a function that writes lines to a file and gives its path."""

    def write(*lines):
        path = tmp_path / "log.swf"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("name", "options", "published"),
    [
        ("LLNL-Thunder-2007-1.1-cln", {"processors_per_node": 4}, (105_764, 965, 172_362)),
        (
            "LLNL-Atlas-2006-2.1-cln",
            {"processors_per_node": 8, "max_nodes": 1024},
            (29_700, 1024, 342_754),
        ),
    ],
)
def test_the_two_machine_logs_of_smith21_give_its_table_1(shared, name, options, published):
    jobs = read_swf(shared(f"data/jobs/{name}.swf.gz"), arrivals="zero", **options).jobs

    measured = (len(jobs), max(job.n_nodes for job in jobs), max(job.runtime_s for job in jobs))
    assert measured == published
    assert {job.submit_s for job in jobs} == {0.0}
    numbers = [job.id for job in jobs]
    assert numbers == sorted(numbers)  # these logs number their lines in order


def test_thunder_counts_what_it_drops_by_reason(shared):
    workload = read_swf(shared("data/jobs/LLNL-Thunder-2007-1.1-cln.swf.gz"), processors_per_node=4)

    # data README: 121,039 lines, 113,613 with run time and processors, 105,764 kept
    assert workload.dropped == {
        "no run time": 121_039 - 113_613,
        "cancelled (status 5)": 113_613 - 105_764,
    }
    assert len(workload.dropped_jobs) == 121_039 - 105_764


@pytest.mark.parametrize(
    ("name", "per_node", "n_jobs"),
    [
        ("LLNL-Atlas-2006-2.1-cln", 8, 29_769),
        pytest.param("SDSC-SP2-1998-4.2-cln", 1, 43_117, marks=pytest.mark.heavy),
        ("KTH-SP2-1996-2.1-cln", 1, 28_467),
        pytest.param("ALCF-Theta-2022", 1, 23_911, marks=pytest.mark.heavy),
        ("ALCF-Theta-2023", 1, 8_401),
        pytest.param("SDSC-BLUE-2000-4.2-cln", 8, 195_582, marks=pytest.mark.heavy),
        pytest.param("CEA-Curie-2011-2.1-cln", 16, 292_784, marks=pytest.mark.heavy),
        pytest.param("HPC2N-2002-2.2-cln", 1, 202_871, marks=pytest.mark.heavy),
        pytest.param("LLNL-Thunder-2007-1.1-cln", 4, 105_764, marks=pytest.mark.heavy),
    ],
)
def test_archive_logs_give_the_jobs_of_a_reader_of_single_lines(shared, name, per_node, n_jobs):
    path = shared(f"data/jobs/{name}.swf.gz")

    jobs = read_swf(path, processors_per_node=per_node).jobs

    assert len(jobs) == n_jobs
    assert [
        (job.id, job.submit_s, job.n_nodes, job.runtime_s, job.requested_s) for job in jobs
    ] == naive.jobs(path, per_node)


def test_all_fields_of_a_line_arrive(log):
    (job,) = read_swf(log("; Version: 2.2", "", GOOD), processors_per_node=3).jobs

    assert job == Job(1, 0.0, 3, 60.0, 90.0, user=3, group=4, executable=5, queue=6, cores=8)


def test_missing_values_have_stand_ins(log):
    """Allocated processors: those requested; requested time: the run time."""
    workload = read_swf(log(row(f5=-1, f8=6, f9=-1)))

    assert (workload.jobs[0].n_nodes, workload.jobs[0].requested_s) == (6, 60.0)
    assert not workload.has_requested


@pytest.mark.parametrize(
    ("options", "begin"),
    [
        ({}, 1_000_000_100.0),  # the first job comes 100 s after second 0 of the log
        ({"arrivals": 1.0}, 1_000_000_100.0),
        ({"window_s": (50, 1e9)}, 1_000_000_160.0),  # the second one is the first then
        ({"arrivals": "zero"}, None),
        ({"arrivals": 0.5}, None),
    ],
)
def test_second_0_has_the_date_of_the_first_remaining_submission(log, options, begin):
    path = log("; UnixStartTime: 1000000000", row(), row(f1=2, f2=160))

    assert read_swf(path, **options).begin_unix_s == begin


@pytest.mark.parametrize(
    "line", ["; UnixStartTime: 0", "; UnixStartTime: soon", ";UnixStart: 5", "; Note: 1"]
)
def test_a_log_without_a_date_has_none(log, line):
    assert read_swf(log(line, row())).begin_unix_s is None


def test_a_converted_log_keeps_its_date(log, tmp_path):
    """The first job of the copy comes at 0, the moment of its first submission."""
    workload = read_swf(log("; UnixStartTime: 1000000000", row()))

    write_trace(workload, tmp_path / "copy.swf")

    assert "; UnixStartTime: 1000000100" in (tmp_path / "copy.swf").read_text()
    assert read_swf(tmp_path / "copy.swf").begin_unix_s == workload.begin_unix_s


def test_jobs_come_by_submit_time_and_ties_in_log_order(log):
    path = log(row(f1=1, f2=50), row(f1=2, f2=20), row(f1=3, f2=50), row(f1=4, f2=20))

    jobs = read_swf(path).jobs

    assert [(job.id, job.submit_s) for job in jobs] == [(2, 0), (4, 0), (1, 30), (3, 30)]
    assert [job.id for job in read_swf(path, arrivals="zero").jobs] == [1, 2, 3, 4]
    assert [job.submit_s for job in read_swf(path, arrivals=0.5).jobs] == [0, 0, 15, 15]


def test_each_dropped_job_has_one_reason(log):
    path = log(
        row(f1=1),
        row(f1=2, f4=0),
        row(f1=3, f5=-1, f8=-1),
        row(f1=4, f11=5),
        row(f1=5, f2=-1),
        row(f1=6, f5=9),
        row(f1=7, f4=-1, f11=5),
        row(f1=8, f11=0),
    )

    workload = read_swf(path, max_nodes=8)

    assert [job.id for job in workload.jobs] == [1, 8]
    assert dropped(workload) == (
        (2, "no run time"),
        (3, "no processors"),
        (4, "cancelled (status 5)"),
        (5, "no submit time"),
        (6, "more than 8 nodes"),
        (7, "no run time"),
    )
    assert workload.dropped["no run time"] == 2


def test_a_job_without_submit_time_runs_where_all_arrive_at_zero(log):
    assert len(read_swf(log(row(f2=-1)), arrivals="zero").jobs) == 1


def test_a_job_with_a_line_for_the_whole_is_not_counted_again_by_its_parts(log):
    path = log(
        row(f1=1, f4=100),
        row(f1=1, f4=20, f11=2),
        row(f1=1, f4=30, f11=3),
        row(f1=1, f4=50, f11=4),
        row(f1=2, f11=3),
    )

    workload = read_swf(path)

    assert [(job.id, job.runtime_s) for job in workload.jobs] == [(1, 100), (2, 60)]
    assert workload.dropped == {"partial execution (status 2-4)": 3}


def test_gzip_is_recognised_by_content_and_the_hash_is_of_the_file(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(gzip.compress(GOOD.encode()))

    workload = read_swf(path)

    assert [job.id for job in workload.jobs] == [1]
    assert workload.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert workload.source == str(path)


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))

    workload = read_swf("-")

    assert (len(workload.jobs), workload.source) == (1, "<stdin>")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (GOOD.rsplit(" ", 1)[0], "expected 18 fields, got 17."),
        (GOOD + " 7", "expected 18 fields, got 19."),
        (row(f4="abc"), "field 4 (run time): expected a number, got abc."),
        (row(f4="nan"), "field 4 (run time): expected a number, got nan."),
        (row(f9="1e999"), "field 9 (requested time): expected a number, got 1e999."),
        (row(f4=-5), "field 4 (run time): expected seconds from 0, or -1 for missing, got -5."),
        (row(f2=-2), "field 2 (submit time): expected seconds from 0, or -1 for missing, got -2."),
        (row(f5=2.5), "field 5 (allocated processors): expected a whole number from -1, got 2.5."),
        (row(f1="1e300"), "field 1 (job number): expected a whole number from -1, got 1e300."),
        (row(f1=7), "field 1 (job number): expected a number not used before (line 2), got 7."),
        (row(f18="é"), "field 18 (think time): expected a number, got \\xc3\\xa9."),
        (row(f4="9" * 400), "field 4 (run time): expected a number, got " + "9" * 37 + "...."),
    ],
)
def test_a_bad_line_is_named_with_line_and_field(log, line, fault):
    path = log("; comment", row(f1=7), "", line, row(f1=8))

    with pytest.raises(WorkloadError) as error:
        read_swf(path)

    assert str(error.value) == f"{path}:4: {fault}"


def test_unusable_files_are_refused_by_name(tmp_path):
    cases = {
        "empty": (b"", "got an empty file"),
        "comments": (b"; only\n;comments\n", "expected at least one job, got 2 lines"),
        "binary": (b"1 2\n\0\1", ":2: expected text, got a binary file"),
        "cut.gz": (gzip.compress(GOOD.encode())[:-12], "the gzip file ends too early"),
        "wrong.gz": (b"\x1f\x8b" + b"nonsense" * 9, "the gzip file is damaged"),
        "broken.gz": (
            gzip.compress(GOOD.encode() * 9)[:15] + b"x" * 50,
            "the gzip file is damaged",
        ),
    }
    for name, (data, fault) in cases.items():
        path = tmp_path / name
        path.write_bytes(data)

        with pytest.raises(WorkloadError) as error:
            read_swf(path)

        assert str(error.value).startswith(str(path))
        assert fault in str(error.value)


@pytest.mark.parametrize("name", ["absent.swf", ".", "zero\0byte"])
def test_a_path_that_is_no_readable_file_is_refused(tmp_path, name):
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_swf(f"{tmp_path}/{name}")


def test_written_jobs_are_read_back_and_equal_jobs_give_equal_bytes(tmp_path):
    jobs = (
        Job(1, 0.0, 3, 60.5, 90.0, user=3, group=4, executable=5, queue=6),
        Job(9, 0.0, 1, 7.0, 7.0),
    )
    first, second = tmp_path / "a.swf.gz", tmp_path / "b.swf.gz"

    write_swf(first, jobs, ["Note: two jobs"], processors_per_node=4)
    write_swf(second, jobs, ["Note: two jobs"], processors_per_node=4)

    full = tuple(replace(job, cores=4 * job.n_nodes) for job in jobs)
    assert read_swf(first, processors_per_node=4).jobs == full
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()).startswith(b"; Version: 2.2\n; Note: two jobs\n1 ")


WHO = st.integers(-1, 2**40)
SECONDS = st.floats(0.001, 1e9, allow_nan=False, allow_infinity=False)


@st.composite
def workloads(draw):
    """Return jobs by submission, the first at 0, with all that the format holds."""
    numbers = draw(st.lists(st.integers(1, 2**53 - 1), min_size=1, max_size=8, unique=True))
    later = draw(st.lists(SECONDS, min_size=len(numbers) - 1, max_size=len(numbers) - 1))
    return tuple(
        Job(
            number,
            submit_s,
            draw(st.integers(1, 100_000)),
            draw(SECONDS),
            draw(SECONDS),
            user=draw(WHO),
            group=draw(WHO),
            executable=draw(WHO),
            queue=draw(WHO),
        )
        for number, submit_s in zip(numbers, [0.0, *sorted(later)], strict=True)
    )


@given(workloads(), st.integers(1, 128))
@settings(max_examples=60, deadline=None)
def test_whatever_jobs_are_written_the_same_are_read_back(tmp_path_factory, jobs, per_node):
    """Number by number: no digit of a time is lost, and nothing moves to another field."""
    path = tmp_path_factory.getbasetemp() / "jobs.swf"

    write_swf(path, jobs, processors_per_node=per_node)

    found = read_swf(path, processors_per_node=per_node).jobs
    assert found == tuple(replace(job, cores=job.n_nodes * per_node) for job in jobs)


def test_the_first_line_that_is_no_swf_is_named(log):
    path = log(row(f1=1), row(f1=2, f4="later"), "short", row(f1=3, f4=-9))

    with pytest.raises(
        WorkloadError, match=r":2: field 4 \(run time\): expected a number, got later"
    ):
        read_swf(path)
