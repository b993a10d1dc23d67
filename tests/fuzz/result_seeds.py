"""Result directories to be damaged: what two tiny runs write."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import tomli_w

from coupling.results.manifest import read_manifest, write_manifest
from fuzz.cases import Seed
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


def elsewhere(folder: Path) -> bytes:
    """Return the jobs of a run as Batsim writes them, a second later than here."""
    jobs = pd.read_parquet(folder / "one" / "random" / "jobs.parquet").sort_values("id")
    columns = {
        "job_id": jobs["id"],
        "submission_time": jobs["submit_s"],
        "requested_number_of_resources": jobs["n_nodes"],
        "starting_time": jobs["start_s"] + 1.0,
        "finish_time": jobs["end_s"] + 1.0,
        "waiting_time": jobs["start_s"] + 1.0 - jobs["submit_s"],
    }
    return pd.DataFrame(columns).to_csv(index=False).encode()


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


def result_seeds(folder: Path) -> Iterator[Seed]:
    """Yield result directories."""
    files = {
        f"{name}/{path.relative_to(folder / name)}": path.read_bytes()
        for name in ("one", "two")
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    }
    one = {name: data for name, data in files.items() if name.startswith("one/")}
    forms = {name: _form_of_result(name) for name in files}
    mine = {name: forms[name] for name in one}
    yield Seed(
        "result compare", ("compare", "one", "two", "--json"), files, forms, 1.5, ("--baseline",)
    )
    yield Seed("result compare for people", ("compare", "one"), one, mine, 0.5, ("--baseline",))
    argv = ("metrics", "one", "--json", "--per-minute", "minutes.csv")
    yield Seed("result metrics", argv, one, mine, 1.0, ("--baseline", "--per-minute"))
    argv = ("snapshot", "one", "--at", "100", "--run", "random", "--out", "s.json")
    yield Seed("result snapshot", argv, one, mine, 0.7, ("--at", "--run", "--out"))
    half = half_done(folder) if one else {}
    argv = ("run", "e.toml", "--out", "out", "--resume", "--json")
    yield Seed("result resume", argv, half, {name: _form_of_result(name) for name in half}, 0.7)
    yield Seed("result rerun", ("rerun", "one", "--json"), one, mine, 0.5)
    argv = ("export", "one", "--to", "perfetto", "--out", "o.json", "--run", "random", "--json")
    yield Seed("result export", argv, one, mine, 0.7, ("--to", "--run", "--out"))
    for viewer in ("evalys", "batsim"):
        argv = ("export", "one", "--to", viewer, "--out", "o.x", "--run", "random", "--json")
        yield Seed(f"result export to {viewer}", argv, one, mine, 0.4, ("--to", "--run"))
    argv = ("export", "one", "--to", "simgrid", "--out", "o", "--run", "random", "--json")
    yield Seed("result export to simgrid", argv, one, mine, 0.6, ("--run", "--iterations"))
    argv = ("compare", "one", "--with", "jobs.csv", "--json")
    beside = {**one, "jobs.csv": elsewhere(folder)} if one else {}
    forms = {"jobs.csv": "csv"} if one else {}
    yield Seed("result compare with", argv, beside, forms, 1.5, ("--baseline",))
    argv = ("view", "one", "--no-browser", "--json")
    yield Seed("result view", argv, one, mine, 0.6, ("--port",))
    argv = ("explain", "one", "--json")
    yield Seed("result explain", argv, one, mine, 0.5, ("--job", "--run"))
    argv = ("explain", "one", "--job", "3", "--run", "random", "--json")
    yield Seed("result explain a job", argv, one, mine, 0.5, ("--job", "--run"))
    argv = ("report", "one", "--out", "page.html", "--figures", "drawn", "--json")
    yield Seed("result figures", argv, one, mine, 0.02, ("--baseline",), pictures=True)
    argv = ("report", "one", "--out", "page.html", "--json")
    yield Seed("result report", argv, one, mine, 0.04, ("--baseline",), pictures=True)


def _form_of_result(name: str) -> str:
    """Say what a file of a result is; only the experiment knows all its fields."""
    end = Path(name).suffix
    if name.endswith("experiment.resolved.toml"):
        return "toml"
    return {".json": "foreign-json", ".parquet": "parquet", ".toml": "toml"}.get(end, "text")
