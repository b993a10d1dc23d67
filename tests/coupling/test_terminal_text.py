"""What came in cannot act on the terminal, and closed streams end a command in order."""

import json
import os
import pty
import subprocess
import sys

import pytest
from sampling import sampled

from coupling.terminal_text import visible

EVIL = "\x1b]0;mine\x07\x1b[31mred\nfabricsim: all is well\r\x9b1A\u202e [red]x[/]"
NAME = "\x1bc\x07\x9b1A\u202e\x7fx"
NAME_SHOWN = r"\x1bc\x07\x9b1A\u202e\x7fx"
TREE = {"kind": "fat-tree", "radix": 4}
PRINTING = ("topology inspect synth-1024", "--help", "run exp.toml")
READING = (
    "run -",
    "estimate -",
    "verify -",
    "flows -",
    "topology inspect -",
    "trace inspect - --format swf",
    "trace inspect - --format csv",
)
EXPERIMENT = """
topology = "synth-1024"
[workload]
generator = "synth"
mean_nodes = 16
n_jobs = 20
"""


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a line of the shell, in which F is the command."""

    def call(line, **options):
        environment = {**os.environ, "F": f"{sys.executable} -m coupling.cli", "COLUMNS": "300"}
        return subprocess.run(  # noqa: S602 (our own lines)
            line,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=False,
            timeout=120,
            **options,
        )

    return call


@pytest.fixture
def here(command, tmp_path, monkeypatch):
    """Return a function that runs the command in this process, in the same folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return command


def snapshot(folder, job="1", **fields):
    pattern = {"name": "all-to-all", "nbytes": 1e6}
    job = {"id": job, "nodes": [0, 4], "pattern": pattern, "compute_s": 1.0, **fields}
    (folder / "now.json").write_text(json.dumps({"topology": TREE, "jobs": [job]}))


@pytest.fixture
def fabric(tmp_path):
    """Write a fabric whose odd switch has a name that acts on terminals."""
    name = json.dumps(NAME)[1:-1]  # JSON's escapes are YAML's too
    path = tmp_path / "topology.yaml"
    path.write_text(
        "- topology: t\n  tree:\n    switches:\n"
        '      - {switch: s1, nodes: "a,b"}\n'
        f'      - {{switch: "{name}", nodes: "c,d,e"}}\n'
        f'      - {{switch: r, children: "s1,{name}"}}\n'
    )
    return path


@pytest.mark.parametrize(
    "line",
    [
        "$F estimate now.json",
        "$F estimate $(printf 'no\\033[31m\\nfile\\007\\233.json')",
        "$F $(printf 'no\\033]0;x\\007') 2>&1 >/dev/null | tr -d '\\n' >&2; echo >&2; exit 2",
    ],
)
def test_an_error_that_quotes_its_input_is_one_line_without_control_characters(
    shell, tmp_path, line
):
    snapshot(tmp_path, **{EVIL: 1})

    done = shell(line)

    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr
    assert not {0x1B, 0x07, 0x0D} & set(done.stderr)
    assert "\x9b" not in done.stderr.decode()


def test_names_in_tables_are_shown_as_they_are_without_control_characters(here, fabric):
    status, out, err = here("topology", "inspect", fabric)

    assert status == 0, err
    assert f"{NAME_SHOWN} has 6" in out
    assert "\x1b" not in out


def test_json_holds_names_as_they_are(here, fabric):
    _, out, _ = here("topology", "inspect", fabric, "--json")

    assert f"{NAME} has 6" in json.loads(out)["irregular"][1]
    assert not {"\x1b", "\x7f", "\x07"} & set(out)


@pytest.mark.usefixtures("fabric")
def test_on_a_terminal_only_our_own_colours_are_left(tmp_path):
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(
            [sys.executable, "-m", "coupling.cli", "topology", "inspect", "topology.yaml"],
            cwd=tmp_path,
            stdout=theirs,
            stderr=theirs,
            check=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "300"},
        )
        os.close(theirs)
        shown = screen.read(60_000)

    assert NAME_SHOWN.encode() in shown
    assert b"\x07" not in shown


def test_run_and_folder_names_are_no_markup(here, tmp_path):
    """`[red]` would be swallowed, and `[/]` closes what was never opened: an error."""
    (tmp_path / "[red]a.toml").write_text(EXPERIMENT)

    status, _, err = here("run", "[red]a.toml", "--out", "[/]")
    again, _, _ = here("run", "[red]a.toml")
    (tmp_path / "[").rename(tmp_path / "plain")
    both, out, problem = here("compare", "plain/]", "results/[red]a")

    assert status == again == both == 0, err + problem
    assert "are in [/]; pictures: fabricsim report '[/]'\n" in err
    assert "\n[red]a/first-free  " in out


def test_a_reader_that_has_enough_ends_the_command_as_the_system_would(shell, tmp_path):
    """128 + 13, the number of the broken pipe, and nothing said."""
    (tmp_path / "big.json").write_text(json.dumps({"topology": {"kind": "fat-tree", "radix": 16}}))

    done = shell("{ $F topology inspect big.json --json; echo $? >&2; } | true")

    assert done.stderr == b"141\n"


@pytest.mark.parametrize("command", sampled(PRINTING, {"--help", "run exp.toml"}))
def test_output_that_cannot_be_written_is_one_line(shell, tmp_path, command):
    (tmp_path / "exp.toml").write_text(EXPERIMENT)

    full = shell(f"$F {command} > /dev/full")
    closed = shell(f"$F {command} >&-")

    last = b"fabricsim: standard output: No space left on device.\n"
    assert (full.returncode, full.stderr.splitlines(keepends=True)[-1]) == (2, last)
    assert closed.returncode == 2
    assert closed.stderr.endswith(b"fabricsim: standard output: Bad file descriptor.\n")
    assert b"Traceback" not in full.stderr + closed.stderr


def test_closed_standard_error_changes_no_status(shell):
    good, bad = (shell(f"$F topology inspect {what} 2>&-") for what in ("cab", "nothing"))

    assert (good.returncode, bad.returncode) == (0, 2)
    assert good.stdout.startswith(b"PGFT")
    assert bad.stdout == b""


@pytest.mark.parametrize(
    "command", sampled(READING, {"run -", "estimate -", "trace inspect - --format csv"})
)
def test_a_closed_standard_input_is_one_line(shell, command):
    done = shell(f"$F {command} <&-")

    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"fabricsim: ")
    assert b"Bad file descriptor" in done.stderr


def test_a_file_name_that_is_no_text_is_refused_by_its_bytes(shell):
    for command in ("run", "estimate", "topology inspect", "trace inspect"):
        done = shell(f"$F {command} $(printf 'a\\377.toml')")

        assert done.returncode == 2
        assert done.stderr.startswith(rb"fabricsim: argument a\xff.toml: expected text in UTF-8")
        assert done.stderr.count(b"\n") == 1


def test_a_run_in_a_folder_whose_name_is_no_text_is_refused(shell, tmp_path):
    folder = tmp_path / os.fsdecode(b"a\xff")
    folder.mkdir()
    (folder / "exp.toml").write_text('topology = "synth-1024"\nworkload.path = "log.swf"\n')
    (folder / "log.swf").write_text("1 0 0 9 1 0 0 1 9 0 1 1 1 1 1 0 0 0\n")

    done = shell("cd $(printf 'a\\377') && $F run exp.toml")

    assert done.returncode == 2
    assert rb"a\xff" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_output_that_cannot_say_a_letter_escapes_it(shell, tmp_path):
    snapshot(tmp_path, job="µ")

    done = shell("PYTHONIOENCODING=ascii $F estimate now.json")

    assert done.returncode == 0, done.stderr
    assert rb"\xb5" in done.stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain µ, 数 and \u00a0", "plain µ, 数 and \u00a0"),
        ("\t\x00\x7f", r"\t\x00\x7f"),
        ("\u2028\u200b\ufeff", r"\u2028\u200b\ufeff"),
        ("\udcff\ud800", r"\xff\ud800"),
        (r"\n", r"\n"),
    ],
)
def test_what_does_not_show_is_made_visible(text, shown):
    assert visible(text) == shown
