"""Make sure that the five packages come from one installation."""

from importlib.util import find_spec
from pathlib import Path

SIBLINGS = ("fabricsim", "netsim", "patterns", "scheduler")


def check_siblings(root: Path | None = None) -> None:
    """Refuse to go on when another distribution shadows one of our packages."""
    root = root or Path(__file__).parents[1]
    for name in SIBLINGS:
        spec = find_spec(name)
        found = None if spec is None or spec.origin is None else Path(spec.origin).parents[1]
        if found is None or found.resolve() != root.resolve():
            raise ImportError(
                f"fabricsim needs its own package {name!r} beside {root}, found "
                f"{found or 'none'}; another installed distribution of that name shadows it: "
                f"uninstall it (pip uninstall {name}) or use an environment of its own."
            )
