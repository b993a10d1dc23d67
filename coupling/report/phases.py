"""Effective bisection, what ECMP's hash costs, and shifts that interleave jobs, for people."""

from coupling.report.answer import Answer, Pictures, Section
from coupling.report.columns import seconds
from coupling.report.estimate import stem
from coupling.results.formatting import counted, percent, ratio, volume
from coupling.site.ebb import EffectiveBisection
from coupling.site.ecmp_audit import QUANTILES, EcmpAudit
from coupling.site.stagger import Stagger


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


_LINES, _MORE = 10, 50  # links of a table in a terminal, and on a page
_MODEL = (
    "Rates are max-min fair shares of flows: packets, buffers and congestion control are not "
    "in them."
)
_ADAPTIVE = (
    "Switches that choose the way of each packet are assumed to spread load evenly: an upper "
    "bound. On a 512-node Clos the best adaptive routing measured 0.77 (Geoffray and Hoefler 2008)."
)


def ebb_answer(found: EffectiveBisection, what: str, *, page: bool = False) -> Answer:
    """Return what random pairs get on a fabric, `what`, and its most loaded links."""
    each, (cut, full) = found.shares.mean(axis=1), found.cut
    rate = volume(float(found.pairings.rates.mean()))
    low, high = percent(float(each.min())), percent(float(each.max()))
    halves = "between the first and the second half of the hosts, by any paths"
    lines = [
        f"Effective bisection bandwidth {percent(found.mean)} of full, {rate}/s each way.",
        f"{found.topology.summary}, routing {found.routing}.",
        f"{counted(found.samples, 'random pairing')}: {low} to {high}; seed {found.seed}.",
        f"Bisection {percent(cut / full)} of full, {volume(cut)}/s {halves}.",
    ]
    spread = Section(
        "Pairs of hosts",
        ("percentile of pairs", "of full", "bandwidth"),
        [
            (str(percentile), percent(share), f"{volume(rate)}/s")
            for percentile, share, rate in found.percentiles()
        ],
    )
    worst = Section(
        "Most loaded links",
        ("most loaded links", "offered, mean", "offered, worst"),
        [
            (row["link"], ratio(row["offered"]), ratio(row["peak"]))
            for row in found.worst_links(_MORE if page else _LINES)
        ],
        notes=["Offered: load over capacity if all pairs had their full bandwidth."],
    )
    closing = [*(f"Assumed: {line}." for line in found.assumed), _MODEL]
    if found.topology.multipath is not None:
        closing.append(_ADAPTIVE)
    sections = [spread, worst]
    if page:
        sections.insert(1, Section("The fabric", pictures=lambda: _load_pictures(found)))
    return Answer(f"{stem(what)}: effective bisection bandwidth", lines, sections, closing)


def _load_pictures(found: EffectiveBisection) -> Pictures:
    """Draw the fabric with the load that the pairs offer."""
    from coupling.report.plots.fabric import FabricScene, fabric_picture  # noqa: PLC0415
    from coupling.report.plots.layout import layout_of  # noqa: PLC0415 (matplotlib)

    load = found.pairings.offered
    scene = FabricScene(found.topology, load, title="Load that random pairs offer")
    drawn = fabric_picture("fabric", scene, "The fabric: load that random pairs offer")
    words = "Cables in the colour of their busier direction, mean of the pairings"
    return [(drawn.html(), f"{words}. {layout_of(found.topology).words}")]
