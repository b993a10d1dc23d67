"""Valid inputs of the commands about a site: its fabric, its queue, its records, a profile."""

from collections.abc import Iterator
from pathlib import Path

from fuzz.cases import Seed
from fuzz.file_seeds import fabric

_SITE = Path(__file__).parents[2] / "examples" / "site"
_FORMS = {
    "topology.conf": "text",
    "squeue.json": "foreign-json",
    "numbers.json": "foreign-json",
    "profile.toml": "toml",
    "records.txt": "bars",
    "fabric.txt": "text",
    "site.txt": "text",
    "ports_before.txt": "text",
    "ports_after.txt": "text",
    "names.txt": "text",
}
_RECORDS = b"""JobIDRaw|JobID|State|Submit|Start|End|ElapsedRaw|NNodes|NTasks|NodeList|User|UID
1|1|COMPLETED|2024-05-30T08:00:00|2024-05-30T08:00:00|2024-05-30T10:00:00|7200|4|8|cn[01-04]|ann|5
2|2_1|RUNNING|2024-05-30T08:00:00|2024-05-30T09:00:00|Unknown|7200|4||cn[05-08]|bob|6
3|3|CANCELLED by 5|2024-05-30T08:00:00|None|2024-05-30T08:30:00|0|2||None assigned|ann|5
"""
_DRAWS = ("--samples", "2", "--json")
_QUEUE = ("--topology", "topology.conf", "--squeue", "squeue.json")
_LOG = ("--topology", "topology.conf", "--sacct", "records.txt", "--at", "2024-05-30T09:30")
_OPTIONS = ("--samples", "--seed", "--unknown", "--routing", "--top", "--at", "--out")
_PLACING = ("--nodes", "--pattern", "--comm-fraction", "--exclude", "--samples", "--top", "--at")
_REPLAYING = ("--unknown", "--timezone", "--free-from", "--then", "--set", "--seeds", "--top")
_COUNTED = ("--before", "ports_before.txt", "--after", "ports_after.txt", "--seconds", "60")
_FITTING = ("--seconds", "--by", "--noise", "--tick", "--unknown", "--routing", "--seed", "--top")
_CHANGES = ("--fail", "--drain", "--add-cables", "--routing", "--taper", "--move", "--samples")


def site_seeds() -> Iterator[Seed]:
    """Yield what is asked about a site."""
    profile = ("--profile", "profile.toml")
    yield _seed("now", (*_QUEUE, *profile, *_DRAWS), 1.5, _OPTIONS)
    yield _seed("now of records", (*_LOG, *_DRAWS), 1.0, _OPTIONS)
    yield _seed("now for people", (*_QUEUE, "--samples", "2", "--html", "now.html"), 0.3, _OPTIONS)
    wired = ("--topology", "fabric.txt", "--name-map", "names.txt", "--squeue", "numbers.json")
    yield _seed("now of InfiniBand", (*wired, *_DRAWS), 0.5, _OPTIONS)
    yield _seed("place", (*_QUEUE, *profile, *_DRAWS, "--nodes", "1"), 0.5, _PLACING)
    yield _seed("place of records", (*_LOG, *_DRAWS, "--nodes", "3"), 0.5, _PLACING)
    record = ("records.txt", "--topology", "topology.conf", "--out", "out", "--json")
    freed = ("--free-from", "2024-05-30T09:00", "--then", "scheduler.allocator=random")
    yield _seed("replay", record, 0.5, _REPLAYING)
    yield _seed("replay freed", (*record, *freed, "--seeds", "2"), 0.3, _REPLAYING)
    counted = ("--topology", "site.txt", "--squeue", "squeue.json", *_COUNTED, *profile, "--json")
    yield _seed("calibrate", counted, 0.7, _FITTING)
    runs = ("--topology", "topology.conf", "--runs", "records.txt", *profile, "--json")
    yield _seed("calibrate runs", runs, 0.7, _FITTING)
    for name, change in {
        "failure": ("--fail", "spine1", "--fail", "leaf1>spine2"),
        "drain": ("--drain", "cn[13-15]", "--taper", "3"),
        "cables": ("--add-cables", "leaf1>spine1*2"),
        "move": ("--move", "4107=cn[18,24]", "--routing", "s-mod-k"),
        "switches": ("--each-switch",),
        "cables in turn": ("--each-cable",),
    }.items():
        argv = (*_QUEUE, *profile, *_DRAWS, *change)
        yield _seed(f"whatif {name}", argv, 0.5, _CHANGES)


def _seed(name: str, argv: tuple[str, ...], weight: float, options: tuple[str, ...]) -> Seed:
    """Return a seed with the files that its command names."""
    known = {path.name: path.read_bytes() for path in _SITE.iterdir()} | fabric()
    known["records.txt"] = _RECORDS
    known["site.txt"] = (_SITE / "fabric.txt").read_bytes()
    known["numbers.json"] = known["squeue.json"].replace(b"cn", b"n")
    files = {word: known[word] for word in argv if word in known}
    command = name.split(maxsplit=1)[0]
    forms = {file: _FORMS[file] for file in files}
    return Seed(name, (command, *argv), files, forms, weight, options)
