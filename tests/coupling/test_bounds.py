"""Inputs that are too large, too deep or no text are refused at every door, in bounded memory."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import sampled

from coupling.cli.root import main

EXAMPLES = Path(__file__).parents[2] / "examples"
DEEP = "expected values at most 50 levels inside each other, got more."
EXPERIMENT = 'topology = "synth-1024"\n[workload]\npath = "log.swf"\n'
LOG = "1 0 0 9 2 0 0 2 9 0 1 1 1 1 1 0 0 0\n"
SNAPSHOT = {
    "topology": {"kind": "fat-tree", "radix": 4},
    "jobs": [{"id": "a", "nodes": [0, 4], "steps": [[[0, 1, "1 MB"]]], "compute_s": 1.0}],
}
DOORS = {
    "experiment": ("bad.toml", "run bad.toml"),
    "log": ("bad.swf", "trace inspect bad.swf --format swf"),
    "table": ("bad.csv", "trace inspect bad.csv --format csv"),
    "accounts": ("bad.txt", "trace inspect bad.txt --format sacct"),
    "queue": ("bad.json", "trace inspect bad.json --format flux-json"),
    "placements": ("bad.txt", "trace inspect bad.txt --format placement-log"),
    "profile": ("bad.toml", "run exp.toml --set communication.profile=bad.toml"),
    "snapshot": ("bad.json", "estimate bad.json"),
    "flows": ("bad.json", "flows bad.json"),
    "permutation": ("bad.txt", "verify now.json --permutation bad.txt"),
    "fabric": ("bad.txt", "topology inspect bad.txt"),
    "fabric as a table": ("bad.toml", "topology inspect bad.toml"),
    "fabric as an object": ("bad.json", "topology inspect bad.json"),
    "yaml": ("topology.yaml", "topology inspect topology.yaml --format slurm-yaml"),
    "matrix": ("bad.csv", "estimate matrix.json"),
}
TOML = ("experiment", "profile", "fabric as a table")
JSON = ("queue", "snapshot", "flows", "fabric as an object")


@pytest.fixture
def door(tmp_path, monkeypatch, capfd):
    """Return a function that gives a command a file, and its error."""
    (tmp_path / "exp.toml").write_text(EXPERIMENT)
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "now.json").write_text(json.dumps(SNAPSHOT))
    job = {"id": "a", "nodes": [0, 4], "pattern": {"name": "matrix", "file": "bad.csv"}}
    (tmp_path / "matrix.json").write_text(
        json.dumps({**SNAPSHOT, "jobs": [{**job, "compute_s": 1.0}]})
    )
    monkeypatch.chdir(tmp_path)

    def call(name, data, *options):
        file, command = DOORS[name]
        (tmp_path / file).write_bytes(data)
        monkeypatch.setattr(sys, "argv", ["fabricsim", *command.split(), *options])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, error = capfd.readouterr()
        assert (ended.value.code, out) == (2, "")
        assert error.count("\n") == 1
        assert error.startswith("fabricsim: ")
        assert (f"--set {options[1].partition('=')[0]}" if options else file) in error
        assert len(error) < 1000
        return error

    return call


@pytest.mark.parametrize("name", sampled(DOORS, {"log", "snapshot"}))
def test_a_small_file_that_unpacks_to_gigabytes_is_refused(door, name):
    """64 MiB of blank lines, fifty times; a log, which is read in pieces, has bounded lines."""
    bomb = gzip.compress(b"    \n   " * 2**23, 9, mtime=0) * 50

    error = door(name, bomb)

    assert "more than 256 MiB, unpacked" in error or "20,000,000 lines, got more" in error


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(
    "data", [b"\0", b"a\xff\xfe\n", b"\x1f\x8b\x08\0", gzip.compress(b"x", mtime=0)[:9]]
)
def test_what_is_no_text_or_a_damaged_archive_is_refused(door, name, data):
    door(name, data)


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize(
    "text", ["a = " + "[" * 900 + "]" * 900, ".".join("a" * 900) + " = 1", "a = " + "[" * 10**5]
)
def test_toml_of_hundreds_of_levels_is_refused(door, name, text):
    assert DEEP in door(name, text.encode())


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("begin", ['{"seed": ' + "[" * 900, '{"a":' * 900, "[" * 100_000])
def test_json_of_hundreds_of_levels_is_refused(door, name, begin):
    pairs = {"[": "]", "{": "}"}
    end = "".join(pairs[letter] for letter in reversed(begin) if letter in pairs)

    assert DEEP in door(name, f"{begin}1{end}".encode())


@pytest.mark.parametrize("name", TOML)
def test_whole_numbers_beyond_64_bits_are_refused_in_toml(door, name):
    assert "thousands of digits" in door(name, b"seed = " + b"9" * 5000)
    assert "a whole number of 64 bits" in door(name, b"seed = 0x" + b"f" * 5000)


@pytest.mark.parametrize("name", JSON)
def test_whole_numbers_beyond_64_bits_are_refused_in_json(door, name):
    assert "a whole number of 64 bits" in door(name, b'{"seed": ' + b"9" * 5000 + b"}")


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, "9" * 5000, "0x" + "f" * 5000, "inf"])
def test_options_of_the_command_have_the_same_bounds(door, value):
    door("experiment", EXPERIMENT.encode(), "--set", f"run.seed={value}")


def test_a_long_log_is_read_in_memory_for_its_jobs(tmp_path):
    """300,000 jobs with a comment of 600 bytes each: 200 MB of text, which is never held."""
    path = tmp_path / "long.swf.gz"
    comment = f"; {'x' * 600}\n"
    jobs = "".join(f"{comment}{n} {LOG.partition(' ')[2]}" for n in range(300_000))
    path.write_bytes(gzip.compress(jobs.encode(), 1))
    code = (
        "import resource, sys; from scheduler.workload.swf import read_swf\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1_400_000_000,) * 2)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(read_swf(sys.argv[1]).jobs))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )

    n_jobs, kilobytes = map(int, done.stdout.split())
    assert n_jobs == 300_000
    assert kilobytes < 300_000


def test_yaml_of_megabytes_is_refused_before_it_is_taken_apart(door):
    """Of which the library would make a gigabyte, in minutes."""
    error = door("yaml", b"[" + b"1," * 2**22 + b"1]")

    assert "expected YAML of at most 1 MiB, got more" in error
