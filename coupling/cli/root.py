"""The command `fabricsim`: parse, call, print; heavy imports happen inside the commands."""

import atexit
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import (
    calibrate,
    compare,
    ebb,
    estimate,
    explain,
    export,
    lft,
    metrics,
    now,
    paper,
    phases,
    place,
    plugin,
    replay,
    report,
    rerun,
    run,
    sweep,
    topology,
    trace,
    verify,
    view,
    whatif,
)
from coupling.cli.help_page import Group, arrange
from coupling.cli.run import PLUGINS
from coupling.errors import Stopped
from coupling.stopping import SIGNALLED, few_collections, stop
from coupling.terminal_text import check_arguments, guarded, remark, visible
from fabricsim.checking.outputs import note_read, one_call
from netsim.common.atomic_write import replace_file

app = typer.Typer(
    cls=Group,
    help="What jobs do to each other on a network, and what another placement, routing or "
    "scheduler would do.",
    epilog="First steps: [link=https://github.com/fabricsim/fabricsim/tree/main/docs/start]"
    "docs/start[/link]. Names of allocators, patterns and so on: fabricsim list --help",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
BAD_INPUT, INTERNAL_ERROR = 2, 3
_LONGEST = 1000  # letters of an error: inputs that it quotes may be megabytes
STOPPING = (signal.SIGINT, signal.SIGTERM)
OUR_PACKAGES = ("netsim", "patterns", "scheduler", "coupling")


def _print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from importlib.metadata import version  # slow, and rarely asked for

        typer.echo(f"fabricsim {version('fabricsim')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    plugins: Annotated[
        list[Path] | None,
        typer.Option("--plugin", help="Python file with dictionaries such as ALLOCATORS."),
    ] = None,
) -> None:
    """Keep commands as commands, also while there is only one."""
    del version
    if plugins:
        from coupling.inputs.plugins import load_file

        for path in plugins:
            note_read(path)
            load_file(path)
        context.meta[PLUGINS] = tuple(path.resolve() for path in plugins)


COMMANDS: Mapping[str, Callable[..., None]] = {
    "run": run.run,
    "sweep": sweep.sweep,
    "gather": sweep.gather,
    "paper": paper.paper,
    "estimate": estimate.estimate,
    "flows": estimate.flows,
    "verify": verify.verify,
    "ebb": ebb.ebb,
    "ecmp-audit": phases.ecmp_audit,
    "stagger": phases.stagger,
    "now": now.now,
    "whatif": whatif.whatif,
    "replay": replay.replay,
    "place": place.place,
    "calibrate": calibrate.calibrate,
    "rerun": rerun.rerun,
    "compare": compare.compare,
    "metrics": metrics.metrics,
    "report": report.report,
    "export": export.export,
    "view": view.view,
    "snapshot": export.snapshot,
    "explain": explain.explain,
    "check-plugin": plugin.check_plugin,
    "list": plugin.names,
}
GROUPS: Mapping[str, tuple[str, tuple[Callable[..., None], ...]]] = {
    "lft": (
        "Routing tables in the form that OpenSM loads.",
        (lft.export, lft.load, lft.check),
    ),
    "topology": (
        "Fabrics: what is in them; other formats.",
        (topology.inspect, topology.convert),
    ),
    "trace": (
        "Job logs: inspect, convert, generate.",
        (trace.inspect, trace.convert, trace.generate),
    ),
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
for _name, (_help, _commands) in GROUPS.items():
    _group = typer.Typer(help=_help, no_args_is_help=True)
    for _command in _commands:
        _group.command()(_command)
    app.add_typer(_group, name=_name)
arrange(app)


def main() -> None:
    """
    Run the command, and end with its exit status.

    0: done; 1: a check said no; 2: bad input, one line on stderr; 3: an error of fabricsim or of a
    plug-in, one line that says where the traceback is; 128 + signal: interrupted.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts threads: 0.1 s
    atexit.register(gc.freeze)  # to look through what goes anyway takes a fifth of a second
    before = {number: signal.signal(number, stop) for number in STOPPING}
    try:
        with guarded(), few_collections(), one_call():
            try:
                status = _exit_status()
            except Exception as error:  # noqa: BLE001 (the last word of the command)
                status = _internal(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    sys.exit(status)


def _exit_status() -> int:
    """Run the command and say what it could not do; return its exit status."""
    try:
        return _run_to_end()
    except (ValueError, ImportError) as error:
        if type(error).__module__.split(".")[0] not in OUR_PACKAGES:
            raise
        from coupling.cli.mistaken import corrected

        return _error_line(
            corrected(sys.argv[1:], _options_with_values(sys.argv[1:]), f"{error}"), BAD_INPUT
        )
    except (OSError, MemoryError) as error:
        return _error_line(_system_failure(error), BAD_INPUT)
    except (Stopped, SystemError) as error:
        stopped = error.__cause__ if isinstance(error, SystemError) else error
        if not isinstance(stopped, Stopped):
            raise
        if stopped.signum == signal.SIGPIPE:  # the reader has enough
            return SIGNALLED + stopped.signum
        words = "; ".join(["interrupted", *getattr(stopped, "__notes__", ())])
        return _error_line(f"{words}.", SIGNALLED + stopped.signum)


def _options_with_values(arguments: list[str]) -> set[str]:
    """Return the options that take a value: of all commands, and of the one that is called."""
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    called = next((commands[word] for word in arguments if word in commands), group)
    return {
        name
        for command in (group, called)
        for option in command.params
        if not getattr(option, "is_flag", False)
        for name in option.opts
        if name.startswith("-")
    }


def _run_to_end() -> int:
    """Run the command to its end, until what it says has been written."""
    check_arguments(sys.argv[1:])
    try:
        app()
    except SystemExit as end:
        sys.stdout.flush()
        return int(end.code or 0)
    return 0


def _error_line(what: str, status: int) -> int:
    """Say why there is no result, on one line that fits on a screen."""
    line = visible(f"fabricsim: {what}")
    remark(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 205]} ... {line[-200:]}")
    return status


def _internal(error: Exception) -> int:
    """Keep the traceback of an error that is no answer to an input, and say where it is."""
    text = "".join(traceback.format_exception(error))
    xdg = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        home = xdg if xdg.is_absolute() else Path("~/.local/state").expanduser()
        place = home / "fabricsim" / "traceback.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, text)
    except (OSError, RuntimeError):  # not writable, or no home
        sys.stderr.write(text)
        place = Path("above")
    what = f"{type(error).__name__}: {error}".strip(": ")
    return _error_line(f"internal error, {what} (traceback: {place})", INTERNAL_ERROR)


def _system_failure(error: OSError | MemoryError) -> str:
    """Return the sentence for what the machine refused."""
    if isinstance(error, MemoryError):
        return "what was asked for does not fit into the memory."
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}."
