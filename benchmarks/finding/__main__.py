"""
Find under which communication isolation pays, and which assumption of the papers was nearest.

    python -m benchmarks.finding --logs FOLDER     # 15 minutes of CPU time; again: what is left
    python -m benchmarks.finding --synthetic       # six minutes: Synth-16, -22, -28, few jobs
    python -m benchmarks.finding --recorded        # the page anew, from cells.json

Parts of LLNL Thunder and Atlas under six allocators, 4 communication fractions and 3 mixes of
patterns, beside the papers' assumptions: four sweeps a log, in one process; synthetic logs with
one mix. What was found goes into benchmarks/finding/cells.json; from that finding.md and its
picture are made.
"""

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.finding.page import biases, numbers, page
from benchmarks.finding.picture import picture
from benchmarks.finding.runs import LOGS, SYNTHETIC, rows, run_all, sources
from coupling.inputs.experiment_fields import DEFAULT_MODEL

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("cells.json")
PAGE = ROOT / "docs" / "research" / "finding.md"
NUMBERS = PAGE.with_suffix(".csv")
PICTURE = ROOT / "docs" / "pictures" / "finding.svg"


def main() -> int:
    """Run what is missing, and write the record and the page."""
    parser = argparse.ArgumentParser("python -m benchmarks.finding", None, __doc__.splitlines()[1])
    parser.add_argument("--logs", type=Path, help=f"folder of {' and '.join(LOGS.values())}")
    parser.add_argument("--synthetic", action="store_true", help=f"run {', '.join(SYNTHETIC)}")
    parser.add_argument("--recorded", action="store_true", help="make the page of the record anew")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "finding", help="cells")
    parser.add_argument("--draws", type=int, help="the first draws alone; nothing is recorded")
    asked = parser.parse_args()
    settings = sources(asked.logs, asked.synthetic)
    if bool(settings) == asked.recorded:
        parser.error("expected --recorded, or --logs and --synthetic or one of them")
    if settings:
        found = rows(run_all(settings, asked.out, print, asked.draws))
        if asked.draws is not None:
            return 0
        _record(found, list(settings))
    document = json.loads(RECORD.read_text(encoding="utf-8"))
    found = pd.DataFrame(document["cells"], columns=document["columns"])
    PAGE.write_text(page(document["made"], found), encoding="utf-8")
    NUMBERS.write_text(numbers(found).to_csv(index=False), encoding="utf-8")
    PICTURE.write_bytes(picture(found).file("svg"))
    return 0


def _record(found: pd.DataFrame, logs: list[str]) -> None:
    """Write what was found: a line for each cell; the cells of other logs stay as they were run."""
    old = json.loads(RECORD.read_text(encoding="utf-8"))
    made: dict[str, Any] = {"bias": biases(), "logs": {**old["made"]["logs"]}}
    kept = [row for row in old["cells"] if row[0] not in logs]
    if kept and made["bias"] != old["made"]["bias"]:
        sys.exit("the bias of the model is another than that of the recorded cells: run all logs")
    run = {
        "date": datetime.now(UTC).date().isoformat(),
        "fabricsim": version("fabricsim"),
        "model": DEFAULT_MODEL,
        "model_code": _last_change("netsim/fluid"),
    }
    made["logs"] |= dict.fromkeys(logs, run)
    cells = [*kept, *found.to_numpy(dtype=object).tolist()]
    lines = ",\n".join(json.dumps(row) for row in cells)
    head = f'"made": {json.dumps(made)},\n"columns": {json.dumps(list(found.columns))}'
    RECORD.write_text(f'{{{head},\n"cells": [\n{lines}\n]}}\n', encoding="utf-8")


def _last_change(folder: str) -> str:
    """Return the commit that changed a folder last; empty outside a repository."""
    command = ["git", "log", "-1", "--format=%h", "--", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
