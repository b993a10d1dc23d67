"""Whatever a file holds, a reader gives a sound workload or one clear error."""

import gzip
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import swf as naive

from scheduler.errors import WorkloadError
from scheduler.workload import READERS, read_profile

DATA = Path(__file__).parents[2] / "data"
SAMPLES = {
    "swf": b"; Version: 2.2\n"
    + b"".join(
        b"%d %d -1 %d %d -1 -1 %d %d -1 1 3 4 5 6 -1 -1 -1\n" % (n, 7 * n, 60 + n, n, n, 90)
        for n in range(1, 13)
    ),
    "alea-swf": (DATA / "alea.swf").read_bytes(),
    "sacct": (DATA / "sacct.txt").read_bytes(),
    "squeue-json": (DATA / "squeue.json").read_bytes(),
    "flux-json": (DATA / "flux.json").read_bytes(),
    "batsim-json": (DATA / "batsim.json").read_bytes(),
    "placement-log": (DATA / "placement.log").read_bytes(),
    "csv": b"id,submit,runtime,nodes,name\n1,0,5,2,a\n2,3,6,4,b\n3,9,1.5,1,c\n",
    "parquet": None,
}
TOKENS = [b"-1", b"-5", b"nan", b"1e999", b"1e20", b"0", b"", b"x", b"\xff", b"\0", b"99999999999"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Return a function that gives the bytes of a good file of a format."""
    folder = tmp_path_factory.mktemp("good")

    def contents(kind):
        if SAMPLES[kind] is None:
            from pandas import DataFrame  # noqa: PLC0415

            frame = DataFrame({"id": [1, 2], "submit_s": [0, 4], "runtime_s": [5.5, 6], "nodes": 3})
            frame.to_parquet(folder / "good.parquet")
            return (folder / "good.parquet").read_bytes()
        return SAMPLES[kind]

    return contents


def damaged(data, seed):
    """Return a file that was cut, shuffled, doubled, overwritten or mixed with nonsense."""
    chance = random.Random(seed)  # noqa: S311
    for _ in range(chance.randint(1, 3)):
        lines = data.split(b"\n")
        words = data.split(b" ")
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(9)
        if kind == 0:
            data = data[:place]
        elif kind == 1:
            chance.shuffle(lines)
            data = b"\n".join(lines)
        elif kind == 2:
            data += b"\n" + chance.choice(lines) + b"\n"
        elif kind == 3:
            data = data[:place] + chance.randbytes(chance.randint(1, 9)) + data[place:]
        elif kind == 4:
            data = data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        elif kind == 5:
            words[chance.randrange(len(words))] = chance.choice(TOKENS)
            data = b" ".join(words)
        elif kind == 6:
            number = chance.choice(re.findall(rb"\d+", data) or [b"0"])
            data = data.replace(number, str(chance.randint(-2, 300)).encode(), 1)
        elif kind == 7:
            data = gzip.compress(data, mtime=0)[: chance.randint(1, 60)]
        else:
            data = data.replace(
                chance.choice(b"0123456789,|:{}[]").to_bytes(), chance.choice(TOKENS)
            )
    return data


def check(workload):
    """Assert what every workload promises."""
    numbers = [job.id for job in workload.jobs]
    submits = [job.submit_s for job in workload.jobs]
    assert len(set(numbers)) == len(numbers)
    assert submits == sorted(submits)
    assert not submits or submits[0] == 0
    for job in workload.jobs:
        assert type(job.id) is type(job.n_nodes) is int
        assert job.n_nodes >= 1
        assert 0 < job.runtime_s < float("inf")
        assert 0 < job.requested_s < float("inf")
    assert sum(workload.dropped.values()) == len(workload.dropped_jobs)


def refusal(read, path):
    """Return the message with which a file is refused; None where it is read."""
    try:
        read(path)
    except WorkloadError as error:
        return str(error)
    return None


def sound(read, path):
    """Return whether a file is read or refused; assert that either is done well."""
    message = refusal(lambda name: check(read(name)), path)
    if message is None:
        return "read"
    assert message.startswith(str(path))
    assert "\n" not in message
    return "refused"


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_file_gives_a_sound_workload_or_one_line_of_error(kind, sample, tmp_path):
    path = tmp_path / "log"
    outcomes = set()
    for seed in range(150):
        path.write_bytes(damaged(sample(kind), seed))
        outcomes.add(sound(READERS[kind], path))

    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("kind", READERS)
def test_every_good_sample_is_read(kind, sample, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(sample(kind))

    workload = READERS[kind](path)

    check(workload)
    assert workload.jobs


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(sorted(READERS)), data=st.binary(max_size=300))
def test_random_bytes_are_refused_or_read(tmp_path_factory, kind, data):
    path = tmp_path_factory.getbasetemp() / "random-log"
    path.write_bytes(data)
    assert sound(READERS[kind], path) in {"read", "refused"}


FIELD = st.integers(-1, 40)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD, st.integers(-1, 5)), max_size=12))
def test_any_well_formed_log_gives_the_jobs_of_a_reader_of_single_lines(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "log.swf"
    lines = [
        f"{n} {submit} -1 {run} {procs} -1 -1 {asked} {limit} -1 {status} -1 -1 -1 -1 -1 -1 -1"
        for n, (submit, run, procs, asked, limit, status) in enumerate(rows)
    ]
    path.write_text("\n".join(["; header", *lines]))
    if not rows:
        return

    jobs = READERS["swf"](path, processors_per_node=3, max_nodes=9).jobs

    assert [
        (job.id, job.submit_s, job.n_nodes, job.runtime_s, job.requested_s) for job in jobs
    ] == naive.jobs(path, 3, 9)


def test_a_damaged_profile_is_refused_with_its_name_or_read(tmp_path):
    good = (Path(__file__).parents[3] / "examples" / "mixed.toml").read_bytes()
    path = tmp_path / "profile.toml"
    for seed in range(150):
        path.write_bytes(damaged(good, seed))
        message = refusal(read_profile, path)
        assert message is None or message.startswith(str(path))
