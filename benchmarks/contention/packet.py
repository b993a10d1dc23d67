"""
Error of the contention models against packet level (CODES on ROSS), beside `null`.

Run: ``python -m benchmarks.contention.packet FOLDER`` with the folder of ``cases_k8.json.gz``
and ``duty_k8.json.gz``. Exit status 1 if a bar is missed.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from measured.packets import (
    ALWAYS,
    DRAWS,
    DUTY,
    FILES,
    Case,
    Errors,
    predict,
    read_cases,
    tree_of_packets,
)
from measured.packets import (
    tables as tables_of,
)

from benchmarks import asking
from benchmarks.accuracy import comparison_of, record_comparisons
from benchmarks.evidence import record, verdict
from netsim.accuracy import ANY, Comparison, routing_kind
from netsim.contention.traffic import TrafficTimes
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from netsim.topology.structure.kind import machine_kind

COMMAND = "python -m benchmarks.contention.packet FOLDER"
STEP_S = (0.0, 15e-6, 40e-6, np.inf)  # bounds of classes of jobs by the length of their steps
STEPS = (1, 2, 8, np.inf)  # the same by how many an iteration has
BARS = (  # cases, model, quantity, least, most, whether it is only aimed at
    (DUTY, "accurate", "mean", 0.0, 3.6, False),
    (DUTY, "accurate", "contended", 0.0, 6.7, False),
    (DUTY, "accurate", "bias", 0.65, 1.1, False),
    (DUTY, "fast", "mean", 0.0, 4.6, False),
    (ALWAYS, "accurate", "mean", 0.0, 5.0, False),
    (DUTY, "accurate", "mean", 0.0, 3.0, True),
    (DUTY, "accurate", "bias", 0.85, 1.1, True),
    (DUTY, "phased", "mean", 0.0, 3.0, True),
    (DUTY, "phased", "contended", 0.0, 4.7, True),
    (DUTY, "phased", "bias", 0.95, 1.05, True),
)


def by_step_time(cases: Sequence[Case], wet: FatTree, dry: FatTree) -> list[str]:
    """Return how much of the slowdown `accurate` finds with and without buffers, as Markdown."""
    constants_of = TrafficTimes(wet)
    steps = [constants_of(own).steps for case in cases for own in case.jobs]
    step_s = np.array([own["drain_s"].mean() for own in steps])
    true = np.concatenate([case.true for case in cases])
    said = [
        np.concatenate([predict("accurate", case, tree) for case in cases]) for tree in (wet, dry)
    ]
    lines = [
        "| mean step alone | jobs | bias of accurate | without buffers |",
        "| --- | ---: | ---: | ---: |",
    ]
    for low_s, high_s in pairwise(STEP_S):
        part = (step_s >= low_s) & (step_s < high_s)
        bias = [(one[part] - 1.0).sum() / (true[part] - 1.0).sum() for one in said]
        lines.append(f"| from {low_s * 1e6:g} us | {part.sum()} | {bias[0]:.2f} | {bias[1]:.2f} |")
    return lines


def by_steps(cases: Sequence[Case], tree: FatTree) -> list[str]:
    """Return where the excess is that models do not find, by steps of an iteration, as Markdown."""
    n_steps = np.array([np.unique(own.step).size for case in cases for own in case.jobs])
    true = np.concatenate([case.true for case in cases])
    names = ("fast", "phased", "accurate")
    said = [np.concatenate([predict(name, case, tree) for case in cases]) for name in names]
    lines = [
        f"| steps of an iteration | jobs | share of the true excess | {' | '.join(names)} |",
        "| --- | ---: | ---: |" + " ---: |" * len(names),
    ]
    for low, high in pairwise(STEPS):
        part = (n_steps >= low) & (n_steps < high)
        excess = (true[part] - 1.0).sum()
        bias = " | ".join(f"{(one[part] - 1.0).sum() / excess:.2f}" for one in said)
        share = 100.0 * excess / (true - 1.0).sum()
        lines.append(f"| from {low} | {part.sum()} | {share:.0f} % | {bias} |")
    return lines


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
    by_mix: Mapping[str, Mapping[str, Errors]],
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
            cases=sum(mix == ANY or mix in case.kinds for case in cases),
            mix=mix,
        )
        for mix, errors_of in by_mix.items()
        for name, e in errors_of.items()
    ]


def main(folder: Path) -> int:
    """Print and record the tables; return the exit status."""
    cases = {title: read_cases(folder / file) for title, file in FILES.items()}
    wet, dry = tree_of_packets(), replace(tree_of_packets(), buffer_bytes=0.0)
    by_mix = {title: tables_of(found) for title, found in cases.items()}
    names = ("null", "fast", "phased", "accurate", "flow-level")
    dry_by_mix = {title: tables_of(found, names, dry) for title, found in cases.items()}
    found = []
    for title in FILES:
        found += comparisons(title, cases[title], wet, by_mix[title])
        found += comparisons(title, cases[title], dry, dry_by_mix[title])
    record_comparisons(COMMAND, found)
    tables = {title: own[ANY] for title, own in by_mix.items()}
    without = {title: own[ANY] for title, own in dry_by_mix.items()}
    lines = [
        (
            f"{DRAWS} phase draws averaged where a model draws; the fabric is that of "
            '`latency = "codes"`.'
        ),
        "",
        "| cases | model | jobs | mean | p90 | worst | contended | bias | rank |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title, errors_of in tables.items():
        lines += rows_of(title, errors_of)
        lines += rows_of(f"{title}, no buffers", without[title])
    lines += ["", f"{DUTY.capitalize()}, by the length of a job's steps:", ""]
    lines += [*by_step_time(cases[DUTY], wet, dry), ""]
    lines += [f"{DUTY.capitalize()}, bias by the number of steps:", ""]
    lines += [*by_steps(cases[DUTY], wet), ""]
    missed = False
    for title, name, quantity, low, high, aim in BARS:
        value = getattr(tables[title][name], quantity)
        held = low <= value <= high
        missed = missed or not (held or aim)
        lines.append(
            f"- {'aim' if aim else 'bar'}: {title}, {name}, {quantity} {low:g} to {high:g}: "
            f"{value:.2f}, {verdict(held)}"
        )
    print("\n".join(lines))
    record(
        "Contention models against packet level",
        COMMAND,
        lines,
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(asking.folder(__doc__)))
