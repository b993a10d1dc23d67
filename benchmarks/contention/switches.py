"""
What moves the truth: the same scenes in packets, with one detail of the switch changed.

Run: ``python -m benchmarks.contention.switches [SCENES]``: of each machine named below, from
the half of the validation matrix that is for design.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from measured.matrix import scene, truth
from measured.packets import CONTENDED

from benchmarks import asking
from benchmarks.evidence import record
from netsim.topology.switches import SWITCHES, Switch

COMMAND = "python -m benchmarks.contention.switches"
SCENES = 8
CELLS = (("full tree, 3 levels", "d-mod-k"), ("tapered tree, 3 levels", "d-mod-k"))
FREE = tuple((machine, "adaptive") for machine, _ in CELLS)
_BASE = Switch()
KIB = 1024.0
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "other random delays": {"seed": 1000},
    "buffers of 16 KiB": {"switch": replace(_BASE, buffer_bytes=16 * KIB)},
    "buffers of 32 KiB": {"switch": replace(_BASE, buffer_bytes=32 * KIB)},
    "buffers of 256 KiB": {"switch": replace(_BASE, buffer_bytes=256 * KIB)},
    "buffers of 16 MiB": {"switch": replace(_BASE, buffer_bytes=16 * KIB * KIB)},
    "round robin over input ports": {"switch": replace(_BASE, arbitration="round-robin")},
    "packets of 1 KiB": {"switch": replace(_BASE, packet_bytes=KIB)},
    "packets of 8 KiB": {"switch": replace(_BASE, packet_bytes=8 * KIB)},
    "cut-through": {"switch": replace(_BASE, switching="cut-through")},
    "NIC: first come": {"switch": replace(_BASE, nic="first-come")},
    "messages in their given order": {"switch": replace(_BASE, order="given")},
    "NIC: first come, given order": {"switch": replace(_BASE, nic="first-come", order="given")},
    "switch delay of 300 ns": {"switch": replace(_BASE, delay_s=300e-9)},
    "ranks without barriers": {"stepping": "rank"},
    "preset infiniband": {"switch": SWITCHES["infiniband"]},
    "preset ethernet": {"switch": SWITCHES["ethernet"]},
}


def main() -> int:
    """Print and record the table."""
    numbers = range(0, 2 * asking.count(__doc__, "SCENES", SCENES), 2)
    lines = [
        (
            f"{len(numbers)} scenes of each machine ({', '.join(name for name, _ in CELLS)}; "
            "drawn as for `python -m benchmarks.contention.matrix`), base: switch `codes`, "
            "barriers. Change: mean absolute change of the interference in per cent, of all jobs "
            "and those above 1.05 in the base; excess: sum of (interference - 1) over that of the "
            "base; "
            "alone: mean change of the time alone."
        ),
    ]
    for cells, title in ((CELLS, "D-mod-k"), (FREE, "adaptive")):
        lines += ["", *_table([scene(*cell, n) for cell in cells for n in numbers], title)]
    print("\n".join(lines))
    record("What moves the truth", COMMAND, lines)
    return 0


def _table(scenes: list[Any], title: str) -> list[str]:
    """Return a row for each variant."""
    base = [truth(one) for one in scenes]
    true = np.concatenate([own.interference for own in base])
    alone = np.concatenate([own.alone_s for own in base])
    held = true > CONTENDED
    lines = [
        f"| {title}, {true.size} jobs | change | contended | excess | alone |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, changed in VARIANTS.items():
        found = [truth(one, **changed) for one in scenes]
        other = np.concatenate([own.interference for own in found])
        off = 100.0 * np.abs(other / true - 1.0)
        slower = 100.0 * (np.concatenate([own.alone_s for own in found]) / alone - 1.0).mean()
        excess = (other - 1.0).sum() / (true - 1.0).sum()
        mean, contended = off.mean(), off[held].mean()
        row = f"| {name} | {mean:.1f} % | {contended:.1f} % | {excess:.2f} | {slower:+.1f} % |"
        lines.append(row)
        print(row, file=sys.stderr, flush=True)
    return lines


if __name__ == "__main__":
    sys.exit(main())
