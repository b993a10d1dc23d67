"""What the pictures show of the chosen job: how slow it was when, and whom it met."""

from collections.abc import Sequence

from coupling.explorer.bars import spans
from coupling.explorer.figures import Axis
from coupling.explorer.run_view import RunView, Told, ViewedRun
from coupling.runs.job_history import JobHistory

_MOST_BARS = 2000  # of chosen jobs; more are no bars but an area
_MET = 3  # jobs that it lost most to, and that it cost most
_DASHES = ("solid", "dashed")  # of the run, and of the one beside it


def rate_lines(
    exhibit: RunView, names: Sequence[str], job: str, axis: Axis, told: Told
) -> dict[str, list[object]]:
    """Return the slowdown of a job over time in each run, as far as it is known by now."""
    lines: dict[str, list[object]] = {"xs": [], "ys": [], "colour": [], "dash": []}
    for name, dash in zip(names, _DASHES, strict=True):
        if not (name and job.isdecimal() and int(job) in exhibit.run(name).row):
            continue
        life = exhibit.life(name, int(job), told)
        if isinstance(life, JobHistory):
            times = [time_s for own in life.stretches for time_s in (own.begin_s, own.end_s)]
            job_rates = [own.interference * life.placement_factor for own in life.stretches]
            lines["xs"].append([float(axis.place(time_s)) for time_s in times])
            lines["ys"].append([job_rate for job_rate in job_rates for _ in range(2)])
            lines["colour"].append(exhibit.colours[name])
            lines["dash"].append(dash)
    return lines


def met(run: ViewedRun, row: int) -> list[int]:
    """Return the jobs that a job lost most to, or cost most."""
    blame, job = run.result.blame, int(run.jobs["id"].iloc[row])
    found = list[int]()
    for own, other in (("victim", "culprit"), ("culprit", "victim")):
        lost = blame[blame[own] == job].groupby(other)["interference_delay_node_s"].sum()
        found += [run.row[int(id_)] for id_ in lost.nlargest(_MET).index if int(id_) in run.row]
    return found


def marks_of(run: ViewedRun, rows: Sequence[int], axis: Axis) -> dict[str, list[float]]:
    """Return the bars of jobs, nodes beside each other as one."""
    bars: dict[str, list[float]] = {"left": [], "right": [], "bottom": [], "top": []}
    for row in rows:
        own = spans(run.nodes_of(row))[: _MOST_BARS - len(bars["left"])]
        left, right = (float(axis.place(run.jobs[name].iloc[row])) for name in ("start_s", "end_s"))
        for first, last in own:
            for side, value in (("left", left), ("right", right), ("bottom", float(first)),
                                ("top", last + 1.0)):  # fmt: skip
                bars[side].append(value)
    return bars
