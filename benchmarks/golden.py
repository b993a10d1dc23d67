"""
Run commands whose answers are known, and print what differs: the guard of every refactoring.

    python -m benchmarks.golden check                 # all entries, or those whose names are given
    python -m benchmarks.golden check --independent   # those that no contention model answers
    python -m benchmarks.golden record 'estimate*'    # write the answers anew

Of each command `golden.json` keeps the exit status, what stands on standard output, the line of a
refusal, and the files written. JSON and tables are kept by column: a path such as `jobs[].wait_s`
with its value, or a digest of its values in order. So a column that was renamed (same digest under
another name) is told from one whose numbers changed.

Times of the clock, versions and places on the disk are left out. Every command runs in a process
forked from this one, in a folder of its own.
"""

import argparse
import hashlib
import json
import os
import re
import runpy
import sys
import tomllib
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import tomli_w

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).with_name("golden.json")
sys.path[:0] = [str(ROOT / "tests")]  # outside pytest
from fuzz import documents_seeds as documents  # noqa: E402
from fuzz import file_seeds  # noqa: E402

Columns = dict[str, Any]
CLOCK = re.compile(
    r"(^|[.\[\]_])(cpu|seconds|created|versions?|python|cost|elapsed|host|manifest_sha256|"
    r"scheduling_ms|fingerprint|compute_cells_s|wall|peak_memory)|inputs_sha256|(^|\.)files\.|_sha256$"
)
"""Paths of JSON that say when, where, how fast or by which bytes an answer was made."""
PLACES = re.compile(r"[0-9a-f]{16,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|\b[\d.e-]+ s\b")
LONGEST_TEXT = 25  # lines of standard output that are kept as they are
LONGEST_VALUE = 32  # characters of a single value that is kept as it is


@dataclass(frozen=True)
class Entry:
    """Commands that run one after the other in a folder with given files."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    contention: bool = False
    """Whether a contention model (`fluid`) made the numbers: an entry that is
    recorded anew when that model is changed on purpose."""


def entries() -> Iterator[Entry]:
    """Yield every entry."""
    yield from _examples()
    yield from _runs()
    yield from _papers()
    yield from _snapshots()
    yield from _fabrics()
    yield from _logs()
    yield from _sites()
    yield from _refusals()


def _examples() -> Iterator[Entry]:
    """Yield the scripts in `examples`; those that depend on no contention model are named."""
    independent = {"02_isolation_of_a_partition"}
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield Entry(
            f"example {path.stem}",
            (("python", str(path)),),
            contention=path.stem not in independent,
        )


def _runs() -> Iterator[Entry]:
    """Yield experiments, and what is asked of their results."""
    for name, document in documents.EXPERIMENTS.items():
        network = document.get("network", {})
        yield Entry(
            f"run {name}",
            (("run", "e.toml", "--out", "out", "--json"),),
            {"e.toml": _toml(document), **_named_files(document)},
            contention=network.get("model", "fluid") == "fluid",
        )
    scheduled = {
        "topology": {"kind": "fat-tree", "radix": 8},
        "workload": {"generator": "synth", "mean_nodes": 7, "n_jobs": 150},
        "network": {"model": "null", "routing": "jigsaw"},
        "run": {"self_check": False},
    }
    sweep = ("sweep", "e.toml", "--out", "out", "--json")
    names = "first-free random first-fit ta jigsaw laas lc lc+s slurm-best-fit balanced adaptive"
    swept = {"scheduler.allocator": names.split(), "run.seed": [1, 2]}
    yield Entry("allocators on a tree", (sweep,), {"e.toml": _toml(scheduled, sweep=swept)})
    queues = ["fcfs", "easy", "conservative", "priority", "sjf", "cautious", "reckless"]
    swept = {"scheduler.queue": queues, "scheduler.allocator": ["jigsaw", "random"]}
    arriving = {"generator": "lublin", "n_nodes": 128, "n_jobs": 150, "arrivals": 0.3}
    files = {"e.toml": _toml(scheduled, workload=arriving, sweep=swept)}
    yield Entry("queues", (sweep,), files)
    names = "torus-chunk contiguous non-contiguous compact-contiguous closest-fit fifo"
    swept = {"scheduler.allocator": names.split()}
    torus = {"kind": "torus", "dims": [8, 4, 4], "bandwidth": "100 Gb/s"}
    network = {"model": "null"}
    files = {"e.toml": _toml(scheduled, topology=torus, network=network, sweep=swept)}
    yield Entry("allocators on a torus", (sweep,), files)
    many = {**scheduled["workload"], "n_jobs": 6000}
    changes = {"workload": many, "run": {"self_check": True}, "scheduler": {"window": 20}}
    files = {"e.toml": _toml(scheduled, **changes)}
    run = ("run", "e.toml", "--out", "out", "--json")
    yield Entry("run of 6000 jobs", (run,), files)
    compared = {"allocators": ["random", "jigsaw"]}
    workload = {"generator": "synth", "mean_nodes": 7, "n_jobs": 60}
    for model, fabric, routing in (
        ("null", scheduled["topology"], "jigsaw"),
        ("fluid", scheduled["topology"], "jigsaw"),
        ("fluid", scheduled["topology"], "adaptive"),
        ("flow-level", {"kind": "fat-tree", "radix": 4}, "d-mod-k"),
    ):
        few = {**workload, "n_jobs": 8, "mean_nodes": 3} if model == "flow-level" else workload
        tables = {
            "topology": fabric,
            "workload": few,
            "network": {"model": model, "routing": routing},
            "compare": compared,
        }
        asked: tuple[tuple[str, ...], ...] = (run,)
        if routing == "jigsaw":
            asked = (
                run,
                ("compare", "out", "--json"),
                ("metrics", "out", "--json"),
                ("explain", "out", "--json"),
                ("explain", "out", "--job", "7", "--run", "random", "--json"),
                ("snapshot", "out", "--at", "2000", "--run", "random", "--out", "s.json"),
                ("export", "out", "--to", "batsim", "--run", "random", "--out", "b", "--json"),
                ("rerun", "out", "--json"),
            )
        name = f"results of {model}" if routing == "jigsaw" else f"run {model}, {routing}"
        yield Entry(name, asked, {"e.toml": _toml(tables)}, contention=model == "fluid")


def _papers() -> Iterator[Entry]:
    """Yield small pieces of papers' experiments."""
    folder = ROOT / "coupling" / "papers" / "experiments"
    few = ("--set", "workload.n_jobs=60")
    small = ("--set", "topology.radix=8", "--set", "workload.mean_nodes=6")
    for paper, file, more in (
        ("smith21", "utilisation", (*few, *small)),
        ("smith21", "speedups", ("--set", "workload.n_jobs=40")),
        ("mishra20", "rhvd", few),
        ("mishra20", "mixes", few),
        ("stoltzfus13", "gaps", few),
    ):
        argv = ("sweep", f"{file}.toml", *more, "--out", "out", "--json")
        files = {f"{file}.toml": folder / paper / "quick" / f"{file}.toml"}
        yield Entry(f"paper {paper}, {file}", (argv,), files, contention=file == "speedups")
    argv = ("paper", "yang", "--recorded", "r.json", "--out", "page", "--json")
    files = {"r.json": ROOT / "docs" / "research" / "papers" / "yang.json"}
    yield Entry("paper yang as recorded", (argv,), files)


def _snapshots() -> Iterator[Entry]:
    """Yield estimates, flows, verifications and routing tables."""
    for name, document in documents.SNAPSHOTS.items():
        yield Entry(
            f"estimate {name}",
            (("estimate", "s.json", "--json"),),
            {"s.json": _json(document), **_named_files(document)},
            contention=document.get("model", "fluid") == "fluid",
        )
    people = ROOT / "examples" / "placed_jobs.json"
    steps = (("estimate", "s.json"), ("verify", "s.json"))
    yield Entry("estimate for people", steps, {"s.json": people}, contention=True)
    for name, document in documents.FLOWS.items():
        yield Entry(f"flows {name}", (("flows", "f.json", "--json"),), {"f.json": _json(document)})
    for name, document in documents.VERIFIED.items():
        argv = ("verify", "s.json", "--json", "--random", "9", "--allow-unknown")
        yield Entry(f"verify {name}", (argv,), {"s.json": _json(document)})
    fabric = file_seeds.fabric()
    files = {**fabric, "s.json": _json({"jobs": documents.VERIFIED["owned"]["jobs"]})}
    base, form = ("--fabric", "fabric.txt"), "--json"
    steps = (
        ("lft", "export", "s.json", *base, "--out", "new.lft", form),
        ("lft", "export", "s.json", *base, "--base", "tables.lft", "--out", "own.lft", form),
        ("lft", "check", "s.json", *base, "--base", "tables.lft", form),
        ("lft", "load", "tables.lft", *base, form),
        ("lft", "load", "new.lft", *base, "--name-map", "names.txt"),
    )
    yield Entry("lft", steps, files)


def _fabrics() -> Iterator[Entry]:
    """Yield descriptions and files of fabrics, inspected and converted."""
    for name, document in documents.TOPOLOGIES.items():
        steps = [("topology", "inspect", "t.json", "--json")]
        if name in {"cube", "torus", "dragonfly"}:
            steps += [_convert("t.json", to) for to in ("graphml", "edge-csv")]
        yield Entry(
            f"topology {name}", tuple(steps), {"t.json": _json(document), **_named_files(document)}
        )
    for name in ("tree", "torus", "dragonfly"):
        argv = ("ebb", "t.json", "--samples", "3", "--json")
        yield Entry(f"ebb {name}", (argv,), {"t.json": _json(documents.TOPOLOGIES[name])})
    for name, form in file_seeds.WIRING.items():
        steps = [("topology", "inspect", name, "--json"), _convert(name, "graphml")]
        if form in {"slurm-conf", "ibnetdiscover"}:
            steps.append(_convert(name, "slurm-conf"))
        yield Entry(f"topology {name}", tuple(steps), {name: file_seeds.wiring(name)})


def _convert(what: str, to: str) -> tuple[str, ...]:
    """Return the command that converts a fabric."""
    return ("topology", "convert", what, "--to", to, "--out", f"out.{to}", "--json")


def _logs() -> Iterator[Entry]:
    """Yield job logs, inspected, converted and generated."""
    for form, name in file_seeds.LOGS.items():
        steps = (
            ("trace", "inspect", name, "--format", form, "--json"),
            ("trace", "convert", name, "out.csv", "--format", form, "--json"),
            ("trace", "convert", name, "out.parquet", "--format", form, "--json"),
        )
        yield Entry(f"trace {form}", steps, {name: file_seeds.log(form)})
    made = {"synth": ("--mean-nodes", "3"), "laas": (), "lublin": ("--n-nodes", "16")}
    made |= {"hector-like": ("--load", "0.7")}
    steps = tuple(
        ("trace", "generate", generator, f"{generator}.swf", "--n-jobs", "30", "--json", *more)
        for generator, more in made.items()
    )
    yield Entry("trace generate", steps)


def _sites() -> Iterator[Entry]:
    """Yield questions about the example of a site."""
    files = {path.name: path for path in sorted((ROOT / "examples" / "site").iterdir())}
    queue = ("--topology", "topology.conf", "--squeue", "squeue.json", "--samples", "2", "--json")
    known = (*queue, "--profile", "profile.toml")
    fabric = ("--topology", "topology.conf")
    counted = ("--before", "ports_before.txt", "--after", "ports_after.txt", "--seconds", "60")
    fitted = ("--topology", "fabric.txt", "--squeue", "squeue.json", *counted)
    for name, argv in {
        "now": ("now", *known),
        "place": ("place", *known, "--nodes", "2"),
        "whatif failure": ("whatif", *known, "--fail", "spine1"),
        "whatif in turn": ("whatif", *known, "--each-switch"),
        "replay": ("replay", "records.txt", *fabric, "--out", "out", "--json"),
        "calibrate": ("calibrate", *fitted, "--profile", "profile.toml", "--json"),
    }.items():
        yield Entry(f"site {name}", (argv,), files, contention=True)


def _refusals() -> Iterator[Entry]:
    """Yield bad inputs, each refused by one line."""
    plain, snapshot = documents.EXPERIMENTS["table"], documents.SNAPSHOTS["infinite"]
    log, jobs = {"log.csv": file_seeds.log("csv")}, snapshot["jobs"]
    run, estimate = ("run", "e.toml"), ("estimate", "s.json")
    spellings = {
        "key": ("topologi.kind=torus",),
        "model": ("network.model=fats",),
        "allocator": ("scheduler.allocator=jigsow",),
        "queue": ("scheduler.queue=esy",),
        "routing": ("network.routing=dmodk",),
        "type": ("scheduler.window=many",),
        "range": ("topology.radix=3",),
        "option": ("scheduler.options.step=2",),
        "missing file": ("workload.path=nothing.csv",),
    }
    steps = tuple(
        (*run, *(word for change in changes for word in ("--set", change)))
        for changes in spellings.values()
    )
    yield Entry("refused experiments", steps, {"e.toml": _toml(plain), **log})
    for name, changes in {
        "node": {"jobs": [{**jobs[0], "nodes": "n[0-99]"}]},
        "twice": {"jobs": [jobs[0], {**jobs[1], "nodes": [0, 5]}]},
        "pattern": {"jobs": [{**jobs[0], "pattern": {"name": "stencill"}}]},
        "unit": {"jobs": [{**jobs[1], "compute_s": "3 parsecs"}]},
        "fraction": {"jobs": [{**jobs[0], "comm_fraction": 1.5}]},
        "unknown": {"jobz": []},
    }.items():
        yield Entry(f"refused snapshot: {name}", (estimate,), {"s.json": _json(snapshot | changes)})
    steps = (
        estimate,
        ("estimate", "nothing.json"),
        ("trace", "inspect", "s.json", "--format", "swf"),
        ("topology", "inspect", "cabb"),
        ("paper", "smith22"),
        ("compare", "nowhere"),
        ("place", "--topology", "cab"),
        ("check-plugin", "nothing.py"),
        ("run", "s.json"),
    )
    yield Entry("refused files", steps, {"s.json": b'{"topology": "cab", "jobs": [}'})


def _toml(document: Mapping[str, Any], **changes: object) -> bytes:
    """Write a document, with some of its tables replaced."""
    return tomli_w.dumps({**document, **changes}).encode()


def _json(document: Mapping[str, Any]) -> bytes:
    """Write a document."""
    return json.dumps(document, indent=1).encode()


def _named_files(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that a document names."""
    known = {**file_seeds.fabric(), **file_seeds.matrices()}
    known |= {"log.swf": file_seeds.log("swf"), "log.csv": file_seeds.log("csv")}
    known["profile.toml"] = _toml(documents.PROFILE)
    text = json.dumps(document)
    return {name: data for name, data in known.items() if f'"{name}"' in text}


def answer(entry: Entry) -> dict[str, Any]:
    """Run the commands of an entry, and return what is kept of their answers."""
    with TemporaryDirectory(prefix="fabricsim-golden-") as name:
        folder = Path(name).resolve()
        for file, data in entry.files.items():
            (folder / file).write_bytes(data if isinstance(data, bytes) else data.read_bytes())
        before = set(_files(folder))
        steps = [_step(argv, folder) for argv in entry.steps]
        written = sorted(set(_files(folder)) - before)
        return {"steps": steps, "files": _written(folder, written)}


def _files(folder: Path) -> list[Path]:
    """Return all files in a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def _step(argv: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """Run a command, and return its status, what it printed and how it refused."""
    with TemporaryDirectory(prefix="fabricsim-golden-") as name:
        status = _forked(argv, folder, Path(name))
        out = (Path(name) / "1").read_text(encoding="utf-8")
        err = (Path(name) / "2").read_text(encoding="utf-8")
    kept: dict[str, Any] = {"command": " ".join(argv).replace(str(ROOT) + "/", "")}
    kept["status"] = status
    if "--json" in argv and out.startswith(("{", "[")):
        kept["out"] = of_json(out, folder)
    elif out:
        lines = _placeless(out, folder).splitlines()
        kept["out"] = lines if len(lines) <= LONGEST_TEXT else digest(lines)
    if status not in {0, 1}:
        kept["error"] = _placeless(err, folder).splitlines()[-20:]
    return kept


def _forked(argv: tuple[str, ...], folder: Path, streams: Path) -> int:
    """Run a command in a child of this process; standard output and errors go to files."""
    child = os.fork()
    if child:
        _, ended = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(ended)
    status = 70  # an exception that nothing caught
    try:
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(streams / str(stream), os.O_WRONLY | os.O_CREAT), stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))  # noqa: SIM115
        status = _called(argv)
    except BaseException:  # noqa: BLE001 (the parent reads it)
        traceback.print_exc()
    finally:
        for file in (sys.stdout, sys.stderr):
            file.flush()
        os._exit(status)


def _called(argv: tuple[str, ...]) -> int:
    """Call the program in this process, and return its exit status."""
    try:
        if argv[0] == "python":
            sys.argv = list(argv[1:])
            runpy.run_path(argv[1], run_name="__main__")
        else:
            sys.argv = ["fabricsim", *argv]
            _program()()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _program() -> Callable[[], None]:
    """Return what `fabricsim` calls, wherever it lies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["fabricsim"].split(":")
    found: Callable[[], None] = getattr(import_module(module), name)
    return found


def _placeless(text: str, folder: Path) -> str:
    """Return a text without times, fingerprints and places on this disk."""
    return PLACES.sub("#", text.replace(str(folder), "@").replace(str(ROOT), "@root"))


def _written(folder: Path, paths: Sequence[Path]) -> dict[str, Any]:
    """Return what is kept of files; those whose names differ by a fingerprint alone are merged."""
    found = defaultdict(list)
    for path in paths:
        name = PLACES.sub("#", str(path.relative_to(folder)))
        if path.name in {"manifest.json", "cost.json"} or "costs" in path.parts:
            continue  # of these, all that lasts stands in the other files
        if path.suffix == ".parquet":
            found[name].append(of_table(path))
        elif path.suffix == ".json":
            found[name].append(of_json(path.read_text(encoding="utf-8"), folder))
        elif path.suffix in {".html", ".pdf", ".png", ".svg"}:
            found[name].append({"drawn": "yes"})
        else:
            text = path.read_bytes().decode("utf-8", "replace")
            found[name].append({"text": digest(_placeless(text, folder))})
    return {name: _merged(columns) for name, columns in sorted(found.items())}


def _merged(columns: Sequence[Columns]) -> Columns:
    """Return one table for several of the same columns, in no order."""
    if len(columns) == 1:
        return columns[0]
    names = {name for one in columns for name in one}
    return {name: digest(sorted(str(one.get(name)) for one in columns)) for name in sorted(names)}


def of_table(path: Path) -> Columns:
    """Return the digest of each column of a Parquet file, however it is encoded."""
    table = pq.read_table(path)  # type: ignore[no-untyped-call]
    return {name: digest(table[name].to_pylist()) for name in table.column_names}


def of_json(text: str, folder: Path) -> Columns:
    """Return of a document each path with its value, or the digest of its values."""
    values: dict[str, list[Any]] = defaultdict(list)
    _collect(json.loads(text), "", values, folder)
    return {
        path: found[0] if len(found) == 1 and _is_short(found[0]) else digest(found)
        for path, found in values.items()
        if not CLOCK.search(path)
    }


def _collect(value: object, path: str, values: dict[str, list[Any]], folder: Path) -> None:
    """Add the leaves of a document, by path."""
    path = _placeless(path, folder)
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _collect(inner, f"{path}.{key}" if path else key, values, folder)
    elif isinstance(value, list) and value:
        for inner in value:
            _collect(inner, f"{path}[]", values, folder)
    else:
        values[path].append(_placeless(value, folder) if isinstance(value, str) else value)


def _is_short(value: object) -> bool:
    """Return whether a value is kept as it is."""
    return len(str(value)) <= LONGEST_VALUE


def digest(values: object) -> str:
    """Return a digest of values, exact to the last bit of a float."""
    return "#" + hashlib.sha256(repr(values).encode()).hexdigest()[:10]


def differences(kept: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """
    Return the differences between two answers, one a line.

    Parameters
    ----------
    kept, found : mapping
        What `answer` returned earlier and now.

    Returns
    -------
    list of str
        Lines that begin with `renamed` where only the name of a column differs.
    """
    lines = []
    steps = [*zip(kept["steps"], found["steps"], strict=False)]
    if len(kept["steps"]) != len(found["steps"]):
        lines.append("changed: number of commands")
    for before, after in steps:
        place = f"`{after['command']}`"
        for name in ("command", "status", "out", "error"):
            one, other = before.get(name), after.get(name)
            if isinstance(one, dict) and isinstance(other, dict):
                lines += [f"{place}: {line}" for line in _columns(one, other)]
            elif one != other:
                lines.append(f"changed: {place}: {name}: {one} -> {other}")
    before, after = kept["files"], found["files"]
    lines += [f"gone: {name}" for name in before.keys() - after.keys()]
    lines += [f"new: {name}" for name in after.keys() - before.keys()]
    for name in sorted(before.keys() & after.keys()):
        lines += [f"{name}: {line}" for line in _columns(before[name], after[name])]
    return lines


def _columns(before: Columns, after: Columns) -> list[str]:
    """Return the differences between two tables or documents."""
    gone = {name: value for name, value in before.items() if name not in after}
    new = {name: value for name, value in after.items() if name not in before}
    lines = []
    for name in list(gone):
        same = [other for other in new if new[other] == gone[name]]
        if same:
            lines.append(f"renamed: {name} -> {same[0]}")
            del new[same[0]], gone[name]
    lines += [f"gone: {name} = {value}" for name, value in gone.items()]
    lines += [f"new: {name} = {value}" for name, value in new.items()]
    lines += [
        f"changed: {name}: {value} -> {after[name]}"
        for name, value in before.items()
        if name in after and after[name] != value
    ]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or check; return 1 where an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n")[0])
    parser.add_argument("do", choices=("record", "check", "list"))
    parser.add_argument("names", nargs="*", help="entries, * for any letters; default: all")
    parser.add_argument(
        "--independent", action="store_true", help="only entries of no contention model"
    )
    asked = parser.parse_args(arguments)
    known = list(entries())
    chosen = [
        entry
        for entry in known
        if (not asked.names or any(fnmatch(entry.name, name) for name in asked.names))
        and not (asked.independent and entry.contention)
    ]
    if not chosen:
        parser.error(f"no entry is called {' or '.join(asked.names)}; see `list`")
    if asked.do == "list":
        print("\n".join(f"{entry.name}{' (contention)' * entry.contention}" for entry in chosen))
        return 0
    _program()  # imported once, before the forks
    kept = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if asked.do == "record":
        for entry in chosen:
            kept[entry.name] = _timed(entry)
        names = [entry.name for entry in known if entry.name in kept]
        lines = [f" {json.dumps(name)}: {json.dumps(kept[name])}" for name in names]
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return 0
    return _check(chosen, kept)


def _timed(entry: Entry) -> dict[str, Any]:
    """Return the answer of an entry; say on standard error how long it took."""
    before = os.times()
    found = answer(entry)
    after = os.times()
    cpu_s = sum(after[2:4]) - sum(before[2:4])
    print(f"{cpu_s:6.1f} s CPU  {entry.name}", file=sys.stderr, flush=True)
    return found


def _check(chosen: Sequence[Entry], kept: Mapping[str, Any]) -> int:
    """Print what differs from what is kept."""
    differing = 0
    for entry in chosen:
        found = json.loads(json.dumps(_timed(entry)))
        lines = ["new entry"] if entry.name not in kept else differences(kept[entry.name], found)
        differing += bool(lines)
        if lines:
            print(f"{entry.name}{' (contention)' * entry.contention}")
            print("\n".join(f"    {line}" for line in lines), flush=True)
    print(f"{len(chosen) - differing} of {len(chosen)} entries equal")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
