"""
Rebuild published measurements on real machines, and print them beside `packets` and `fluid`.

    python -m benchmarks.measured            # writes docs/research/measured.md, some minutes
    python -m benchmarks.measured --print    # prints it

Nothing is fitted: a row states what its source says, what had to be assumed, and a verdict by the
bands at the top of the page. Numbers are copied from the sources; the page says what of each was
read.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fabricsim as fs

PAGE = Path(__file__).parents[1] / "docs" / "research" / "measured.md"
KIB, MIB = 1024, 1024**2
AGREES, ORDER = 1.25, 10.0  # factors between measured and computed
MYRINET = {"kind": "fat-tree", "children": [16, 32], "parents": [1, 16], "bandwidth": "10 Gb/s"}
SHANDY = {
    "kind": "dragonfly",
    "groups": 8,
    "routers": 16,
    "nodes_per_router": 8,
    "global_links": 8,
    "lanes": [2, 1, 1],
    "bandwidth": "200 Gb/s",
    "latency": "codes",
}
CRYSTAL = {
    "kind": "dragonfly",
    "variant": "aries",
    "groups": 2,
    "routers": [6, 16],
    "nodes_per_router": 4,
    "global_links": 192,
    "bandwidth": ["80 Gb/s", "42 Gb/s", "42 Gb/s", "37.5 Gb/s"],
    "latency": "codes",
}
EDR = {"kind": "fat-tree", "children": [36, 1], "parents": [1, 1], "bandwidth": "100 Gb/s"}
LIMIT = {"congestion_control": "end-point", "reaction": "5 us"}


@dataclass(frozen=True)
class Row:
    """A measurement and what is computed for it; a measured value may be a range."""

    machine: str
    workload: str
    source: str
    low: float
    high: float
    packets: float
    fluid: float
    assumed: str
    unit: str = ""

    def verdict(self, value: float) -> str:
        """Return how a value lies to what was measured."""
        off = self.low / value if value < self.low else max(1.0, value / self.high)
        if off <= AGREES:
            return "agrees"
        return "order of magnitude" if off < ORDER else "wrong"

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the page."""
        same = self.low == self.high
        measured = f"{self.low:.3g}" if same else f"{self.low:.3g} to {self.high:.3g}"
        values = [f"{value:.3g}: {self.verdict(value)}" for value in (self.packets, self.fluid)]
        return (
            *(self.machine, self.workload, f"{measured} {self.unit}".strip()),
            *(*values, self.assumed, self.source),
        )


def estimated(document: dict[str, Any], iterations: int = 4, **changes: Any) -> Any:  # noqa: ANN401
    """Return the estimate of a document by packets."""
    options = {"model": "packets", "model_options": {"iterations": iterations}}
    return fs.estimate(document | options | changes, blame=False)


def shares_of_pairs(routing: str) -> tuple[float, float]:
    """Return the mean bandwidth of random pairs that exchange data: packets, flows."""
    nodes = np.random.default_rng(1).permutation(512).reshape(-1, 2).tolist()
    both = [[[0, 1, MIB], [1, 0, MIB]]]
    jobs = [{"id": i, "nodes": own, "steps": both, "compute_s": 0} for i, own in enumerate(nodes)]
    found = estimated({"topology": MYRINET, "routing": routing, "jobs": jobs})
    packets = float(np.mean([job.alone_s / job.together_s for job in found.jobs]))
    return packets, fs.ebb(MYRINET, routing=routing).mean


def pairs() -> Iterator[Row]:
    """Yield random pairs on a 512-node Clos."""
    source = "Geoffray08, abstract, first pages and the author's page"
    work = "MPI_Sendrecv of 1 MB between random pairs, share of full"
    machine = "Myri-10G, 512 nodes, 32-port crossbars"
    packets, flows = shares_of_pairs("ecmp")
    drawn = "routes at random"
    yield Row(machine, f"{work}, static", source, 0.38, 0.38, packets, flows, drawn)
    packets, flows = shares_of_pairs("adaptive")
    probing = "per packet by queues; theirs probes paths"
    yield Row(machine, f"{work}, best adaptive", source, 0.77, 0.77, packets, flows, probing)


def all_to_all() -> Iterator[Row]:
    """Yield the all-to-all of Shandy; a host sends to each router what its 8 hosts would get."""
    each = 4 * KIB
    steps = [
        [i, 8 * router + i % 8, 8 * each]
        for i in range(1024)
        for router in range(128)
        if i != 8 * router + i % 8
    ]
    job = {"id": 1, "nodes": list(range(1024)), "steps": [steps], "compute_s": 0}
    document = {"topology": SHANDY, "routing": "adaptive", "jobs": [job]}
    total = sum(size for *_, size in steps) / 1e12
    packets = total / estimated(document, 2).jobs[0].alone_s
    flows = total / fs.estimate(document, blame=False).jobs[0].alone_s
    assumed = "8 cables a pair of groups (Fig. 6; section III says 56); 32 KiB a router, not a host"
    source = "DeSensi20, Fig. 6: more than 90 % of 12.8"
    yield Row(
        *("Shandy, Slingshot, 1,024 nodes", "all-to-all", source, 11.5, 12.8),
        *(packets, flows, assumed, "TB/s"),
    )


def beside(
    topology: dict[str, Any],
    nodes: tuple[list[int], list[int]],
    *,
    switch: dict[str, Any] | None = None,
    iterations: int = 4,
) -> tuple[float, float]:
    """Return the interference of an allreduce of 8 bytes beside an incast: packets, fluid."""
    victim, aggressor = nodes
    allreduce = {"name": "allreduce", "algorithm": "recursive-doubling", "nbytes": 8}
    incast = [[[rank, 0, 128 * KIB] for rank in range(1, len(aggressor))]]
    jobs: list[dict[str, Any]] = [
        {"id": "victim", "nodes": victim, "pattern": allreduce, "compute_s": 12e-6},
        {"id": "incast", "nodes": aggressor, "steps": incast, "compute_s": 0},
    ]
    document = {"topology": topology, "routing": "adaptive", "jobs": jobs}
    if topology is EDR:
        document["routing"] = "d-mod-k"
    endless = document | {"jobs": [jobs[0], jobs[1] | {"persistent": True}]}
    extra = {} if switch is None else {"switch": switch}
    packets = estimated(endless, iterations, **extra).jobs[0].interference
    return packets, fs.estimate(document, blame=False).jobs[0].interference


def halves(n_nodes: int, *, linear: bool) -> tuple[list[int], list[int]]:
    """Return 256 nodes and 256 others of the first 512, or of all at random."""
    order = np.arange(512) if linear else np.random.default_rng(1).permutation(n_nodes)[:512]
    return order[:256].tolist(), order[256:].tolist()


def incasts() -> Iterator[Row]:
    """Yield an allreduce beside an incast: Slingshot, Aries, one switch."""
    work = "allreduce of 8 B on 256 nodes, incast of 128 KiB on 256"
    usual = "12 us of software an iteration; senders never pause; rank maps"
    slingshot = (SHANDY, halves(1024, linear=False))
    yield Row(
        *("Slingshot, 512 nodes", f"{work}, any placement", "DeSensi20, Fig. 9 and 10", 1.0, 2.3),
        *beside(*slingshot, switch=LIMIT, iterations=40),
        f"{usual}; end-point limit of 5 us in packets, none in fluid",
    )
    yield Row(
        *("Slingshot, 512 nodes", f"{work}, any placement", "DeSensi20, Fig. 9 and 10", 1.0, 2.3),
        *beside(*slingshot, switch={"congestion_control": "dcqcn"}, iterations=40),
        f"{usual}; DCQCN in packets",
    )
    buffers = "no non-minimal paths inside a group; 192 cables between the groups"
    yield Row(
        *("Crystal, Aries, 512 nodes", f"{work}, linear", "DeSensi20, Fig. 9", 66, 66),
        *beside(CRYSTAL, halves(768, linear=True), iterations=40),
        f"{usual}; {buffers}",
    )
    yield Row(
        *("Crystal, Aries, 512 nodes", f"{work}, random", "DeSensi20, Fig. 10: maximum", 66, 154),
        *beside(CRYSTAL, halves(768, linear=False), iterations=4),
        f"{usual}; {buffers}",
    )


def one_switch() -> Iterator[Row]:
    """Yield GPCNeT on one switch."""
    order = np.random.default_rng(1).permutation(32).tolist()
    yield Row(
        *("32 nodes on one EDR switch", "GPCNeT, 20 % victims, congestors on the rest"),
        *("GPCNET issue 5", 1.0, 1.0),
        *beside(EDR, (order[:6], order[6:28]), iterations=40),
        "an incast stands for the four congestors",
    )


def ring() -> Iterator[Row]:
    """Yield a ring of NCCL on one switch."""
    fabric = {"kind": "fat-tree", "children": [8, 1], "parents": [4, 1], "bandwidth": "100 Gb/s"}
    fabric |= {"latency": "codes"}
    job = {"id": 1, "nodes": list(range(8)), "ranks_per_node": 8, "compute_s": 0}
    job |= {"pattern": {"name": "allreduce", "algorithm": "ring", "nbytes": 64 * MIB}}
    # one ring through all links of a node is what four rings of a rank each carry
    nodes = {"nodes": list(range(8)), "ranks_per_node": 1}
    document = {"topology": fabric, "routing": "d-mod-k", "jobs": [job | nodes]}
    bus = 2 * 7 / 8 * 64 * MIB / 1e9
    packets, flows = (
        bus / found.jobs[0].alone_s
        for found in (estimated(document, 2), fs.estimate(document, blame=False))
    )
    yield Row(
        *("8 nodes, 4 x 100 Gb/s, one switch", "NCCL allreduce, ring", "NCCL issue 319"),
        *(43.53, 43.57, packets, flows),
        *("one 64 MiB ring over all links; no protocol, no PCIe", "GB/s"),
    )


GROUPS: tuple[Callable[[], Iterator[Row]], ...] = (pairs, all_to_all, incasts, one_switch, ring)
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def main() -> None:
    """Compute all rows and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--print", action="store_true", help="print the table, write nothing")
    arguments = parser.parse_args()
    table = written(row for group in GROUPS for row in group())
    if arguments.print:
        print(table)
        return
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")


def written(rows: Iterable[Row]) -> str:
    """Return the table of the page."""
    heads = ("machine", "workload", "measured", "`packets`", "`fluid`", "assumed", "source")
    lines = [heads, ("---",) * len(heads), *(row.cells() for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
