"""The command `fabricsim`: parse, call, print; heavy imports happen inside the commands."""

import atexit
import gc
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import calibrating as cli_calibrating
from coupling.cli import naming as cli_naming
from coupling.cli import network as cli_network
from coupling.cli import papers as cli_papers
from coupling.cli import plugin as cli_plugin
from coupling.cli import results as cli_results
from coupling.cli import site as cli_site
from coupling.cli import sweeps as cli_sweeps
from coupling.cli import trace as cli_trace
from coupling.cli.shown import Group, arrange
from coupling.errors import Stopped
from coupling.gc_tuning import few_collections
from coupling.stopping import SIGNALLED, stop
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
PLUGINS = "coupling.plugins"
OUR_PACKAGES = ("netsim", "patterns", "scheduler", "coupling")


def _tell_version(wanted: bool) -> None:
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
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version."),
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


@app.command()
def run(
    context: typer.Context,
    experiment: Annotated[
        Path, typer.Argument(help="Experiment file (TOML), - for standard input.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field, e.g. --set scheduler.allocator=ta."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result directory; default results/NAME, numbered.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Compared runs at the same time.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished runs of an interrupted result.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Also write the job tables as CSV.")] = False,
    links_timeline: Annotated[
        bool, typer.Option("--links-timeline", help="Also write the load of links over time.")
    ] = False,
    full: Annotated[bool, typer.Option("--all", help="Print all columns of the table.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summaries as JSON, nothing else.")
    ] = False,
) -> None:
    """
    Simulate a job log on a fabric, with interference.

    Example:

      fabricsim run examples/synth16.toml --set run.seed=2
    """
    from coupling.cli.do.run import run_experiment

    run_experiment(
        experiment,
        [*(changes or []), *(["run.links_timeline=true"] if links_timeline else [])],
        out,
        plugins=context.meta.get(PLUGINS, ()),
        workers=workers,
        resume=resume,
        csv=csv,
        full=full,
        as_json=as_json,
    )


_COMMANDS = (
    cli_sweeps,
    cli_papers,
    cli_network,
    cli_site,
    cli_calibrating,
    cli_results,
    cli_trace,
    cli_plugin,
    cli_naming,
)
for commands in _COMMANDS:
    commands.register(app)
arrange(app)


def main() -> None:
    """
    Run the command, and end with its exit status.

    0: done; 1: a check said no; 2: bad input, one line on stderr; 3: an error of fabricsim or of a
    plug-in, one line that says where the traceback is; 128 + signal: interrupted.
    """
    atexit.register(gc.freeze)  # to look through what goes anyway takes a fifth of a second
    before = {number: signal.signal(number, stop) for number in STOPPING}
    try:
        with guarded(), few_collections(), one_call():
            try:
                status = _status()
            except Exception as error:  # noqa: BLE001 (the last word of the command)
                status = _internal(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    sys.exit(status)


def _status() -> int:
    """Run the command and say what it could not do; return its exit status."""
    try:
        return _ended()
    except (ValueError, ImportError) as error:
        if type(error).__module__.split(".")[0] not in OUR_PACKAGES:
            raise
        from coupling.cli.mistaken import corrected

        return _said(corrected(sys.argv[1:], _valued(sys.argv[1:]), f"{error}"), BAD_INPUT)
    except (OSError, MemoryError) as error:
        return _said(_failure(error), BAD_INPUT)
    except (Stopped, SystemError) as error:
        stopped = error.__cause__ if isinstance(error, SystemError) else error
        if not isinstance(stopped, Stopped):
            raise
        if stopped.signum == signal.SIGPIPE:  # who reads has enough
            return SIGNALLED + stopped.signum
        words = "; ".join(["interrupted", *getattr(stopped, "__notes__", ())])
        return _said(f"{words}.", SIGNALLED + stopped.signum)


def _valued(arguments: list[str]) -> set[str]:
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


def _ended() -> int:
    """Run the command to its end, until what it says has been written."""
    check_arguments(sys.argv[1:])
    try:
        app()
    except SystemExit as end:
        sys.stdout.flush()
        return int(end.code or 0)
    return 0


def _said(what: str, status: int) -> int:
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
    return _said(f"internal error, {what} (traceback: {place})", INTERNAL_ERROR)


def _failure(error: OSError | MemoryError) -> str:
    """Return the sentence for what the machine refused."""
    if isinstance(error, MemoryError):
        return "what was asked for does not fit into the memory."
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}."
