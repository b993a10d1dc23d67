"""Plug-ins are checked against the rules of their kind; templates keep them, faults are named."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coupling.checks.check import check_plugin
from coupling.cli.root import app
from coupling.inputs import plugins
from coupling.inputs.plugins import PluginError
from scheduler.queues import Fcfs

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "plugins.md").read_text(encoding="utf-8")
TEMPLATES = {
    re.search(r"^([A-Z_]+) = \{", block, re.MULTILINE)[1]: block
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
}
LOG = "1 4 0 100\n2 1 30 10\n3 2 30 5.5\n4 8 90 1\n"


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Let what a test adds be gone after it."""
    tables = [*plugins.REGISTRIES.values(), *plugins._MADE.values()]
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
    plugins._module_of_file.cache_clear()


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a plug-in."""

    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def broken(found):
    """Return the sentences by rule of what is broken."""
    return {finding.rule: finding.broken for finding in found.findings if finding.broken}


def test_there_is_a_template_for_each_kind():
    assert TEMPLATES.keys() == plugins.DICTIONARIES.keys()


@pytest.mark.parametrize("dictionary", TEMPLATES)
def test_a_template_is_short_and_keeps_all_rules(dictionary, file, tmp_path):
    """As it stands on the page."""
    log = tmp_path / "log.txt"
    log.write_text(LOG)
    options = {"path": str(log)} if dictionary == "READERS" else {}

    found = check_plugin(file(TEMPLATES[dictionary]), options=options)

    assert broken(found) == {}
    assert {finding.kind for finding in found.findings} == {plugins.DICTIONARIES[dictionary]}
    assert len(TEMPLATES[dictionary].splitlines()) < 40


REFUSE_TWO = "if job.n_nodes == 2 and cluster.running:\n            return None\n        "
FAULTS = {
    "a node twice": (
        "ALLOCATORS",
        "return free[-job.n_nodes :]",
        "return list(range(job.n_nodes))",
        "an empty machine takes every size",
        "expected free nodes",
    ),
    "isolation that is none": (
        "ALLOCATORS",
        '    name = "corner"',
        '    name = "corner"\n    isolating = True',
        "isolating: ",
        "both use",
    ),
    "an order that depends on what came before": (
        "ALLOCATORS",
        "return free[-job.n_nodes :]",
        "self.n = getattr(self, 'n', 0) + 1\n        return free[: job.n_nodes][:: (-1) ** self.n]",
        "the same state gives",
        "says otherwise",
    ),
    "a promise that is not kept": (
        "ALLOCATORS",
        "return free[-job.n_nodes :]",
        f"{REFUSE_TWO}return free[-job.n_nodes :]\n\n    monotone_in_size = True",
        "monotone_in_size",
        "2 nodes find none, 3 do",
    ),
    "a job that is dropped": (
        "POLICIES",
        "            self.waiting.pop(0)",
        "            self.waiting[:] = self.waiting[1:] if len(self.waiting) != 2 else []",
        "every job runs once",
        "neither started nor still waiting at the end",
    ),
    "no job starts": (
        "POLICIES",
        "while self.waiting and",
        "while len(self.waiting) > 1 and",
        "some job starts whenever the machine is empty",
        "on an empty machine, none is started",
    ),
    "a message to oneself": (
        "PATTERNS",
        "np.array([rank, 0])",
        "np.array([rank, rank])",
        "messages are proper",
        "a rank sends to itself",
    ),
    "computation beside no step": (
        "PATTERNS",
        "float(self.nbytes)))",
        "float(self.nbytes)), hide_s=None)",
        "messages are proper",
        "hide_s of the last step is None",
    ),
    "bytes that are none": (
        "PATTERNS",
        '        size("nbytes", self.nbytes)',
        "        pass",
        "nbytes, where it is an option",
        "is taken",
    ),
    "a fabric in two pieces": (
        "TOPOLOGIES",
        'graph.add_edge("middle", f"leaf{leaf}")',
        'graph.add_edge(f"middle{leaf // 2}", f"leaf{leaf}")',
        "usable nodes are ascending and connected",
        "two usable nodes are not connected",
    ),
    "the way of somebody else": (
        "ROUTINGS",
        "self.shortest.routes(dst, src)",
        "self.shortest.routes(src, dst)",
        "paths lead from source",
        "begins elsewhere",
    ),
    "no check of nodes": (
        "ROUTINGS",
        "src, dst = flow_ends(src, dst, self.topology)",
        "pass",
        "what are no nodes",
        "the error does not say",
    ),
    "a ratio below 1": (
        "CONTENTION_MODELS",
        "float(users[worst[job]])",
        "0.5 * float(users[worst[job]])",
        "solve reports the jobs that started",
        "has the ratio 0.5",
    ),
    "contention without sharing": (
        "CONTENTION_MODELS",
        "float(users[worst[job]])",
        "float(len(jobs))",
        "jobs that share no link",
        "shares no link and has 8.0",
    ),
    "filters that do nothing": (
        "READERS",
        "workload_of(entries, filters, source)",
        "workload_of(entries, Filters(), source)",
        "max_nodes drops large jobs",
        "keeps 4 jobs, expected 1",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_the_rule_that_is_about_it(fault, file, tmp_path):
    """A template with one change."""
    dictionary, right, wrong, rule, sentence = FAULTS[fault]
    assert right in TEMPLATES[dictionary]
    log = tmp_path / "log.txt"
    log.write_text(LOG)
    options = {"path": str(log)} if dictionary == "READERS" else {}

    found = broken(check_plugin(file(TEMPLATES[dictionary].replace(right, wrong)), options=options))

    said = [text for name, texts in found.items() if name.startswith(rule) for text in texts]
    assert any(sentence in text for text in said), found


def test_what_is_built_in_is_checked_by_its_name_and_a_class_as_it_is():
    assert check_plugin("fcfs").passed
    assert check_plugin(Fcfs).passed
    assert check_plugin("tests/data/plugins/corner.py:Corner", options={"step": 2}).passed
    assert check_plugin("minimal", "routings").passed
    assert check_plugin("torus", options={"dims": [3, 4]}).passed
    assert repr(check_plugin("ring")) == "<PluginCheck: 7 rules, 0 broken>"


@pytest.mark.parametrize(
    ("target", "kind", "options", "message"),
    [
        ("no-such-name", None, {}, "unknown 'no-such-name'"),
        ("no-such-file.py", None, {}, "expected a Python file"),
        ("fcfs", "allocators", {}, "allocators are adaptive"),
        ("jigsaw", None, {}, "give --kind, allocators or routings"),
        ("scheduler:simulate", None, {}, "give --kind"),
        ("scheduler:Nobody", None, {}, "holds no 'Nobody'"),
        ("fcfs", "cues", {}, "kind: expected one of allocators"),
        ("swf", None, {}, "expected path, a job log"),
        ("swf", None, {"path": "/no/such/log"}, "expected path, a job log"),
        ("torus", None, {}, "cannot be made: TopologyError"),
        (
            "ring",
            None,
            {"nbites": 3},
            "cannot be made: PatternError: pattern 'ring': unknown option",
        ),
    ],
)
def test_what_cannot_be_found_or_made_is_bad_input(target, kind, options, message):
    with pytest.raises(PluginError, match=re.escape(message)):
        check_plugin(target, kind, options)


def test_the_command_says_rule_by_rule_and_by_its_status(file):
    good = CliRunner().invoke(app, ["check-plugin", str(file(TEMPLATES["PATTERNS"]))])
    assert good.exit_code == 0
    assert good.stdout.startswith("echo (patterns): 7 of 7 rules hold\n  holds        a pattern is")


def test_the_command_ends_with_1_where_a_rule_is_broken(file):
    _, right, wrong, _, _ = FAULTS["a message to oneself"]
    path = file(TEMPLATES["PATTERNS"].replace(right, wrong))

    bad = CliRunner().invoke(app, ["check-plugin", str(path), "--json"])

    document = json.loads(bad.stdout)
    assert (bad.exit_code, document["passed"]) == (1, False)
    assert sum(bool(finding["broken"]) for finding in document["findings"]) == 1


def test_options_are_given_as_they_are_to_an_experiment():
    done = CliRunner().invoke(app, ["check-plugin", "torus", "--set", "dims=[2, 3]"])
    assert done.exit_code == 0, done.stdout
    wrong = CliRunner().invoke(app, ["check-plugin", "torus", "--set", "dims"])
    assert "expected option=value" in str(wrong.exception)


@pytest.mark.parametrize(
    ("name", "kind", "rules"),
    [
        ("first-free", "allocators", {"isolating: two jobs never share a link between switches"}),
        (
            "jigsaw",
            "allocators",
            {"fits_by_count: a job waits only for want of nodes, and holds no more than it wants"},
        ),
        ("torus", "topologies", set()),
    ],
)
def test_a_rule_about_what_a_part_does_not_claim_is_no_rule_that_holds(name, kind, rules):
    found = check_plugin(name, kind, {"dims": [2, 3]} if name == "torus" else None)

    assert {own.rule for own in found.findings if not own.claimed} == rules
    assert not any(own.holds for own in found.findings if own.rule in rules)
    assert found.passed
