"""
OpenSM's ftree on damaged fabrics, on ibsim, against the tables computed here, entry by entry.

Run: ``python -m benchmarks.opensm [--seeds N] [--record]`` with the Debian packages `opensm`,
`ibsim-utils` and `infiniband-diags`. Every shape loses in turn nodes, leaves' nodes, cables, roots
and other switches, with GUIDs drawn by seed and, for seeds from 2 on, ports in another order.
``--record`` writes what OpenSM dumped for the tests that run without it, and the evidence.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.evidence import record, verdict

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # the simulation belongs to the tests

from damage import by_name, nodes_of, print_of, roots_of, tree_of, with_shuffled_ports  # noqa: E402
from ibsim import DAMAGED, MISSING, RECORDED, SHAPES, damages, dumped, fabric_of  # noqa: E402

from netsim.infiniband.ftree import ftree_tables  # noqa: E402

_KEPT = 2  # seeds of which the tests keep a record: none, and 1


def main() -> int:
    """Compare all fabrics; return 1 where an entry or a place in the order differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=_KEPT, help="GUIDs and ports to draw")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if MISSING:
        sys.exit(f"not found: {', '.join(MISSING)}")
    cases = list(DAMAGED)
    for seed in range(_KEPT, options.seeds):
        cases += [(tree, lost, seed) for tree in SHAPES for lost in damages(tree_of(tree))]
    total: dict[str, Counter[str]] = {tree: Counter() for tree in SHAPES}
    kept = []
    for tree, lost, seed in cases:
        lines, order, wrong = compared(tree, lost, seed)
        total[tree] += Counter(fabrics=1, entries=len(lines), wrong=wrong)
        if (tree, lost, seed) in DAMAGED:
            kept.append({"tree": tree, "lost": lost, "seed": seed} | print_of(lines, order))
    rows = [
        f"| {tree} | {count['fabrics']} | {count['entries']:,} | {count['wrong']} |"
        for tree, count in total.items()
    ]
    wrong = sum(count["wrong"] for count in total.values())
    table = [
        "| shape | fabrics | entries | entries and places that differ |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines = [
        *table,
        *rows,
        "",
        f"- every entry and every place in the order is equal: {verdict(not wrong)}",
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    if options.record:
        RECORDED.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n", encoding="utf-8")
        command = f"python -m benchmarks.opensm --seeds {options.seeds} --record"
        record("OpenSM's ftree on damaged fabrics", command, lines)
    return int(wrong > 0)


def compared(tree: str, lost: str, seed: int | None) -> tuple[list[str], list[str], int]:
    """Return what OpenSM dumped of a fabric, and how much of it comes out otherwise here."""
    whole, fabric = tree_of(tree), fabric_of(tree, lost, seed)
    if seed is not None and seed >= _KEPT:
        fabric = with_shuffled_ports(fabric, seed)
    with tempfile.TemporaryDirectory(prefix="fabricsim-") as folder:
        lines, order = dumped(whole, fabric, Path(folder))
    own, places = by_name(fabric, ftree_tables(fabric, nodes_of(fabric), roots_of(fabric, whole)))
    moved = sum(a != b for a, b in zip(order, places, strict=False)) + abs(len(order) - len(places))
    return lines, order, len(set(lines) ^ set(own)) + moved


if __name__ == "__main__":
    sys.exit(main())
