"""Measured matrices from files."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from patterns import PatternError, make_pattern
from patterns.matrix import read_matrix

DENSE = np.array([[7.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 9.0]])
TRIPLES = [(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0)]
CSV = "src,dst,bytes\n1,2,1\n0,0,7\n0,1,1\n1,0,2\n\n1,2,2\n2,2,9\n2,0,0\n"


def write(path, dense):
    """Write a matrix in the format that the name asks for."""
    name = path.name.removesuffix(".gz")
    plain = path.with_name(name)
    if name.endswith(".csv"):
        plain.write_text(CSV, encoding="utf-8")
    elif name == "sparse.npz":
        scipy.sparse.save_npz(plain, scipy.sparse.csr_array(dense))
    elif name.endswith(".npz"):
        np.savez(plain, bytes=dense)
    else:
        sparse = name.startswith("sparse")
        scipy.io.mmwrite(plain, scipy.sparse.coo_array(dense) if sparse else dense)
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))
    return str(path)


def listed(spec, n):
    """Return the messages of a pattern of one step."""
    (step,) = make_pattern(spec).steps(n)
    return list(zip(step.src.tolist(), step.dst.tolist(), step.nbytes.tolist(), strict=True))


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", ["a.csv", "sparse.npz", "dense.npz", "sparse.mtx", "dense.mtx"])
def test_every_format_gives_the_same_messages(tmp_path, name, packed):
    """Without the diagonal and zeros; entries of one pair are summed."""
    file = write(tmp_path / (name + packed), DENSE)

    assert listed({"name": "matrix", "file": file}, 3) == TRIPLES


def test_entries_are_scaled(tmp_path):
    file = write(tmp_path / "a.csv", DENSE)

    assert listed({"name": "matrix", "file": file, "scale": 0.5}, 3) == [
        (src, dst, nbytes / 2) for src, dst, nbytes in TRIPLES
    ]


def test_a_table_of_messages_is_scaled_by_their_size(shared):
    """LU of the NAS benchmarks among 32 ranks sends 2,004,224 messages."""
    file = str(shared("data/comm/nas-mpi/nas-lu-W-32.csv"))

    sent = listed({"name": "matrix", "file": file, "scale": 100}, 32)

    assert len(sent) == 104
    assert sum(nbytes for *_, nbytes in sent) == 200_422_400


def test_a_measured_table_of_bytes_is_read_in_full(shared):
    """HPCG among 64 ranks: 936 pairs, 109,639,844,064 bytes both ways counted."""
    file = str(shared("data/comm/iitk-hpcg/hpcg-64ranks-tau.csv.gz"))

    sent = listed({"name": "matrix", "file": file}, 64)

    assert len(sent) == 936
    assert sum(nbytes for *_, nbytes in sent) == 109_639_844_064


@settings(deadline=None, max_examples=25)
@given(arrays(np.float64, (4, 4), elements=st.sampled_from([0.0, 1.0, 2.5, 1e12])))
def test_any_matrix_comes_back_without_its_diagonal(tmp_path_factory, dense):
    folder = tmp_path_factory.mktemp("matrix")
    expected = dense * (1 - np.eye(4))
    file = write(folder / "dense.npz", dense)
    if not expected.any():
        with pytest.raises(PatternError, match="no traffic between different ranks"):
            make_pattern({"name": "matrix", "file": file})
        return

    found = np.zeros((4, 4))
    for src, dst, nbytes in listed({"name": "matrix", "file": file}, 4):
        found[src, dst] = nbytes

    np.testing.assert_array_equal(found, expected)


def test_a_matrix_of_stated_size_is_for_just_so_many_ranks(tmp_path):
    pattern = make_pattern({"name": "matrix", "file": write(tmp_path / "dense.npz", DENSE)})
    for n in (2, 4):
        with pytest.raises(PatternError, match=f"is for just 3 ranks, the job has {n}"):
            pattern.steps(n)


def test_a_table_states_no_size_and_leaves_further_ranks_silent(tmp_path):
    """BT of the NAS benchmarks runs on 25 of 32 ranks."""
    file = write(tmp_path / "a.csv", DENSE)

    assert listed({"name": "matrix", "file": file}, 32) == TRIPLES
    with pytest.raises(PatternError, match="is for at least 3 ranks, the job has 2"):
        make_pattern({"name": "matrix", "file": file}).steps(2)


def test_a_file_that_changes_is_another_pattern(tmp_path):
    file = write(tmp_path / "a.csv", DENSE)
    before = make_pattern({"name": "matrix", "file": file})
    again = make_pattern({"name": "matrix", "file": file})
    (tmp_path / "a.csv").write_text("src,dst,bytes\n0,1,5\n", encoding="utf-8")
    after = make_pattern({"name": "matrix", "file": file})

    assert before == again != after
    assert hash(before) == hash(again)
    assert before.steps(3)[0].nbytes.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", r"a\.csv: line 1: expected src,dst,bytes"),
        ("a.csv", b"src\tdst\tbytes\n", "line 1: expected columns separated by commas, got tabs"),
        ("a.csv", b"0,1,5\n", r"a\.csv: line 1: expected src,dst,bytes"),
        ("a.csv", b"src,dst,bytes\n0,1\n", r"a\.csv: line 2: expected two ranks and a number"),
        ("a.csv", b"src,dst,bytes\n0,1,5\n0,x,5\n", r"line 3: expected .* got '0,x,5'"),
        ("a.csv", b"src,dst,bytes\n-1,1,5\n", r"line 2: ranks must be in 0\.\.2147483647"),
        ("a.csv", b"src,dst,bytes\n0,2147483648,5\n", "line 2: ranks must be in"),
        ("a.csv", b"src,dst,bytes\n0,1,-5\n", "must be finite and not negative, 0 -> 1 has -5"),
        ("a.csv", b"src,dst,bytes\n0,1,nan\n", "must be finite and not negative, 0 -> 1 has nan"),
        ("a.csv", b"src,dst,bytes\n", "no traffic between different ranks"),
        ("a.csv", b"src,dst,bytes\n3,3,5\n", "no traffic between different ranks"),
        ("a.csv", b"\xff\xfe\x00", r"a\.csv: .*decode"),
        ("a.csv.gz", b"\x1f\x8bxxxx", r"a\.csv\.gz: "),
        ("a.npz", b"PK nothing", r"a\.npz: "),
        ("a.npz", b"\x93NUMPY", r"a\.npz: expected an NPZ archive"),
        ("a.npz", b"\x80pickle", r"a\.npz: expected an NPZ archive"),
        ("a.mtx", b"%%MatrixMarket nonsense\n", r"a\.mtx: line 1: expected "),
        ("a.txt", b"", r"expected a name that ends in \.csv, \.mtx, \.npz"),
    ],
)
def test_a_bad_file_is_an_error_with_its_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(PatternError, match=message):
        make_pattern({"name": "matrix", "file": str(tmp_path / name)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": np.ones((2, 3))}, r"square matrix of real numbers, got shape \(2, 3\)"),
        ({"a": np.ones(4)}, "square matrix of real numbers, got shape"),
        ({"a": np.ones((2, 2)) * 1j}, "square matrix of real numbers"),
        ({"a": np.array([["x", "y"], ["z", "u"]])}, r"a\.npz: "),
        ({"a": np.ones((2, 2)), "b": np.ones((2, 2))}, "expected one array, got a, b"),
        ({"a": np.array([[0, None], [1, 0]])}, r"a\.npz: "),
    ],
)
def test_an_archive_without_one_square_matrix_is_an_error(tmp_path, content, message):
    np.savez(tmp_path / "a.npz", **content)

    with pytest.raises(PatternError, match=message):
        make_pattern({"name": "matrix", "file": str(tmp_path / "a.npz")})


def test_an_absent_file_is_an_error(tmp_path):
    with pytest.raises(PatternError, match=r"absent\.csv: cannot be read: No such file"):
        make_pattern({"name": "matrix", "file": str(tmp_path / "absent.csv")})


@pytest.mark.parametrize("line", ["1,2," + "x" * 5000, "1,-2," + "9" * 400])
def test_a_long_line_of_a_matrix_is_not_repeated_whole(tmp_path, line):
    path = tmp_path / "m.csv"
    path.write_text(f"src,dst,bytes\n{line}\n")

    with pytest.raises(PatternError, match="line 2") as error:
        read_matrix(str(path))

    assert len(str(error.value)) < 250


@pytest.mark.parametrize("indptr", [[0, 10**7, 2], [0, 2, 1], [1, 1, 2]])
def test_a_sparse_archive_whose_arrays_disagree_is_refused(tmp_path, indptr):
    parts = {"indices": [0, 1], "indptr": indptr, "data": [1.0, 2.0], "shape": [2, 2]}
    np.savez(tmp_path / "a.npz", format="csr", **parts)

    with pytest.raises(PatternError, match=r"a\.npz: "):
        make_pattern({"name": "matrix", "file": str(tmp_path / "a.npz")})


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("sparse", [True, False])
def test_matrix_market_means_what_scipy_writes(tmp_path, sparse, field, symmetry):
    rng = np.random.default_rng(5)
    dense = rng.integers(1, 9, (5, 5)) * (rng.random((5, 5)) < 0.6)
    dense = (dense + dense.T if symmetry == "symmetric" else dense) * (1 - np.eye(5, dtype=int))
    dense = np.minimum(dense, 1) if field == "pattern" else dense
    if field == "pattern" and not sparse:
        pytest.skip("an array has values")
    file = tmp_path / "a.mtx"
    matrix = scipy.sparse.coo_array(dense) if sparse else dense
    scipy.io.mmwrite(file, matrix, field=field, symmetry=symmetry)

    found = np.zeros((5, 5))
    for src, dst, nbytes in listed({"name": "matrix", "file": str(file)}, 5):
        found[src, dst] = nbytes

    np.testing.assert_array_equal(found, dense)
    assert scipy.io.mminfo(file)[4:] == (field, symmetry)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "3 3 2\n1 2 7\n3 1 5",
        HEAD + "3 3 2\n1 2 7\n3 1 5 ",
        HEAD + "% made here\n\n3 3 2\r\n 1\t2  7.0\r\n\n%%\n3 1 .5e1\t",
        HEAD.upper().replace("%%MATRIXMARKET", "%%MatrixMarket") + "3 3 2\n1 2 7\n3 1 +5.\n\n",
    ],
)
def test_matrix_market_may_end_and_be_set_out_in_any_way(tmp_path, text):
    (tmp_path / "a.mtx").write_text(text, newline="")

    sent = listed({"name": "matrix", "file": str(tmp_path / "a.mtx")}, 3)

    assert sent == [(0, 1, 7.0), (2, 0, 5.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "2 2 1\n1 2 7,5 GB\n", "line 3: expected two ranks and a number, got '1 2 7,5 GB'"),
        (HEAD + "2 2 1\n1 2 1e3x\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1 2 0x10\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1 2 1_0\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1 2 nan\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1.0 2 5\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1 2\n", "line 3: expected two ranks and a number"),
        (HEAD + "2 2 1\n1 3 5\n", r"line 3: ranks must be in 1\.\.2, got '1 3 5'"),
        (HEAD + "2 2 1\n0 1 5\n", "line 3: ranks must be in"),
        (HEAD + "2 2 1\n1 2 -5\n", "must be finite and not negative, 0 -> 1 has -5"),
        (HEAD + "2 2 1\n1 2 1e999\n", "must be finite and not negative"),
        (HEAD + "2 2 2\n1 2 5\n", "expected 2 entries, got 1"),
        (HEAD + "2 2 1\n1 2 5\n2 1 5\n", "line 4: expected 1 entries, got more"),
        (HEAD + "2 3 1\n1 2 5\n", "line 2: expected a square matrix"),
        (HEAD + "2 2\n1 2 5\n", "line 2: expected rows, columns and entries"),
        (HEAD + "2 2 999999999\n", "expected at most 20,000,000 entries"),
        (HEAD.replace("real", "complex") + "2 2 1\n1 2 5 5\n", "line 1: expected "),
        (HEAD.replace("general", "skew-symmetric") + "2 2 1\n2 1 5\n", "line 1: expected "),
        (HEAD.replace("coordinate real", "array pattern") + "2 2\n", "line 1: expected "),
        (HEAD.replace("coordinate", "array") + "2 2\n0\n1\n1 0\n", "line 5: expected a number"),
        ("", "line 1: expected "),
        (HEAD, "line 2: expected rows"),
    ],
)
def test_a_matrix_market_file_with_anything_else_is_refused(tmp_path, text, message):
    (tmp_path / "a.mtx").write_text(text)

    with pytest.raises(PatternError, match=message):
        make_pattern({"name": "matrix", "file": str(tmp_path / "a.mtx")})
