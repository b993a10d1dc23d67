"""
Error of the contention models against packet level (CODES on ROSS), beside `null`.

Run: ``python -m benchmarks.contention.packet FOLDER`` with the folder of ``cases_k8.json.gz``
and ``duty_k8.json.gz``. Exit status 1 if a bar is missed.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from measured.packets import (
    ALWAYS,
    DUTY,
    FILES,
    Case,
    Errors,
    read_cases,
    tables,
    tree_of_packets,
)

from benchmarks import asking
from benchmarks.accuracy import comparison_of, record_comparisons
from benchmarks.evidence import record, verdict
from netsim.registries.accuracy import ANY, Comparison, machine_kind, routing_kind
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree

COMMAND = "python -m benchmarks.contention.packet FOLDER"
BARS = (  # cases, quantity of `fluid`, least, most
    (DUTY, "mean", 0.0, 2.6),
    (DUTY, "bias", 0.93, 1.07),
    (ALWAYS, "mean", 0.0, 5.0),
)


def rows_of(title: str, errors_of: Mapping[str, Errors]) -> list[str]:
    """Return the rows of a Markdown table."""
    return [
        f"| {title} | {name} | {e.n_jobs} | {e.mean:.2f} % | {e.p90:.1f} % | {e.worst:.0f} % | "
        f"{e.contended:.1f} % | {e.bias:.2f} | {e.rank:.2f} |"
        for name, e in errors_of.items()
    ]


def comparisons(
    load: str,
    cases: Sequence[Case],
    fabric: FatTree,
    by_class: Mapping[str, Mapping[str, Errors]],
) -> list[Comparison]:
    """Return the rows of the table that reports quote."""
    return [
        comparison_of(
            e,
            COMMAND,
            machine=machine_kind(fabric),
            routing=routing_kind(DModK(fabric)),
            ranks_per_node=1,
            fairness="per-sender",
            buffer_bytes=fabric.buffer_bytes,
            load=load,
            model=name,
            nodes=fabric.n_nodes,
            cases=sum(traffic_class == ANY or traffic_class in case.kinds for case in cases),
            traffic_class=traffic_class,
        )
        for traffic_class, errors_of in by_class.items()
        for name, e in errors_of.items()
    ]


def main(folder: Path) -> int:
    """Print and record the tables; return the exit status."""
    cases = {title: read_cases(folder / file) for title, file in FILES.items()}
    wet, dry = tree_of_packets(), replace(tree_of_packets(), buffer_bytes=0.0)
    by_class = {title: tables(found) for title, found in cases.items()}
    dry_by_class = {title: tables(found, tree=dry) for title, found in cases.items()}
    found = []
    for title in FILES:
        found += comparisons(title, cases[title], wet, by_class[title])
        found += comparisons(title, cases[title], dry, dry_by_class[title])
    record_comparisons(COMMAND, found)
    stated = {title: own[ANY] for title, own in by_class.items()}
    without = {title: own[ANY] for title, own in dry_by_class.items()}
    lines = [
        'Models with their defaults; the fabric is that of `latency = "codes"`.',
        "",
        "| cases | model | jobs | mean | p90 | worst | contended | bias | rank |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, errors_of in stated.items():
        lines += rows_of(title, errors_of)
        lines += rows_of(f"{title}, no buffers", without[title])
    lines.append("")
    met = True
    for title, quantity, low, high in BARS:
        value = getattr(stated[title]["fluid"], quantity)
        held = low <= value <= high
        met = met and held
        lines.append(f"- {title}, {quantity}, {low:g} to {high:g}: {value:.3f}, {verdict(held)}")
    print("\n".join(lines))
    record(
        "Contention models against packet level",
        COMMAND,
        lines,
    )
    return int(not met)


if __name__ == "__main__":
    sys.exit(main(asking.folder(__doc__)))
