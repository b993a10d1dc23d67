"""
Damage valid inputs of every command at random, and count what comes of it.

    python -m benchmarks.fuzz --count 100000     # goes on where the last call stopped
    python -m benchmarks.fuzz --replay 123       # one case: its files, arguments and answer
    python -m benchmarks.fuzz --again            # the cases that failed, after a repair
    python -m benchmarks.fuzz --record           # what was counted, into benchmarks/evidence.md
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.evidence import record, verdict

ROOT = Path(__file__).parents[1]
STATE = ROOT / "results" / "fuzz.json"
from fuzz.campaign import Tally, prepared, run_again, run_cases  # noqa: E402
from fuzz.cases import case  # noqa: E402
from fuzz.execute import lay_out  # noqa: E402
from fuzz.pool import Pool  # noqa: E402
from fuzz.seeds import print_of  # noqa: E402


def main() -> None:
    """Read the arguments and do one of the four."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument(
        "--count", type=int, default=1000, help="cases in all, with those of earlier calls"
    )
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first")
    parser.add_argument("--state", type=Path, default=STATE, help="where counts are kept")
    parser.add_argument("--replay", type=int, nargs="+", help="run single cases and show them")
    parser.add_argument("--again", action="store_true", help="run failed cases again")
    parser.add_argument("--record", action="store_true", help="write counts into the evidence")
    asked = parser.parse_args()
    if asked.replay is not None:
        sys.exit(_replay(asked.replay))
    if asked.record:
        _record(asked.state)
        return
    sys.exit(_run(asked.first, asked.count, asked.state, again=asked.again))


def _run(first: int, count: int, state: Path, *, again: bool) -> int:
    """Run cases, or failed ones again; return the exit status."""
    with prepared() as (seeds, folder):
        known = print_of(seeds)
        tally = Tally.load(state) if state.exists() else Tally(known, first, first)
        if tally.seeds != known:
            print(f"{state}: counted with other seeds; move it away to begin anew.")
            return 2
        tally.version = _version()
        pool = Pool(seeds, folder)
        if again:
            run_again(pool, tally)
            tally.save(state)
        else:
            run_cases(pool, tally, tally.first + count, state)
    print("\n".join(_counts(tally)))
    print("\n".join(tally.lines()))
    return 1 if tally.open else 0


def _version() -> str:
    """Return the commit that is checked out, marked where files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or "no repository"


def _replay(numbers: list[int]) -> int:
    """Run single cases and show them; their files stay."""
    faults = 0
    with prepared() as (seeds, folder):
        for found in Pool(seeds, folder).run(numbers):
            one = case(found.number, seeds)
            kept = Path(mkdtemp(prefix=f"fuzz-{found.number}-")) / "case"
            lay_out(one.files, kept)
            print(f"{one.seed.name}: {'; '.join(one.notes)}")
            print(f"cd {kept}; fabricsim {' '.join(map(repr, one.argv))}")
            print(f"{found.status}: {found.fault or 'nothing wrong'}\n{found.detail}")
            faults += bool(found.fault)
    return 1 if faults else 0


def _record(state: Path) -> None:
    """Write what was counted into the evidence."""
    tally = Tally.load(state)
    record("Damaged inputs", f"python -m benchmarks.fuzz --count {tally.cases}", _counts(tally))


_KINDS = {
    "traceback": "tracebacks",
    "hang": "hangs (20 s of CPU)",
    "memory": "runs over 2 GiB",
    "accepted": "wrong types, unknown keys and changed files accepted",
    "nonsense": "answers that break an invariant",
    "": "other faults (wording, files left)",
}
"""What is told of faults, by how their names begin."""
_HOW = (
    "Where none is left, the program or the check was repaired after the run, and these cases, not "
    "all, were run again. Exceptions of a damaged plug-in's own code are no faults."
)


def _counts(tally: Tally) -> list[str]:
    """Return the counts as lines of Markdown."""
    found, still = dict.fromkeys(_KINDS, 0), dict.fromkeys(_KINDS, 0)
    counted = [(fault, entry["count"], 1) for fault, entry in tally.open.items()]
    counted += [(fault, count, 0) for fault, count in tally.closed.items()]
    for fault, count, is_open in counted:
        kind = next(kind for kind in _KINDS if fault.startswith(kind))
        found[kind] += count
        still[kind] += count * is_open
    kinds = len({fault for fault, *_ in counted})
    most = f"{tally.most_bytes / 2**20:,.0f}"
    outcomes = ", ".join(f"{n:,} {word}" for word, n in tally.outcomes.most_common())
    commands = ", ".join(f"{word} {n:,}" for word, n in tally.by_command.most_common())
    versions = ", ".join(f"{word} {n:,}" for word, n in tally.by_version.items())
    return [
        f"Cases {tally.first:,} to {tally.next - 1:,}: {tally.cases:,} inputs; {outcomes}.",
        f"By command: {commands}. By commit: {versions}.",
        "",
        "| what | found | left after repairs | bar | met |",
        "| --- | ---: | ---: | ---: | --- |",
        *(
            f"| {what} | {found[kind]:,} | {still[kind]:,} | 0 | {verdict(still[kind] == 0)} |"
            for kind, what in _KINDS.items()
        ),
        "",
        f"{sum(found.values()):,} findings of {kinds} kinds. {_HOW}",
        f"CPU {tally.cpu_s:,.0f} s, slowest {tally.slowest_s:.1f} s, most memory {most} MiB.",
    ]


if __name__ == "__main__":
    main()
