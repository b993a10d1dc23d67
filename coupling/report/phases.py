"""What ECMP's hash costs, and shifts that interleave jobs, for people."""

from coupling.report.answer import Answer, Section
from coupling.report.columns import seconds
from coupling.report.estimate import stem
from coupling.results.formatting import counted, percent, ratio
from coupling.site.ecmp_audit import QUANTILES, EcmpAudit
from coupling.site.stagger import Stagger

_LINES = 10  # links of a table


def audit_answer(found: EcmpAudit, what: str) -> Answer:
    """Return how long iterations take over seeds of the hash."""
    heads = ("sprayed", "mean", *(f"p{q}" if q < 100 else "worst" for q in QUANTILES))  # noqa: PLR2004 (per cent)
    rows = [
        (
            str(job.id),
            *(seconds(value) for value in (job.sprayed_s, job.mean_s, *job.quantiles_s)),
            ratio(job.mean_s / job.sprayed_s if job.sprayed_s else 1.0),
        )
        for job in found.jobs
    ]
    links = [(name, str(seeds), seconds(most)) for name, seeds, most in found.links[:_LINES]]
    pairs = counted(found.qps, "queue pair")
    return Answer(
        f"{stem(what)}: ECMP over {counted(found.seeds, 'seed')}",
        [f"{found.topology.summary}; {pairs} of each message."],
        [
            Section("Iterations alone", ("job", *heads, "mean / sprayed"), rows),
            Section(
                "Busiest links between switches",
                ("link", "seeds", "busy at most"),
                links,
                notes=["In how many seeds a link is the busiest, all jobs together."],
            ),
        ],
        ["Loads of links are counted; jobs do not slow each other down here (see estimate)."],
    )


def stagger_answer(found: Stagger, what: str) -> Answer:
    """Return shifts of start, and what they gain."""
    rows = [
        (
            str(job.id),
            *(seconds(s) for s in (job.shift_s, job.alone_s, job.best_s, job.mean_s, job.worst_s)),
            percent(1.0 - job.best_s / job.mean_s),
        )
        for job in found.jobs
    ]
    lines = [f"All jobs are where they were after {seconds(found.cycle_s)}."]
    if found.slack_s < float("inf"):
        lines.append(
            f"Half of the gain is gone when one job is off by {seconds(found.slack_s)}: after "
            f"about {found.iterations:,.0f} iterations at a drift of 0.1 % of an iteration."
        )
    heads = ("start later", "alone", "with shifts", "mean of shifts", "worst", "gain on mean")
    return Answer(
        f"{stem(what)}: shifts that interleave the jobs",
        lines,
        [Section("Iterations", ("job", *heads), rows)],
        [
            (
                "Iterations are by the flow simulation (flow-level). Computation that varies, "
                "packets and congestion control are not in it."
            )
        ],
    )
