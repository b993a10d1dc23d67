"""Whether a result that was resumed is the one of a run that nobody disturbed, byte by byte."""

import json
from pathlib import Path

from coupling.errors import CouplingError
from coupling.runs.stored import Stored

EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 8
[workload]
generator = "synth"
mean_nodes = 8
n_jobs = {n_jobs}
[compare]
allocators = ["first-free", "random", "ta", "jigsaw"]
[run]
self_check = false
"""
_MEASURED = "cost.json"  # CPU seconds, which are never the same


def differences(folder: Path, reference: Path) -> list[str]:
    """Say how a finished result differs from another; nothing hidden may be left in it."""
    here, there = _contents(folder), _contents(reference)
    found = [f"{name}: only in one" for name in sorted(here.keys() ^ there.keys())]
    found += [
        f"{name}: other bytes" for name in here.keys() & there.keys() if here[name] != there[name]
    ]
    try:
        Stored.open(folder).results()
    except CouplingError as error:
        found.append(str(error))
    return found


def faults_of(folder: Path) -> list[str]:
    """Say what is wrong with what a killed process left: what says it is complete must be whole."""
    try:
        Stored.open(folder).results()
    except CouplingError as error:
        text = str(error)
        known = "not complete" in text or "found none" in text
        return [] if known else [text]
    return []


def is_complete(folder: Path) -> bool | None:
    """Say whether a result says that it is complete; None where it says nothing yet."""
    try:
        return bool(json.loads((folder / "manifest.json").read_bytes())["complete"])
    except FileNotFoundError:
        return None


def _contents(folder: Path) -> dict[str, bytes]:
    """Return all files by name, without what was measured."""
    files = {
        str(path.relative_to(folder)): b"" if path.name == _MEASURED else path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir()
    }
    manifest = json.loads(files["manifest.json"])
    for key in ("created", "cost", "manifest_sha256"):
        manifest.pop(key)
    manifest["files"] = {
        name: digest for name, digest in manifest["files"].items() if _MEASURED not in name
    }
    folders = {f"{path.relative_to(folder)}/": b"" for path in folder.rglob("*") if path.is_dir()}
    return files | folders | {"manifest.json": json.dumps(manifest, sort_keys=True).encode()}
