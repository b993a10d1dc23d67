"""A file is written whole or not at all, whatever the disk, the writer or the target is."""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from netsim.common.atomic_write import is_leftover, remove_leftovers, replace_file, temporary_name

WRITE_LONG = """
import os, sys
import netsim.common.atomic_write as w
real = os.fsync
def stall(handle):
    real(handle)
    print("here", flush=True)
    sys.stdin.read()
w.os.fsync = stall
w.replace_file(sys.argv[1], "new " * 1000)
"""


@contextmanager
def full_disk(limit):
    """Let no file grow past so many bytes, for root too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_text_is_utf_8_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("long " * 100)

    replace_file(path, "µ")
    assert path.read_bytes() == b"\xc2\xb5"
    replace_file(str(path), b"\x00\xff")

    assert path.read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    with full_disk(1000), pytest.raises(OSError, match="too large"):
        replace_file(path, "x" * 100_000)
    with full_disk(1000), pytest.raises(OSError, match="too large") as told:
        replace_file(tmp_path / "other", "x" * 100_000)
    assert told.value.filename == str(tmp_path / "other")

    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_permissions_that_the_user_chose(tmp_path):
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "a.txt", "x")
    finally:
        os.umask(before)

    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to("real/a.txt")

    replace_file(tmp_path / "link.txt", "x")

    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "x"
    assert names(tmp_path / "real") == ["a.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_an_old_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "private.html"
    path.write_text("old")
    path.chmod(mode)

    replace_file(path, "new")

    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


def test_a_private_file_is_never_readable_while_it_is_replaced(tmp_path, monkeypatch):
    path = tmp_path / "private.html"
    path.write_text("old")
    path.chmod(0o600)
    seen, real = [], os.fsync

    def look(handle):
        seen.append(os.fstat(handle).st_mode & 0o777)
        real(handle)

    monkeypatch.setattr("netsim.common.atomic_write.os.fsync", look)
    replace_file(path, "new")

    assert seen[0] == 0o600


def test_a_file_behind_a_link_keeps_its_permissions(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o600)
    (tmp_path / "link.txt").symlink_to("real.txt")

    replace_file(tmp_path / "link.txt", "new")

    assert (tmp_path / "link.txt").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o600)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no access lists on this system")
def test_a_file_keeps_its_access_list(tmp_path):
    """
    Entries as the kernel stores them: version 2, then tag, permissions and number of each.

    Where the mode alone is copied the mask becomes what the group may do.
    """
    path = tmp_path / "private.html"
    path.write_text("old")
    entries = [(1, 6, -1), (2, 4, 4711), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", listed)
    except OSError:
        pytest.skip("no access lists on this disk")

    replace_file(path, "new")

    assert os.getxattr(path, "system.posix_acl_access") == listed


def test_all_names_of_a_file_show_the_new_data(tmp_path):
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old and long")
    path.chmod(0o640)
    other.hardlink_to(path)

    replace_file(path, "new")

    assert other.read_text() == "new"
    assert path.samefile(other)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_old_data_under_all_names(tmp_path):
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    other.hardlink_to(path)

    with full_disk(1000), pytest.raises(OSError, match="too large"):
        replace_file(path, "x" * 100_000)

    assert other.read_text() == "old"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    """So does a device such as /dev/null, which root could replace."""
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()

    replace_file(tmp_path / "pipe", "x")

    reader.join(10)
    assert got == ["x"]
    assert (tmp_path / "pipe").is_fifo()


def test_the_leftover_of_a_killed_writer_goes_when_the_file_is_written_again(tmp_path):
    """SIGKILL between the data and the name; the old file is whole then."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    writer = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", WRITE_LONG, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdout.readline() == b"here\n"
    alive = names(tmp_path)
    replace_file(path, "between")
    assert names(tmp_path) == alive  # its writer lives
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert len(alive) == 2
    assert path.read_text() == "between"

    replace_file(path, "new")

    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_only_idle_temporary_files_of_this_module_are_leftovers(tmp_path):
    mine, held = (tmp_path / temporary_name(name) for name in ("a", "b"))
    others = [".a.partial", ".a.0123456g.partial", "a.01234567.partial", ".b.01234567.part"]
    for name in (mine.name, held.name, *others):
        (tmp_path / name).write_text("x")
    assert [is_leftover(path.name) for path in (mine, held)] == [True, True]
    assert not any(map(is_leftover, others))

    with held.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_leftovers(tmp_path)

    assert names(tmp_path) == sorted([held.name, *others])


@pytest.mark.parametrize("length", [1, 200, 255])
def test_names_may_be_as_long_as_the_file_system_allows(tmp_path, length):
    replace_file(tmp_path / ("a" * length), "x")
    replace_file(tmp_path / ("µ" * max(length // 2, 1)), "x")

    assert (tmp_path / ("a" * length)).read_text() == "x"
    assert len(names(tmp_path)) == 2
