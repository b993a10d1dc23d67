"""The harness finds what it is there to find: each check is shown a fault."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import fabricsim
from fuzz.campaign import Tally
from fuzz.cases import Case, Seed, case
from fuzz.documents import damage_document
from fuzz.execute import Outcome, place_of
from fuzz.oracles import judge
from fuzz.pool import Verdict
from fuzz.seeds import all_seeds, print_of

ROOT = Path(__file__).parents[2]
ESTIMATE = {
    "jobs": [
        {
            "id": "a",
            "alone_s": 1.0,
            "together_s": 2.0,
            "network_slowdown": 3.0,
            "interference": 2.0,
            "placement_factor": 1.5,
            "blame": [{"job": "b", "share": 1.0}],
        }
    ],
    "links": [{"link": "n0>s1.0", "bytes": 5.0, "utilization": 0.5}],
    "candidates": [],
    "ranking": [],
}
FLOWS = {
    "rates_bytes_per_s": [1.0],
    "finish_s": [1.0],
    "routes": [["n0>s1.0", "s1.0>n1"]],
    "links": [],
}
VERIFY = {
    "jobs": [
        {
            "isolated": True,
            "shares": [],
            "rearrangeable": {"holds": True},
            "static_table": {"shifts": 2, "shifts_clean": 2, "random": 9, "random_clean": 3},
        }
    ]
}


def a_case(*argv, **changes):
    argv = argv or ("estimate", "s.json", "--json")
    return Case(0, Seed("s", argv, {}, {}), argv, {}, ("s.json: swap jobs",), **changes)


def an_outcome(document=ESTIMATE, **changes):
    out = json.dumps(document).encode()
    return replace(Outcome(0, out, "", "", "", Path(), ()), **changes)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return all_seeds(tmp_path_factory.mktemp("no results"))


def test_a_case_is_a_pure_function_of_its_number(seeds):
    for number in range(300):
        assert case(number, seeds) == case(number, seeds)


def test_most_cases_are_damaged_and_some_keep_their_meaning(seeds):
    cases = [case(number, seeds) for number in range(300)]

    same = [one for one in cases if one.files == one.seed.files and one.argv == one.seed.argv]
    assert len(same) < 15
    assert 10 < sum(one.must_refuse for one in cases) < 150
    assert sum(one.must_agree for one in cases) > 0


def test_a_good_answer_is_no_finding():
    assert judge(a_case(), an_outcome()) == ""
    assert judge(a_case("flows", "f.json", "--json"), an_outcome(FLOWS)) == ""
    assert judge(a_case("verify", "s.json", "--json"), an_outcome(VERIFY)) == ""


REFUSAL = {"status": 2, "out": b"", "err": "fabricsim: s.json: no.\n"}
FAULTS = {
    "a traceback": ({"crash": "KeyError in x.py:y"}, "traceback"),
    "an exit status": ({"status": 3}, "exit status 3"),
    "no from a command that checks nothing": ({"status": 1}, "checks nothing"),
    "NaN": ({"out": b'{"jobs": NaN}'}, "no JSON"),
    "an answer cut short": ({"out": b'{"jobs": ['}, "no JSON"),
    "silence": (REFUSAL | {"err": ""}, "without a word"),
    "words of another kind": (REFUSAL | {"err": "odd\n"}, "several lines"),
    "a warning before the error": (REFUSAL | {"err": "odd\nfabricsim: no.\n"}, "several lines"),
    "a long line": (REFUSAL | {"err": "fabricsim: " + "x" * 2000}, "without end"),
    "colour in the error": (REFUSAL | {"err": "fabricsim: \x1b[31m.\n"}, "control character"),
    "memory": (
        REFUSAL | {"err": "fabricsim: what was asked for does not fit into the memory."},
        "memory",
    ),
    "an answer and an error": (REFUSAL | {"out": b"{}"}, "yet an answer"),
    "an input overwritten": ({"overwritten": ("s.json",)}, "overwrites s.json"),
    "a file and an error": (REFUSAL | {"written": ("out",)}, "yet wrote out"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_command_is_found(name):
    changes, words = FAULTS[name]

    assert words in judge(a_case(), an_outcome(**changes))


def test_an_error_line_alone_is_no_finding():
    assert judge(a_case(must_refuse=True), an_outcome(**REFUSAL)) == ""


def test_a_run_that_fails_half_way_may_leave_what_says_so(tmp_path):
    (tmp_path / "out").mkdir()
    files = ("out", "out/manifest.json")
    found = an_outcome(**REFUSAL, folder=tmp_path, written=files)
    (tmp_path / "out/manifest.json").write_text('{"complete": false}')

    assert judge(a_case("run", "e.toml"), found) == ""
    assert "yet wrote" in judge(a_case(), replace(found, written=(*files, "page.html")))
    (tmp_path / "out/manifest.json").write_text('{"complete": true}')
    assert "yet wrote out" in judge(a_case("run", "e.toml"), found)


def test_an_unknown_key_that_is_accepted_is_found():
    assert "accepted: s: s.json: swap jobs" in judge(a_case(must_refuse=True), an_outcome())


def test_another_answer_to_reordered_fields_is_found():
    plain = an_outcome(ESTIMATE | {"links": []})

    assert "another answer" in judge(a_case(must_agree=True), an_outcome(), plain)
    assert judge(a_case(must_agree=True), an_outcome(), an_outcome()) == ""


def changed(document, path, value):
    """Return a document with another value at a place."""
    document = json.loads(json.dumps(document))
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return document


METRICS = {
    "baseline": "a",
    "runs": [
        {
            "name": "a",
            "instantaneous_utilization": {"<60": 0.25, ">=98": 0.75},
            "wait_by_size": [
                {"jobs": 2, "median_s": 1.0, "p95_s": 2.0, "max_s": 2.0},
                {"jobs": 0, "median_s": None, "p95_s": None, "max_s": None},
            ],
        }
    ],
}
COMPARE = {
    "baseline": "a",
    "runs": [
        {
            "name": "a",
            **dict.fromkeys(
                ["mean_network_slowdown", "mean_interference", "max_interference"], 1.5
            ),
            **dict.fromkeys(["makespan_ratio", "turnaround_ratio", "speedup_mean"], 1.0),
        }
    ],
}
LOAD = {"nodes": 4, "pairs": 12, "pairs_as_d_mod_k": 12}
NONSENSE = {
    "half the time": ("metrics", METRICS, ("runs", 0, "instantaneous_utilization", "<60"), 0.5),
    "waits": ("metrics", METRICS, ("runs", 0, "wait_by_size", 0, "p95_s"), 0.5),
    "a wait of nobody": ("metrics", METRICS, ("runs", 0, "wait_by_size", 1, "max_s"), 0.0),
    "a strange baseline": ("metrics", METRICS, ("baseline",), "b"),
    "a mean speed-up": ("compare", COMPARE, ("runs", 0, "mean_network_slowdown"), 0.9),
    "faster than itself": ("compare", COMPARE, ("runs", 0, "makespan_ratio"), 0.9),
    "pairs too many": ("lft load", LOAD, ("pairs",), 13),
    "more like D-mod-k than there are": ("lft load", LOAD, ("pairs_as_d_mod_k",), 13),
    "a speed-up": ("estimate", ESTIMATE, ("jobs", 0, "interference"), 0.9),
    "no product": ("estimate", ESTIMATE, ("jobs", 0, "network_slowdown"), 2.9),
    "a negative time": ("estimate", ESTIMATE, ("jobs", 0, "alone_s"), -1.0),
    "half the blame": ("estimate", ESTIMATE, ("jobs", 0, "blame", 0, "share"), 0.5),
    "blame of itself": ("estimate", ESTIMATE, ("jobs", 0, "blame", 0, "job"), "a"),
    "a link twice full": ("estimate", ESTIMATE, ("links", 0, "utilization"), 2.0),
    "a negative load": ("estimate", ESTIMATE, ("links", 0, "bytes"), -5.0),
    "a rank that is missing": ("estimate", ESTIMATE, ("ranking",), [{"candidates": [0]}]),
    "a rate of nothing": ("flows", FLOWS, ("rates_bytes_per_s", 0), 0.0),
    "an end before the start": ("flows", FLOWS, ("finish_s", 0), -1.0),
    "a gap": ("flows", FLOWS, ("routes", 0, 1), "s1.3>n1"),
    "a flow too few": ("flows", FLOWS, ("routes",), []),
    "more than was tried": ("verify", VERIFY, ("jobs", 0, "static_table", "shifts_clean"), 3),
    "no witness": ("verify", VERIFY, ("jobs", 0, "rearrangeable", "holds"), False),
    "shares, isolated": ("verify", VERIFY, ("jobs", 0, "shares"), ["n0>s1.0"]),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_found(name):
    command, document, path, value = NONSENSE[name]
    whole, found = an_outcome(document), an_outcome(changed(document, path, value))
    asked = a_case(*command.split(), "x.json", "--json")

    assert judge(asked, whole) == ""
    assert judge(asked, found).startswith(f"nonsense: {command}")
    forged = replace(asked, notes=(*asked.notes, "with hashes"))
    assert judge(forged, found) == ""


def test_a_changed_file_of_a_result_that_is_accepted_is_found():
    manifest = json.dumps({"files": {"jobs.parquet": "hash"}}).encode()
    files = {"one/manifest.json": manifest, "one/jobs.parquet": b"jobs", "e.toml": b""}
    argv = ("metrics", "one", "--json")
    plain = Case(0, Seed("result metrics", argv, files, {}), argv, files, ())

    assert judge(plain, an_outcome(METRICS)) == ""
    assert judge(replace(plain, files=files | {"e.toml": b"\n"}), an_outcome(METRICS)) == ""
    damaged = replace(plain, files=files | {"one/jobs.parquet": b"jabs"})
    assert (
        judge(damaged, an_outcome(METRICS))
        == "accepted: result metrics: a changed file of a result"
    )
    assert judge(damaged, an_outcome(**REFUSAL)) == ""
    assert judge(replace(damaged, notes=("with hashes",)), an_outcome(METRICS)) == ""


def test_python_is_given_the_same_fields_and_must_say_the_same(tmp_path):
    tree = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2]}
    job = {"id": 1, "nodes": [0, 5], "pattern": {"name": "ring"}, "comm_fraction": 0.5}
    good = {"topology": tree, "jobs": [job]}
    right = json.dumps(fabricsim.estimate(good).to_dict()).encode()
    refused = {"status": 2, "out": b"", "err": "fabricsim: no.\n"}

    def judged(document, **changes):
        one = replace(a_case(), files={"s.json": json.dumps(document).encode()})
        return judge(one, replace(an_outcome(folder=tmp_path, out=right), **changes))

    assert judged(good) == judged(good | {"model": "x"}, **refused) == ""
    assert "refuses what the command answers: python" in judged(good | {"model": "x"})
    assert "accepted, which the command refuses: python" in judged(good, **refused)
    assert "another answer: python" in judged(good | {"model": "null"})


def test_an_exception_in_the_code_of_a_plug_in_is_its_own():
    held = {}
    code = "class Corner:\n    def choose(self, job):\n        return 1 / 0"
    exec(compile(code, "/somewhere/mine.py", "exec"), held)  # noqa: S102
    calls = (lambda: held["Corner"]().choose(1), lambda: held["Corner"]().choose(1, 2))

    for call, kind in zip(calls, (ZeroDivisionError, TypeError), strict=True):
        with pytest.raises(kind) as error:
            call()

        crash = place_of(error.value)
        assert judge(a_case(), an_outcome(crash=crash)) == ""
    with pytest.raises(fabricsim.FabricsimError) as error:
        fabricsim.topology("no such fabric")
    assert "traceback" in judge(a_case(), an_outcome(crash=place_of(error.value)))


def test_documents_are_damaged_in_one_place_and_stay_documents():
    plain = {"jobs": [{"id": 1, "nodes": "n[0-3]", "share": 0.5}], "model": "fluid"}
    data, notes = json.dumps(plain).encode(), set()
    for number in range(300):
        chance = Random(number)  # noqa: S311
        damage = damage_document(chance, data, "json", [plain])
        notes.add(damage.note.split()[0])
        if not damage.note.startswith(("raw", "twice")):
            agrees = json.loads(damage.data) == plain
            assert agrees or not damage.must_agree

    ways = {"delete", "misspell", "unknown", "swap", "soft", "number", "text", "raw", "twice"}
    assert ways <= notes


def test_counts_are_kept_and_gone_on_with(tmp_path):
    tally = Tally("print", 5, 5)
    tally.add(Verdict(5, "flows tree", "crashed", "traceback: x", "words", 0.5, 100))
    tally.add(Verdict(6, "flows tree", "refused", "", "", 1.5, 50))
    tally.save(tmp_path / "state.json")

    again = Tally.load(tmp_path / "state.json")

    assert (again.next, again.cases, again.by_command["flows"]) == (7, 2, 2)
    assert again.by_version == {"": 2}
    assert again.open["traceback: x"]["numbers"] == [5]
    assert (again.cpu_s, again.slowest_s, again.most_bytes) == (2.0, 1.5, 100)


def test_other_seeds_have_another_print(seeds):
    assert print_of(seeds) == print_of(seeds) != print_of(seeds[1:])


HARD = """
import os, sys
from pathlib import Path
sys.path.append("tests")
from fuzz import pool
from fuzz.cases import Seed

def hard(one, folder):
    if one.number == 1:
        while True:
            pass
    if one.number == 2:
        os.abort()
    if one.number == 3:
        bytearray(3 * 2**30)
    return execute(one, folder)

execute, pool.execute, pool.MOST_CPU_S = pool.execute, hard, 1.0
seeds = (Seed("s", ("flows", "f.json"), {}, {}),)
for verdict in pool.Pool(seeds, Path(sys.argv[1])).run(range(5)):
    print(verdict.number, verdict.status, verdict.fault)
"""


def test_what_hangs_dies_or_takes_too_much_memory_is_one_verdict_and_the_rest_runs(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", HARD, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )

    lines = done.stdout.splitlines()
    assert lines[0].startswith("0 ")
    assert lines[1] == "1 lost hang: in unknown"
    assert lines[2] == "2 lost killed: SIGABRT"
    assert lines[3] == "3 lost killed: exit status 1"
    assert lines[4].startswith("4 ")
    assert "MemoryError" in done.stderr
