"""Isolation of jobs and non-blocking partitions, for people."""

from itertools import islice

from coupling.inputs.snapshot import Snapshot
from coupling.report.answer import Answer, Section
from coupling.report.estimate import stem
from coupling.results.formatting import counted, listing
from coupling.site.verify import JobVerdict, Verification
from netsim.topology.base import Topology

_LINES = 5  # shared links and broken conditions of a job, in a terminal
_FAULTS = 20  # the same on a page
_DRAWN = 12  # jobs that are drawn
_HEADS = ("job", "isolated", "conditions", "non-blocking", "clean shifts", "clean random")


def verify_answer(snapshot: Snapshot, found: Verification, *, page: bool = False) -> Answer:
    """Return the verdict on each job with its reasons; a page draws partitions and proofs."""
    words = {True: "yes", False: "NO", None: "no answer" if page else "-"}
    rows = []
    for job in found.jobs:
        clean = job.static_table
        rows.append(
            (
                str(job.id),
                words[job.isolated and not job.unroutable],
                words[job.conditions.holds],
                words[job.rearrangeable.holds],
                f"{clean.shifts_clean}/{clean.shifts}" if clean else "-",
                f"{clean.random_clean}/{clean.random}" if clean else "-",
            )
        )
    verdicts = Section("Verdicts", _HEADS, rows)
    if not page:
        lines = [
            f"{job.id} {clause}"
            for job in found.jobs
            for clause in _reason_clauses(found.topology, job, _LINES)
        ]
        unanswered = [str(job.id) for job in found.jobs if not job.answered]
        if unanswered and not found.allow_unknown:
            lines.append(f"No answer for {listing(unanswered)}: no pass without --allow-unknown.")
        return Answer("", [found.topology.summary], [verdicts], lines)
    from coupling.report.pictures import job_pictures, partition_picture  # noqa: PLC0415 (matplotlib)

    sections = [
        verdicts,
        Section("The fabric", pictures=lambda: partition_picture(snapshot, found)),
    ]
    pairs = list(zip(snapshot.jobs, found.jobs, strict=True))
    for place, (placed, verdict) in enumerate(islice(pairs, _DRAWN)):
        name = str(placed.id)
        sections.append(
            Section(
                name if name.startswith("job") else f"Job {name}",
                ("from", "to"),
                _witness_rows(snapshot.topology, verdict),
                notes=[
                    f"{clause[0].upper()}{clause[1:]}"
                    for clause in _reason_clauses(snapshot.topology, verdict, _FAULTS)
                ],
                pictures=job_pictures(snapshot.topology, place, placed, verdict),
                on_demand="The permutation that cannot be routed",
            )
        )
    if len(pairs) > _DRAWN:
        left = f"{counted(len(pairs) - _DRAWN, 'job')} not drawn."
        sections.append(Section("Further jobs", above=[left]))
    title = f"{stem(snapshot.source)}: isolation and non-blocking partitions"
    return Answer(title, [snapshot.topology.summary, *_verdict_lines(found)], sections)


def _verdict_lines(found: Verification) -> list[str]:
    """Return in short what the checks say."""
    failed = [str(job.id) for job in found.jobs if not job.passed]
    unanswered = [str(job.id) for job in found.jobs if job.passed and not job.answered]
    lines = ["Every check passed." if found.passed else "Not every check passed."]
    if failed:
        lines.append(f"A check says no for {listing(failed)}.")
    if unanswered:
        lines.append(f"No answer for {listing(unanswered)}.")
    return lines


def _reason_clauses(topology: Topology, job: JobVerdict, most: int) -> list[str]:
    """Return what there is to say of a job, after its name; `most` shared links, and conditions."""
    clauses = [f"cannot be routed: {job.unroutable}"] if job.unroutable else []
    for link, others in islice(job.shares.items(), most):
        clauses.append(f"shares {topology.link_name(link)} with {listing([*map(str, others)])}.")
    if len(job.shares) > most:
        clauses.append(f"shares {len(job.shares) - most} more links (--json has all).")
    broken = job.conditions.broken or ()
    clauses += [f"breaks ({own.condition}): {own.reason}" for own in broken[:most]]
    if len(broken) > most:
        clauses.append(f"breaks conditions in {len(broken) - most} more places.")
    clauses.append(f"non-blocking: {job.rearrangeable.method}.")
    if job.permutation is not None:
        clauses.append(f"permutation given: {job.permutation.method}.")
    return clauses


def _witness_rows(topology: Topology, verdict: JobVerdict) -> list[tuple[str, str]]:
    """Return the flows of a permutation that cannot be routed."""
    witness = verdict.rearrangeable.witness
    if witness is None:
        return []
    name = topology.vertex_name
    pairs = zip(witness.src.tolist(), witness.dst.tolist(), strict=True)
    return [(name(source), name(target)) for source, target in pairs]
