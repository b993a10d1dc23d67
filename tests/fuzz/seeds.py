"""The valid inputs that cases are made of: tiny, so that a case takes milliseconds."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from fuzz.cases import Seed
from fuzz.documents_seeds import (
    EXPERIMENTS,
    FLOWS,
    PROFILE,
    SNAPSHOTS,
    SWEEPS,
    TOPOLOGIES,
    TREE,
    VERIFIED,
)
from fuzz.execute import STDIN
from fuzz.file_seeds import (
    FORM_OF_LOG,
    LOGS,
    NO_TREES,
    WIRING,
    fabric,
    log,
    matrices,
    system,
    wiring,
)
from fuzz.result_seeds import result_seeds
from fuzz.site_seeds import site_seeds

PLUGIN = b"""
from scheduler import NodeChooser


class Corner(NodeChooser):
    name = "corner"

    def __init__(self, step=1):
        self.step = step

    def choose(self, job, free, cluster):
        return free[:: -self.step][: job.n_nodes]


ALLOCATORS = {"corner": Corner}
"""
_FILTERS = ("--processors-per-node", "--max-nodes", "--scale-nodes", "--arrivals", "--window")


def all_seeds(results: Path) -> tuple[Seed, ...]:
    """Return every seed; `results` holds what `make_results` wrote."""
    pools = {
        "snapshot": (*SNAPSHOTS.values(), *VERIFIED.values(), *TOPOLOGIES.values()),
        "experiment": (
            *EXPERIMENTS.values(),
            *SWEEPS.values(),
            PROFILE,
            *TOPOLOGIES.values(),
        ),
    }
    return (
        *_snapshots(pools["snapshot"]),
        *_fabrics(pools["snapshot"]),
        *_runs(pools["experiment"]),
        *_sweeps(pools["experiment"]),
        *_pages(pools["snapshot"]),
        *_plugins(pools["experiment"]),
        *_logs(),
        *site_seeds(),
        *result_seeds(results),
        *_papers(),
        *_over_inputs(),
        *_from_stdin(pools),
    )


def print_of(seeds: tuple[Seed, ...]) -> str:
    """Return what tells these cases from others: seeds and ways to damage them."""
    made = [
        [seed.name, list(seed.argv), seed.weight, sorted(seed.forms.items())]
        + [hashlib.sha256(seed.files[name]).hexdigest() for name in sorted(seed.files)]
        for seed in seeds
        if not seed.name.startswith("result ")  # these hold times and places
    ]
    ways = [
        (Path(__file__).parent / f"{name}.py").read_text()
        for name in ("cases", "documents", "tables", "texts", "values")
    ]
    return hashlib.sha256(json.dumps([made, ways]).encode()).hexdigest()[:16]


def _json(document: Mapping[str, Any]) -> bytes:
    """Write a document."""
    return json.dumps(document, indent=1).encode()


def _beside(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that a document names."""
    text = json.dumps(document)
    files = {**fabric(), **matrices(), "log.swf": log("swf"), "log.csv": log("csv")}
    files["seth.json"] = system()
    files["profile.toml"] = tomli_w.dumps(PROFILE).encode()
    return {name: data for name, data in files.items() if f'"{name}"' in text}


_FORM_OF_END = {
    ".txt": "text",
    ".lft": "text",
    ".csv": "csv",
    ".mtx": "columns",
    ".npz": "bytes",
    ".swf": "columns",
    ".toml": "toml",
    ".json": "json",
}


def _forms(files: Mapping[str, bytes]) -> dict[str, str]:
    """Say of each file what it is."""
    return {name: _FORM_OF_END[Path(name).suffix] for name in files}


def _document_seed(
    name: str, argv: tuple[str, ...], file: str, document: Mapping[str, Any], **changes: Any
) -> Seed:
    """Return the seed of a command about one document and the files that it names."""
    text = _json(document) if file.endswith("json") else tomli_w.dumps(document).encode()
    files = {file: text, **_beside(document)}
    return Seed(name, argv, files, _forms(files), **changes)


def _snapshots(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield snapshots for estimate, verify and lft export, and flows."""
    for name, document in SNAPSHOTS.items():
        options = ("--model", "--fairness", "--no-blame", "--json", "--blame")
        yield _document_seed(
            f"estimate {name}",
            ("estimate", "s.json", "--json"),
            "s.json",
            document,
            weight=1.0 if name != "flow-level" else 0.3,
            options=options,
            pool=pool,
        )
    yield _document_seed(
        "estimate for people",
        ("estimate", "s.json"),
        "s.json",
        SNAPSHOTS["fast"],
        weight=0.5,
        pool=pool,
    )
    for name, document in FLOWS.items():
        argv, changes = ("flows", "f.json", "--json"), {"pool": (*FLOWS.values(), *pool)}
        yield _document_seed(f"flows {name}", argv, "f.json", document, **changes)
    yield _document_seed(
        "flows for people", ("flows", "f.json"), "f.json", FLOWS["tree"], pool=pool
    )
    for name, document in VERIFIED.items():
        argv = ("verify", "s.json", "--json", "--random", "9", "--allow-unknown")
        options = ("--random", "--any-routing", "--exhaustive", "--allow-unknown")
        yield _document_seed(f"verify {name}", argv, "s.json", document, pool=pool, options=options)
    argv = ("view", "s.json", "--no-browser", "--json")
    files, forms = {"s.json": _json(SNAPSHOTS["fast"])}, {"s.json": "json"}
    yield Seed("view a snapshot", argv, files, forms, 2.0, ("--port",))
    yield from _permutations(pool)
    yield from _routing_tables(pool)


def _permutations(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield verifications with a file of flows."""
    for name, text in (
        ("p.txt", b"# flows\nn0 n4\nn4 n0\n"),
        ("p.json", b'[["n0", "n4"], [4, 0]]'),
    ):
        seed = _document_seed(
            f"verify {name}",
            ("verify", "s.json", "--permutation", name, "--random", "5"),
            "s.json",
            VERIFIED["owned"],
            weight=0.5,
            pool=pool,
        )
        form = "text"
        yield Seed(
            seed.name,
            seed.argv,
            {**seed.files, name: text},
            {**seed.forms, name: form},
            seed.weight,
            pool=pool,
        )


def _routing_tables(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield exports and loads of routing tables."""
    jobs = {"jobs": VERIFIED["owned"]["jobs"]}
    files = {**fabric(), "s.json": _json(jobs)}
    forms = {"s.json": "json", "fabric.txt": "text", "tables.lft": "text"}
    argv = ("lft", "export", "s.json", "--fabric", "fabric.txt", "--out", "new.lft", "--json")
    yield Seed("lft export", argv, files, {"s.json": "json", "fabric.txt": "text"}, 1.0, pool=pool)
    yield Seed(
        "lft export on a base", (*argv, "--base", "tables.lft"), files, forms, 1.0, pool=pool
    )
    argv = ("lft", "check", "s.json", "--fabric", "fabric.txt", "--base", "tables.lft", "--json")
    yield Seed("lft check", argv, files, forms, 0.7, ("--fabric",), status=1, pool=pool)
    yield Seed(
        "lft load",
        ("lft", "load", "tables.lft", "--fabric", "fabric.txt", "--json"),
        fabric(),
        {"fabric.txt": "text", "tables.lft": "text"},
        options=("--fabric", "--json"),
    )
    argv = ("lft", "load", "tables.lft", "--fabric", "fabric.txt", "--name-map", "names.txt")
    yield Seed(
        "lft load for people", argv, fabric(), {"names.txt": "text", "fabric.txt": "text"}, 0.5
    )


def _fabrics(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield descriptions and files of fabrics."""
    for name, document in TOPOLOGIES.items():
        for file in ("t.json", "t.toml"):
            yield _document_seed(
                f"inspect {name} as {file[2:]}",
                ("topology", "inspect", file, "--json"),
                file,
                document,
                weight=0.5,
                pool=pool,
                options=("--format",),
            )
        yield _document_seed(
            f"ebb {name}",
            ("ebb", "t.json", "--samples", "2", "--json"),
            "t.json",
            document,
            weight=0.3,
            pool=pool,
            options=("--format", "--routing", "--samples", "--seed", "--lft"),
        )
    for name, to in (("tree", "simgrid-xml"), ("torus", "graphml"), ("dragonfly", "edge-csv")):
        argv = ("topology", "convert", "t.json", "--to", to, "--out", "out.x", "--json")
        route = ("--routing", "d-mod-k") if to == "simgrid-xml" else ()
        document = TOPOLOGIES[name]
        yield _document_seed(
            f"convert {name} to {to}",
            (*argv, *route),
            "t.json",
            document,
            weight=0.5,
            pool=pool,
            options=("--to", "--routing"),
        )
    for name in WIRING:
        kind = "csv" if name.endswith("csv") else "text"
        files, forms = {name: wiring(name)}, {name: kind}
        argv = ("topology", "inspect", name, "--json")
        yield Seed(f"inspect {name}", argv, files, forms, options=("--format",))
        for to in ("graphml", "edge-csv", "slurm-conf", "simgrid-xml"):
            if to == "slurm-conf" and name in NO_TREES:
                continue
            argv = ("topology", "convert", name, "--to", to, "--out", "out.x", "--json")
            options = ("--to", "--out", "--format", "--routing")
            yield Seed(f"convert {name} to {to}", argv, files, forms, 0.25, options)


def _runs(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield experiments."""
    for name, document in EXPERIMENTS.items():
        yield _document_seed(
            f"run {name}",
            ("run", "e.toml", "--out", "out", "--json"),
            "e.toml",
            document,
            weight=1.5,
            options=("--set", "--set", "--csv", "--resume"),
            pool=pool,
        )
    yield _document_seed(
        "run with its report",
        ("run", "e.toml", "--csv"),
        "e.toml",
        EXPERIMENTS["plain"],
        weight=0.03,
        pool=pool,
        pictures=True,
    )


def _sweeps(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield experiments over lists of values, computed, planned and looked at."""
    options = ("--set", "--tasks", "--task", "--out", "--workers")
    for name, document in SWEEPS.items():
        for does, how in {"": "--out out", " planned": "--plan plan", " dry": "--dry-run"}.items():
            argv = ("sweep", "e.toml", *how.split(), "--json")
            yield _document_seed(
                f"sweep {name}{does}",
                argv,
                "e.toml",
                document,
                weight=0.4,
                options=options,
                pool=pool,
            )


def _pages(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield pages of a moment."""
    for argv, document in (
        (("estimate", "s.json"), SNAPSHOTS["fast"]),
        (("flows", "s.json"), FLOWS["tree"]),
        (("verify", "s.json", "--allow-unknown"), VERIFIED["owned"]),
        (("topology", "inspect", "s.json", "--svg", "page.svg"), TREE),
    ):
        yield _document_seed(
            f"{argv[0]} page",
            (*argv, "--html", "page.html", "--json"),
            "s.json",
            document,
            weight=0.04,
            pool=pool,
            pictures=True,
        )


def _plugins(pool: tuple[Any, ...]) -> Iterator[Seed]:
    """Yield plug-ins and what names them."""
    files, forms = {"mine.py": PLUGIN}, {"mine.py": "text"}
    argv = ("check-plugin", "mine.py", "--json")
    yield Seed("check-plugin of a file", argv, files, forms, 1.0, ("--kind", "--set"))
    argv = ("check-plugin", "swf", "--kind", "readers", "--set", "path=log.swf", "--json")
    files, forms = {"log.swf": log("swf")}, {"log.swf": "columns"}
    yield Seed("check-plugin of a reader", argv, files, forms, 1.0, ("--kind", "--set"))
    tables = tomli_w.dumps(EXPERIMENTS["plain"] | {"scheduler": {"allocator": "mine.py:Corner"}})
    files = {"e.toml": tables.encode(), "mine.py": PLUGIN}
    forms = {"e.toml": "toml", "mine.py": "text"}
    argv = ("run", "e.toml", "--out", "out", "--json")
    yield Seed("run with a plug-in", argv, files, forms, 0.6, pool=pool)


def _logs() -> Iterator[Seed]:
    """Yield job logs."""
    for form, name in LOGS.items():
        files, forms = {name: log(form)}, {name: FORM_OF_LOG[form]}
        argv = ("trace", "inspect", name, "--format", form, "--json")
        yield Seed(f"trace inspect {form}", argv, files, forms, 1.0, (*_FILTERS, "--nodes"))
        for end in ("swf", "csv", "parquet", "csv.gz"):
            argv = ("trace", "convert", name, f"out.{end}", "--format", form, "--json")
            yield Seed(f"trace convert {form} to {end}", argv, files, forms, 0.3, _FILTERS)
        argv = ("trace", "inspect", name, "--format", form, "--html", "page.html")
        yield Seed(f"trace page {form}", argv, files, forms, 0.01, pictures=True)
    for generator, more in (
        ("synth", ("--mean-nodes", "3")),
        ("laas", ()),
        ("lublin", ("--n-nodes", "16")),
        ("hector-like", ("--load", "0.7")),
    ):
        argv = ("trace", "generate", generator, "out.swf", "--n-jobs", "9", "--json", *more)
        options = ("--mean-nodes", "--n-nodes", "--n-jobs", "--load", "--seed")
        yield Seed(f"trace generate {generator}", argv, {}, {}, 0.5, options)


def _papers() -> Iterator[Seed]:
    """Yield the record of a paper, of which a page is made again."""
    record = (Path(__file__).parents[2] / "docs" / "research" / "papers" / "yang.json").read_bytes()
    argv = ("paper", "yang", "--recorded", "r.json", "--out", "page", "--json")
    forms = {"r.json": "foreign-json"}
    yield Seed("paper of a record", argv, {"r.json": record}, forms, 0.6, pictures=True)


def _over_inputs() -> Iterator[Seed]:
    """Yield commands whose output is a file that they read, which is refused."""
    snapshot, tree = _json(SNAPSHOTS["fast"]), _json(TOPOLOGIES["tree"])
    export = ("lft", "export", "s.json", "--fabric", "fabric.txt", "--out", "fabric.txt")
    for argv, files in (
        (("topology", "convert", "t.json", "--to", "graphml", "--out", "t.json"), {"t.json": tree}),
        (("topology", "inspect", "t.json", "--svg", "./t.json"), {"t.json": tree}),
        (("estimate", "s.json", "--html", "s.json"), {"s.json": snapshot}),
        (("trace", "inspect", "log.swf", "--html", "log.swf"), {"log.swf": log("swf")}),
        (("trace", "convert", "log.csv", "log.csv"), {"log.csv": log("csv")}),
        (export, {**fabric(), "s.json": _json({"jobs": VERIFIED["owned"]["jobs"]})}),
    ):
        forms = {name: form for name, form in _forms(files).items() if name in argv}
        name = f"{' '.join(argv[:2])} over its input"
        yield Seed(name, argv, files, forms, 0.3, status=2)


def _from_stdin(pools: Mapping[str, tuple[Any, ...]]) -> Iterator[Seed]:
    """Yield commands that read standard input."""
    tree, snapshot = _json(TOPOLOGIES["tree"]), _json(SNAPSHOTS["fast"])
    tables = tomli_w.dumps(EXPERIMENTS["plain"]).encode()
    for argv, form, data, pool in (
        (("estimate", "-", "--json"), "json", snapshot, pools["snapshot"]),
        (("flows", "-", "--json"), "json", _json(FLOWS["tree"]), pools["snapshot"]),
        (("topology", "inspect", "-", "--json"), "json", tree, pools["snapshot"]),
        (("run", "-", "--out", "out", "--json"), "toml", tables, pools["experiment"]),
        (("trace", "inspect", "-", "--format", "swf", "--json"), "columns", log("swf"), ()),
        (("trace", "inspect", "-", "--format", "csv", "--json"), "csv", log("csv"), ()),
    ):
        name = f"{argv[0]} standard input as {form}"
        yield Seed(name, argv, {STDIN: data}, {STDIN: form}, 0.3, pool=pool)
    argv = ("lft", "load", "-", "--fabric", "fabric.txt", "--json")
    files = {"fabric.txt": fabric()["fabric.txt"], STDIN: fabric()["tables.lft"]}
    yield Seed("lft standard input", argv, files, {STDIN: "text"}, 0.3)
