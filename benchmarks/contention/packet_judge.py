"""
The packet simulation against another one (CODES on ROSS): times alone, and together.

Run: ``python -m benchmarks.contention.packet_judge FOLDER`` with the folder of
``cases_k8.json.gz``, ``duty_k8.json.gz`` and ``micro.json``. Exit status 1 if a bar is missed.
"""

import json
import sys
from pathlib import Path

from measured.judge import (
    BARS,
    DRAWS,
    JUDGED,
    MICRO_PACKETS,
    MICRO_RELATIVE,
    VARIANTS,
    judged,
    micro_errors,
)
from measured.packets import FILES, errors, tree_of_packets

from benchmarks import asking
from benchmarks.accuracy import comparison_of, record_comparisons
from benchmarks.evidence import record, verdict
from netsim.registries.accuracy import machine_kind

COMMAND = "python -m benchmarks.contention.packet_judge FOLDER"


def micro_lines(path: Path) -> tuple[list[str], bool]:
    """Return a row for each variant of the small cases, and whether all bars are met."""
    tree = tree_of_packets()
    document = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        "| small cases | cases | worst, packets | worst, relative | within 4 packets or 1 % |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    met = True
    for name, switch in VARIANTS.items():
        cases = document["default"] if name == "default" else document["variants"][name]
        found = [micro_errors(tree, case, switch) for case in cases]
        held = all(
            packets <= MICRO_PACKETS or relative <= MICRO_RELATIVE for packets, relative in found
        )
        met = met and held
        packets, relative = (max(row[i] for row in found) for i in range(2))
        lines.append(
            f"| {name} | {len(found)} | {packets:.1f} | {100 * relative:.2f} % | {verdict(held)} |"
        )
    return lines, met


def main(folder: Path) -> int:
    """Print and record the tables; return the exit status."""
    found = {title: judged(title, folder / file) for title, file in JUDGED.items()}
    lines = [
        "Interference by both programs; errors in per cent of the other's. Seeds averaged: "
        + ", ".join(f"{title} {draws}" for title, draws in DRAWS.items())
        + ".",
        "",
        "| cases | jobs | alone mean / worst | mean | contended | worst | bias |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for title, own in found.items():
        q = own.quantities()
        lines.append(
            f"| {title} | {own.true.size} | {q['alone mean']:.2f} / {q['alone worst']:.2f} % | "
            f"{q['mean']:.2f} % | {q['contended']:.2f} % | {q['worst']:.1f} % | {q['bias']:.3f} |"
        )
    small, met = micro_lines(folder / "micro.json")
    lines += ["", *small, ""]
    for title, quantity, low, high in BARS:
        value = found[title].quantities()[quantity]
        held = low <= value <= high
        met = met and held
        lines.append(f"- {title}, {quantity}, {low:g} to {high:g}: {value:.3f}, {verdict(held)}")
    print("\n".join(lines))
    record("The packet simulation against another", COMMAND, lines)
    tree = tree_of_packets()
    rows = [
        comparison_of(
            errors(own.true, own.together),
            COMMAND,
            machine=machine_kind(tree),
            routing="d-mod-k",
            ranks_per_node=1,
            fairness="per-sender" if title in FILES else "per-sender, without barriers",
            buffer_bytes=tree.buffer_bytes,
            load=title,
            model="packets",
            nodes=tree.n_nodes,
            cases=own.n_cases,
        )
        for title, own in found.items()
    ]
    record_comparisons(COMMAND, rows)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main(asking.folder(__doc__)))
