"""Make sure that the five packages are ours, and those of one installation."""

import re
from base64 import urlsafe_b64encode
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("fabricsim", "netsim", "patterns", "scheduler", "coupling")


@cache
def check_siblings(root: Path | None = None) -> None:
    """Refuse packages that another distribution of the same name has overwritten or damaged."""
    # Each must be imported from `root` and begin as recorded when it was installed.
    root = root or Path(__file__).parents[2]
    records = [record.read_text("utf-8") for record in root.glob("fabricsim-*.dist-info/RECORD")]
    for name in PACKAGES:
        own = root / name / "__init__.py"
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            left = root / name
            found = f"only the folder {left} without __init__.py" if left.is_dir() else "none"
        elif Path(spec.origin).resolve() != own.resolve():
            found = f"{Path(spec.origin).parent}"
        elif any(_differs_from_record(record, name, own) for record in records):
            found = f"{own} of another distribution"
        else:
            continue
        raise ImportError(
            f"fabricsim needs its own package {name!r} in {root}, found {found}; "
            f"{_uninstall_hint(name)}reinstall fabricsim (pip install --force-reinstall), or use "
            "an environment of its own."
        )


def _differs_from_record(record: str, name: str, own: Path) -> bool:
    """Say whether a file is another than the record of installed files says."""
    line = re.search(rf"^{name}/__init__\.py,sha256=([^,]+),", record, re.MULTILINE)
    digest = urlsafe_b64encode(sha256(own.read_bytes()).digest()).rstrip(b"=").decode()
    return line is not None and line[1] != digest


def _uninstall_hint(package: str) -> str:
    """Return how to uninstall other distributions that have a package, if there are any."""
    from importlib.metadata import packages_distributions  # noqa: PLC0415 (slow, rarely needed)

    others = sorted(set(packages_distributions().get(package, [])) - {"fabricsim"})
    return f"pip uninstall {' '.join(others)}, then " if others else ""
