"""
How large the house is: files, lines, rooms, arrows between them, and what is docstring.

    python -m benchmarks.structure             # of this tree and, from git, of an earlier commit
    python -m benchmarks.structure --record    # into the evidence

A room is a folder, or a module that lies loose in its package. An arrow says that a module of one
room imports one of another, in the same package. It runs upward where no order of the rooms lets
all arrows run down: both rooms are in a circle. Exported is what the ``__all__`` of a package
names, and the methods of such classes.
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
BEFORE = "7600218"  # the state that the plan of the layout looked at
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
    rooms: set[str] = field(default_factory=set)
    arrows: set[tuple[str, str]] = field(default_factory=set)

    def upward(self) -> int:
        """Return the arrows between rooms of one circle."""
        circles = nx.strongly_connected_components(nx.DiGraph(sorted(self.arrows)))
        circle_of = {room: i for i, circle in enumerate(circles) for room in circle}
        return sum(circle_of[one] == circle_of[other] for one, other in self.arrows)


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


def count(root: Path, package: str, names: set[str]) -> Package:
    """Return what is in a package of a tree."""
    found = Package()
    for path, text, tree in trees(root, package):
        found.files += 1
        found.lines += len(text.splitlines())
        for lines, exported in docstrings(tree, names, exported=True):
            found.docstring_lines += lines
            found.exported_lines += lines * exported
        if path.stem.endswith("kernels"):
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    lines = (node.end_lineno or node.lineno) - node.lineno + 1
                    found.longest_kernel = max(found.longest_kernel, lines)
                    found.most_arguments = max(found.most_arguments, len(node.args.args))
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
    head = "package | files | lines | rooms | arrows | upward | docstrings | exported, modules"
    lines = [
        f"{title}:",
        "",
        f"| {head} | longest kernel | most arguments |",
        "| --- |" + " ---: |" * 9,
    ]
    everything = Package()
    for package in PACKAGES:
        if not (root / package).is_dir():
            continue
        found = count(root, package, names)
        lines.append(row(package, found))
        for name in ("files", "lines", "docstring_lines", "exported_lines"):
            setattr(everything, name, getattr(everything, name) + getattr(found, name))
        for name in ("longest_kernel", "most_arguments"):
            setattr(everything, name, max(getattr(everything, name), getattr(found, name)))
        everything.rooms |= found.rooms
        everything.arrows |= found.arrows
    return [*lines, row("all", everything), ""]


def row(title: str, found: Package) -> str:
    """Return one line of the table."""
    cells = [
        title,
        f"{found.files}",
        f"{found.lines:,}",
        f"{len(found.rooms)}",
        f"{len(found.arrows)}",
        f"{found.upward()}",
        f"{found.docstring_lines / found.lines:.1%}",
        f"{found.exported_lines / found.lines:.1%}",
        f"{found.longest_kernel or ''}",
        f"{found.most_arguments or ''}",
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
    packed = git("archive", commit, "--", *(name for name in PACKAGES if name in there))
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
