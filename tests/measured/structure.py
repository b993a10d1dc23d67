"""What a tree of source is built of: modules, rooms and who imports whom."""

import ast
from pathlib import Path

# The checks of values lie in the façade's folder, so that one name is taken on a user's path; they
# are a package of their own below all others.
CHECKING = "fabricsim.checking"


def module_of(path: Path, root: Path) -> str:
    """Return the dotted name of a source file."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def package_of(module: str) -> str:
    """Return the package that a module or a folder belongs to."""
    inside = module == CHECKING or module.startswith(f"{CHECKING}.")
    return CHECKING if inside else module.split(".", maxsplit=1)[0]


def is_module(name: str, root: Path) -> bool:
    """Return whether a dotted name is a module of the tree."""
    place = root.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def imported_modules(path: Path, root: Path) -> set[str]:
    """Return the modules that a source file imports, at any depth."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}:{node.lineno} imports relatively")
            # a name imported from a folder may be a module of it
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name for name in inside if is_module(name, root)} or {str(node.module)}
    return names


def room_of(module: str, root: Path) -> tuple[str, str]:
    """Return package and room of a module: its folder, or itself where it lies loose."""
    package = package_of(module)
    place = root.joinpath(*module.split("."))
    rest = module.removeprefix(package).split(".")[1:]
    room = rest if place.is_dir() else rest[:-1]
    return package, ".".join(room or rest)
