"""The command `calibrate`: a profile that `now` reads, a page, JSON, and errors on one line."""

import json

import pytest
import tomli_w
from measured.ports import SECONDS, counted_site, guessed
from sacct_logs import line, sacct
from typer.testing import CliRunner

from coupling.cli.root import app
from scheduler.workload.profile import read_profile


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = counted_site(
        tmp_path_factory.mktemp("site"), shape=(4, 4, 2), sizes=(6, 5, 4), waits=True, noise=0.01
    )
    made.fabric.with_name("guess.toml").write_text(tomli_w.dumps(guessed()))
    return made


def files(site):
    return [
        *("--topology", site.fabric, "--squeue", site.queue),
        *("--before", site.before, "--after", site.after),
        *("--profile", site.fabric.with_name("guess.toml")),
    ]


def run(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)])


def test_profile_page_and_json_are_written(site, tmp_path):
    out, page = tmp_path / "told.toml", tmp_path / "told.html"

    found = run(*files(site), "--seconds", SECONDS, "--out", out, "--html", page, "--json")

    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert {group["group"] for group in told["groups"]} == {"cfd", "fft", "train"}
    assert told["way"] == "counters"
    assert told["links"]
    assert len(read_profile(out).rules) >= 3 + len(guessed()["rule"])
    text = page.read_text()
    assert "<svg" in text
    assert "Predicted against measured" in text


def test_runs_tell_no_bytes_and_too_few_of_them_no_fraction(tmp_path):
    runs, tree = tmp_path / "runs.txt", tmp_path / "topology.conf"
    tree.write_text(
        "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=top Switches=a,b\n"
    )
    runs.write_text(
        "JobIDRaw|JobName|State|Submit|Start|End|ElapsedRaw|NNodes|NodeList\n"
        + "".join(
            f"{i}|own|COMPLETED|2024-05-30T0{i}:00:00|2024-05-30T0{i}:00:00|2024-05-30T0{i}:10:00"
            "|600|2|n[3-4]\n"
            for i in (1, 2)
        )
    )
    given = ["--topology", tree, "--runs", runs]

    found, shown = run(*given, "--json"), run(*given)

    (group,) = json.loads(found.stdout)["groups"]
    assert (group["identifiable"], group["fraction"], group["bytes_per_s"]) == (False, None, None)
    assert "too few" in group["why"]
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("own "))
    assert line.split()[-3:-1] == ["unknown", "-"]


def test_an_empty_time_zone_is_refused(tmp_path):
    runs = sacct(tmp_path / "log", line(1, 0, 100, "n0"), line(2, 200, 300, "n0"))

    found = run("--topology", "cab", "--runs", runs, "--timezone", "")

    assert "timezone: expected a name such as Europe/Paris, got ''." in str(found.exception)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--runs", "runs.txt", "--noise", "0.5"], "--runs: expected without --noise, got both."),
        (["--timezone", "Europe/Paris"], "--timezone: expected --runs beside it, it is missing."),
    ],
)
def test_options_of_the_other_way_are_refused(command, given, words):
    status, out, err = command("calibrate", "--topology", "cab", *given)

    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_totals_come_first_and_lines_fit(site):
    found = run(*files(site), "--seconds", SECONDS, "--top", 3)

    fabric, first, *lines = found.stdout.splitlines()
    assert fabric.startswith("fat-tree, 16 nodes")
    assert "counters of ports, 60 s apart" in first
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ((), "expected --seconds, the time between the two readings"),
        (("--seconds", "0"), "seconds: expected"),
        (("--seconds", "60", "--runs", "x"), "--runs: expected without --squeue, got both"),
        (("--seconds", "60", "--by", "colour"), "by: expected one of"),
        (("--seconds", "60", "--before", "-", "--squeue", "-"), "--squeue"),
    ],
)
def test_wrong_options_are_errors(site, more, fault):
    found = run(*files(site), *more)

    assert found.exit_code != 0
    assert fault in str(found.exception)


def test_counters_are_missed_by_name(site):
    found = run("--topology", site.fabric, "--squeue", site.queue)

    assert "--before: expected counters of ports, or --runs instead" in str(found.exception)
