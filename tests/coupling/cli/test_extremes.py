"""Every number of every document at the ends of the range of numbers: right, or refused by name."""

import copy
import json
import math
import re

import pytest
import tomli_w
from fuzz.documents_seeds import EXPERIMENTS, FLOWS, PROFILE, SNAPSHOTS

VALUES = (math.nan, math.inf, -1, 0, 1e-320, 1e308, 1e30, 10**30)
SOME = (math.nan, -1, 0, 1e308, 10**30)
QUANTITY = re.compile(r"[0-9.]+ ?(B|[KM]i?B|GB|GB/s|Gb/s|m?s|ns|%)")
LOG = "".join(f"{n} {n} -1 60 2 -1 -1 2 90 -1 1 3 4 5 1 -1 -1 -1\n" for n in range(1, 7))
DOORS = {
    "estimate": [*SNAPSHOTS.values()],
    "flows": [FLOWS["tree"], FLOWS["dragonfly"]],
    "run": [*EXPERIMENTS.values()],
    "profile": [PROFILE],
}


def leaves(value, path=(), names=()):
    """Yield the path of each number of a document, and what tells it from others of its kind."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    tells = [value[key] for key in ("name", "kind", "generator") if key in value]
    for key, entry in inside:
        told = (*names, *tells, key if isinstance(key, str) else "*")
        if isinstance(entry, (dict, list)):
            yield from leaves(entry, (*path, key), told)
        elif isinstance(entry, str):
            if QUANTITY.fullmatch(entry):
                yield (*path, key), told
        elif not isinstance(entry, bool) and entry is not None:
            yield (*path, key), told


def numbers(documents):
    """Return a document and a path for every numeric field of several, each field once."""
    found = {}
    for document in documents:
        if ".txt" in str(document) or "m.csv" in str(document):
            continue  # its numbers stand elsewhere too, and it needs files
        for path, told in leaves(document):
            found.setdefault(told, (document, path))
    return found.values()


def cases():
    for door, documents in DOORS.items():
        fields = {}
        for document, path in numbers(documents):
            if path[0] == "topology" and door != "estimate":
                continue  # all doors read fabrics through one reader
            names = [key for key in path if isinstance(key, str)]
            fields.setdefault(".".join(names), []).append((document, path))
        for name, places in fields.items():
            yield pytest.param(door, places, id=f"{door} {name}")


def put(document, path, value):
    """Put a value at a place of a copy."""
    changed = place = copy.deepcopy(document)
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def written(folder, door, document):
    """Write a document of a door; return the arguments of the command."""
    if door in ("estimate", "flows"):
        (folder / "d.json").write_text(json.dumps(document))
        return [door, folder / "d.json", "--json"]
    (folder / "log.swf").write_text(LOG)
    (folder / "log.csv").write_text("id,submit,runtime,nodes,share\n1,0,5,2,50\n2,3,6,4,20\n")
    (folder / "profile.toml").write_text(tomli_w.dumps(document if door == "profile" else PROFILE))
    if door == "profile":
        document = EXPERIMENTS["full"]
        del (document := dict(document))["compare"]
    (folder / "e.toml").write_text(tomli_w.dumps(document))
    return ["run", folder / "e.toml", "--out", folder / "out", "--json"]


def name_of(path):
    """Return what an error must call a number: its field, or the one that is drawn or scaled."""
    *outer, name = [key for key in path if isinstance(key, str)]
    return outer[-1] if name in ("log_uniform", "scale") else name


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [SOME, pytest.param(VALUES, marks=pytest.mark.heavy)], ids=len)
@pytest.mark.parametrize(("door", "places"), list(cases()))
def test_an_extreme_number_is_right_or_refused_by_name(door, places, values, command, tmp_path):
    for document, path in places:
        for number, value in enumerate(values):
            folder = tmp_path / f"{number}-{len(path)}-{id(document)}"
            folder.mkdir(exist_ok=True)
            arguments = written(folder, door, put(document, path, value))

            status, out, err = command(*arguments)

            seen = (path, value, status, err)
            if status == 0:
                assert not re.search(r"\b(nan|inf|infinity)\b", out, re.IGNORECASE), seen
                json.loads(out)
                assert "Warning" not in err, seen
            else:
                assert (status, out, err.count("\n")) == (2, "", 1), seen
                assert name_of(path) in err, seen


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"children": [4, 2**31], "parents": [1, 2]}, "fat-tree"),
        ({"radix": 2**20}, "fat-tree"),
        ({"dims": [2**31, 4]}, "torus"),
        ({"groups": 2**40, "routers": 4}, "dragonfly"),
        ({"hosts": 2**31}, "gpu-cluster"),
    ],
)
def test_what_makes_a_fabric_too_large_is_named(fields, kind, command, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps({"kind": kind, **fields}))

    status, out, err = command("topology", "inspect", tmp_path / "t.json")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"topology: {', '.join(fields)}: the fabric would have " in err
