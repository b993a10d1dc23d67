"""A file of another kind than a command takes: which it is, and which command takes it."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from fabricsim.checking.errors import FabricsimError
from fabricsim.checking.inputs import read_text

_TAKES: Mapping[str, tuple[str, ...]] = {
    "run": ("experiment",),
    "sweep": ("sweep", "sweep result"),
    "estimate": ("snapshot",),
    "verify": ("snapshot",),
    "whatif": ("snapshot",),
    "trace": ("log", "records", "queue", "alea", "batsim"),
    "flows": ("flows",),
    "view": ("result", "sweep result", "snapshot"),
    "compare": ("result", "sweep result"),
    "report": ("result", "sweep result"),
    "explain": ("result",),
    "metrics": ("result",),
    "export": ("result",),
    "snapshot": ("result",),
    "rerun": ("result",),
    "gather": ("sweep result",),
}
_KINDS: Mapping[str, tuple[str, str]] = {
    "experiment": ("an experiment (TOML)", "fabricsim run {}"),
    "sweep": ("an experiment with a table [sweep]", "fabricsim sweep {}"),
    "profile": ("a communication profile", "[communication] profile = '{}'"),
    "fabric": ("a fabric", "fabricsim topology inspect {}"),
    "snapshot": ("a snapshot (JSON)", "fabricsim estimate {}"),
    "flows": ("a file of flows (JSON)", "fabricsim flows {}"),
    "queue": ("output of squeue --json", "fabricsim now --topology FABRIC --squeue {}"),
    "log": ("a job log", "fabricsim trace inspect {}"),
    "records": ("output of sacct", "fabricsim trace inspect {} --format sacct"),
    "alea": ("a log of Alea", "fabricsim trace inspect {} --format alea-swf"),
    "batsim": ("a workload of Batsim", "fabricsim trace inspect {} --format batsim-json"),
    "result": ("a result directory", "fabricsim compare {}"),
    "sweep result": ("the directory of a sweep", "fabricsim compare {}"),
}
_MARKS = {
    "vendid=": "fabric",
    "SwitchName=": "fabric",
    "<platform": "fabric",
    "BlockName=": "fabric",
    "JobID|": "records",
    "; Version:": "log",
    "JOBID": "table of squeue",
}
_OF_ALEA = re.compile(r"\s*(?:-?[0-9]+\s+){10}(?:\S+\s+){9,10}\S+\s*", re.ASCII)  # fields
_BYTES = 2_000_000  # of a file that is looked at; larger ones are known by their first lines


def corrected(arguments: Sequence[str], valued: Collection[str], message: str) -> str:
    """
    Return the message about an input, or a better one where its file is of another kind.

    `arguments`: of the command line, after the name of the program; `valued`: options that take a
    value, which is no input of the command (`--out` may be a result).
    """
    words = [
        word
        for before, word in pairwise(["", *arguments])
        if before not in valued and not word.startswith("-")
    ]
    wanted = _TAKES.get(words[0], ()) if words else ()
    for word in words[1:]:
        found = _kind_of(Path(word))
        if wanted and found and found not in wanted:
            kind, command = _KINDS[found]
            if (wanted[0], found) == ("sweep", "experiment"):
                kind = "one without"
            return (
                f"{word}: expected {_KINDS[wanted[0]][0]}, got {kind}; "
                f"`{command.format(quote(word))}` takes it."
            )
    for option, word in pairwise(arguments):
        if option == "--squeue" and _kind_of(Path(word)) == "table of squeue":
            return f"{word}: expected output of `squeue --json`, got squeue's table for people."
    return message


def _kind_of(path: Path) -> str:
    """Return what kind of file or directory there is; empty if unknown."""
    try:
        if path.is_dir():
            marks = {"manifest.json": "result", "plan.json": "sweep result"}
            return next((kind for name, kind in marks.items() if (path / name).exists()), "")
        text = read_text(path, FabricsimError) if path.is_file() else ""
    except (FabricsimError, OSError):
        return ""
    start = text[:4000].lstrip()
    if path.suffix == ".toml":
        return _of_tables(text, tomllib.loads, _EXPERIMENT)
    if start.startswith("{") and len(text) <= _BYTES:
        return _of_tables(text, json.loads, _SNAPSHOT)
    known = next((kind for mark, kind in _MARKS.items() if mark in start), "")
    jobs = next((line for line in start.splitlines() if line.strip()[:1].isdigit()), "")
    return "alea" if known in {"", "log"} and _OF_ALEA.fullmatch(jobs) else known


def _of_tables(
    text: str,
    parse: Callable[[str], Any],
    kinds: Sequence[tuple[str, Callable[[Mapping[str, Any]], bool]]],
) -> str:
    """Return the kind of a document by its keys."""
    try:
        found = parse(text)
    except (ValueError, RecursionError):
        return ""
    tables: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    return next((kind for kind, fits in kinds if fits(tables)), "")


def _is_queue(document: Mapping[str, Any]) -> bool:
    """Return whether jobs are those of Slurm."""
    jobs = document.get("jobs")
    first = jobs[0] if isinstance(jobs, list) and jobs else {}
    return isinstance(first, Mapping) and "job_state" in first


_EXPERIMENT: Sequence[tuple[str, Callable[[Mapping[str, Any]], bool]]] = (
    ("sweep", lambda found: "sweep" in found),
    ("experiment", lambda found: "workload" in found),
    ("profile", lambda found: "rule" in found),
    ("fabric", lambda found: bool(found.keys() & {"topology", "kind"})),
)
_SNAPSHOT: Sequence[tuple[str, Callable[[Mapping[str, Any]], bool]]] = (
    ("flows", lambda found: "flows" in found),
    ("queue", _is_queue),
    ("batsim", lambda found: found.keys() >= {"jobs", "profiles"}),
    ("snapshot", lambda found: "jobs" in found),
    ("fabric", lambda found: bool(found.keys() & {"topology", "kind"})),
    ("fabric", lambda found: found.keys() >= {"groups", "resources"}),  # of AccaSim
)
