"""Import directions and the shape of kernels are facts of the code base, so a test holds them."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from measured import structure
from measured.structure import CHECKING, package_of

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    CHECKING: set(),
    "netsim": {CHECKING},
    "patterns": {CHECKING},
    "scheduler": {CHECKING, "netsim", "patterns"},
    "coupling": {CHECKING, "netsim", "patterns", "scheduler"},
    "fabricsim": {CHECKING, "netsim", "patterns", "scheduler", "coupling"},
}
# The rooms of each package, ground floor first: a room imports rooms of lower floors and itself.
# A module that lies loose in a package is a room of its own; `__init__` is a folder's face.
FLOORS = {
    CHECKING: [
        ["errors", "values", "sheets", "onuse", "siblings", "outputs"],
        ["units", "inputs", "documents", "parquets"],
        ["registry", "table"],
    ],
    "netsim": [
        ["common"],
        ["topology"],
        ["topology.structure"],
        ["flows"],
        ["routing"],
        ["nonblocking", "infiniband", "fluid"],
        ["flowsim", "baselines", "formats.importers", "formats.exporters"],
        ["packetsim"],
        ["formats"],
        ["registries"],
    ],
    "scheduler": [
        ["errors"],
        ["geometry", "job"],
        ["allocation", "traffic", "workload"],
        ["footprint", "rates", "reasons", "traffic_classes"],
        ["cluster", "observer"],
        ["switches", "allocators"],
        ["machine", "sharing"],
        ["queues", "events"],
        ["simulator"],
    ],
    "coupling": [
        ["errors"],
        ["terminal_text", "stopping"],
        ["inputs", "rates"],
        ["results", "checks"],
        ["runs", "report.plots", "site"],
        ["sweep"],
        ["replay"],
        ["calibration"],
        ["report"],
        ["papers", "explorer", "api", "plot"],
        ["cli"],
    ],
}
SOURCES = sorted(
    path for package in MAY_IMPORT.keys() - {CHECKING} for path in (ROOT / package).rglob("*.py")
)


def module_of(path):
    """Return the dotted name of a source file."""
    return structure.module_of(path, ROOT)


@cache
def imported_modules(path):
    """Return the modules that a source file imports, at any depth."""
    return structure.imported_modules(path, ROOT)


def room_of(module):
    """Return package and room of a module: its folder, or itself where it lies loose."""
    return structure.room_of(module, ROOT)


INSIDE = [
    path for path in SOURCES if path.name != "__init__.py" and package_of(module_of(path)) in FLOORS
]


def floor_of(module):
    """Return the floor of a module's room."""
    package, room = room_of(module)
    floors = [number for number, rooms in enumerate(FLOORS[package]) if room in rooms]
    assert len(floors) == 1, f"{module}: give the room {room!r} one floor of {package} in this test"
    return floors[0]


def shown(paths):
    """Return names of files, as errors show them."""
    return [str(path.relative_to(ROOT)) for path in paths]


def test_modules_import_only_packages_below_their_own():
    """Network and patterns know checks alone; the scheduler never knows the coupling."""
    upward = {}
    for path in SOURCES:
        package = package_of(module_of(path))
        imported = {package_of(name) for name in imported_modules(path)} & MAY_IMPORT.keys()
        upward[path] = imported - MAY_IMPORT[package] - {package}

    assert shown(path for path in upward if upward[path]) == []


def test_no_arrow_between_rooms_runs_up():
    """A room uses the rooms below it; two rooms of one floor do not know each other."""
    upward = []
    for path in INSIDE:
        module = module_of(path)
        package, room = room_of(module)
        upward += [
            f"{module} -> {name}"
            for name in imported_modules(path)
            if name.startswith(f"{package}.")
            and room_of(name)[1] != room
            and floor_of(name) >= floor_of(module)
        ]

    assert INSIDE
    assert upward == []


def test_long_files_say_why():
    """A file holds one idea; past 800 lines, its first line gives the reason for its length."""
    texts = {path: path.read_text(encoding="utf-8").splitlines() for path in SOURCES}
    unexplained = [
        path for path, text in texts.items() if len(text) > 800 and "because" not in text[0]
    ]

    assert shown(unexplained) == []


WRITES_FILES = re.compile(
    r"""\.write_(text|bytes)\(|mkstemp|NamedTemporaryFile|\.to_(csv|parquet)\((?!index|\))"""
    r"""|open\(([^()]*, )?(mode=)?["'](w|a|x|r\+)"""
)


def test_files_are_written_in_one_place():
    """Whole or not at all: `netsim.common.atomic_write` alone opens files to write."""
    writes = [path for path in SOURCES if WRITES_FILES.search(path.read_text(encoding="utf-8"))]

    assert shown(writes) == ["netsim/common/atomic_write.py"]


KERNELS = [path for path in SOURCES if path.stem.endswith("kernels")]
MOST_ARGUMENTS = 8


def wide_kernels(tree):
    """Return the kernels with more arguments than one tuple of arrays and a few scalars need."""
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_ARGUMENTS
    ]


def numbered_columns(tree):
    """Return the constants that stand as a second index: integers that name columns."""
    return {
        index.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)
        for index in node.slice.elts[1:]
        if isinstance(index, ast.Name) and index.id.isupper()
    }


@pytest.mark.parametrize("broken", [wide_kernels, numbered_columns])
def test_kernels_take_few_arguments_and_name_columns(broken):
    """State goes in one tuple of structured arrays, whose fields have names."""
    found = [path for path in KERNELS if broken(ast.parse(path.read_text(encoding="utf-8")))]

    assert KERNELS
    assert shown(found) == []


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: str(p.relative_to(ROOT)))
def test_constants_of_kernels_have_words_for_names(path):
    """A letter is a symbol of a formula, never a constant of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [
        alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    names = {alias.asname or alias.name for alias in imported}
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    names |= {name.id for a in assigned for name in ast.walk(a) if isinstance(name, ast.Name)}

    assert {name for name in names if len(name) == 1} == set()


TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_tests_do_not_import_benchmarks():
    """What both need lies in `tests/measured`; one file tests the commands themselves."""
    using = [
        path
        for path in TESTS
        if any(name.split(".")[0] == "benchmarks" for name in imported_modules(path))
    ]

    assert shown(using) == ["tests/test_benchmarks.py"]


def test_no_script_lies_at_the_top():
    """What runs has a room; a helper of somebody's own machine would lie here."""
    assert [*ROOT.glob("*.py"), *ROOT.glob("*.sh")] == []
