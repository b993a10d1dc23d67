"""What a paper's runs found, as a file from which its page can be made again."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from coupling.errors import ResultError
from coupling.inputs.table import Table
from coupling.papers.paper import Paper
from coupling.papers.registry import PAPERS
from coupling.papers.runs import Runs, from_json, to_json
from coupling.results.manifest import read_object, write_file

_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class PaperRecord:
    """What was found, and from what."""

    paper: Paper  # The paper
    quick: bool  # Whether the quick mode ran
    changes: tuple[str, ...]  # Fields that were set over those of the experiment files
    only: tuple[str, ...]  # Experiment files that ran, where not all did
    made: str  # Date and versions
    frames: Mapping[str, pd.DataFrame]  # What was found

    @property
    def command(self) -> str:
        """What to type to find it again."""
        logs = " --logs DIR" if self.paper.logs else ""
        mode = " --quick" if self.quick else logs
        words = [f" --only {name}" for name in self.only]
        words += [f" --set '{change}'" for change in self.changes]
        return f"fabricsim paper {self.paper.name}{mode}" + "".join(words)

    def save(self, path: Path) -> None:
        """Write the record."""
        frames = {name: to_json(table) for name, table in self.frames.items()}
        document = {
            "version": _VERSION,
            "paper": self.paper.name,
            "quick": self.quick,
            "changes": list(self.changes),
            "only": list(self.only),
            "made": self.made,
            "sha256": _frames_hash(frames),
            "frames": frames,
        }
        write_file(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path, paper: Paper) -> "PaperRecord":
        """Read a record of a paper."""
        table = Table(read_object(path), f"{path}:", ResultError)
        table.integer("version", least=_VERSION, most=_VERSION)
        if table.text("paper") != paper.name:
            raise table.error("paper", paper.name)
        if table.text("sha256") != _frames_hash(table.mapping("frames")):
            raise table.fault("frames", "they were changed since the record was written (sha256).")
        frames = {name: from_json(one) for name, one in table.mapping("frames").items()}
        return cls(
            paper,
            table.flag("quick", default=False),
            table.names("changes"),
            table.names("only") if table.raw("only", None) is not None else (),
            table.text("made"),
            frames,
        )


def _frames_hash(frames: Mapping[str, object]) -> str:
    """Return the SHA-256 of what was found, whatever the layout of the file."""
    return hashlib.sha256(json.dumps(frames, sort_keys=True).encode()).hexdigest()


def record_of(
    name: str, runs: Runs, changes: Sequence[str], only: Sequence[str] = ()
) -> PaperRecord:
    """Find the numbers of a paper in its runs."""
    paper = PAPERS[name]
    versions = ", ".join(f"{one} {version(one)}" for one in ("fabricsim", "numpy", "numba"))
    today = datetime.now(UTC).date().isoformat()
    made = f"{today}, Python {platform.python_version()}, {versions}"
    found = {key: from_json(to_json(table)) for key, table in paper.study(runs).items()}
    return PaperRecord(paper, runs.quick, tuple(changes), tuple(only), made, found)
