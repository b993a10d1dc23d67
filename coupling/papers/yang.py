"""Yang (Deja Vu): Reckless and Cautious against contiguous nodes; what shapes cost a job."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from coupling.papers.claims import differences, summarise
from coupling.papers.paper import BLUE, INTREPID, Axis, Chart, Claim, Frames, Paper
from coupling.papers.runs import Runs
from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.topology.torus import Torus, build_torus
from patterns import make_pattern
from patterns.base import Pattern
from scheduler.allocators.torus import (
    Box,
    FreeBoxes,
    dimension,
    is_balanced,
    mean_hops,
    torus_boxes,
)
from scheduler.job import Communication
from scheduler.traffic import TrafficOf

MACHINE, FULL_MACHINE, FULL_QUICK = (32, 32, 32), (16, 16, 16), (8, 8, 8)
LINK = 2e9  # bytes per second of a Blue Gene/Q link; the draft names no bandwidth
LATENCY_BASE_S, LATENCY_PER_LINK_S = 315e-9, 417.7e-9  # 4 KiB at 100 Gb/s and 90 ns a link
MESSAGES = {"2 KB": 2048.0, "2 MB": 2048.0 * 1024}
SIZES, LARGE, DRAWS, FULL_SIZE = (32, 64), 512, 3, 64
SHAPES = ("3D-B", "3D-UB", "2D-B", "2D-UB", "1D-B")
NC = "NC"
_HYBRID = {
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


def pattern_of(name: str, nbytes: float, size: int) -> Pattern:
    """Return a pattern of section II-B; the hybrid is half A2A, half NN, and as much as A2A."""
    if name == "hybrid":
        return make_pattern({**_HYBRID, "nbytes": nbytes * size})
    return make_pattern({"name": name, "nbytes": nbytes})


class Shapes:
    """Communication times of one job that never computes, by the shape of its allocation."""

    def __init__(self, dims: Box) -> None:
        self.torus: Torus = build_torus(
            dims, LINK, latency_base_s=LATENCY_BASE_S, latency_per_link_s=LATENCY_PER_LINK_S
        )
        self._traffic_of = TrafficOf(self.torus, make_routing("dimension-order", self.torus))
        self._free = FreeBoxes(self.torus, np.ones(self.torus.n_nodes, dtype=bool), 1)

    def seconds(self, pattern: Pattern, nodes: Ints) -> float:
        """Return an iteration alone."""
        placed = self._traffic_of(Communication("", pattern, 1.0), Partition(nodes, None))
        return 0.0 if placed is None else placed.alone_s

    def by_shape(self, pattern: Pattern, size: int) -> dict[str, list[float]]:
        """Return the times on every vector of Table 1 over that on the most compact one, first."""
        found: dict[str, list[float]] = {}
        vectors = {tuple(sorted(box)[::-1]) for box in torus_boxes(size, self.torus.dims)}
        for box in sorted(vectors, key=lambda box: mean_hops(self.torus, box)):
            nodes = self._free.find(box)
            if nodes is not None:  # on an empty machine all are free
                name = f"{dimension(box)}D-{'B' if is_balanced(box) else 'UB'}"
                found.setdefault(name, []).append(self.seconds(pattern, nodes))
        rng = np.random.default_rng(1)
        drawn = [rng.choice(self.torus.n_nodes, size, replace=False) for _ in range(DRAWS)]
        base = next(iter(found.values()))[0]
        found[NC] = [self.seconds(pattern, np.sort(nodes)) for nodes in drawn]
        return {"": [base]} | {name: [t / base for t in times] for name, times in found.items()}

    def full_machine(self, pattern: Pattern, size: int) -> float:
        """Return the mean iteration on a machine full of such jobs, nodes drawn at random."""
        model = make_contention_model("fluid", self.torus)
        nodes = np.random.default_rng(1).permutation(self.torus.n_nodes).reshape(-1, size)
        alone = []
        for number, own in enumerate(nodes):
            partition = Partition(np.sort(own), None)
            placed = self._traffic_of(Communication("", pattern, 1.0), partition)
            if placed is not None:
                model.start(number, placed.traffic)
                alone.append(placed.alone_s)
        changes = model.solve()
        return float(np.mean([t * changes.get(k, 1.0) for k, t in enumerate(alone)]))


def shape_frames(runs: Runs) -> Frames:
    """Compute the times by shape, and on a full machine."""
    large, dims = not runs.quick, FULL_QUICK if runs.quick else FULL_MACHINE
    common = [LINK, LATENCY_BASE_S, LATENCY_PER_LINK_S, PATTERNS, _HYBRID, MESSAGES, DRAWS]
    sizes = (*SIZES, LARGE) if large else SIZES
    return {
        "shapes": runs.stored("shapes", [common, MACHINE, sizes], lambda: _by_shape(large=large)),
        "full_machine": runs.stored(
            "full_machine", [common, dims, FULL_SIZE], lambda: _full_machine(dims)
        ),
    }


def _by_shape(*, large: bool) -> pd.DataFrame:
    """Return the times of every pattern, size and message over those on the most compact shape."""
    study, rows = Shapes(MACHINE), []
    for message, nbytes in MESSAGES.items():
        sizes = (*SIZES, LARGE) if large and nbytes == MESSAGES["2 KB"] else SIZES
        for label, name in PATTERNS.items():
            for size in sizes:
                times = study.by_shape(pattern_of(name, nbytes, size), size)
                rows += [
                    {"message": message, "pattern": label, "nodes": size, "shape": shape,
                     "mean": float(np.mean(own)), "least": min(own), "most": max(own)}
                    for shape in (*SHAPES, NC) if (own := times.get(shape))
                ]  # fmt: skip
    return pd.DataFrame(rows)


def _full_machine(dims: Box) -> pd.DataFrame:
    """Return times on a full machine, relative to the undisturbed cube."""
    study, rows = Shapes(dims), []
    for label, name in PATTERNS.items():
        pattern = pattern_of(name, MESSAGES["2 MB"], FULL_SIZE)
        times = study.by_shape(pattern, FULL_SIZE)
        rows.append(
            {
                "pattern": label,
                "worst": max(max(times.get(shape, [0.0])) for shape in SHAPES),
                "alone": float(np.mean(times[NC])),
                "full_machine": study.full_machine(pattern, FULL_SIZE) / times[""][0],
                "side": dims[0],
            }
        )
    return pd.DataFrame(rows)


CC = "CC"
POLICIES: Mapping[tuple[str, str], str] = {  # by allocator and queue
    ("compact-contiguous", "easy"): CC,
    ("non-contiguous", "easy"): NC,
    ("torus-chunk", "easy"): "chunks",
    ("torus-chunk", "R3"): "chunks, R3",
    ("torus-chunk", "reckless"): "Reckless",
    ("torus-chunk", "cautious"): "Cautious",
    ("non-contiguous", "reckless"): "Reckless or NC",
    ("non-contiguous", "cautious"): "Cautious or NC",
}
OURS = ("Reckless", "Cautious")
NETWORKS = {"fluid": "network", "null": "infinite network"}
VALUES = (
    *("utilization_makespan", "loss_of_capacity", "mean_network_slowdown", "mean_hops_per_byte"),
    *("mean_wait_s", "mean_turnaround_s"),
)
TIMES = ("mean_wait_s", "mean_turnaround_s")
SYNTHETIC = "synthetic"
LOGS = {"policies": "SDSC-BLUE", "intrepid": "Intrepid"}  # by experiment file
TALK = "communication.rule.*.comm_fraction"


def study(runs: Runs) -> Frames:
    """Find the means of every policy in every sample."""
    cells = runs.cells("policies", "intrepid")
    pairs = zip(cells["scheduler.allocator"], cells["scheduler.queue"], strict=True)
    cells = cells.assign(
        policy=[POLICIES[str(allocator), str(queue)] for allocator, queue in pairs],
        network=cells["network.model"].map(NETWORKS),
        log=_log_names(cells, quick=runs.quick),
        sample=cells["run.seed"],
    )
    return {
        "policies": cells[["log", "network", "policy", "sample", *VALUES]],
        **shape_frames(runs),
    }


def _log_names(cells: pd.DataFrame, *, quick: bool) -> list[str]:
    """Return whose jobs the cells run, and how much they communicate where that varies."""
    talk = cells.get(TALK, pd.Series(index=cells.index, dtype=object)).fillna("")
    names = [SYNTHETIC if quick else LOGS[str(file)] for file in cells["file"]]
    return [f"{name}, {own}" if own else name for name, own in zip(names, talk, strict=True)]


def derive(found: Frames) -> Frames:
    """Return times over those of CC, NC and Cautious, and what scattered nodes and chunks cost."""
    keys = ["log", "network", "policy"]
    samples = found["policies"]
    tables = {f"over {base}": summarise(samples, keys, TIMES, over={"policy": base})
              for base in (CC, NC, "Cautious")}  # fmt: skip
    means = summarise(samples, keys, VALUES)
    scattered = found["full_machine"].melt("pattern", ["alone", "full_machine"], "machine", "ratio")
    return {
        "policies": means,
        **tables,
        "capacity": differences(samples, keys[:2], "loss_of_capacity", "policy", [("chunks", NC)]),
        "slowdown": differences(samples, keys[:2], "mean_network_slowdown", "policy", [(NC, CC)]),
        "scattered": scattered.replace({"machine": {"full_machine": "full machine"}}),
    }


def _below_claim(
    where: str, sentence: str, base: str, value: str, why: str, *, quick: bool
) -> Claim:
    """Return the claim that Reckless and Cautious are better than another policy."""
    rows = {"network": (NETWORKS["fluid"],), "policy": OURS}
    return Claim(where, sentence, f"over {base}", value, ("log", "policy"), rows=rows, most=1.0,
                 quick=quick, why=why)  # fmt: skip


def _shape_claim(where: str, sentence: str, pattern: str, why: str = "", *, alike: bool) -> Claim:
    """Return a claim about the time of 64 nodes on boxes that are no cube, over the cube's."""
    rows = {"pattern": (pattern,), "shape": SHAPES[1:4], "message": ("2 MB",), "nodes": (64,)}
    least, most = (0.95, 1.05) if alike else (1.05, None)
    return Claim(where, sentence, "shapes", "mean", ("shape",), rows=rows, least=least, most=most,
                 why=why)  # fmt: skip


def _ratio_chart(word: str, base: str) -> Chart:
    """Return the figure of a time over that of CC or NC."""
    at_most = {("*", "*", name): 1.0 for name in OURS}
    others = tuple(name for name in POLICIES.values() if name != base)
    return Chart(f"{word}-{base}-{{log}}", f"Mean {word} / {base}, {{log}}", f"over {base}",
                 f"mean_{word}_s", "network", "policy", Axis(f"{word} / {base}", line=1.0),
                 "Marks: below 1, says the draft; it has no values.", each=("log",),
                 rows={"policy": others}, paper=at_most)  # fmt: skip


_LENT = "an empty machine lends a job its links"
CLAIMS = (
    _below_claim("X", "Reckless and Cautious turn jobs around sooner than NC.", NC, TIMES[1],
           "contiguity alone does it: see CC in `table-over NC.csv`", quick=True),
    _below_claim("X", "Jobs wait less under Reckless and Cautious than under NC.", NC, TIMES[0],
           "contiguity alone does it", quick=False),
    _below_claim("X", "Reckless and Cautious turn jobs around sooner than CC.", CC, TIMES[1],
           "chunks that know no pattern do as well", quick=True),
    Claim(
        "VIII", "Reckless and Cautious have comparable turnaround (within 10 %).", "over Cautious",
        TIMES[1], ("log", "policy"), rows={"network": (NETWORKS["fluid"],), "policy": OURS[:1]},
        least=0.9, most=1.1,
    ),
    Claim(
        "VIII-B", "Shapes cost capacity: chunks lose more of it than NC.", "capacity", "more",
        ("log",), "of the node time", {"network": (NETWORKS["null"],)}, least=0.0, quick=False,
    ),
    Claim(
        "VI", "Scattered jobs are slowed down more than contiguous ones.", "slowdown", "more",
        ("log",), rows={"network": (NETWORKS["fluid"],)}, least=0.0,
    ),
    _shape_claim("VI", "A2A needs a compact allocation: other boxes are slower.", "A2A",
            alike=False),
    _shape_claim("VI", "NN runs as well on any box.", "NN", alike=True),
    _shape_claim("IV", "O2A needs a node near to all others: other boxes are slower.", "O2A",
            "the root's own link takes the time, whatever the shape", alike=False),
    Claim(
        "IV", "A2A is slower on scattered nodes.", "scattered", "ratio", ("machine",),
        rows={"pattern": ("A2A",)}, least=1.05, why=_LENT,
    ),
)  # fmt: skip
CHARTS = (
    *(_ratio_chart(word, base) for word in ("turnaround", "wait") for base in (CC, NC)),
    Chart(
        "shapes", "64 nodes, 2 MB a message, by shape", "shapes", "mean", "shape", "pattern",
        Axis("time / cube", line=1.0),
        "Marks: the only values of the draft's table. NC: random nodes of an idle machine.",
        rows={"message": ("2 MB",), "nodes": (64,)}, paper={("3D-B", "*"): 1.0},
    ),
)  # fmt: skip
YANG = Paper(
    "yang",
    "Yang",
    "Reckless and Cautious on a torus (Yang et al., Deja Vu)",
    (BLUE, INTREPID),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("policies", "intrepid"),),
)
