"""Many cases: warm up, run, keep count in a file, go on where it stopped."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import coupling.papers.page  # forked processes inherit what draws
import coupling.report.report  # noqa: F401
from fuzz.cases import Case, Seed
from fuzz.execute import execute
from fuzz.oracles import judge
from fuzz.pool import Pool, Verdict
from fuzz.result_seeds import write_experiments
from fuzz.seeds import all_seeds

_KEPT = 8  # numbers of cases that are kept of a fault


class BrokenSeedError(Exception):
    """An undamaged input is not answered as it should be."""


@contextmanager
def prepared(*, pictures: bool = False) -> Iterator[tuple[tuple[Seed, ...], Path]]:
    """
    Give the seeds and a folder to work in, after running every seed undamaged.

    That compiles kernels and fills caches, which forked processes inherit, and shows that
    damage starts from what is right.
    """
    with TemporaryDirectory(prefix="fabricsim-fuzz-") as name:
        folder = Path(name)
        makers = [Seed("make a result", argv, {}, {}) for argv in write_experiments(folder)]
        _require([_whole(seed) for seed in makers], folder)
        seeds = all_seeds(folder)
        _require([_whole(seed) for seed in seeds if pictures or not seed.pictures], folder)
        yield seeds, folder


def _whole(seed: Seed) -> Case:
    """Return the case of an undamaged seed."""
    return Case(-1, seed, seed.argv, seed.files, ())


def _require(cases: list[Case], folder: Path) -> None:
    """Run undamaged cases, which must succeed."""
    broken = []
    for whole in cases:
        found = execute(whole, folder / "whole")
        fault = judge(whole, found)
        if fault or found.status != whole.seed.status:
            words = found.trace or found.err or found.out.decode()
            broken.append(f"{whole.seed.name}: status {found.status}; {fault}\n{words}")
    if broken:
        raise BrokenSeedError("\n".join(broken))


@dataclass(slots=True)
class Tally:
    """What came of cases until now."""

    seeds: str
    first: int
    next: int
    outcomes: Counter = field(default_factory=Counter)
    by_command: Counter = field(default_factory=Counter)
    by_version: Counter = field(default_factory=Counter)
    version: str = ""
    open: dict[str, dict] = field(default_factory=dict)
    closed: dict[str, int] = field(default_factory=dict)
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    most_bytes: int = 0

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        self.next = verdict.number + 1
        self.outcomes[verdict.status] += 1
        self.by_command[verdict.seed.split()[0]] += 1
        self.by_version[self.version] += 1
        self.cpu_s += verdict.cpu_s
        self.slowest_s = max(self.slowest_s, verdict.cpu_s)
        self.most_bytes = max(self.most_bytes, verdict.peak_bytes)
        self.note(verdict)

    def note(self, verdict: Verdict) -> None:
        """Keep a fault."""
        if verdict.fault:
            entry = self.open.setdefault(
                verdict.fault, {"count": 0, "numbers": [], "detail": verdict.detail}
            )
            entry["count"] += 1
            entry["numbers"].append(verdict.number)

    def save(self, path: Path) -> None:
        """Write the state, whole."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        beside = path.with_suffix(".new")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(fields, indent=1), encoding="utf-8")
        beside.replace(path)

    @classmethod
    def load(cls, path: Path) -> "Tally":
        """Read the state."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        for name in ("outcomes", "by_command", "by_version"):
            fields[name] = Counter(fields[name])
        return cls(**fields)

    @property
    def cases(self) -> int:
        """Number of cases that have run."""
        return sum(self.outcomes.values())

    def lines(self) -> Iterator[str]:
        """Yield the faults that are open, most frequent first, each with its replay."""
        for fault, entry in sorted(self.open.items(), key=lambda item: -item[1]["count"]):
            yield f"{entry['count']:6}  {fault}"
            yield f"        python -m benchmarks.fuzz --replay {entry['numbers'][0]}"


def run_cases(
    pool: Pool, tally: Tally, last: int, state: Path | None, save_s: float = 10.0
) -> None:
    """Run the cases that are left up to `last`, and save the count now and then."""
    saved = time.monotonic()
    for verdict in pool.run(range(tally.next, last)):
        tally.add(verdict)
        if state is not None and time.monotonic() - saved > save_s:
            tally.save(state)
            saved = time.monotonic()
    if state is not None:
        tally.save(state)


def run_again(pool: Pool, tally: Tally) -> None:
    """Run the cases again whose faults are open; what has gone is closed."""
    before, tally.open = tally.open, {}
    for fault, entry in before.items():
        for verdict in pool.run(entry["numbers"]):
            tally.note(verdict)
            if not verdict.fault:
                tally.closed[fault] = tally.closed.get(fault, 0) + 1
