"""Cases in forked processes that are warm, with a limit of time and memory for each."""

import faulthandler
import json
import os
import re
import resource
import selectors
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz.cases import Case, Seed, case
from fuzz.execute import REFUSED, Outcome, execute
from fuzz.oracles import judge

MOST_CPU_S = 20.0
MOST_WALL_S = 300.0
MOST_BYTES = 2 * 2**30
_BATCH = 400  # cases of a process, so that what one leaves behind cannot reach far
_LOOK_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a case: `fault` is empty where nothing was wrong."""

    number: int
    seed: str
    status: str
    fault: str
    detail: str
    cpu_s: float
    peak_bytes: int


class Pool:
    """Runs cases, some at a time in one process after the other."""

    def __init__(self, seeds: tuple[Seed, ...], folder: Path) -> None:
        self._seeds, self._folder = seeds, folder

    def run(self, numbers: Iterable[int]) -> Iterator[Verdict]:
        """Yield the verdict of every number, in order."""
        waiting = list(numbers)[::-1]
        while waiting:
            batch = [waiting.pop() for _ in range(min(_BATCH, len(waiting)))]
            while batch:
                for verdict in self._batch(tuple(batch)):
                    batch.remove(verdict.number)
                    yield verdict

    def _batch(self, numbers: tuple[int, ...]) -> Iterator[Verdict]:
        """Yield verdicts of one process; fewer than asked for where a case ended it."""
        folder = self._folder / "work"
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _child(numbers, self._seeds, folder, writer)
        os.close(writer)
        try:
            yield from self._watch(child, reader, folder)
        finally:
            os.close(reader)
            _end(child)
            shutil.rmtree(folder, ignore_errors=True)

    def _watch(self, child: int, reader: int, folder: Path) -> Iterator[Verdict]:
        """Read what a process says, and end it where a case takes too long."""
        begun, since, cpu = None, time.monotonic(), 0.0
        lines = _Lines(reader)
        while True:
            for line in lines.read(_LOOK_S):
                if "begin" in line:
                    begun, since, cpu = line["begin"], time.monotonic(), _cpu_s(child)
                else:
                    begun = None
                    yield Verdict(**line)
            if lines.ended:
                break
            spent, waited = _cpu_s(child) - cpu, time.monotonic() - since
            if begun is not None and (spent > MOST_CPU_S or waited > MOST_WALL_S):
                os.kill(child, signal.SIGUSR1)
                time.sleep(_LOOK_S)
                where = _hung_in(folder)
                yield self._lost(begun, f"hang: in {where}", spent)
                return
        if begun is not None:
            yield self._lost(begun, f"killed: {_how_ended(child)}", 0.0)

    def _lost(self, number: int, fault: str, spent: float) -> Verdict:
        """Return the verdict on a case that did not end."""
        name = case(number, self._seeds).seed.name
        return Verdict(number, name, "lost", fault, "", round(spent, 3), 0)


class _Lines:
    """Lines of JSON as they come through a pipe."""

    def __init__(self, reader: int) -> None:
        self._reader, self._rest, self.ended = reader, b"", False
        self._selector = selectors.DefaultSelector()
        self._selector.register(reader, selectors.EVENT_READ)

    def read(self, wait_s: float) -> list[dict]:
        """Return what came until now, after waiting a little for it."""
        if not self._selector.select(wait_s):
            return []
        data = os.read(self._reader, 2**20)
        self.ended = not data
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in whole]


def _end(child: int) -> None:
    """End a process and all that it started, and take its leave."""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def _how_ended(child: int) -> str:
    """Say how a process ended that should not have."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.WEXITSTATUS(status)}"


def _cpu_s(process: int) -> float:
    """Return the seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _hung_in(folder: Path) -> str:
    """Return the innermost function of the project in which a process was."""
    try:
        text = (folder.parent / "stack").read_text()
    except OSError:
        return "unknown"
    found = re.search(r'/((?:coupling|netsim|scheduler|patterns)/.*\.py)", line \d+ in (\w+)', text)
    return f"{found[1]}:{found[2]}" if found else "unknown"


def _child(numbers: tuple[int, ...], seeds: tuple[Seed, ...], folder: Path, writer: int) -> None:
    """Run cases and write what came of them; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        with (folder.parent / "stack").open("w") as stack:
            faulthandler.register(signal.SIGUSR1, stack, all_threads=False)
            _limit_memory()
            warnings.simplefilter("error")
            plain: dict[str, Outcome] = {}
            for number in numbers:
                os.write(writer, json.dumps({"begin": number}).encode() + b"\n")
                verdict = verdict_of(case(number, seeds), folder, plain)
                os.write(writer, json.dumps(asdict(verdict)).encode() + b"\n")
        status = 0
    except BaseException:  # noqa: BLE001 (a fault of this harness: say so, and end)
        traceback.print_exc()
    finally:
        os._exit(status)


def verdict_of(one: Case, folder: Path, plain: dict[str, Outcome]) -> Verdict:
    """Run a case in this process and judge it; `plain` keeps answers of undamaged seeds."""
    _forget_peak()
    before, held = time.process_time(), _peak_bytes()
    found = execute(one, folder / "case")
    spent, peak = time.process_time() - before, _peak_bytes() - held
    if one.must_agree and one.seed.name not in plain:
        whole = Case(one.number, one.seed, one.seed.argv, one.seed.files, ())
        plain[one.seed.name] = execute(whole, folder / "plain")
    fault = _judged(one, found, plain.get(one.seed.name))
    if not fault and peak > MOST_BYTES:
        fault = "memory: more than the limit"
    shutil.rmtree(folder / "case", ignore_errors=True)
    detail = (found.trace or found.err)[-1500:] if fault else ""
    word = {0: "answered", 1: "said no", 2: "refused"}.get(found.status, "other")
    if found.status == REFUSED and "memory" in found.err:
        word = "refused for want of memory"
    status = "crashed" if found.crash else word
    return Verdict(one.number, one.seed.name, status, fault, detail, round(spent, 4), peak)


def _judged(one: Case, found: Outcome, plain: Outcome | None) -> str:
    """Judge an outcome; what cannot even be looked at is a fault too."""
    try:
        return judge(one, found, plain)
    except Exception as error:  # noqa: BLE001 (what the command wrote cannot be read)
        words = " ".join(one.argv[:2])
        return f"nonsense: {words}: what was written cannot be read: {type(error).__name__}"


def _limit_memory() -> None:
    """Allow so much address space beyond what is mapped already, libraries for the most part."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _forget_peak() -> None:
    """Let the kernel count the peak of memory from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    """Return the most memory that this process has held since then."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024
