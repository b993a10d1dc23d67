"""Commands that read the result directory ``out``, and what they do with one that is damaged."""

from coupling.results.manifest import read_manifest, sha256, write_manifest

READERS = {
    "compare": ["compare", "out"],
    "metrics": ["metrics", "out"],
    "report": ["report", "out"],
    "rerun": ["rerun", "out"],
    "resume": ["run", "try.toml", "--resume", "--out", "out"],
}


def refused(done, *words):
    """Exit status 2, one line on stderr with these words, nothing on stdout."""
    status, out, err = done
    assert (status, out) == (2, ""), err
    assert err.startswith("fabricsim: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def sealed(out, name, data):
    """Write a file of a result as if the run had written it so."""
    (out / name).write_bytes(data)
    manifest = read_manifest(out)
    manifest["files"][name] = sha256(data)
    write_manifest(out, manifest)
