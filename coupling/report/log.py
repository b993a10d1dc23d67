"""What a job log holds, for people."""

from collections.abc import Mapping
from pathlib import Path

from coupling.report.answer import Answer, Pictures, Section
from coupling.results import formatting as units
from fabricsim.checking import first_names
from scheduler.workload import Workload
from scheduler.workload.statistics import Numbers, job_frame

_SPREAD = ("min", "median", "mean", "p95", "max")
_SPREAD_HEADS = ("", "min", "median", "mean", "95 %", "max")
_SIZE_HEADS = ("nodes", "jobs", "of jobs", "of node time", "mean run")
_USER_HEADS = ("user", "jobs", "of jobs", "of node time")
_CAPTIONS = {
    "size": "Which sizes most jobs have, and which sizes fill the machine.",
    "runtime": "Jobs and node time by run time, on a logarithmic axis.",
    "both": "Share of all node time by size and run time: what a scheduler has to fit.",
    "requested": "How well users know their run times. Backfilling works with these numbers; "
    "jobs on the right run longer than they asked for. Exact requests are left out.",
    "load": "The nodes that would be in use on an endless machine. Where the line stays above "
    "the dashed one, jobs have to wait, whatever the scheduler does.",
    "arrivals": "When jobs are submitted.",
}
_NAMED = 12  # columns that a line names
Rows = list[tuple[str, ...]]


def remarks(numbers: Numbers) -> list[str]:
    """Return sentences on what stands out in a log: requests, load, order, missing values."""
    if not numbers["jobs"]:
        return ["No job is left."]
    lines = [_request_rows(numbers), _load_rows(numbers), *_order_lines(numbers)]
    lines += [*_state_lines(numbers), _missing_lines(numbers)]
    lines += [f"{units.counted_remark(count, what)}." for what, count in numbers["remarks"].items()]
    if numbers["further_columns"]:
        columns = first_names(numbers["further_columns"], _NAMED)
        lines.append(f"Further columns, kept for profiles: {columns}.")
    return [line for line in lines if line]


def trace_answer(numbers: Numbers, workload: Workload | None = None) -> Answer:
    """Return what a log holds; with the `workload`, pictures too."""
    dropped = Section("Jobs left out", ("dropped because", "jobs"), _dropped_rows(numbers))
    sections = [dropped]
    if numbers["jobs"]:
        sizes = [
            Section("Sizes and run times", _SPREAD_HEADS, _spread_rows(numbers)),
            Section("Jobs by size", _SIZE_HEADS, _size_rows(numbers)),
        ]
        users = _user_rows(numbers) if numbers["users"]["count"] else []
        people = Section("Users that ask for most", _USER_HEADS, users)
        sections = [dropped, *sizes, people]
        if workload is not None:
            drawn = Section("Load", pictures=lambda: _log_pictures(workload, numbers))
            sections = [sizes[0], drawn, sizes[1], people, dropped]
    found = remarks(numbers)
    if workload is None:
        title, lines, closing = "", [numbers["source"], _count_line(numbers)], found
    else:
        title, closing = f"{Path(numbers['source']).name}: what the log holds", []
        lines = [_count_line(numbers), *found]
        origin = [("source", numbers["source"]), ("SHA-256", numbers["sha256"] or "-")]
        sections.append(Section("Where this comes from", (), origin))
    return Answer(title, lines, sections, closing)


def _log_pictures(workload: Workload, numbers: Numbers) -> Pictures:
    """Draw sizes, times and load."""
    from coupling.report.plots.log import trace_plots  # noqa: PLC0415 (matplotlib)

    plots = trace_plots(job_frame(workload), numbers)
    return [(plot.html(), _CAPTIONS[name]) for name, plot in plots.items()]


def _count_line(numbers: Numbers) -> str:
    """Return how many jobs there are."""
    return f"{numbers['jobs']:,} jobs kept, {numbers['dropped']:,} dropped"


def _dropped_rows(numbers: Numbers) -> Rows:
    """Return the reasons for which jobs were dropped."""
    return [(reason, f"{count:,}") for reason, count in numbers["dropped_by_reason"].items()]


def _spread_rows(numbers: Numbers) -> Rows:
    """Return sizes and run times."""
    nodes, runtime = numbers["nodes"], numbers["runtime_s"]
    return [
        ("nodes", *(_count_text(nodes[key]) for key in _SPREAD)),
        ("run time", *(units.duration(runtime[key]) for key in _SPREAD)),
    ]


def _count_text(value: float) -> str:
    """Write a whole number as such."""
    return f"{value:,.0f}" if value == int(value) else units.number(value)


def _size_rows(numbers: Numbers) -> Rows:
    """Return the size classes."""
    return [
        (
            part["nodes"],
            f"{part['jobs']:,}",
            units.percent(part["job_share"]),
            units.percent(part["node_time_share"]),
            units.duration(part["mean_runtime_s"]),
        )
        for part in numbers["size_classes"]
    ]


def _user_rows(numbers: Numbers) -> Rows:
    """Return the users that ask for most."""
    return [
        (
            user["user"],
            f"{user['jobs']:,}",
            units.percent(user["job_share"]),
            units.percent(user["node_time_share"]),
        )
        for user in numbers["users"]["top"]
    ]


def _request_rows(numbers: Numbers) -> str:
    """Return how good the requested times are."""
    found: Mapping[str, float] = numbers["requested_time"]
    if not found["jobs"]:
        return "No job has a requested time: backfilling has to go by run times."
    clauses = [
        (
            f"{units.percent(found['jobs'] / numbers['jobs'])} of the jobs have a requested time, "
            f"{units.counted(int(found['values']), 'different value')}"
        ),
        f"the median job uses {units.percent(found['median_used'])} of it",
    ]
    if found["over_runs"]:
        over = units.counted(int(found["over_runs"]), "job")
        longest = units.duration(found["longest_over_run_s"])
        clauses.append(f"{over} ran longer than requested, by up to {longest}")
    if found["exact"]:
        clauses.append(
            f"{units.counted(int(found['exact']), 'job')} ran exactly as long as requested"
        )
    return f"{'; '.join(clauses)}."


def _load_rows(numbers: Numbers) -> str:
    """Return how much work comes, and when."""
    load, arrivals = numbers["load"], numbers["arrivals"]
    work = f"{units.number(load['node_seconds'] / 3600)} node-hours"
    if load["offered"] is None:
        return f"{work} are asked for, all at once."
    machine = units.counted(load["machine_nodes"], "node")
    if load["machine_nodes_from"] == "largest job":
        machine += " (the largest job; --nodes says how many there are)"
    text = (
        f"{work} are asked for in {units.duration(arrivals['span_s'])}, "
        f"{units.percent(load['offered'])} of what {machine} give; if no job waited, "
        f"{units.counted(load['peak_nodes'], 'node')} would be busy at the peak. "
        f"{units.duration(arrivals['mean_gap_s'])} lie between two submissions on average, "
        f"{units.duration(arrivals['median_gap_s'])} in the median."
    )
    larger = load["larger_than_machine"]
    if larger:
        text += (
            f" {units.counted(larger, 'job')} {'is' if larger == 1 else 'are'} larger than that."
        )
    return text


def _order_lines(numbers: Numbers) -> list[str]:
    """Return what is odd about rows."""
    lines = []
    if count := numbers["not_in_order_of_submission"]:
        lines.append(f"{units.counted(count, 'row')} out of order: submitted before the row above.")
    if count := numbers["repeated"]:
        lines.append(
            f"{units.counted(count, 'job')} equal to an earlier one in all but the number."
        )
    return lines


def _state_lines(numbers: Numbers) -> list[str]:
    """Return which jobs are kept that were cancelled or still run, and what is known of places."""
    lines = []
    if count := numbers["cancelled"]:
        lines.append(f"{units.counted(count, 'kept job')} cancelled while running.")
    if count := numbers["running"]:
        lines.append(
            f"{units.counted(count, 'job')} running already: `run` refuses them, `estimate` takes "
            "jobs where they are."
        )
    starts, places = numbers["recorded"]["starts"], numbers["recorded"]["places"]
    if starts or places:
        lines.append(
            f"{units.counted(starts, 'job')} with a recorded start, {places:,} with recorded nodes."
        )
    return lines


def _missing_lines(numbers: Numbers) -> str:
    """Return which values are missing."""
    gaps = [
        f"{name} ({'all' if count == numbers['jobs'] else f'{count:,}'})"
        for name, count in numbers["missing"].items()
        if count
    ]
    return f"Missing: {units.listing(gaps)}." if gaps else ""
