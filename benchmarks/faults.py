"""
Kill runs at random moments, fill the disk, close the cache, and compare what is resumed.

    python -m benchmarks.faults                # 100 kills, into benchmarks/evidence.md
    python -m benchmarks.faults --kills 10     # fewer, nothing written

The results of a run that was killed, resumed, killed again and so on have the bytes of one that
was not killed. Exit status 1 where one has not, or where the command did not say so.
"""

import argparse
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from faults import disk
from faults.kills import Killer
from faults.same import EXPERIMENT

from benchmarks.evidence import record, verdict
from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign

KILLS = 100
MOST = 5  # kills of one result
SIZES = (2_000, 20_000, 45_000)  # of the smallest tables, and of larger ones
COMPILED_S = 6.0  # after that a run that compiles everything is killed
STATES = ("begin", "runs")
Found = dict[str, tuple[int, list[str]]]
"""By disturbance: how often, and what was wrong."""


def main() -> None:
    """Read the arguments, disturb runs, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--kills", type=int, default=KILLS, help="SIGKILLs in all")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="fabricsim-faults-") as name:
        desk = Path(name)
        killer = Killer(desk, Random(asked.seed))  # noqa: S311
        chains = _kill(killer, asked.kills)
        others = _others(desk, killer.reference)
    lines = _lines(killer, chains, others)
    faults = [*killer.faults, *(fault for _, found in others.values() for fault in found)]
    print("\n".join([*lines, *faults]))
    if asked.kills >= KILLS:
        record("Killed runs and full disks", "python -m benchmarks.faults", lines)
    sys.exit(1 if faults else 0)


def _kill(killer: Killer, kills: int) -> int:
    """Kill runs so often; return how many results that took."""
    chains = 0
    done = 0
    while done < kills:
        done += killer.torment(chains, workers=1 + chains % 2, most=min(MOST, kills - done))
        chains += 1
        print(f"{done} of {kills} kills, {len(killer.faults)} faults", flush=True)
    return chains


def _others(desk: Path, reference: Path) -> Found:
    """Let disks be full and places closed."""
    limited = [disk.limit(size, workers, desk, reference) for size in SIZES for workers in (1, 2)]
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    return {
        "no room for one write of a run, each in turn": _every_write(desk),
        f"no file may grow past {sizes} bytes; 1 and 2 workers": (
            len(limited),
            [fault for faults in limited for fault in faults],
        ),
        "compiled code can be kept nowhere": (1, disk.closed_cache(desk, reference)),
        "killed while kernels are compiled": (1, disk.killed_compiler(desk, reference, COMPILED_S)),
    }


def _every_write(desk: Path) -> tuple[int, list[str]]:
    """Let each write of a small run fail; return their number, and what was wrong."""
    (desk / "small.toml").write_text(EXPERIMENT.format(n_jobs=30), encoding="utf-8")
    experiment = Experiment.read(desk / "small.toml")
    run_campaign(experiment, desk / "small")
    number, faults = 0, []
    while True:
        folder = desk / f"full-{number}"
        found = disk.fill_at(number + 1, experiment, folder, desk / "small")
        if found is None:
            return number, faults
        number, faults = number + 1, faults + found


def _lines(killer: Killer, chains: int, others: Found) -> list[str]:
    """Return what is written into the evidence."""
    what = (
        f"{sum(killer.kills.values())} SIGKILLs at random moments of a run that compares four "
        f"allocators, and of its resumptions; {chains} results, each killed up to {MOST} times and "
        "resumed in the end. Tables, summaries, experiment and manifest (but for dates and CPU "
        "seconds) were compared byte by byte with those of a run without kills."
    )
    lines = [
        what,
        "",
        "| workers | run | killed as it begins | while jobs run |",
        "| ---: | --- | ---: | ---: |",
    ]
    for workers in killer.workers:
        for which in ("first", "resumed"):
            counts = [str(killer.kills[workers, which, state]) for state in STATES]
            lines.append(f"| {workers} | {which} | {' | '.join(counts)} |")
    whom = ", ".join(f"{who} {count} times" for who, count in sorted(killer.whom.items()))
    same, other = killer.results[True], killer.results[False]
    came = (
        f"Killed was {whom}. Results with the same bytes, an undisturbed one of two workers among "
        f"them: {same} of {same + other} "
        f"({verdict(not other)}); all faults: {len(killer.faults)}."
    )
    lines += [
        "",
        came,
        "",
        "| other disturbances | times | told in one line, and resumed with the same bytes |",
        "| --- | ---: | --- |",
    ]
    return lines + [
        f"| {name} | {times} | {verdict(not faults)} |" for name, (times, faults) in others.items()
    ]


if __name__ == "__main__":
    main()
