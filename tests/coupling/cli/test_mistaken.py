"""Messages about what people mistake: each names the file, the option or the right command."""

import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SITE = EXAMPLES / "site"
FABRIC = ("--topology", SITE / "topology.conf")
QUEUE = ("--squeue", SITE / "squeue.json")
FILES = {
    "first.toml": 'topology = "cab"\n[workload]\ngenerator = "synth"\nmean_nodes = 4\n',
    "both.toml": 'topology = "cab"\n[workload]\ngenerator = "synth"\npath = "a.swf"\n',
    "swept.toml": 'topology = "cab"\n[workload]\npath = "a.swf"\n[sweep]\nrun.seed = [1, 2]\n',
    "squeue.txt": "JOBID PARTITION NAME USER ST TIME NODES\n 1 a b c R 1:00 1\n",
    "results/try/manifest.json": "{}",
    "alea.swf": f"; a log\n1 5 0 9 {'4 ' * 14}{{a,b}} short 2:ppn=2\n",
    "seth.config": '{"groups": {"g": {"core": 4}}, "resources": {"g": 2}}',
    "platform.xml": "<?xml version='1.0'?>\n<platform version='4.1'/>",
    "batsim.json": '{"nb_res": 4, "jobs": [], "profiles": {}}',
}
MISTAKES = {
    "a part that fails is not there": (
        ("whatif", *FABRIC, *QUEUE, "--fail", "spine9"),
        r"--fail: no node or switch 'spine9'",
    ),
    "a node that a job is moved to is not there": (
        ("whatif", *FABRIC, *QUEUE, "--move", "4105=cn[1-2]"),
        r"--move: no node or switch 'cn1' .*did you mean 'cn01'",
    ),
    "no jobs": (
        ("now", *FABRIC),
        r"expected --squeue FILE, or --sacct FILE with --at TIME, got none of these",
    ),
    "two sources of jobs": (
        ("now", *FABRIC, *QUEUE, "--sacct", "a.txt"),
        r"got --squeue and --sacct",
    ),
    "the table of squeue": (
        ("now", *FABRIC, "--squeue", "squeue.txt"),
        r"squeue.txt: expected output of `squeue --json`",
    ),
    "an experiment is estimated": (("estimate", "first.toml"), r"`fabricsim run first.toml`"),
    "a snapshot is run": (
        ("run", EXAMPLES / "placed_jobs.json"),
        r"`fabricsim estimate .*placed_jobs.json`",
    ),
    "an experiment is viewed": (("view", "first.toml"), r"`fabricsim run first.toml`"),
    "an experiment is explained": (("explain", "first.toml"), r"`fabricsim run first.toml`"),
    "flows are verified": (
        ("verify", EXAMPLES / "three_flows.json"),
        r"`fabricsim flows .*three_flows.json`",
    ),
    "a queue is estimated": (
        ("estimate", SITE / "squeue.json"),
        r"`fabricsim now --topology FABRIC --squeue .*squeue.json`",
    ),
    "a log is run": (
        ("run", EXAMPLES / "data" / "synth16.swf.gz"),
        r"`fabricsim trace inspect .*synth16.swf.gz`",
    ),
    "a log of Alea is run": (("run", "alea.swf"), r"inspect alea.swf --format alea-swf`"),
    "nodes of AccaSim are run": (("run", "seth.config"), r"topology inspect seth.config`"),
    "a platform is run": (("run", "platform.xml"), r"topology inspect platform.xml`"),
    "jobs of Batsim are estimated": (
        ("estimate", "batsim.json"),
        r"`fabricsim trace inspect batsim.json --format batsim-json`",
    ),
    "a sweep is run": (("run", "swept.toml"), r"`fabricsim sweep swept.toml`"),
    "an experiment is swept": (
        ("sweep", "first.toml"),
        r"with a table \[sweep\], got one without; `fabricsim run first.toml`",
    ),
    "an experiment is changed": (
        ("whatif", "first.toml", "--fail", "s1.0"),
        r"expected a snapshot \(JSON\), got an experiment .*`fabricsim run first.toml`",
    ),
    "an experiment is read as a log": (
        ("trace", "inspect", "first.toml"),
        r"expected a job log, got an experiment",
    ),
    "a log of no known ending is missing": (
        ("trace", "inspect", "nolog"),
        r"nolog: cannot be read: No such file",
    ),
    "the table of a sweep is set": (
        ("sweep", "swept.toml", "--set", "sweep.seed=3"),
        r"--set sweep.seed=3: expected a field of the experiment",
    ),
    "a generator and a path": (("run", "both.toml"), r"expected path or generator, got both"),
    "the directory above results": (("view", "results"), r"did you mean results/try\?$"),
    "a model with a slip": (
        ("estimate", EXAMPLES / "placed_jobs.json", "--model", "packet"),
        r"did you mean 'packets'",
    ),
    "a list of what is not": (("list", "alocators"), r"did you mean 'allocators'"),
    "a fabric with a slip": (("topology", "inspect", "thunder1458"), r"'thunder-1458'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_is_right(command, tmp_path, monkeypatch, mistake):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    arguments, words = MISTAKES[mistake]

    status, out, err = command(*map(str, arguments))

    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert re.search(words, err), err


def test_an_error_inside_a_file_of_the_right_kind_stays(command, tmp_path):
    """The file is not suspected where it is what the command takes."""
    path = tmp_path / "a.toml"
    path.write_text('topology = "cabb"\n[workload]\npath = "x"\n')

    assert "did you mean 'cab'" in command("run", str(path))[2]
