"""One process at a time writes into a result directory."""

import os
import platform
import signal
import subprocess
import sys

import pytest

from coupling.errors import ResultError
from coupling.runs.campaign import run_campaign
from coupling.runs.result_directory import LOCK, claimed

HOLD = """
import sys
from pathlib import Path
from coupling.runs.result_directory import claimed
with claimed(Path(sys.argv[1])):
    print("here", flush=True)
    sys.stdin.read()
"""
EXPERIMENT = """
topology = "synth-1024"
[workload]
generator = "synth"
mean_nodes = 8
n_jobs = 5
"""


@pytest.fixture
def held(tmp_path):
    """Return a directory that another process has claimed, and the process."""
    folder = tmp_path / "out"
    folder.mkdir()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"here\n"
    yield folder, process
    process.kill()
    process.communicate()


def test_two_at_once_are_one_and_a_line_that_says_who_writes(held, command):
    folder, process = held
    (folder.parent / "try.toml").write_text(EXPERIMENT)
    who = f"process {process.pid} on {platform.node()} since 20"

    for arguments in ([], ["--resume"]):
        status, out, err = command("run", folder.parent / "try.toml", "--out", folder, *arguments)
        assert (status, out) == (2, "")
        assert err.startswith(
            f"fabricsim: {folder}: expected a directory that no process writes into"
        )
        assert f"got one that {who}" in err
        assert err.count("\n") == 1

    assert [path.name for path in folder.iterdir()] == [LOCK]


def test_the_claim_of_a_killed_process_is_free(held, experiment):
    folder, process = held
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (folder / LOCK).exists()

    run_campaign(experiment(self_check=False), folder)

    assert not (folder / LOCK).exists()


def test_a_claim_ends_with_its_block_also_after_an_error(tmp_path):
    with pytest.raises(KeyError), claimed(tmp_path):
        raise KeyError
    with claimed(tmp_path), pytest.raises(ResultError, match=f"process {os.getpid()} on "):
        claimed(tmp_path).__enter__()

    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_says_nothing_printable_is_another_process(tmp_path):
    with claimed(tmp_path):
        (tmp_path / LOCK).write_bytes(b"\x1b[31m\xff")

        with pytest.raises(ResultError, match="got one that another process is writing into"):
            claimed(tmp_path).__enter__()


def test_what_takes_no_file_cannot_be_claimed(tmp_path):
    (tmp_path / LOCK).mkdir()

    with pytest.raises(ResultError, match="cannot be used for results: Is a directory"):
        claimed(tmp_path).__enter__()


@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_a_directory_that_another_run_takes_away_again_is_made_again(tmp_path, monkeypatch, call):
    """A run that can write nothing takes away what it made, maybe while another one wants it."""
    folder, real, times = tmp_path / "results" / "out", getattr(os, call), []

    def late(path, *arguments, **named):
        if str(path).startswith(str(folder)) and folder.parent.exists() and not times:
            times.append(path)
            for gone in (folder, folder.parent):
                if gone.exists():
                    gone.rmdir()
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, call, late)
    with claimed(folder):
        assert [path.name for path in folder.iterdir()] == [LOCK]
        (folder / "result").write_text("kept")

    assert times
    assert [path.name for path in folder.iterdir()] == ["result"]


def test_a_directory_that_is_taken_away_ever_again_is_told_so(tmp_path, monkeypatch):
    folder, real = tmp_path / "out", os.open

    def late(path, *arguments, **named):
        if folder.exists():
            folder.rmdir()
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", late)

    with pytest.raises(ResultError) as told, claimed(folder):
        pass

    assert str(told.value) == (
        f"{folder}: expected a directory for results that stays, got one that another process "
        "takes away; run this when it has ended."
    )
    assert not folder.exists()
