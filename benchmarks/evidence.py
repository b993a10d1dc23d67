"""Write what a command measured into benchmarks/evidence.md, with the date and the versions."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

EVIDENCE = Path(__file__).with_name("evidence.md")
HEAD = """# Evidence

What was measured, when, by which command. Each section is written by the command that it names;
commands exit with status 1 when a bar is not met. CPU times are of one thread.
"""


def record(section: str, command: str, lines: Sequence[str], *, path: Path = EVIDENCE) -> None:
    """
    Replace one section of the evidence page.

    Parameters
    ----------
    section : str
        Heading of the section.
    command : str
        What to type to measure it again.
    lines : sequence of str
        Markdown.
    path : Path, optional
        The page.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    head, *sections = text.split("\n## ")
    kept = {part.split("\n", 1)[0]: part for part in sections}
    today = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{name} {version(name)}" for name in ("fabricsim", "numpy", "numba"))
    stamp = f"{today}, Python {platform.python_version()}, {versions}"
    body = "\n".join(lines).strip()
    kept[section] = f"{section}\n\n`{command}` ({stamp})\n\n{body}\n"
    parts = [head.rstrip() + "\n", *(part.rstrip() + "\n" for part in kept.values())]
    path.write_text("\n## ".join(parts), encoding="utf-8")


def verdict(holds: bool) -> str:
    """
    Return the word for a bar.

    Parameters
    ----------
    holds : bool
        Whether it is met.

    Returns
    -------
    str
        ``yes`` or ``NO``.
    """
    return "yes" if holds else "NO"
