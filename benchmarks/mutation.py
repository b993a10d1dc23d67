"""
Mutation testing: how many small faults put into the code the tests notice.

Run: ``python -m benchmarks.mutation [--count N] [--seed S] [PART ...]`` in a checkout whose
environment has the extra ``mutation``. Works on a copy. For each part N places are drawn by seed
and one change made at each; a change that no test notices is printed with its place. Parts that
were run are written to the evidence; those that were not keep their rows.
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evidence import record

ROOT = Path(__file__).parents[1]
STATE = ROOT / "benchmarks" / "mutation.json"
COPIED = ("netsim", "patterns", "scheduler", "coupling", "fabricsim", "tests", "examples")
TIMEOUT_S = 120.0
SECTION = "Mutation testing"


@dataclass(frozen=True, slots=True)
class Part:
    """What is changed, and the tests that should notice."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "routing": Part(
        (
            "netsim/routing/dmodk.py",
            "netsim/routing/wraparound.py",
            "netsim/routing/updown.py",
            "netsim/routing/dimension.py",
            "netsim/routing/shortest.py",
        ),
        ("tests/netsim/routing", "tests/contracts/test_routings.py"),
    ),
    "conditions": Part(
        ("netsim/nonblocking/conditions.py",),
        ("tests/netsim/nonblocking/test_conditions.py",),
    ),
    "non-blocking": Part(
        (
            "netsim/nonblocking/router.py",
            "netsim/nonblocking/conditions.py",
            "netsim/nonblocking/verdict.py",
        ),
        (
            "tests/netsim/nonblocking/test_router.py",
            "tests/netsim/nonblocking/test_verdict.py",
            "tests/netsim/nonblocking/test_verdict_choices.py",
        ),
    ),
    "EASY": Part(
        (
            "scheduler/queues/easy.py",
            "scheduler/queues/reservation.py",
        ),
        ("tests/scheduler/queues/test_easy.py", "tests/scheduler/queues/test_switches.py"),
    ),
    "Jigsaw": Part(
        (
            "scheduler/allocators/jigsaw.py",
            "scheduler/allocators/pods.py",
        ),
        (
            "tests/papers/test_smith21_allocation.py",
            "tests/scheduler/allocators/test_exhaustive_search.py",
            "tests/scheduler/allocators/test_isolation_checkers.py",
        ),
    ),
    "metrics": Part(
        (
            "coupling/results/summary.py",
            "coupling/results/over_time.py",
        ),
        ("tests/coupling/results/test_summary.py",),
    ),
    **{
        name: Part(
            tuple(
                str(path.relative_to(ROOT))
                for path in sorted((ROOT / "coupling" / name).glob("*.py"))
                if path.name != "__init__.py" and not path.stem.endswith("_kernels")
            ),
            (f"tests/coupling/{name}",),
        )
        for name in ("site", "calibration", "sweep", "rates")
    },
    "contention twins": Part(
        ("tests/naive/fluid.py",),
        ("tests/netsim/fluid/test_twin.py",),
    ),
}


def main() -> int:
    """Run the parts asked for and write the scores."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--count", type=int, default=40, help="changes to each part (40)")
    parser.add_argument("--seed", type=int, default=1, help="which places are drawn (1)")
    asked = parser.parse_args()
    unknown = sorted(set(asked.parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; choose from {', '.join(PARTS)}.")
    if shutil.which("cosmic-ray") is None:
        parser.error("cosmic-ray is not installed; pip install -e '.[mutation]'.")
    scores = json.loads(STATE.read_text()) if STATE.exists() else {}
    for name in asked.parts or PARTS:
        scores[name] = score(name, PARTS[name], asked.count, asked.seed)
        STATE.write_text(json.dumps(scores, indent=1) + "\n")
        record(SECTION, "python -m benchmarks.mutation", table(scores))
    return 0


def score(name: str, part: Part, count: int, seed: int) -> dict[str, int | list[str]]:
    """Change one place after the other in a copy, and count what the tests notice."""
    with tempfile.TemporaryDirectory(prefix="fabricsim-mutants-") as folder:
        copy = Path(folder) / "copy"
        for source in COPIED:
            shutil.copytree(
                ROOT / source, copy / source, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copytree(ROOT / "benchmarks", copy / "benchmarks")
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = f"{sys.executable} -m pytest -x -q -p no:cacheprovider {' '.join(part.tests)}"
        (copy / "session.toml").write_text(
            f"[cosmic-ray]\nmodule-path = {json.dumps(part.modules)}\ntimeout = {TIMEOUT_S}\n"
            f"excluded-modules = []\ntest-command = {json.dumps(tests)}\n"
            '[cosmic-ray.distributor]\nname = "local"\n'
        )
        environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": folder}
        for step in (
            [sys.executable, "-m", "pytest", "-x", "-q", *part.tests],
            ["cosmic-ray", "init", "session.toml", "session.sqlite"],
        ):
            subprocess.run(step, cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        drawn = draw(copy, count, seed)
        print(f"{name}: {drawn} changes", flush=True)
        command = ["cosmic-ray", "exec", "session.toml", "session.sqlite"]
        subprocess.run(command, cwd=copy, env=environment, check=True)  # noqa: S603
        return result(copy)


def draw(copy: Path, count: int, seed: int) -> int:
    """Keep one change at each of some places, none in an annotation; return how many."""
    with sqlite3.connect(copy / "session.sqlite") as session:
        rows = session.execute(
            "select job_id, module_path, operator_name, start_pos_row, start_pos_col"
            " from mutation_specs"
            " order by module_path, start_pos_row, start_pos_col, operator_name, occurrence"
        ).fetchall()
        places: dict[tuple[str, int, int], list[str]] = {}
        for job, module, operator, row, column in rows:
            line = (copy / module).read_text(encoding="utf-8").splitlines()[row - 1]
            if "BitOr" in operator and ("None" in line or "->" in line):
                continue  # a type
            places.setdefault((module, row, column), []).append(job)
        chance = random.Random(seed)  # noqa: S311 (a sample, no secret)
        chosen = chance.sample(sorted(places), min(count, len(places)))
        kept = [chance.choice(places[place]) for place in sorted(chosen)]
        marks = ", ".join("?" * len(kept))
        session.execute(f"delete from mutation_specs where job_id not in ({marks})", kept)  # noqa: S608
        session.execute(f"delete from work_items where job_id not in ({marks})", kept)  # noqa: S608
    return len(kept)


def result(copy: Path) -> dict[str, int | list[str]]:
    """Count the changes that were noticed, and print and return the others."""
    with sqlite3.connect(copy / "session.sqlite") as session:
        rows = session.execute(
            "select test_outcome, diff, module_path, start_pos_row from work_results"
            " join mutation_specs using (job_id) order by module_path, start_pos_row"
        ).fetchall()
    alive = []
    for outcome, diff, module, row in rows:
        if "SURVIVED" in str(outcome).upper():
            lines = [line for line in str(diff).splitlines() if line[:1] in "+-"]
            changed = " -> ".join(
                line[1:].strip() for line in lines if line[:3] not in ("---", "+++")
            )
            alive.append(f"{module}:{row}: {changed}")
            print(f"  lives: {alive[-1]}", flush=True)
    return {"changes": len(rows), "noticed": len(rows) - len(alive), "alive": alive}


def table(scores: dict[str, dict[str, int | list[str]]]) -> Sequence[str]:
    """Return the scores as Markdown."""
    lines = ["| part | changes | noticed | score |", "| --- | ---: | ---: | ---: |"]
    for name in PARTS:
        if name in scores:
            total, noticed = int(scores[name]["changes"]), int(scores[name]["noticed"])  # type: ignore[arg-type]
            lines.append(f"| {name} | {total} | {noticed} | {noticed / max(1, total):.0%} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
