"""A signal ends the command where compiled code does not suffer from it."""

import os
import signal
import subprocess
import sys

import pytest

from coupling.cli import root as cli
from coupling.errors import Stopped
from coupling.stopping import shielded, stop

TWICE = """
import os, signal
from coupling.stopping import shielded, stop
signal.signal(signal.SIGTERM, stop)
with shielded(None):
    os.kill(os.getpid(), signal.SIGTERM)
    print("once", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    print("twice", flush=True)
"""


@pytest.fixture
def ring():
    """Return a function that sends this process a signal that asks it to end."""
    before = signal.signal(signal.SIGUSR1, stop)
    yield lambda: os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_is_raised_at_once_outside_of_the_shield(ring):
    with pytest.raises(Stopped) as stopped:
        ring()

    assert stopped.value.signum == signal.SIGUSR1


def test_a_shield_holds_a_signal_back_until_progress_is_told(ring):
    """In the middle, where the simulation is between two instants."""
    heard = []

    def work():
        with shielded(lambda *words: heard.append(words)) as told:
            told("ta", 1, 9)
            ring()
            heard.append("still here")
            told("ta", 2, 9)

    with pytest.raises(Stopped):
        work()

    assert heard == [("ta", 1, 9), "still here"]
    with shielded(None) as told:
        told("ta", 3, 9)  # it was raised once


def test_a_shield_raises_at_its_end_what_nobody_has_heard_of(ring):
    heard = []

    def work():
        with shielded(None):
            ring()
            heard.append("still here")

    with pytest.raises(Stopped):
        work()

    assert heard == ["still here"]


def test_a_second_signal_ends_the_process_at_once():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", TWICE], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "once\n", "")


def test_a_signal_inside_compiled_code_is_an_interruption_too(tmp_path, monkeypatch, capsys):
    """As numba passes it on: an error of the interpreter whose cause is the signal."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def app():
        raise SystemError from Stopped(signal.SIGINT)

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 130
    assert capsys.readouterr().err == "fabricsim: interrupted.\n"
    monkeypatch.setattr(cli, "app", lambda: (_ for _ in ()).throw(SystemError("other")))
    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("fabricsim: internal error, SystemError: other (")
