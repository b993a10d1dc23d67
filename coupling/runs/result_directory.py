"""What a result directory holds while its campaign runs: runs in their places, and the manifest."""

import fcntl
import os
import platform
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.results.formatting import counted
from coupling.results.manifest import (
    RESOLVED,
    SUMMARY,
    read_manifest,
    sha256,
    write_file,
    write_manifest,
)
from coupling.results.result import CSV, Result, save_jobs_csv
from coupling.runs.given_objects import ObjectRecord, with_records
from coupling.runs.stored import flat_settings
from coupling.runs.workers import Kept
from fabricsim.checking import shortened
from fabricsim.checking.outputs import MANIFEST
from netsim.common.atomic_write import is_leftover, remove_leftovers, sync_folder

LOCK = ".lock"
_TRIES = 100  # at a directory that others take away
_LONGEST = 200  # bytes that a claim says of its holder


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """
    Make a directory for results, and keep other processes from writing into it.

    `folder`: the directory; it holds a file ``.lock`` meanwhile. What was made goes again if it
    stays empty.

    The operating system frees the claim of a process that was killed. A file system that
    knows no locks protects nothing.
    """
    made: list[Path] = []
    try:
        handle = _made_and_locked(folder, made)
        try:
            _write_owner(handle)
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()  # while locked: a process that waits looks again
            os.close(handle)
    finally:
        with suppress(OSError):  # something lies in it
            for path in made:
                path.rmdir()


def _made_and_locked(folder: Path, made: list[Path]) -> int:
    """Make and lock a directory; again where another process takes it away meanwhile."""
    reason = "cannot be used for results: No such file or directory"
    for _ in range(_TRIES):
        missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
        if len(missing) > len(made):
            made[:] = missing
        try:
            folder.mkdir(parents=True, exist_ok=True)
            reason = (
                "expected a directory for results that stays, got one that another process takes "
                "away; run this when it has ended"
            )
            return _lock_file(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if isinstance(error, FileExistsError) and not os.path.lexists(folder):
                continue
            raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    raise ResultError(f"{folder}: {reason}.")


def _write_owner(handle: int) -> None:
    """Write our process into a locked file."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    words = f"process {os.getpid()} on {platform.node()} since {now}"
    with suppress(OSError):  # a full disk: the note is lost
        os.truncate(handle, 0)
        os.write(handle, words.encode())


def _lock_file(folder: Path) -> int:
    """Open and lock the file that stands for the directory."""
    path = folder / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, _LONGEST).decode(errors="replace")
            os.close(handle)
            who = holder if holder and holder.isprintable() else "another process"
            raise ResultError(
                f"{folder}: expected a directory that no process writes into, got one that {who} "
                "is writing into; wait for its end."
            ) from None
        except OSError:
            return handle  # no locks here
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        os.close(handle)  # its holder has just gone, and the file with it


_MOST_LISTED = 3  # settings that another experiment has otherwise


class ResultDirectory:
    """
    The runs that a result directory holds, and its manifest, which always knows all of them.

    `folder`: The directory, claimed. `experiment`: What is run. `manifest`: Where the results come
    from, as far as it is known before the first run. `kept`: How a fabric or jobs that were given
    as objects are kept, by table of the experiment. `resume`: Keep what an interrupted campaign of
    the same experiment has finished.
    """

    def __init__(
        self,
        folder: Path,
        experiment: Experiment,
        manifest: Mapping[str, Any],
        kept: Mapping[str, ObjectRecord],
        *,
        resume: bool,
    ) -> None:
        self.folder = folder
        self.variants = experiment.variants()
        tables = with_records(experiment.located().tables(), kept)
        self._own: dict[str, bytes] = {}  # whole files by name
        for record in kept.values():
            self._own |= record.files
        self._own[RESOLVED] = tomli_w.dumps(tables).encode()
        found = _found_manifest(folder, manifest["fingerprint"], self._own[RESOLVED], resume=resume)
        self._manifest = dict(found or manifest)
        self._files: dict[str, str] = dict(self._manifest["files"])
        self._here = {variant.label for variant in self.variants if self._is_here(variant)}
        self.close()  # what killed processes had begun to write goes now

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What the manifest says."""
        return self._manifest

    @property
    def pending(self) -> list[Experiment]:
        """Variants that are still to be run."""
        return [variant for variant in self.variants if variant.label not in self._here]

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Write what is known before the next run."""
        known = {name: sha256(data) for name, data in self._own.items()}
        for variant in self.variants:
            if variant.label in self._here:
                begin = self._file_name(variant, "")
                known |= {key: self._files[key] for key in self._files if key.startswith(begin)}
        self._manifest, self._files = dict(manifest), known
        self._write_manifest(complete=False)
        for name, data in self._own.items():
            write_file(self.folder / name, data)

    def add(self, variant: Experiment, kept: Kept) -> None:
        """Make a run known, and put it in its place."""
        partial, hashes = self.folder / kept[0], kept[1]
        place = self.place(variant)
        self._files |= {self._file_name(variant, name): digest for name, digest in hashes.items()}
        self._write_manifest(complete=False)
        if place != self.folder:
            partial.rename(place)
        else:
            for name in sorted(hashes, key=lambda name: name == SUMMARY):
                (place / name).parent.mkdir(exist_ok=True)
                (partial / name).replace(place / name)  # the summary last: it marks the run
                sync_folder((place / name).parent)
        sync_folder(self.folder)
        self._here.add(variant.label)

    def complete(self, *, csv: bool) -> tuple[Result, ...]:
        """Complete the manifest. Result: all runs, in the order of the comparison."""
        results = tuple(Result.load(self.place(variant)) for variant in self.variants)
        if csv:
            for variant, result in zip(self.variants, results, strict=True):
                self._files[self._file_name(variant, CSV)] = save_jobs_csv(
                    result, self.place(variant)
                )
        if csv or not self._manifest["complete"]:
            self._manifest["cost"] = {result.name: dict(result.cost) for result in results}
            self._write_manifest(complete=True)
        return results

    def close(self) -> None:
        """Remove what was not completed."""
        for path in self.folder.iterdir():
            if path.is_dir() and is_leftover(path.name):
                shutil.rmtree(path, ignore_errors=True)
        for place in {self.folder, *map(self.place, self.variants)}:
            remove_leftovers(place)

    def place(self, variant: Experiment) -> Path:
        """Return the folder of a run; the directory itself when nothing is compared."""
        return self.folder if len(self.variants) == 1 else self.folder / variant.label

    def _file_name(self, variant: Experiment, file: str) -> str:
        """Return what the manifest calls a file of a run."""
        return file if len(self.variants) == 1 else f"{variant.label}/{file}"

    def _is_here(self, variant: Experiment) -> bool:
        """Say whether a run is complete; refuse a damaged one."""
        place = self.place(variant)
        marks = place / SUMMARY if place == self.folder else place
        if not marks.exists():
            return False
        hint = f"remove {marks} to have it run again."
        if self._file_name(variant, SUMMARY) not in self._files:
            known = self.folder / MANIFEST
            raise ResultError(f"{place}: expected a run that {known} knows, got another; {hint}")
        try:
            Result.load(place)
        except ResultError as error:
            raise ResultError(f"{str(error)[:-1]}; {hint}") from None
        return True

    def _write_manifest(self, *, complete: bool) -> None:
        """Replace the manifest."""
        self._manifest |= {"complete": complete, "files": dict(self._files)}
        write_manifest(self.folder, self._manifest)


def holds_results(folder: Path, mark: str, *, resume: bool) -> bool:
    """Return whether to go on with a directory's results; refuse one of others."""
    names = sorted(path.name for path in folder.iterdir())
    present = [name for name in names if name != LOCK and not is_leftover(name)]
    if not present:
        return False
    if not resume:
        raise ResultError(
            f"{folder}: expected an empty or new directory, found {present[0]}; "
            "choose another with --out, or go on with --resume."
        )
    if not (folder / mark).exists():
        raise ResultError(f"{folder}: holds no result that could be resumed.")
    return True


def _found_manifest(
    folder: Path, fingerprint: str, resolved: bytes, *, resume: bool
) -> dict[str, Any] | None:
    """Return the manifest that is to be gone on with; None where there is nothing yet."""
    if not holds_results(folder, MANIFEST, resume=resume):
        return None
    found = read_manifest(folder)
    if found["fingerprint"] != fingerprint:
        raise ResultError(
            f"{folder}: holds the result of another experiment, input or version"
            f"{_changed_settings(folder / RESOLVED, resolved)}; choose another directory "
            "with --out."
        )
    return found


def _changed_settings(there: Path, resolved: bytes) -> str:
    """Say which settings an experiment has otherwise; empty where there is none."""
    try:
        was = flat_settings(tomllib.loads(there.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return ""
    now = flat_settings(tomllib.loads(resolved.decode()))
    differ = [
        f"{key} was {shortened(was.get(key, 'none'))}, is {shortened(now.get(key, 'none'))}"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    ]
    more = len(differ) - _MOST_LISTED
    lines = differ[:_MOST_LISTED] + ([f"and {counted(more, 'other')}"] if more > 0 else [])
    return f" ({'; '.join(lines)})" if lines else ""
