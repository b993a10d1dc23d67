"""What the panel says about what was chosen, as HTML."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coupling.explorer.address import Address
from coupling.explorer.colours import JobColours
from coupling.explorer.panel import (
    MOST,
    PanelSection,
    TableCell,
    list_section,
    panel_html,
    picture_section,
    templates,
    to_cable,
    to_job,
    to_moment,
)
from coupling.explorer.run_view import Failed, OnReady, RunView, ViewedRun
from coupling.report.columns import seconds
from coupling.results.explained import waited, why
from coupling.results.formatting import counted, number, percent, ratio
from coupling.runs.job_history import JobHistory

_MOST_LISTED = 60  # users of a link
_APART = 0.001  # of its run: how far what a job lost, worked out, may be from the result
_REASONS = 4  # of waiting that are shown, the longest
_HOT = 5  # busiest times of a cable
_LONG = 600  # letters of a list of nodes


def run_panel(exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady) -> str:
    """Return the panel. `on_ready`: called from another thread when more can be said."""
    return panel_html(_panel_sections(exhibit, run, address, on_ready))


def _panel_sections(
    exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady
) -> Iterator[PanelSection]:
    """Yield what is said of the chosen cable, then of the chosen job or of the run."""
    if address.cable in run.link:
        yield from _cable_sections(exhibit, run, address, on_ready)
    elif address.cable:
        yield PanelSection(text=f"No link {address.cable} is in {run.name}.", role="alert")
    row = run.row.get(int(address.job)) if address.job.isdecimal() else None
    if row is not None:
        yield from _job_sections(exhibit, run, address, row, on_ready)
        return
    unknown = f"No job {address.job} ran under {run.name}." if address.job else ""
    yield PanelSection(run.name, large=True, text=unknown, role="alert" if unknown else "")
    yield PanelSection(text=exhibit.about)
    yield PanelSection(facts=_run_facts(run), text="Click a bar, or press j, to look at a job.")


def waiting_panel(words: str) -> str:
    """Return a panel that says what has to be awaited."""
    return panel_html([PanelSection(text=words, role="status")])


def key_of(exhibit: RunView, by: str, shades: JobColours, ramp: Sequence[str]) -> str:
    """Return the key of colours."""
    return (
        templates()
        .get_template("key.html")
        .render(
            ramp=ramp if by == "slowdown" else (),
            end=ratio(exhibit.scale),
            key=shades.key,
            missing="A colour for each job." if by == "job" else shades.missing,
        )
    )


def job_line(run: ViewedRun, row: int) -> str:
    """Say what a job is, in a line."""
    job = run.jobs.iloc[row]
    return (
        f"job {job['id']}: {job['n_nodes']} nodes, {job['pattern'] or 'no traffic'}, runs "
        f"{duration(job['end_s'] - job['start_s'])}, slowdown {ratio(job['network_slowdown'])}"
    )


def duration(value: float) -> str:
    """
    Write a time as people say it.

    >>> duration(90061), duration(7322), duration(75.4), duration(0.25)
    ('1 d 1 h', '2 h 2 min', '1 min 15 s', '250 ms')
    """
    whole = int(value)
    if value < 60:  # noqa: PLR2004 (a minute)
        return seconds(value)
    for size, unit, small, smaller in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // small} {smaller}"
    return seconds(value)


def _run_facts(run: ViewedRun) -> list[tuple[str, str]]:
    """Return what is said of a run as a whole."""
    summary = run.result.summary
    shown = {
        "utilization_steady": "steady utilisation",
        "mean_wait_s": "mean wait",
        "mean_interference": "mean interference",
        "max_interference": "largest interference",
        "mean_network_slowdown": "mean slowdown",
        "makespan_s": "makespan",
    }
    found = []
    for key, name in shown.items():
        value = summary.get(key)
        if isinstance(value, (int, float)):
            text = f"{value:.1%}" if key == "utilization_steady" else ratio(value)
            found.append((name, duration(value) if key.endswith("_s") else text))
    return found


def _job_sections(
    exhibit: RunView, run: ViewedRun, address: Address, row: int, on_ready: OnReady
) -> Iterator[PanelSection]:
    """Yield what is said of the chosen job."""
    job = run.jobs.iloc[row]
    number_, nodes = int(job["id"]), str(job["nodes"])
    facts = [
        ("pattern", str(job["pattern"]) or "does not communicate"),
        ("communicates", f"{job['comm_fraction']:.0%} of the time, alone"),
        ("nodes", str(job["n_nodes"])),
        ("submitted", duration(job["submit_s"])),
        ("waits", duration(job["wait_s"])),
        ("starts", duration(job["start_s"])),
        ("runs", duration(job["end_s"] - job["start_s"])),
        ("slowdown", ratio(job["network_slowdown"])),
        ("by other jobs", ratio(job["interference"])),
        ("by its placement", ratio(job["placement_factor"])),
        ("lost to others", duration(job["interference_delay_s"])),
    ]
    yield PanelSection(f"Job {number_}", large=True, facts=facts)
    waits = _wait_rows(run, address, number_)
    unrecorded = (
        "That is not recorded: an older version wrote the result; run its "
        "experiment.resolved.toml again."
    )
    empty = unrecorded if run.waits is None else "It did not wait."
    yield list_section("Why it waited", ("for", "why"), waits, empty, kind="why")
    pattern, why_not = _answer_or_reason(exhibit.flows(run.name, number_, on_ready))
    yield picture_section(pattern, why_not)
    yield from _slow_sections(exhibit, run, address, row, on_ready)
    yield PanelSection("Its nodes", folded=nodes if len(nodes) <= _LONG else f"{nodes[:_LONG]} ...")
    for heading, sides in (("Culprits", ("victim", "culprit")), ("Victims", ("culprit", "victim"))):
        others = _other_rows(run, address, number_, sides)
        yield list_section(heading, ("job", "cost", "mostly on"), others, "None.")


def _answer_or_reason(found: Any) -> tuple[Any, str]:  # noqa: ANN401 (an answer, or none yet)
    """Return an answer, or None and why there is none."""
    if found is None:
        return None, "Working it out ..."
    if isinstance(found, Failed):
        return None, f"It cannot be worked out: {found.why}"
    return (None, found) if isinstance(found, str) else (found, "")


def _wait_rows(run: ViewedRun, address: Address, job: int) -> list[list[TableCell]]:
    """Return why a job waited, in the words of explain, the longest first."""
    if run.waits is None:
        return []
    rows, found = [], waited(run.waits, run.result, job)
    for row in found[:_REASONS]:
        holder, words = row["holder"], why(row, job)
        leads = holder is not None and holder != job and holder in run.row
        when = f"{words}, between {duration(row['first_s'])} and {duration(row['last_s'])}"
        cell = TableCell(when, to_job(address, str(holder)).href if leads else "")
        rows.append([TableCell(duration(row["wait_s"])), cell])
    rest_s = sum(row["wait_s"] for row in found[_REASONS:])
    if rest_s > 0:
        words = f"{counted(len(found) - _REASONS, 'more reason')} (fabricsim explain)"
        rows.append([TableCell(duration(rest_s)), TableCell(words)])
    return rows


def _slow_sections(
    exhibit: RunView, run: ViewedRun, address: Address, row: int, on_ready: OnReady
) -> Iterator[PanelSection]:
    """Yield when a job was slowed, on which link and by which jobs: its worst times, in order."""
    job, heading = run.jobs.iloc[row], "When it was slowed"
    found = exhibit.life(run.name, int(job["id"]), on_ready)
    if not isinstance(found, JobHistory):
        yield PanelSection(heading, text=_answer_or_reason(found)[1])
        return
    held = [stretch for stretch in found.stretches if stretch.interference_delay_s > 0]
    dear = sorted(held, key=lambda stretch: -stretch.interference_delay_s)[:MOST]
    rows = [
        [
            to_moment(address, duration(own.begin_s), own.begin_s),
            TableCell(ratio(own.interference * found.placement_factor)),
            to_cable(address, own.cable) if own.cable else TableCell("-"),
            to_job(address, str(next(iter(own.culprits)))) if own.culprits else TableCell("-"),
        ]
        for own in sorted(dear, key=lambda stretch: stretch.begin_s)
    ]
    left = len(held) - len(rows)
    more = f"and {left} times more, that cost less" if left > 0 else ""
    heads = ("from", "slowdown", "cable", "by")
    yield list_section(heading, heads, rows, "Never, by other jobs.", kind="held", more=more)
    delay_s, recorded_s = found.interference_delay_s, job["interference_delay_s"]
    if abs(delay_s - recorded_s) > _APART * (job["end_s"] - job["start_s"]):
        words = f"Worked out, it lost {duration(delay_s)}; the result says {duration(recorded_s)}."
        yield PanelSection(text=words, role="alert")


def _cable_sections(
    exhibit: RunView, run: ViewedRun, address: Address, on_ready: OnReady
) -> Iterator[PanelSection]:
    """Yield what is said of the chosen link."""
    row = run.link[address.cable]
    link, bins = run.result.links.iloc[row], run.load.bins[row]
    delay_h = link["interference_delay_node_s"] / 3600
    facts = [
        ("class", str(link["class"])),
        ("carried", f"{number(link['bytes'] / 1e9)} GB"),
        ("busy over the run", f"{link['busy_fraction']:.1%}"),
        ("cost jobs that it held up", f"{number(delay_h)} node-hours"),
    ]
    if address.at_s is not None and bins.size:
        facts.append(("busy at the moment", f"{run.load.at(address.at_s)[row]:.1%}"))
    yield PanelSection(f"Link {address.cable}", large=True, facts=facts)
    hot = np.argsort(-bins, kind="stable")[:_HOT]
    times = [
        [to_moment(address, duration(begin_s), begin_s), TableCell(f"{bins[place]:.1%}")]
        for place in hot.tolist()
        if bins[place] > 0
        for begin_s in (float(run.load.edges[place]),)
    ]
    empty = run.load.why_not or "Never."
    yield list_section("When it was busiest", ("from", "busy"), times, empty)
    yield _users_section(exhibit, run, address, row, on_ready)


def _users_section(
    exhibit: RunView, run: ViewedRun, address: Address, link: int, on_ready: OnReady
) -> PanelSection:
    """Return the jobs that used a link at the moment, or in what is shown."""
    if address.at_s is None:
        window = (address.begin_s or 0.0, exhibit.end_s if address.end_s is None else address.end_s)
    else:
        window = (address.at_s, float(np.nextafter(address.at_s, np.inf)))
    found, why_not = _answer_or_reason(exhibit.users(run.name, link, window, on_ready))
    uses = found or []
    rows = [
        [
            to_job(address, str(use.job)),
            TableCell(duration(use.begin_s)),
            TableCell(duration(use.end_s - use.begin_s)),
            TableCell(percent(use.share)),
        ]
        for use in uses[:_MOST_LISTED]
    ]
    left = len(uses) - len(rows)
    heading = "Jobs on it in what is shown" if address.at_s is None else "Jobs on it now"
    return list_section(heading, ("job", "from", "for", "mean share"), rows, why_not or "None.",
                        more=f"and {left} more" if left > 0 else "")  # fmt: skip


def _other_rows(
    run: ViewedRun, address: Address, job: int, sides: tuple[str, str]
) -> list[list[TableCell]]:
    """Return the jobs that delayed a job, or that it delayed, the worst first."""
    blame = run.result.blame
    rows = blame[(blame[sides[0]] == job) & (blame["interference_delay_node_s"] > 0)]
    total = (
        rows.groupby(sides[1], sort=False)["interference_delay_node_s"]
        .sum()
        .sort_values(ascending=False)
    )
    found = []
    for other, lost in list(total.items())[:MOST]:
        own = rows[rows[sides[1]] == other].sort_values(
            "interference_delay_node_s", ascending=False
        )
        known = int(str(other)) in run.row
        found.append(
            [
                to_job(address, str(other)) if known else TableCell("unknown"),
                TableCell(f"{number(lost / 3600)} node-hours"),
                TableCell(str(own["link_class"].iloc[0])),
            ]
        )
    return found
