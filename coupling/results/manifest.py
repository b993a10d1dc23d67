"""The manifest of a result directory: where the result comes from, and hashes of its files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from coupling.errors import ResultError, SnapshotError
from coupling.inputs.files import Table, read_json
from fabricsim.checking import brief
from fabricsim.checking.inputs import MOST_BYTES
from fabricsim.checking.outputs import MANIFEST, note_read
from netsim.common.atomic_write import replace_file

RESOLVED = "experiment.resolved.toml"
NOT_AGAIN = "not_again"  # field: why a result cannot be run again; absent where it can
SUMMARY = "summary.json"
_SEAL = "manifest_sha256"
_TEXTS = ("name", "fabric", "workload", "estimates", "python", "created", "fingerprint")
_BY_NAME = {"inputs_sha256": str, "versions": str, "files": str, "dropped": int}
_MOST = 4 * MOST_BYTES  # of a file; a table takes more once it is decoded
_SHOWN = 12  # digits of a hash in a message


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest of a result directory, whole."""
    write_file(folder / MANIFEST, sealed(manifest))


def sealed(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as its file has it."""
    plain = json.loads(json.dumps(manifest, allow_nan=False))  # keys and lists as they come back
    return (json.dumps({**plain, _SEAL: _manifest_hash(plain)}, indent=2) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a result directory."""
    path = folder / MANIFEST
    manifest = read_object(path)
    if "files" not in manifest and "fingerprint" in manifest:
        raise ResultError(
            f"{path}: expected hashes of the result's files, got none: an older version wrote "
            f"it, and damage would not be seen; run {folder / RESOLVED} again."
        )
    _check_fields(manifest, path)
    said = manifest.pop(_SEAL, None)
    if said != _manifest_hash(manifest):
        raise ResultError(
            f"{path}: {_SEAL}: expected {_manifest_hash(manifest)[:_SHOWN]}..., got {brief(said)}: "
            "the file was changed after the run."
        )
    return manifest


def hashes_of(place: Path) -> dict[str, str] | None:
    """Return SHA-256 by file of a run; None where no manifest knows the run."""
    full = place.resolve()
    for folder, prefix in ((full, ""), (full.parent, f"{full.name}/")):
        if (folder / MANIFEST).is_file():
            files = read_manifest(folder)["files"]
            if f"{prefix}{SUMMARY}" in files:
                return {
                    name.removeprefix(prefix): digest
                    for name, digest in files.items()
                    if name.startswith(prefix)
                }
    return None


def by_other_version(folder: Path, error: Exception) -> ResultError:
    """Return the error for an undamaged result that cannot be read; `folder`: of it or of a run."""
    top = folder if (folder / MANIFEST).is_file() else folder.parent
    wrote = read_manifest(top)["versions"].get("fabricsim", "unknown")
    return ResultError(
        f"{folder}: another version of fabricsim ({wrote}) wrote this result; run it again: "
        f"fabricsim run {quote(str(top / RESOLVED))} --out NEW ({str(error).rstrip('.')})."
    )


def write_file(path: Path, data: bytes) -> str:
    """Write a file of a result, whole. Result: its SHA-256."""
    try:
        replace_file(path, data, own=True)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror}.") from error
    return sha256(data)


def read_checked(path: Path, digest: str | None) -> bytes:
    """Read a file of a result; its SHA-256 is `digest`, where known."""
    try:
        size = path.stat().st_size
        if size > _MOST:
            raise ResultError(
                f"{path}: expected at most {_MOST // 2**20:,} MiB, got {size // 2**20:,} MiB."
            )
        note_read(path)
        data = path.read_bytes()
    except FileNotFoundError:
        raise ResultError(f"{path}: expected a file of the result, found none.") from None
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}.") from None
    found = sha256(data)
    if digest is not None and found != digest:
        raise ResultError(
            f"{path}: expected SHA-256 {digest[:_SHOWN]}..., got {found[:_SHOWN]}...: "
            "this is not the file that the run wrote."
        )
    return data


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of a result."""
    try:
        return read_json(path)
    except SnapshotError as error:
        raise ResultError(str(error)) from None


def sha256(data: bytes) -> str:
    """Return the SHA-256 of data."""
    return hashlib.sha256(data).hexdigest()


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    """Return the hash of all that a manifest says."""
    return sha256(json.dumps(manifest, sort_keys=True).encode())


def _check_fields(manifest: Mapping[str, Any], path: Path) -> None:
    """Refuse a manifest that lacks a field or holds one of a wrong type."""
    table = Table(manifest, f"{path}:", ResultError)
    for key in _TEXTS:
        table.text(key)
    if NOT_AGAIN in table:
        table.text(NOT_AGAIN)
    table.integer("seed")
    table.integer("nodes", least=1)
    table.integer("jobs")
    if not isinstance(manifest.get("complete"), bool):
        raise table.error("complete", "true or false")
    for key, kind in _BY_NAME.items():
        entries = table.raw(key)
        if not isinstance(entries, Mapping):
            raise table.error(key, "an object")
        for name, value in entries.items():
            if not isinstance(value, kind):
                expected = "a text" if kind is str else "a whole number"
                raise table.fault(key, f"{brief(name)}: expected {expected}, got {brief(value)}.")
    for key in ("communication", "cost"):
        table.mapping(key)
