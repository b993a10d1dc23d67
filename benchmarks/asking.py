"""What commands are asked for: a typing mistake or --help ends them before they measure."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def nothing(doc: str) -> None:
    """Read the arguments of a command that takes none."""
    _parser(doc).parse_args()


def count(doc: str, name: str, default: int, *, least: int = 1) -> int:
    """Return a number from 1, or from another, or the default where none is given."""
    parser = _parser(doc)
    parser.add_argument(
        "count", metavar=name, nargs="?", type=_from(least), default=default, help=f"({default})"
    )
    found: int = parser.parse_args().count
    return found


def folder(doc: str) -> Path:
    """Return a folder that exists."""
    parser = _parser(doc)
    parser.add_argument("folder", metavar="FOLDER", type=_folder)
    found: Path = parser.parse_args().folder
    return found


def _parser(doc: str) -> ArgumentParser:
    """Return a parser that describes a command by the first line of its docstring."""
    return ArgumentParser(description=doc.strip().partition("\n")[0])


def _from(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
        return int(text)

    return read


def _folder(text: str) -> Path:
    """Return a folder that exists."""
    if not Path(text).is_dir():
        raise ArgumentTypeError(f"expected a folder, got {text!r}")
    return Path(text)
