"""Options that name an output."""

from pathlib import Path

from fabricsim.checking.outputs import declare_output


def output(path: Path | None) -> Path | None:
    """Refuse an output that would destroy an input, or a stored result (callback of options)."""
    if path is not None and str(path) != "-":
        declare_output(path)
    return path
