"""Yang, section V: what the shape of an allocation costs a job, the draft's empty table."""

import numpy as np
import pandas as pd

from coupling.papers.paper import Frames
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
