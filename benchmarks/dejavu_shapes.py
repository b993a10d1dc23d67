"""Communication times on the allocation shapes of Yang; run by benchmarks/dejavu.py."""

from collections.abc import Sequence

import numpy as np

from netsim.arrays import Ints
from netsim.contention_models import make_contention_model
from netsim.partition import Partition
from netsim.routings import make_routing
from netsim.topology.torus import Torus, build_torus
from patterns import make_pattern
from patterns.base import Pattern
from scheduler.allocators.torus.shapes import (
    Box,
    FreeBoxes,
    boxes,
    dimension,
    is_balanced,
    mean_hops,
)
from scheduler.job import Communication
from scheduler.traffic import TrafficOf

MACHINE, FULL = (32, 32, 32), (16, 16, 16)
LINK = 2e9  # bytes per second of a Blue Gene/Q link; the draft names no bandwidth
LATENCY_BASE_S, LATENCY_PER_LINK_S = 315e-9, 417.7e-9  # as latency = "codes" sets it
SHORT, LONG = 2048.0, 2048.0 * 1024
SIZES, DRAWS, FULL_SIZE = (32, 64, 512), 3, 64
SHAPES = ("3D-B", "3D-UB", "2D-B", "2D-UB", "1D-B")
SAME = 0.005  # values nearer to each other are printed as one
HYBRID = {
    "name": "hybrid",
    "parts": [{"name": "all-to-all"}, {"name": "nearest-neighbor"}],
    "weights": [0.5, 0.5],
}
PATTERNS = {
    "A2A": "all-to-all",
    "NN": "nearest-neighbor",
    "O2A": "one-to-all",
    "A2O": "all-to-one",
    "hybrid": "hybrid",
}


def spread(values: Sequence[float]) -> str:
    """Return the mean, and from where to where where they differ."""
    if not values:
        return "-"
    low, high, mean = min(values), max(values), float(np.mean(values))
    return f"{mean:.2f}" if high - low < SAME else f"{mean:.2f} ({low:.2f}-{high:.2f})"


def pattern_of(name: str, nbytes: float, size: int) -> Pattern:
    """Return a pattern of section II-B; the hybrid is half A2A, half NN, and as much as A2A."""
    if name == "hybrid":
        return make_pattern({**HYBRID, "nbytes": nbytes * size})
    return make_pattern({"name": name, "nbytes": nbytes})


class Shapes:
    """Communication times of one job that never computes, by the shape of its allocation."""

    def __init__(self, dims: Box) -> None:
        self.torus: Torus = build_torus(
            dims, LINK, latency_base_s=LATENCY_BASE_S, latency_per_link_s=LATENCY_PER_LINK_S
        )
        self.traffic_of = TrafficOf(self.torus, make_routing("dimension-order", self.torus))
        self.free = FreeBoxes(self.torus, np.ones(self.torus.n_nodes, dtype=bool), 1)

    def seconds(self, pattern: Pattern, nodes: Ints) -> float:
        """Return an iteration alone."""
        placed = self.traffic_of(Communication("", pattern, 1.0), Partition(nodes, None))
        assert placed is not None
        return placed.alone_s

    def by_shape(self, pattern: Pattern, size: int) -> dict[str, list[float]]:
        """Return the times on every vector of Table 1 over that on the most compact one."""
        found: dict[str, list[float]] = {}
        vectors = {tuple(sorted(box)[::-1]) for box in boxes(size, self.torus.dims)}
        ordered = sorted(vectors, key=lambda box: mean_hops(self.torus, box))
        for box in ordered:
            name = f"{dimension(box)}D-{'B' if is_balanced(box) else 'UB'}"
            nodes = self.free.find(box)
            assert nodes is not None
            found.setdefault(name, []).append(self.seconds(pattern, nodes))
        rng = np.random.default_rng(1)
        drawn = [rng.choice(self.torus.n_nodes, size, replace=False) for _ in range(DRAWS)]
        base = next(iter(found.values()))[0]
        found["NC"] = [self.seconds(pattern, np.sort(nodes)) for nodes in drawn]
        return {"": [base]} | {name: [t / base for t in times] for name, times in found.items()}

    def crowd(self, pattern: Pattern, size: int) -> float:
        """Return the mean iteration on a machine full of such jobs, nodes drawn at random."""
        model = make_contention_model("fast", self.torus)
        nodes = np.random.default_rng(1).permutation(self.torus.n_nodes).reshape(-1, size)
        alone = []
        for number, own in enumerate(nodes):
            partition = Partition(np.sort(own), None)
            placed = self.traffic_of(Communication("", pattern, 1.0), partition)
            assert placed is not None
            model.start(number, placed.traffic)
            alone.append(placed.alone_s)
        changes = model.solve()
        return float(np.mean([t * changes.get(k, 1.0) for k, t in enumerate(alone)]))


def shape_rows(nbytes: float, sizes: Sequence[int]) -> list[str]:
    """Return rows of times relative to the most compact shape, one for each pattern and size."""
    study = Shapes(MACHINE)
    rows = []
    for label, name in PATTERNS.items():
        for size in sizes:
            times = study.by_shape(pattern_of(name, nbytes, size), size)
            cells = [spread(times.get(shape, [])) for shape in (*SHAPES, "NC")]
            rows.append(f"| {label} | {size} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return rows


def full_rows() -> list[str]:
    """Return rows of times on a full machine, relative to the cube, which nobody disturbs."""
    study = Shapes(FULL)
    rows = []
    for label, name in PATTERNS.items():
        pattern = pattern_of(name, LONG, FULL_SIZE)
        times = study.by_shape(pattern, FULL_SIZE)
        alone, crowd = float(np.mean(times["NC"])), study.crowd(pattern, FULL_SIZE) / times[""][0]
        worst = max(max(times.get(shape, [0.0])) for shape in SHAPES)
        rows.append(f"| {label} | {worst:.2f} | {alone:.2f} | {crowd:.2f} |")
        print(rows[-1], flush=True)
    return rows


def shape_lines() -> list[str]:
    """Return the tables of shapes."""
    head = [f"| pattern | nodes | {' | '.join((*SHAPES, 'NC'))} |", "| --- |" + " ---: |" * 7]
    return [
        "### What a shape costs (section V)",
        "",
        TEXT,
        "",
        "2 KB a message, latency of CODES:",
        "",
        *head,
        *shape_rows(SHORT, SIZES),
        "",
        "2 MB a message:",
        "",
        *head,
        *shape_rows(LONG, SIZES[:2]),
        "",
        CROWD_TEXT,
        "",
        "| pattern | worst box | NC alone | NC, all of them |",
        "| --- | ---: | ---: | ---: |",
        *full_rows(),
        "",
        SHAPES_READING,
    ]


TEXT = """\
Time that one job, alone on a torus of 32 x 32 x 32, takes to communicate, over that on its most
compact shape: on all allocation vectors of Table 1 (mean, and from where to where; {16, 2, 2},
which the draft leaves out, is among the 3D-UB ones of 64 nodes), and on nodes drawn at random
(NC). Links of 2 GB/s, one step with all messages, dimension order, ranks along the shortest
side first; hybrid: half of the bytes A2A, half NN, as many as A2A. The draft's table for this
has rows A2A, NN, O2A and A2O for 64 and 512 nodes, and in them only its own 1 for 3D-B."""
CROWD_TEXT = """\
An empty machine lends a job its links. On 16 x 16 x 16, wholly full of 64-node jobs on random
nodes that always communicate (2 MB), over the cube, which nobody disturbs; worst box: of all
shapes."""
SHAPES_READING = """\
What the draft says, and what holds here:

- *A2A needs a compact allocation* (section VI): yes. The narrowest cut decides: for 32 x 32
  messages each way {4, 4, 4} has 16 links, {8, 4, 2} and {8, 8, 1} have 8, {16, 2, 2} and {16,
  4, 1} have 4. {32, 2, 1} is a ring and as good as 4, but pairs half a ring apart all go the
  same way, which loads that direction a sixteenth more: a tie-break of dimension order.
- *NN is served equally well by a mesh* (section VI): yes. Long messages take the same time on
  every box, as no more than two meet on a link. Short ones are faster on most longer boxes:
  what they wait for is the way from the end of one row of ranks to the beginning of the next,
  across the shortest sides.
- *O2A needs one node that is near to all others* (section IV): hardly. The root's own link
  takes the time, whatever the shape; distance shows in the latency of short messages only.
- *Non-contiguous nodes are worse*: not for a job alone with long messages. A large A2A is even
  faster on nodes all over an idle machine than on the cube, through links that nobody else
  uses. Among its like it is slower than on any box, and NN, which no box hurts, is slowed most.
- *Least hop-bytes are best* (section IV): not by themselves. Boxes with the same cut take A2A
  the same time though their hops differ, and NC has the most hops also where it wins."""
