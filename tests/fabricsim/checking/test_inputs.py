"""Inputs are read as they are stored or packed, up to a size, with one error for each fault."""

import gzip
import hashlib
import io
import lzma
import os
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from fabricsim.checking import inputs
from fabricsim.checking.inputs import MOST_BYTES, opened, read_input, read_text
from netsim.common.errors import TopologyError

TEXT = b"one\ntwo\n"


def bomb(letter=b" ", size=3_200_000_000):
    """Return a gzip file of many members, each of 64 MiB, which is small itself."""
    member = gzip.compress(letter * 2**26, 9, mtime=0)
    return member * (size // 2**26)


def zstd(text):
    """Pack by Zstandard."""
    return pa.compress(text, codec="zstd", asbytes=True)


def in_two(pack):
    """Pack in two streams, one after the other."""
    return lambda text: pack(text[:3]) + pack(text[3:])


PACKED = {"gzip": gzip.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("pack", [bytes, *PACKED.values(), *map(in_two, PACKED.values())])
def test_plain_and_packed_files_are_read_with_the_hash_of_what_is_stored(tmp_path, pack):
    path = tmp_path / "any"
    path.write_bytes(pack(TEXT))

    found = read_input(path, TopologyError)

    assert found.data == TEXT
    assert found.name == str(path)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(found.lines()) == [b"one", b"two"]


@pytest.mark.parametrize("form", PACKED)
def test_a_packed_file_that_is_cut_is_an_error(tmp_path, form):
    packed, path = PACKED[form](np.random.default_rng(1).bytes(20_000)), tmp_path / "cut"
    for end in range(8, len(packed), 97):
        path.write_bytes(packed[:end])

        with pytest.raises(TopologyError, match=f"cut: cannot be read: the {form} file ends too e"):
            read_input(path, TopologyError)


@pytest.mark.parametrize("form", ["gzip", "xz"])  # Zstandard has sums only where its writer wants
def test_a_packed_file_that_is_damaged_is_never_taken_for_another(tmp_path, form):
    text = np.random.default_rng(1).bytes(20_000)
    packed, path = PACKED[form](text), tmp_path / "damaged"
    found = set()
    for place in range(8, len(packed), 131):
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 0x55]) + packed[place + 1 :])
        try:
            found.add(read_input(path, TopologyError).data)
        except TopologyError as error:
            found.add(str(error).partition(": ")[2])

    refusals = {
        f"cannot be read: the {form} file {why}." for why in ("is damaged", "ends too early")
    }
    assert found & refusals
    assert found <= refusals | {text}


@pytest.mark.parametrize("pack", [lzma.compress, zstd])
def test_what_unpacks_to_too_much_is_refused_in_bounded_memory(tmp_path, pack, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 2**22)
    path = tmp_path / "bomb"
    path.write_bytes(pack(b" " * 2**27))

    with pytest.raises(TopologyError, match=r"bomb: more than 4 MiB, unpacked\."):
        read_input(path, TopologyError)


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_standard_input_is_read_like_a_file(monkeypatch, pack):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(TEXT))))

    assert read_text("-", TopologyError) == TEXT.decode()


def test_marks_of_windows_are_left_out(tmp_path):
    path = tmp_path / "any"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")

    assert read_text(path, TopologyError) == "one\ntwo\n"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (gzip.compress(TEXT, mtime=0)[:-9], ": cannot be read: the gzip file ends too early."),
        (gzip.compress(TEXT, mtime=0)[:-3] + b"xxx", ": cannot be read: the gzip file is damaged."),
        (b"\x1f\x8b" + bytes(40), ": cannot be read: the gzip file is damaged."),
        (gzip.compress(TEXT, mtime=0) + b"rest", ": cannot be read: the gzip file is damaged."),
        (b"one\n\xff", ":2: expected text in UTF-8."),
        (b"\xef\xbb\xbfone\n\n\xff", ":3: expected text in UTF-8."),
        (b"\xff\xfeone\n", ":1: expected text in UTF-8, got UTF-16."),
        ("\ufeffone\n".encode("utf-16-be"), ":1: expected text in UTF-8, got UTF-16."),
        (b"one\n\0", ":2: expected text, got a binary file (zero byte)."),
    ],
)
def test_what_cannot_be_read_as_text_is_an_error_with_its_place(tmp_path, data, fault):
    path = tmp_path / "any"
    path.write_bytes(data)

    with pytest.raises(TopologyError) as error:
        read_text(path, TopologyError)

    assert str(error.value) == f"{path}{fault}"


@pytest.mark.parametrize(
    ("name", "why"),
    [("none", "No such file"), (".", "Is a directory"), ("a\0b", "null byte"), ("x" * 999, "long")],
)
def test_what_is_no_file_is_an_error(tmp_path, name, why):
    with pytest.raises(TopologyError, match=f"cannot be read: .*{why}"):
        read_input(f"{tmp_path}/{name}", TopologyError)


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_in_bounded_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(bomb())
    assert path.stat().st_size < 6_000_000

    tracemalloc.start()
    with pytest.raises(TopologyError, match=r"bomb\.gz: more than 256 MiB, unpacked\."):
        read_input(path, TopologyError)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2 * MOST_BYTES


def test_an_endless_file_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 2**22)

    with pytest.raises(TopologyError, match="/dev/zero: more than 4 MiB, unpacked"):
        read_input("/dev/zero", TopologyError)


def test_pieces_are_bounded_in_all(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(bomb(size=2**27))

    with opened(path, TopologyError) as pieces:
        assert [len(pieces.read(5 * 2**20)) for _ in range(5)] == [2**20] * 5
        with pytest.raises(TopologyError, match="more than 5 MiB, unpacked"):
            pieces.read(5 * 2**20)


def test_a_reader_of_a_pipe_needs_no_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, TEXT)
    with opened(pipe, TopologyError) as pieces:
        os.close(writer)
        assert pieces.read() == TEXT
