"""A record of repeated runs with known communication, as sacct prints it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

import fabricsim as fs
from measured.ports import KINDS, profile_of

BEGIN = datetime(2024, 5, 29, 8, tzinfo=UTC)
HEADER = (
    "JobID|JobIDRaw|JobName|Partition|Account|User|UID|State|Submit|Start|End|ElapsedRaw|"
    "TimelimitRaw|NNodes|NTasks|NodeList"
)
FABRIC = {"kind": "fat-tree", "children": [8, 8], "parents": [1, 2], "parallel": [1, 1]}
_SIZES = (4, 8)
_WORK_S = 3600.0


def _line(number: int, name: str, start_s: float, end_s: float, hosts: str) -> str:
    """Return the line of a job."""
    start, end = (
        f"{BEGIN + timedelta(seconds=round(own)):%Y-%m-%dT%H:%M:%S}" for own in (start_s, end_s)
    )
    ran = round(end_s) - round(start_s)
    cells = (number, number, name, "batch", "bio", "ann", 501, "COMPLETED", start, start, end)
    more = (ran, 600, "", "", hosts)
    return "|".join(map(str, (*cells, *more)))


def repeated_runs(
    folder: Path,
    *,
    jobs: int = 200,
    noise: float = 0.0,
    kinds: Mapping[str, tuple[dict[str, Any], float]] = KINDS,
    seed: int = 1,
) -> Path:
    """
    Simulate a queue of runs, each name on two sizes again and again, and write its record.

    `noise`: by which the work of runs differs, as a share.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(seed)
    names, lines = list(kinds), [HEADER]
    submit_s = np.cumsum(chance.exponential(330.0, jobs))
    for number in range(jobs):
        name, size = names[number % len(names)], _SIZES[int(chance.integers(2))]
        work_s = _WORK_S * (1.0 + noise * float(chance.standard_normal()))
        begin = float(submit_s[number])
        row = _line(number + 1, name, begin, begin + work_s, f"x[1-{size}]").split("|")
        row[-3] = str(size)
        lines.append("|".join(row))
    log, profile = folder / "wanted.txt", folder / "truth.toml"
    log.write_text("\n".join(lines) + "\n")
    profile.write_text(tomli_w.dumps(profile_of(kinds)))
    ran = fs.run(
        fs.Experiment(
            topology=FABRIC,
            workload={"path": str(log), "format": "sacct"},
            allocator="random",
            routing="d-mod-k",
            communication={"profile": str(profile)},
            model="fluid",
        )
    ).jobs
    written = [HEADER]
    for row in ran.itertuples():
        cells = _line(
            row.id, names[(row.id - 1) % len(names)], row.start_s, row.end_s, row.nodes
        ).split("|")
        cells[-3] = str(row.n_nodes)
        written.append("|".join(cells))
    record = folder / "records.txt"
    record.write_text("\n".join(written) + "\n")
    return record
