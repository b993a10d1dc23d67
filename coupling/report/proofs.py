"""Pages about what is checked: partitions with their proofs, and what a fabric is made of."""

from collections.abc import Sequence
from functools import partial
from itertools import islice

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from coupling.inputs.snapshot import PlacedJob, Snapshot
from coupling.report.moments import stem
from coupling.report.page import Html, bullets, figures, heading, page, paragraph, table
from coupling.report.plots.fabric import FabricScene, fabric_picture
from coupling.report.plots.layout import layout_of, part_of
from coupling.report.plots.sheet import name_ticks
from coupling.report.plots.style import FAINT, Picture
from coupling.results.formatting import counted, listing, ratio
from coupling.site.verify import JobVerdict, Verification
from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.changes import leaf_tapers
from netsim.topology.levels import links_in_service
from netsim.topology.structure.inspect import TopologyReport

_DRAWN = 12  # jobs that are drawn
_FLOWS = 40  # flows of a certificate that are drawn
_TOLD = 20  # faults of a job, and irregularities of a fabric, that are written out
_WORDS = {True: "yes", False: "no", None: "no answer"}


def verify_html(snapshot: Snapshot, found: Verification) -> str:
    """Return a page about isolation and proofs."""
    topology = snapshot.topology
    shared = np.array(sorted({e for job in found.jobs for e in job.shares}), dtype=np.int64)
    scene = FabricScene(
        topology,
        jobs={str(job.id): np.unique(job.partition.nodes) for job in snapshot.jobs},
        chosen=_owned(snapshot.jobs),
        marked=shared,
        title="Partitions",
    )
    drawn = fabric_picture("fabric", scene, "The fabric, with the partitions of all jobs")
    caption = (
        f"Nodes in the colour of their job; strong lines: links that a job owns; red: links that "
        f"several jobs use or own. {layout_of(topology).words}"
    )
    pairs = list(zip(snapshot.jobs, found.jobs, strict=True))
    sections = [
        ("Verdicts", _verdicts(found)),
        ("The fabric", figures([(drawn.html(), caption)])),
        *(
            (f"Job {job.id}", _job(topology, place, job, verdict))
            for place, (job, verdict) in enumerate(islice(pairs, _DRAWN))
        ),
    ]
    left = len(pairs) - _DRAWN
    if left > 0:
        sections.append(("Further jobs", paragraph(f"{counted(left, 'job')} not drawn.")))
    return page(
        f"{stem(snapshot.source)}: isolation and non-blocking partitions",
        topology.summary,
        bullets(_short(found)),
        sections,
    )


def _owned(jobs: Sequence[PlacedJob]) -> Ints:
    """Return all links that jobs own."""
    parts = [job.partition.links for job in jobs if job.partition.links is not None]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def _short(found: Verification) -> list[str]:
    """Say in short what the checks say."""
    failed = [str(job.id) for job in found.jobs if not job.passed]
    open_ = [str(job.id) for job in found.jobs if job.passed and not job.answered]
    lines = ["Every check passed." if found.passed else "Not every check passed."]
    if failed:
        lines.append(f"A check says no for {listing(failed)}.")
    if open_:
        lines.append(f"No answer for {listing(open_)}.")
    return lines


def _verdicts(found: Verification) -> Html:
    """Write a row per job."""
    rows = [
        [
            str(job.id),
            _WORDS[job.isolated and not job.unroutable],
            _WORDS[job.conditions.holds],
            _WORDS[job.rearrangeable.holds],
            f"{own.shifts_clean} of {own.shifts}" if (own := job.static_table) else "-",
            f"{own.random_clean} of {own.random}" if own else "-",
        ]
        for job in found.jobs
    ]
    heads = ["job", "isolated", "conditions", "non-blocking", "clean shifts", "clean random"]
    return table(heads, rows)


def _job(topology: Topology, place: int, job: PlacedJob, verdict: JobVerdict) -> Html:
    """Draw a job with what proves its verdict, and write why."""
    lines = [f"Non-blocking: {verdict.rearrangeable.method}."]
    if verdict.unroutable:
        lines.append(f"Cannot be routed: {verdict.unroutable}")
    for link, others in islice(verdict.shares.items(), _TOLD):
        lines.append(f"Shares {topology.link_name(link)} with {listing([*map(str, others)])}.")
    broken = verdict.conditions.broken or ()
    lines += [f"Breaks ({own.condition}): {own.reason}" for own in broken[:_TOLD]]
    pictures = _proofs(topology, place, job, verdict)
    witness = verdict.rearrangeable.witness
    flows = Html()
    if witness is not None:
        name = topology.vertex_name
        rows = [
            [name(a), name(b)]
            for a, b in zip(witness.src.tolist(), witness.dst.tolist(), strict=True)
        ]
        flows = heading("The permutation that cannot be routed") + table(["from", "to"], rows)
    return bullets(lines) + figures((own.html(), text) for own, text in pictures) + flows


def _proofs(
    topology: Topology, place: int, job: PlacedJob, verdict: JobVerdict
) -> list[tuple[Picture, str]]:
    """Draw the partition, the paths of a certificate, and the cut of a witness."""
    own = job.partition.links
    nodes = np.unique(job.partition.nodes)
    if own is None:
        return []
    proof, witness = verdict.rearrangeable.certificate, verdict.rearrangeable.witness
    paths = [] if proof is None else [proof.routes.of_flow(i) for i in range(proof.src.size)]
    used = np.concatenate([own, *paths]).astype(np.int64)
    part, kept = part_of(topology, used, nodes)
    jobs = {str(job.id): np.arange(part.n_nodes)}

    def here(links: Ints) -> Ints:
        return np.searchsorted(kept, links)

    weights = {} if witness is None else witness.weights
    cut = np.array(sorted(link for link, weight in weights.items() if weight > 0), dtype=np.int64)
    scene = FabricScene(
        part,
        jobs=jobs,
        first_colour=place,
        chosen=here(own),
        marked=here(cut),
        title="The partition",
    )
    words = "Nodes of the job, and the links that it owns."
    if cut.size:
        words += " Red: the cut of the witness. Its flows need more of these links than there are."
    drawn = [(fabric_picture(f"part-{place}", scene, f"Partition of job {job.id}"), words)]
    if paths and witness is None:
        some = [here(path) for path in paths[:_FLOWS]]
        ways = FabricScene(
            part, jobs=jobs, first_colour=place, paths=some, title="One permutation, routed"
        )
        left = len(paths) - len(some)
        more = f" {left} of {len(paths)} flows are not drawn." if left else ""
        text = (
            "The certificate: every flow in a colour of its own, at most one flow on each "
            f"direction of a cable.{more}"
        )
        drawn.append((fabric_picture(f"ways-{place}", ways, f"Paths in job {job.id}"), text))
    return drawn


def fabric_html(found: TopologyReport, what: str) -> str:
    """Return a page about a fabric."""
    topology = found.topology
    dotted = "" if links_in_service(topology).all() else "Dotted: out of service. "
    pictures = [(inspected(found), f"{dotted}{layout_of(topology).words}")]
    leaves = oversubscription(topology)
    if len(set(leaves["ratio"])) > 1:  # equal bars say less than the table of levels
        pictures.append(
            (
                Picture(
                    "leaves",
                    "Oversubscription of every leaf switch",
                    partial(_paint_leaves, leaves=leaves),
                    partial(pd.DataFrame, leaves),
                ),
                (
                    "Capacity of the links of a switch's nodes / capacity of its links to other "
                    "switches. Above 1 its nodes cannot all send at full speed."
                ),
            )
        )
    levels = [
        [
            str(level.level or "-"),
            str(level.switches),
            str(level.down),
            str(level.up),
            str(level.across),
            ratio(level.taper),
        ]
        for level in found.levels
    ]
    kinds = [
        [kind.name, f"{kind.links:,}", f"{8 * kind.slowest / 1e9:g}", f"{8 * kind.fastest / 1e9:g}"]
        for kind in found.links
    ]
    odd = [f"{line.rstrip('.')}." for line in [*found.assumed, *found.irregular[:_TOLD]]]
    left = len(found.irregular) - _TOLD
    if left > 0:
        odd.append(f"{left} more irregularities (--json has all).")
    sections = [
        ("The fabric", figures((own.html(), text) for own, text in pictures)),
        (
            "Levels",
            table(["level", "switches", "cables down", "up", "across", "taper"], levels),
        ),
        ("Links", table(["class", "links", "slowest, Gb/s", "fastest, Gb/s"], kinds)),
        ("Assumed and irregular", bullets(odd) if odd else Html()),
    ]
    return page(
        f"{stem(what)}: what the fabric is made of", topology.name, bullets(_size(found)), sections
    )


def _size(found: TopologyReport) -> list[str]:
    """Say how large a fabric is, and what is cut off."""
    topology = found.topology
    gone = 0 if topology.absent is None else topology.absent.size
    nodes = f"{found.n_nodes:,} nodes ({topology.usable_nodes.size:,} take jobs)"
    links = f"{topology.n_links:,} directed links ({gone:,} absent)"
    lines = [f"{nodes}, {found.n_switches:,} switches, {links}."]
    lost, pairs = found.lost.nodes.size, found.lost.n_pairs
    if lost or pairs:
        lines.append(f"{counted(lost, 'node')} cut off, {counted(pairs, 'pair')} without a path.")
    return lines


def inspected(found: TopologyReport) -> Picture:
    """
    Return the picture of a fabric as it is.

    Result: nodes, switches and cables; what is out of service is dotted.
    """
    scene = FabricScene(found.topology, title=found.topology.name)
    return fabric_picture("fabric", scene, f"The fabric {found.topology.name}")


def oversubscription(topology: Topology) -> pd.DataFrame:
    """
    Return how far the switches with nodes are oversubscribed.

    Result: ``switch`` and ``ratio``: capacity of the links in service from its nodes / capacity of
    those to other switches, of switches that have both.
    """
    found = leaf_tapers(topology)
    out = found.above > 0.0
    names = [topology.vertex_name(leaf) for leaf in found.leaf[out].tolist()]
    return pd.DataFrame({"switch": names, "ratio": found.taper[out]})


def _paint_leaves(figure: Figure, leaves: pd.DataFrame) -> None:
    """Draw a bar per switch."""
    axes = figure.add_subplot()
    x = np.arange(len(leaves))
    axes.bar(x, leaves["ratio"], 0.9 if len(leaves) < 200 else 1.0, color="#0072b2")  # noqa: PLR2004
    axes.axhline(1.0, color=FAINT, linewidth=0.8, linestyle="--")
    axes.set_title("Oversubscription")
    axes.set_ylabel("capacity of nodes / of uplinks")
    ticks = np.unique(np.linspace(0, len(leaves) - 1, min(len(leaves), 6)).astype(int))
    name_ticks(
        axes.xaxis, ticks.tolist(), [str(leaves["switch"].iloc[tick])[:12] for tick in ticks]
    )
    axes.set_xlabel("switch with nodes")
