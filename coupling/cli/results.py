"""The commands about results that exist: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson
from coupling.cli.outputs import output

ResultFolders = Annotated[list[Path], typer.Argument(help="Result directories of run.")]
Baseline = Annotated[
    str | None,
    typer.Option(help="Run to compare with, e.g. first-free or FOLDER/first-free."),
]


def rerun(
    result: Annotated[Path, typer.Argument(help="Result directory of run.")],
    workers: Annotated[int, typer.Option(min=1, help="Compared runs at the same time.")] = 1,
    as_json: AsJson = False,
) -> None:
    """
    Run a result again and compare the bytes.

    Exit status 1 where an input has changed or bytes differ.

    Example:

      fabricsim rerun results/try
    """
    from coupling.cli.do.results import run_rerun

    if not run_rerun(result, workers=workers, as_json=as_json):
        raise typer.Exit(1)


def compare(
    results: ResultFolders,
    baseline: Baseline = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Of a sweep: summary metric; repeatable."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Of a sweep: factor whose values are compared."),
    ] = None,
    over: Annotated[
        str | None, typer.Option(help="Of a sweep: intervals over seeds (default) or days.")
    ] = None,
    heat: Annotated[
        str | None, typer.Option(help="Of a sweep: two factors of a map, A,B; writes the page.")
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="Jobs of another simulator, job by job: CSV with the columns of Batsim or ours.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--all", help="Print all columns of the table.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Compare runs, or the policies of a sweep.

    Example:

      fabricsim compare results/full results/tapered
    """
    from coupling.cli.do.results import run_compare, run_compare_with
    from coupling.cli.do.sweep import Question, is_sweep, run_compare_sweep

    question = Question(baseline, tuple(metrics or ()), tuple(by or ()), over, heat)
    if beside is not None:
        question.refuse_beside_runs()
        run_compare_with(results, beside, baseline, as_json=as_json)
    elif len(results) == 1 and is_sweep(results[0]):
        run_compare_sweep(results[0], question, as_json=as_json)
    else:
        question.refuse_beside_runs()
        run_compare(results, baseline, full=full, as_json=as_json)


def metrics(
    results: ResultFolders,
    baseline: Baseline = None,
    per_minute: Annotated[
        Path | None,
        typer.Option(
            callback=output, help="Also write the utilisation of every minute to this CSV file."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Utilisation, waits and distances in detail.

    Example:

      fabricsim metrics results/try --baseline fifo
    """
    from coupling.cli.do.metrics import run_metrics

    run_metrics(results, baseline, per_minute, as_json=as_json)


def report(
    results: ResultFolders,
    out: Annotated[
        Path | None,
        typer.Option(
            callback=output,
            help="File to write; default: report.html in the directory, if it is one.",
        ),
    ] = None,
    baseline: Baseline = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Also write each figure here as PDF and SVG for a paper's column, with its "
            "numbers as CSV."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Write the HTML report of results or of a sweep again.

    Example:

      fabricsim report results/full results/tapered --out both.html
    """
    from coupling.cli.do.results import run_report
    from coupling.cli.do.sweep import is_sweep, run_report_sweep

    if len(results) == 1 and is_sweep(results[0]):
        run_report_sweep(results[0], out, baseline, figures, as_json=as_json)
    else:
        run_report(results, out, baseline, figures, as_json=as_json)


def export(
    result: Annotated[Path, typer.Argument(help="Result directory of run.")],
    to: Annotated[
        str,
        typer.Option(
            help="perfetto (Trace Event JSON), evalys (jobset CSV), batsim (workload), simgrid "
            "(folder with platform, schedule and player)."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            callback=output, help="File to write, - for standard output; a folder for simgrid."
        ),
    ],
    run: Annotated[
        str | None, typer.Option(help="Allocator of the run; by default all that are compared.")
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="For simgrid: iterations of a job at most.  [default: 20]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Write a result for Perfetto, evalys, Batsim or SimGrid.

    Example:

      fabricsim export results/try --to perfetto --out try.json
    """
    from coupling.cli.do.results import run_export

    run_export(result, to, out, run, iterations, as_json=as_json)


def view(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Result directories of run, several are compared; or one of sweep; or a snapshot."
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser, too.")] = True,
    as_json: AsJson = False,
) -> None:
    r"""
    Explore a result in the browser.

    Needs the extra view: pip install 'fabricsim\[view]'.

    Example:

      fabricsim view results/try
    """
    from coupling.cli.do.view import run_view

    run_view(results, port, browser=browser, as_json=as_json)


def explain(
    result: Annotated[Path, typer.Argument(help="Result directory of run.")],
    job: Annotated[int | None, typer.Option(help="Id of a job; by default the whole run.")] = None,
    run: Annotated[
        str | None, typer.Option(help="Allocator of the run; by default all that are compared.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Why a job waited and which jobs slowed it.

    Example:

      fabricsim explain results/try --job 2316
    """
    from coupling.cli.do.explain import run_explain

    run_explain(result, job, run, as_json=as_json)


def snapshot(
    result: Annotated[Path, typer.Argument(help="Result directory of run.")],
    at: Annotated[str, typer.Option(help="Moment of the run: seconds, or such as '3 h'.")],
    run: Annotated[
        str | None, typer.Option(help="Allocator of the run, where several are compared.")
    ] = None,
    out: Annotated[
        Path, typer.Option(callback=output, help="File to write, - for standard output.")
    ] = Path("-"),
    as_json: AsJson = False,
) -> None:
    """
    Write placements and owned links at one moment of a run.

    Example:

      fabricsim snapshot results/try --at '3 h' --run jigsaw --out then.json
    """
    from coupling.cli.do.results import run_snapshot

    run_snapshot(result, at, run, out, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(rerun)
    app.command()(compare)
    app.command()(metrics)
    app.command()(report)
    app.command()(export)
    app.command()(view)
    app.command()(snapshot)
    app.command()(explain)
