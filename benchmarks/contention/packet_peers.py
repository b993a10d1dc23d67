"""
The packet simulation against CODES on ROSS on tori, dragonflies, and where switches choose.

Run: ``python -m benchmarks.contention.packet_peers``. Scenes and what CODES said of them are in
`benchmarks/contention/codes_fabrics.json`. Exit status 1 if a bar is missed.
"""

import sys

from measured.packets import errors
from measured.peers import BARS, QUOTED, Compared, compared, read

from benchmarks import asking
from benchmarks.accuracy import comparison_of, record_comparisons
from benchmarks.evidence import record, verdict
from netsim.topology.switches import Switch

COMMAND = "python -m benchmarks.contention.packet_peers"


def main() -> int:
    """Print and record the tables; return the exit status."""
    asking.nothing(__doc__)
    document = read()
    found = {}
    for name in document["runs"]:
        found[name] = compared(document, name)
        print(f"{name}: done", file=sys.stderr, flush=True)
    lines = [
        (
            f"{document['simulator']} (CODES {document['codes_commit'][:8]}, ROSS "
            f"{document['ross_commit'][:8]}), 4096-byte packets, 64 KiB a virtual channel, "
            "12.5 GB/s. Jobs of several scenes together, the slowest for "
            f"{document['iterations']['together']} iterations, one seed each; errors in per cent "
            "of CODES; *again*: CODES with another seed, beside itself."
        ),
        "",
        *_jobs(found),
        "",
        *_small(found),
        "",
        "What was changed in CODES for a run, where anything was:",
        "",
        *(
            f"- {name}: {run['changed']}"
            for name, run in document["runs"].items()
            if run["changed"]
        ),
        "",
    ]
    met = True
    for name, quantity, low, high in BARS:
        value = found[name].quantities()[quantity]
        held = low <= value <= high
        met = met and held
        lines.append(f"- {name}, {quantity}, {low:g} to {high:g}: {value:.3f}, {verdict(held)}")
    print("\n".join(lines))
    record("The packet simulation against another on other fabrics", COMMAND, lines)
    rows = [
        comparison_of(
            errors(found[name].own.true, found[name].own.together),
            COMMAND,
            machine=machine,
            routing=routing,
            ranks_per_node=1,
            fairness="per-sender",
            buffer_bytes=Switch().buffer_bytes,
            load="drawn patterns, with and without compute phases",
            model="packets",
            nodes=nodes,
            cases=found[name].own.n_cases,
        )
        for name, (machine, routing, nodes) in QUOTED.items()
    ]
    record_comparisons(COMMAND, rows)
    return int(not met)


def _jobs(found: dict[str, Compared]) -> list[str]:
    """Return a row for each run: times alone and interference."""
    lines = [
        (
            "| run | jobs / contended | alone mean / worst | mean | contended | worst | bias | "
            "rank | again: mean / contended / worst |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, run in found.items():
        q = run.quantities()
        lines.append(
            f"| {name} | {run.own.true.size} / {run.contended} | "
            f"{q['alone mean']:.2f} / {q['alone worst']:.1f} % | {q['mean']:.2f} % | "
            f"{q['contended']:.2f} % | {q['worst']:.1f} % | {q['bias']:.3f} | {q['rank']:.3f} | "
            f"{q['noise']:.2f} / {q['noise contended']:.2f} / {q['noise worst']:.1f} % |"
        )
    return lines


def _small(found: dict[str, Compared]) -> list[str]:
    """Return a row for each run: flows that start at once."""
    lines = [
        (
            "| a few flows at once | scenes | within 4 packets or 1 % | worst, packets | where | "
            "again, worst |"
        ),
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    for name, run in found.items():
        worst = max(run.small, key=lambda one: one.packets)
        lines.append(
            f"| {name} | {len(run.small)} | {sum(one.close for one in run.small)} | "
            f"{worst.packets:.1f} | {worst.name} | {max(one.again for one in run.small):.1f} |"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
