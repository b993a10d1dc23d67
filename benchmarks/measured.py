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
CAB = {
    "kind": "fat-tree",
    "children": [18, 18, 4],
    "parents": [1, 18, 2],
    "parallel": [1, 1, 9],
    "bandwidth": "32 Gb/s",
    "latency": "codes",
}
ROUND_S = 1.5e-6  # software of a round of messages
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


def shares_of_pairs(topology: dict[str, Any], n_nodes: int, routing: str) -> tuple[float, float]:
    """Return the mean bandwidth of random pairs that exchange data: packets, flows."""
    nodes = np.random.default_rng(1).permutation(n_nodes).reshape(-1, 2).tolist()
    both = [[[0, 1, MIB], [1, 0, MIB]]]
    jobs = [{"id": i, "nodes": own, "steps": both, "compute_s": 0} for i, own in enumerate(nodes)]
    found = estimated({"topology": topology, "routing": routing, "jobs": jobs})
    packets = float(np.mean([job.alone_s / job.together_s for job in found.jobs]))
    return packets, fs.ebb(topology, routing=routing).mean


def pairs() -> Iterator[Row]:
    """Yield random pairs on a 512-node Clos, and on a full tree of InfiniBand."""
    source = "Geoffray08, abstract, first pages and the author's page"
    work = "MPI_Sendrecv of 1 MB between random pairs, share of full"
    machine = "Myri-10G, 512 nodes, 32-port crossbars"
    packets, flows = shares_of_pairs(MYRINET, 512, "ecmp")
    drawn = "routes at random"
    yield Row(machine, f"{work}, static", source, 0.38, 0.38, packets, flows, drawn)
    packets, flows = shares_of_pairs(MYRINET, 512, "adaptive")
    probing = "per packet by queues; theirs probes paths"
    yield Row(machine, f"{work}, best adaptive", source, 0.77, 0.77, packets, flows, probing)
    packets, flows = shares_of_pairs({"kind": "fat-tree", "radix": 16}, 1024, "d-mod-k")
    yield Row(
        *("InfiniBand machines with full bisection", "effective bisection bandwidth, simulated"),
        *("Hoefler08, abstract", 0.55, 0.60, packets, flows),
        "tree of 1,024 nodes and 16-port switches, D-mod-k; their tables are not at hand",
    )


def all_to_all() -> Iterator[Row]:
    """Yield the all-to-all of Shandy; a host sends to each router what its 8 hosts would get."""
    each = 4 * KIB
    steps = [
        [i, 8 * router + i % 8, 8 * each]
        for i in range(1024)
        for router in range(128)
        if i != 8 * router + i % 8
    ]
    steps += [
        [i, i - i % 8 + k, each] for i in range(1024) for k in range(8) if k != i % 8
    ]  # to the hosts of its own router
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


def rounds_of(victim: str, n: int, nbytes: int) -> list[list[list[int]]]:
    """Return the steps of a microbenchmark on n ranks; pingpong: the first and the last."""
    doubling = [2**k for k in range((n - 1).bit_length())]
    if victim == "pingpong":
        return [[[0, n - 1, nbytes]], [[n - 1, 0, nbytes]]]
    if victim == "allreduce":
        return [[[i, (i + k) % n, nbytes] for i in range(n)] for k in doubling]
    if victim == "alltoall":  # Bruck
        return [[[i, (i + k) % n, nbytes * n // 2] for i in range(n)] for k in doubling]
    return [[[i, i + k, nbytes] for i in range(min(k, n - k))] for k in doubling]  # broadcast


def beside(
    topology: dict[str, Any],
    nodes: tuple[list[int], list[int]],
    *,
    victim: tuple[str, int] = ("allreduce", 8),
    switch: dict[str, Any] | None = None,
    iterations: int = 4,
) -> tuple[float, float]:
    """Return the interference of a microbenchmark beside an incast: packets, fluid."""
    own, aggressor = nodes
    steps = rounds_of(victim[0], len(own), victim[1])
    incast = [[[rank, 0, 128 * KIB] for rank in range(1, len(aggressor))]]
    jobs: list[dict[str, Any]] = [
        {"id": "victim", "nodes": own, "steps": steps, "compute_s": ROUND_S * len(steps)},
        {"id": "incast", "nodes": aggressor, "steps": incast, "compute_s": 0},
    ]
    document = {"topology": topology, "routing": "adaptive", "jobs": jobs}
    if topology is EDR:
        document["routing"] = "d-mod-k"
    endless = document | {"jobs": [jobs[0], jobs[1] | {"persistent": True}]}
    extra = {} if switch is None else {"switch": switch}
    packets = estimated(endless, iterations, **extra).jobs[0].interference
    return packets, fs.estimate(document, blame=False).jobs[0].interference


def parted(n_nodes: int, *, linear: bool, n_victim: int = 256) -> tuple[list[int], list[int]]:
    """Return the victim's nodes and the others of the first 512, or of 512 at random."""
    order = np.arange(512) if linear else np.random.default_rng(1).permutation(n_nodes)[:512]
    return order[:n_victim].tolist(), order[n_victim:].tolist()


def incasts() -> Iterator[Row]:
    """Yield microbenchmarks beside an incast of 128 KiB: Slingshot, Aries."""
    work = "allreduce of 8 B on 256 nodes, incast on 256"
    usual = "1.5 us of software a round; senders never pause; rank maps"
    slingshot = (SHANDY, parted(1024, linear=False))
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
    assumed = f"{usual}; 64 KiB buffers; 192 cables between the groups"
    for share, n_victim, name, size, text, impact in ARIES:
        work = f"{name} of {text} on {n_victim} nodes, incast on {share}, linear"
        yield Row(
            *("Crystal, Aries, 512 nodes", work, "DeSensi20, Fig. 9", impact, impact),
            *beside(
                CRYSTAL,
                parted(768, linear=True, n_victim=n_victim),
                victim=(name, size),
                iterations=60,
            ),
            assumed,
        )
    work = "allreduce of 128 B on 256 nodes, incast on 50 %, random (linear, most of any victim)"
    yield Row(
        *("Crystal, Aries, 512 nodes", work, "DeSensi20, Fig. 9 and 10", 66, 154),
        *beside(CRYSTAL, parted(768, linear=False), victim=("allreduce", 128)),
        assumed,
    )


ARIES: tuple[tuple[str, int, str, int, str, float], ...] = (
    ("10 %", 460, "allreduce", 128, "128 B", 10),
    ("50 %", 256, "pingpong", 128, "128 B", 47),
    ("50 %", 256, "allreduce", 128, "128 B", 66),
    ("50 %", 256, "allreduce", 16 * KIB, "16 KiB", 43),
    ("50 %", 256, "alltoall", 8, "8 B", 56),
    ("50 %", 256, "broadcast", 8, "8 B", 39),
    ("90 %", 53, "allreduce", 128, "128 B", 71),
    ("90 %", 53, "alltoall", 8, "8 B", 70),
)  # aggressor, nodes of the victim, victim, bytes, in words, impact


def cab_workload(n_jobs: int, seed: int) -> list[dict[str, Any]]:
    """Return jobs of Smith18, tables I and IV, on random nodes: 1,152 of 1,296."""
    rng = np.random.default_rng(seed)
    placed = rng.permutation(1296)[:1152].reshape(n_jobs, -1)
    n = placed.shape[1] * 16
    near, cube, half = np.arange(n).reshape(-1, 64), np.arange(n).reshape(8, 16, -1), n // 2
    beside_it = [(near[:-1], near[1:]), (near[:, :-1], near[:, 1:])]
    lines = np.moveaxis(cube, 1, 2).reshape(-1, 16)
    jobs = []
    for number, nodes in enumerate(placed.tolist()):
        partner = rng.permutation(np.arange(half, n))
        there = np.arange(half)
        src, dst, compute_s = (
            (np.r_[there, there + half], np.r_[there + half, there], 0.56e-3),
            (
                np.concatenate([end.ravel() for one in beside_it for end in one]),
                np.concatenate([end.ravel() for one in beside_it for end in one[::-1]]),
                0.83e-3,
            ),
            (there, partner, 0.40e-3),
            (np.repeat(lines, 16, axis=1).ravel(), np.tile(lines, (1, 16)).ravel(), 10e-3),
        )[number % 4]
        apart = src != dst
        ends = np.stack([src[apart], dst[apart]], axis=1).tolist()
        steps = [[[here, other, 64 * KIB] for here, other in ends]]
        jobs.append({"id": number, "nodes": nodes, "ranks_per_node": 16})
        jobs[-1] |= {"steps": steps, "compute_s": compute_s}
    return jobs


def mixes() -> Iterator[Row]:
    """Yield the mixes of benchmarks on Cab: the job that others slow most."""
    for n_jobs, low, high, text, source in (
        (16, 2.14, 2.14, "worst of three placements", "Smith18, Fig. 4 and section IV"),
        (8, 1.5, 1.7, "worst job of a placement", "Smith18, section V.D"),
    ):
        worst: list[list[float]] = [[], []]
        for seed in (1, 2, 3):
            document = {"topology": CAB, "routing": "d-mod-k", "switch": "infiniband"}
            document["jobs"] = cab_workload(n_jobs, seed)
            apart = {"iterations": 2, "stepping": "rank"}
            found = (
                estimated(document, model_options=apart),
                fs.estimate(document, blame=False),
            )
            for values, one in zip(worst, found, strict=True):
                values.append(max(job.interference for job in one.jobs))
        packets, fluid = (max(v) if n_jobs == 16 else float(np.mean(v)) for v in worst)  # noqa: PLR2004 (as the source has it)
        yield Row(
            *("Cab, QDR fat-tree, 1,296 nodes", f"{n_jobs} jobs of 4 benchmarks, {text}", source),
            *(low, high, packets, fluid),
            "own random placements; 32 Gb/s, buffers of 64 KiB",
        )


def gpcnet() -> Iterator[Row]:
    """Yield GPCNeT on one switch of InfiniBand, and on 64 nodes of Slingshot."""
    order = np.random.default_rng(1).permutation(32).tolist()
    yield Row(
        *("32 nodes on one EDR switch", "GPCNeT, 20 % victims, congestors on the rest"),
        *("GPCNET issue 5", 1.0, 1.0),
        *beside(EDR, (order[:6], order[6:28]), iterations=40),
        "an incast stands for the four congestors",
    )
    group = SHANDY | {"groups": 1, "routers": 8}
    order = np.random.default_rng(1).permutation(64).tolist()
    yield Row(
        *("64 nodes, Slingshot", "GPCNeT, allreduce of 8 B on 13 nodes, congestors on 51"),
        *("HPE, Key Results", 1.0, 1.0),
        *beside(group, (order[:13], order[13:]), switch=LIMIT, iterations=40),
        "one group of 8 switches; an incast stands for the congestors; end-point limit in packets",
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


GROUPS: tuple[Callable[[], Iterator[Row]], ...] = (
    *(pairs, all_to_all, incasts, mixes, gpcnet, ring),
)
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
    cells = [row.cells() for row in rows]
    assumed = [row[5] for row in cells]
    lines = [heads, ("---",) * len(heads)]
    for row, above in zip(cells, ["", *assumed], strict=False):
        lines.append((*row[:5], "as above", *row[6:]) if row[5] == above else row)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
