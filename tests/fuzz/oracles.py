"""What must hold of every answer; each check returns what is wrong, empty where nothing is."""

import json
import re

from fuzz.cases import Case
from fuzz.execute import IN_PLUGIN, REFUSED, Outcome
from fuzz.oracles_answers import answer_faults
from fuzz.oracles_doors import python_faults
from fuzz.oracles_files import changed, unread

GOOD, SAID_NO = 0, 1
_MAY_SAY_NO = {
    ("verify",),
    ("lft", "load"),
    ("lft", "check"),
    ("place",),
    ("topology", "inspect"),
    ("rerun",),
    ("check-plugin",),
    ("whatif",),
}
_PROGRESS = re.compile(r"(compiling .*|.*: [\d,]+ jobs in .*|)")
_LONGEST = 1500
_GOES_ON = ("result resume", "result report")
"""Commands that write files of their directory anew."""
_RIGHT = (
    "wrap: list to true",
    'jobs.*.id: int to "\\u2603"',
    'match.user: list to "\\u2603"',
    'match.queue: int to "\\u2603"',
    "toml: twice communication.rule",
    "profile.toml: twice rule",
)


def judge(case: Case, found: Outcome, plain: Outcome | None = None) -> str:
    """Return what is wrong with an outcome, in words to group by; empty where nothing is."""
    if found.crash == IN_PLUGIN:
        return ""  # whoever wrote it wants to see where
    if found.crash:
        return f"traceback: {found.crash}"
    if found.overwritten and not case.seed.name.startswith(_GOES_ON):
        return f"overwrites {min(found.overwritten)}"
    if found.status == REFUSED:
        return _refusal(case, found) or python_faults(case, found)
    return (
        _status(case, found)
        or _requirements(case, found, plain)
        or _answer(case, found)
        or python_faults(case, found)
    )


def _status(case: Case, found: Outcome) -> str:
    """Check the exit status of an answer."""
    if found.status not in {GOOD, SAID_NO}:
        return f"exit status {found.status}"
    if found.status == SAID_NO and not _may_say_no(case):
        return "exit status 1 of a command that checks nothing"
    return ""


def _requirements(case: Case, found: Outcome, plain: Outcome | None) -> str:
    """Check what the damage itself asks for."""
    if changed(case) and found.status == GOOD:
        return f"accepted: {case.seed.name}: a changed file of a result"
    if case.must_refuse and not _may_be(case.notes[-1]) and not unread(case, case.notes[-1]):
        return f"accepted: {case.seed.name}: {_kind(case.notes[-1])}"
    # the numbers of no two dry runs are the same, and factors of a grid order its cells
    other = "--dry-run" in case.argv or case.seed.name.startswith("sweep ")
    if case.must_agree and not other and plain is not None and not _same(plain.out, found.out):
        return f"another answer to the same: {case.seed.name}"
    return ""


def _may_be(note: str) -> bool:
    """Say whether it is right all the same: a flag for all axes, a name as a number, more rules."""
    return note.endswith(_RIGHT)


def _same(one: bytes, other: bytes) -> bool:
    """Say whether two answers are the same; the order of fields is nothing."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return one == other


def _kind(note: str) -> str:
    """Return a note without what differs from case to case."""
    return re.sub(r" as .*$", "", note)


def _may_say_no(case: Case) -> bool:
    """Say whether exit status 1 means something."""
    return case.argv[:1] in _MAY_SAY_NO or case.argv[:2] in _MAY_SAY_NO


def _refusal(case: Case, found: Outcome) -> str:
    """Check an error: one line that can be shown, nothing on stdout, no file left."""
    lines = [line for line in found.err.split("\n") if not _PROGRESS.fullmatch(line)]
    if case.usage and ("Usage:" in found.err or "─ Error ─" in found.err):
        return ""
    if not lines:
        return "refused without a word"
    if len(lines) > 1 or not lines[0].startswith("fabricsim: "):
        return "refused in several lines"
    return (
        _shown(found.err, "an error line")
        or ("does not fit into the memory" in lines[-1] and "memory: more than the limit")
        or (len(lines[-1]) > _LONGEST and not case.usage and "refused in a line without end")
        or (found.out and "refused, and yet an answer on stdout")
        or (
            found.written and not _marked(found) and f"refused, yet wrote {min(found.written)[:40]}"
        )
        or ""
    )


def _marked(found: Outcome) -> bool:
    """Say whether what was left is a result that says itself that it is not complete."""
    manifest = found.folder / "out" / "manifest.json"
    if any(name.split("/")[0] != "out" for name in found.written) or not manifest.is_file():
        return False
    return json.loads(manifest.read_bytes())["complete"] is False


def _shown(text: str, what: str) -> str:
    """Check that nothing on a terminal can change it."""
    bad = next((c for c in text if c != "\n" and not c.isprintable()), None)
    return "" if bad is None else f"{what} with a control character"


def _answer(case: Case, found: Outcome) -> str:
    """Check an answer."""
    if "--json" not in case.argv:
        return _shown(found.out.decode(), "an answer")
    try:
        document = json.loads(found.out, parse_constant=_no_number)
    except ValueError:
        return "no JSON on stdout" if _wants_document(case) else ""
    return answer_faults(case, document, found.folder)


def _wants_document(case: Case) -> bool:
    """Say whether JSON must be on stdout: not where the file itself went there, or help."""
    return not case.usage


def _no_number(name: str) -> None:
    """Refuse NaN and the infinities, which JSON does not have."""
    raise ValueError(name)
