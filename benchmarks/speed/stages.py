"""
Where the CPU time of a command goes, by stage: the stack is looked at every few milliseconds of it.

Unlike a profile by calls this costs many short calls no more than a long one. What is looked at
while compiled code runs is counted where that returns to: `COMPILED` names the functions that do
little but call it.
"""

import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

EVERY_S = 0.004
Place = tuple[str, str]  # end of the name of a file, function
STAGES: dict[Place, str] = {
    ("scheduler/simulator.py", "drive"): "event loop",
    ("scheduler/simulator.py", "_start_jobs"): "queue",
    ("scheduler/machine.py", "allocate"): "allocator",
    ("coupling/rates/network.py", "change"): "rates",
    ("scheduler/allocation.py", "partition"): "routes, times alone",
    ("scheduler/traffic.py", "__call__"): "routes, times alone",
    ("netsim/fluid/demand.py", "of_checked"): "model",
    ("netsim/fluid/model.py", "add"): "model",
    ("netsim/fluid/model.py", "end"): "model",
    ("netsim/fluid/model.py", "solve"): "model",
    ("coupling/rates/ledgers.py", "on_change"): "links and blame",
    ("coupling/rates/hop_ledger.py", "on_change"): "costs of hops",
    ("coupling/rates/wait_ledger.py", "on_change"): "reasons of waiting",
    ("coupling/rates/wait_ledger.py", "on_wait"): "reasons of waiting",
    ("coupling/runs/engine.py", "on_decide"): "stopwatch",
    ("coupling/runs/engine.py", "on_decided"): "stopwatch",
    ("coupling/runs/engine.py", "_run_uncoupled"): "pass without network",
    ("coupling/runs/engine.py", "_result_tables"): "tables",
}
REST = "start, files, rest"
COMPILED = {
    ("numba/core/serialize.py", "_numba_unpickle"),  # tables are handed over
    ("netsim/fluid/model.py", "solve"),
    ("netsim/fluid/model.py", "culprits"),
    ("netsim/routing/updown.py", "mod_k_routes"),
    ("netsim/routing/wraparound.py", "routes"),
    ("coupling/rates/accounts.py", "account"),
    ("coupling/rates/accounts.py", "blame"),
}


def _place(frame: FrameType, places: dict[Place, str] | set[Place]) -> Place | None:
    """Return which of some places a frame is at."""
    name, file = frame.f_code.co_name, frame.f_code.co_filename
    for place in places:
        if place[1] == name and file.endswith(place[0]):
            return place
    return None


class Looks(Counter[tuple[str, bool]]):
    """How often the CPU was at a stage, and whether in compiled code; a handler of SIGPROF."""

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Look at the stack; the uncoupled pass is a stage with all that is inside it."""
        del signum
        inside, stage = frame is not None and _place(frame, COMPILED) is not None, ""
        while frame is not None:
            place = _place(frame, STAGES)
            if place is not None and (not stage or STAGES[place] == "pass without network"):
                stage = STAGES[place]
            frame = frame.f_back
        self[stage or REST, inside] += 1


def looked_at(command: Callable[[], object]) -> tuple[Looks, float]:
    """Run a command that may exit; return what was seen, and its CPU seconds."""
    looks = Looks()
    before_s = _cpu_s()
    kept = signal.signal(signal.SIGPROF, looks)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, kept)
    return looks, _cpu_s() - before_s


def _cpu_s() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def per_job(seen: dict[str, tuple[Looks, float]], n_jobs: int) -> list[str]:
    """Return microseconds per job, by run and stage, and how much of it was compiled code."""
    names = [*dict.fromkeys(STAGES.values()), REST]
    lines = [f"| stage | {' | '.join(seen)} |", f"| --- |{' ---: |' * len(seen)}"]
    for stage in [*names, "all"]:
        cells = []
        for looks, cpu_s in seen.values():
            us = cpu_s / looks.total() / n_jobs * 1e6
            asked = names if stage == "all" else [stage]
            compiled = us * sum(looks[name, True] for name in asked)
            whole = compiled + us * sum(looks[name, False] for name in asked)
            cells.append(f"{whole:.0f} ({compiled:.0f})" if compiled >= 1.0 else f"{whole:.0f}")
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return lines


def run_command(*arguments: str) -> Callable[[], object]:
    """Return a call of the command; its imports are no part of what is looked at."""
    from coupling.cli import main  # noqa: PLC0415

    def call() -> object:
        sys.argv = ["fabricsim", *arguments]
        return main()

    return call


def parquet_rows(path: Path) -> int:
    """Return the rows of a table."""
    from pyarrow.parquet import read_metadata  # noqa: PLC0415 (no part of what is looked at)

    return int(read_metadata(path).num_rows)
