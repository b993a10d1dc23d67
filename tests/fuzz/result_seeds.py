"""Result directories to be damaged: what two tiny runs write."""

import shutil
from pathlib import Path

import tomli_w

from coupling.results.manifest import read_manifest, write_manifest
from fuzz.documents_seeds import CUBE, PROFILE, TREE

_LOG = {"generator": "synth", "mean_nodes": 3, "n_jobs": 12, "seed": 4}
ONE = {
    "topology": CUBE,
    "workload": _LOG,
    "communication": PROFILE,
    "network": {"routing": "d-mod-k"},
    "compare": {"allocators": ["first-free", "random"]},
}
TWO = {"topology": TREE, "workload": _LOG, "network": {"model": "null"}}


def write_experiments(folder: Path) -> list[tuple[str, ...]]:
    """Write two experiments, and return the commands that make results of them."""
    for name, tables in (("one", ONE), ("two", TWO)):
        (folder / f"{name}.toml").write_text(tomli_w.dumps(tables))
    return [
        ("run", str(folder / f"{name}.toml"), "--out", str(folder / name))
        for name in ("one", "two")
    ]


def half_done(folder: Path) -> dict[str, bytes]:
    """Return the first result as it is when only its first run has ended, with its experiment."""
    half = folder / "out"
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(folder / "one", half, ignore=shutil.ignore_patterns("random"))
    manifest = read_manifest(half)
    files = {name: text for name, text in manifest["files"].items() if "random/" not in name}
    write_manifest(half, manifest | {"complete": False, "files": files, "cost": {}})
    kept = {str(path.relative_to(folder)): path for path in half.rglob("*") if path.is_file()}
    tables = tomli_w.dumps(ONE).encode()
    return {"e.toml": tables} | {name: path.read_bytes() for name, path in sorted(kept.items())}
