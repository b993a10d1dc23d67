"""
How large the house is: files, lines, rooms, arrows between them, names, kernels, docstrings, docs.

    python -m benchmarks.structure             # of this tree and, from git, of an earlier commit
    python -m benchmarks.structure --record    # into the evidence

A room is a folder, or a module that lies loose in its package. An arrow says that a module of one
room imports one of another, in the same package. It runs upward where no order of the rooms lets
all arrows run down: both rooms are in a circle. Exported is what the ``__all__`` of a package
names, and the methods of such classes. Of one word is a function or class without an underscore
inside or a second capital, special methods left out; a class name with several homes stands in more
than one file. A wide kernel takes more than 8 arguments.
"""

import argparse
import ast
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import networkx as nx
from measured.structure import imported_modules, module_of, room_of

from benchmarks.evidence import record

ROOT = Path(__file__).parents[1]
BEFORE = "c55256b"  # the state before names and rooms were made anew
MOST_ARGUMENTS = 8  # of a kernel
PACKAGES = ("netsim", "patterns", "scheduler", "coupling", "fabricsim")
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(slots=True)
class Package:
    """What is counted in a package."""

    files: int = 0
    lines: int = 0
    docstring_lines: int = 0
    exported_lines: int = 0  # of docstrings on exported names and of modules
    longest_kernel: int = 0  # lines
    most_arguments: int = 0  # of a kernel
    wide_kernels: int = 0
    names: int = 0  # of functions and classes
    one_word: int = 0
    homes: dict[str, set[str]] = field(default_factory=dict)  # files of each class name
    rooms: set[str] = field(default_factory=set)
    arrows: set[tuple[str, str]] = field(default_factory=set)

    def upward(self) -> int:
        """Return the arrows between rooms of one circle."""
        circles = nx.strongly_connected_components(nx.DiGraph(sorted(self.arrows)))
        circle_of = {room: i for i, circle in enumerate(circles) for room in circle}
        return sum(circle_of[one] == circle_of[other] for one, other in self.arrows)

    def several_homes(self) -> int:
        """Return the class names that stand in more than one file."""
        return sum(len(files) > 1 for files in self.homes.values())

    def add(self, other: "Package") -> None:
        """Add what is counted in another package."""
        for name in ("files", "lines", "docstring_lines", "exported_lines", "wide_kernels"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.names += other.names
        self.one_word += other.one_word
        for name in ("longest_kernel", "most_arguments"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        for name, files in other.homes.items():
            self.homes.setdefault(name, set()).update(files)
        self.rooms |= other.rooms
        self.arrows |= other.arrows


def trees(root: Path, package: str) -> Iterator[tuple[Path, str, ast.Module]]:
    """Yield the source files of a package, with their text and what it parses to."""
    for path in sorted((root / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path, text, ast.parse(text)


def exported_names(root: Path) -> set[str]:
    """Return what any ``__all__`` names."""
    return {
        constant.value
        for package in PACKAGES
        for _, _, tree in trees(root, package)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        for constant in ast.walk(node.value)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    }


def docstrings(
    node: ast.Module | Defined, names: set[str], exported: bool
) -> Iterator[tuple[int, bool]]:
    """Yield the lines of every docstring, and whether it is on an exported name or a module."""
    if ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        yield (first.end_lineno or first.lineno) - first.lineno + 1, exported
    for inner in node.body:
        if isinstance(inner, Defined):
            known = inner.name in names
            if isinstance(node, ast.ClassDef):
                known = exported and not inner.name.startswith("_")
            yield from docstrings(inner, names, known and not isinstance(node, ast.FunctionDef))


def count_names(found: Package, path: Path, tree: ast.Module) -> None:
    """Count the names and kernels of a file."""
    for node in ast.walk(tree):
        if not isinstance(node, Defined):
            continue
        found.names += 1
        word = node.name.strip("_")
        short = "_" not in word and not any(map(str.isupper, word[1:]))
        found.one_word += short and not node.name.startswith("__")
        if isinstance(node, ast.ClassDef):
            found.homes.setdefault(node.name, set()).add(str(path))
        elif path.stem.endswith("kernels"):
            arguments = len(node.args.args)
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found.longest_kernel = max(found.longest_kernel, lines)
            found.most_arguments = max(found.most_arguments, arguments)
            found.wide_kernels += arguments > MOST_ARGUMENTS


def count(root: Path, package: str, names: set[str]) -> Package:
    """Return what is in a package of a tree."""
    found = Package()
    for path, text, tree in trees(root, package):
        found.files += 1
        found.lines += len(text.splitlines())
        for lines, exported in docstrings(tree, names, exported=True):
            found.docstring_lines += lines
            found.exported_lines += lines * exported
        count_names(found, path, tree)
        if path.name == "__init__.py":
            continue
        own, room = room_of(module_of(path, root), root)
        found.rooms.add(f"{own}.{room}")
        for name in imported_modules(path, root):
            other, entered = room_of(name, root)
            if other == own and entered not in ("", room):
                found.arrows.add((f"{own}.{room}", f"{own}.{entered}"))
    return found


def table(root: Path, title: str) -> list[str]:
    """Return what is in a tree, as Markdown."""
    names = exported_names(root)
    head = (
        "package | files | lines | rooms | arrows | upward | names | of one word | several homes | "
        "docstrings | exported, modules | longest kernel | most arguments | wide kernels"
    )
    lines = [f"{title}:", "", f"| {head} |", "| --- |" + " ---: |" * head.count("|")]
    everything = Package()
    for package in PACKAGES:
        if not (root / package).is_dir():
            continue
        found = count(root, package, names)
        lines.append(row(package, found))
        everything.add(found)
    lines.append(row("all", everything))
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in pages)
    return [*lines, "", f"Words of documentation: {words:,} in {len(pages)} pages.", ""]


def row(title: str, found: Package) -> str:
    """Return one line of the table."""
    cells = [
        title,
        f"{found.files}",
        f"{found.lines:,}",
        f"{len(found.rooms)}",
        f"{len(found.arrows)}",
        f"{found.upward()}",
        f"{found.names:,}",
        f"{found.one_word / max(1, found.names):.0%}",
        f"{found.several_homes()}",
        f"{found.docstring_lines / found.lines:.1%}",
        f"{found.exported_lines / found.lines:.1%}",
        f"{found.longest_kernel or ''}",
        f"{found.most_arguments or ''}",
        f"{found.wide_kernels or ''}",
    ]
    return f"| {' | '.join(cells)} |"


def git(*arguments: str) -> bytes:
    """Return what git says of this repository, or stop with its complaint."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise SystemExit(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def at_commit(commit: str) -> list[str]:
    """Return what was in the tree of a commit."""
    there = git("ls-tree", "--name-only", commit).decode().split()
    packed = git(
        "archive",
        commit,
        "--",
        *(name for name in there if name in {*PACKAGES, "docs"} or name.endswith(".md")),
    )
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return table(Path(folder), f"Commit {commit}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and record the tables; return 1 where an arrow runs upward."""
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="into benchmarks/evidence.md")
    parser.add_argument("--before", metavar="COMMIT", default=BEFORE, help=f"({BEFORE})")
    asked = parser.parse_args(arguments)
    lines = [*table(ROOT, "This tree"), *at_commit(asked.before)]
    print("\n".join(lines))
    if asked.record:
        record("Structure", "python -m benchmarks.structure --record", lines)
    names = exported_names(ROOT)
    return int(any(count(ROOT, package, names).upward() for package in PACKAGES))


if __name__ == "__main__":
    sys.exit(main())
