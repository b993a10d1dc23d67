"""Random scenes over all patterns, machines, placements and communication fractions."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.contention import Traffic
from netsim.flows.partition import Partition
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from patterns.base import Pattern, slot_of_rank
from patterns.registry import PATTERNS, make_pattern
from scheduler.traffic import RankFlows, TrafficOf, rank_flows

MOST_FLOWS = 1000  # of one iteration of one job; larger jobs are halved until they fit
ITERATION_S = (2e-4, 2e-3)  # an iteration alone, drawn log-uniformly
JOBS = (2, 12)
FRACTION = (0.05, 0.95)

MACHINES: Mapping[str, Mapping[str, Any]] = {
    "128": {"kind": "fat-tree", "radix": 8},
    "432": {"kind": "fat-tree", "radix": 12},
    "1024": {"kind": "fat-tree", "radix": 16},
    "1458": {"kind": "fat-tree", "radix": 18},
    "128, leaves 2:1": {
        "kind": "fat-tree",
        "children": [8, 4, 4],
        "parents": [1, 4, 4],
        "parallel": [1, 1, 1],
    },
    "432, spines 2:1": {
        "kind": "fat-tree",
        "children": [6, 6, 12],
        "parents": [1, 6, 3],
        "parallel": [1, 1, 1],
    },
    "512, two levels, 2:1": {
        "kind": "fat-tree",
        "children": [16, 32],
        "parents": [1, 8],
        "parallel": [1, 1],
    },
}
"""Full trees and tapered ones, by name: nodes and, where links are fewer going up, by how much."""

_OPTIONS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "stencil": (
        *({"dims": dims} for dims in (1, 2, 3, 4)),
        {"dims": 3, "points": "all"},
        {"dims": 2, "periodic": False},
    ),
    "shift": ({"distance": 1}, {"distance": 7}),
    "hybrid": (
        {
            "parts": ({"name": "stencil", "dims": 2}, {"name": "pairs", "seed": 0}),
            "weights": (0.7, 0.3),
        },
    ),
    "sequence": ({"parts": ({"name": "stencil", "dims": 3}, {"name": "recursive-doubling"})},),
    "mix": ({"mix": "A"}, {"mix": "D"}),
    "sub-all-to-all": ({"dims": 3}, {"dims": 2}),
    **{name: ({"seed": 0},) for name in ("pairs", "permutation", "unstructured-mesh")},
}
"""Options drawn for a pattern; the others have their defaults. Seeds are those of stored truth."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """
    One job of a scene.

    Parameters
    ----------
    pattern : str
        Name of its pattern.
    n_ranks : int
        Ranks.
    wanted : int
        Ranks as drawn, before halving for `MOST_FLOWS`.
    ranks_per_node : int
        Ranks on a node.
    traffic : Traffic
        What it sends.
    """

    pattern: str
    n_ranks: int
    wanted: int
    ranks_per_node: int
    traffic: Traffic


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """
    Jobs that run together.

    Parameters
    ----------
    machine : str
        Name of the machine.
    topology : FatTree
        The machine.
    jobs : tuple of Job
        The jobs; their identities are their places.
    """

    machine: str
    topology: FatTree
    jobs: tuple[Job, ...]

    @property
    def traffic(self) -> dict[int, Traffic]:
        """Traffic by job."""
        return {number: job.traffic for number, job in enumerate(self.jobs)}


@lru_cache
def machine(name: str) -> FatTree:
    """
    Build a machine, without latency and buffers.

    Parameters
    ----------
    name : str
        A key of `MACHINES`.

    Returns
    -------
    FatTree
        Links of 12.5 GB/s.
    """
    tree = make_topology({**MACHINES[name], "bandwidth": "100 Gb/s"})
    assert isinstance(tree, FatTree)  # all of the table are
    return tree


def draw_scene(seed: int) -> Scene:
    """
    Draw a scene.

    Parameters
    ----------
    seed : int
        Same seed, same scene; the first of each seven lies on the first machine and so on.

    Returns
    -------
    Scene
        At least two jobs, on random nodes of a part of the machine that they fill by a half to
        the whole.
    """
    rng = np.random.default_rng((2026, seed))
    name = list(MACHINES)[seed % len(MACHINES)]
    tree = machine(name)
    drawn = [_draw_ranks(rng, tree.n_nodes) for _ in range(int(rng.integers(JOBS[0], JOBS[1] + 1)))]
    slots = []
    room = tree.n_nodes
    for pattern, n_ranks, wanted, per_node in drawn:
        slot = slot_of_rank(("block", "round-robin")[rng.integers(2)], n_ranks, per_node)
        if slot.max() + 1 <= room:
            slots.append((pattern, n_ranks, wanted, per_node, slot))
            room -= int(slot.max()) + 1
    used = tree.n_nodes - room
    n_part = min(tree.n_nodes, int(used / rng.uniform(0.5, 1.0)) + 1)
    first = int(rng.integers(tree.n_nodes - n_part + 1))
    idle = first + rng.permutation(n_part)
    jobs = []
    for pattern, n_ranks, wanted, per_node, slot in slots:
        n_slots = int(slot.max()) + 1
        nodes, idle = np.sort(idle[:n_slots]), idle[n_slots:]
        traffic = _traffic(tree, pattern, n_ranks, nodes[slot], rng)
        jobs.append(Job(pattern[0], n_ranks, wanted, per_node, traffic))
    return Scene(name, tree, tuple(jobs))


def _draw_ranks(
    rng: np.random.Generator, n_nodes: int
) -> tuple[tuple[str, Pattern], int, int, int]:
    """Draw a pattern, ranks that keep it below `MOST_FLOWS`, ranks wanted, and ranks per node."""
    name, pattern = _draw_pattern(rng)
    per_node = int(rng.choice([1, 1, 2, 4]))
    most = n_nodes * per_node // 3
    wanted = n_ranks = int(2 ** rng.uniform(2.0, np.log2(most)))
    if name == "matrix":
        wanted = n_ranks = _MATRIX_RANKS
    while rank_flows(pattern, n_ranks).src.size > MOST_FLOWS:
        n_ranks //= 2
    return (name, pattern), n_ranks, wanted, per_node


LATER = {"gpu-collective"}  # patterns newer than the stored truths: they would move every draw


def _draw_pattern(rng: np.random.Generator) -> tuple[str, Pattern]:
    """Draw a pattern and its options."""
    name = str(rng.choice(sorted(PATTERNS.keys() - LATER)))
    options: Mapping[str, Any]
    if name == "matrix":
        options = {"file": _matrix_file(int(rng.integers(4)))}
    else:
        several = _OPTIONS.get(name, ({},))
        options = several[int(rng.integers(len(several)))]
    return name, make_pattern({"name": name, **options})


def draw_pattern(
    rng: np.random.Generator, most_ranks: int, most_flows: int
) -> tuple[str, Pattern, int]:
    """
    Draw a pattern and its ranks.

    Parameters
    ----------
    rng : Generator
        Where numbers come from.
    most_ranks : int
        At least 8; a measured matrix has its own.
    most_flows : int
        Ranks are halved until an iteration has no more messages.

    Returns
    -------
    (name, pattern, n_ranks)
        At least 2 ranks.
    """
    name, pattern = _draw_pattern(rng)
    n_ranks = int(2 ** rng.uniform(2.0, np.log2(most_ranks)))
    if name == "matrix":
        n_ranks = _MATRIX_RANKS
    while rank_flows(pattern, n_ranks).src.size > most_flows:
        n_ranks //= 2
    return name, pattern, n_ranks


def _traffic(
    tree: FatTree,
    pattern: tuple[str, Pattern],
    n_ranks: int,
    nodes: Ints,
    rng: np.random.Generator,
) -> Traffic:
    """Return the traffic of a job with a drawn communication fraction and iteration time."""
    flows: RankFlows = rank_flows(pattern[1], n_ranks)
    fraction = float(rng.uniform(*FRACTION))
    iteration_s = float(np.exp(rng.uniform(*np.log(ITERATION_S))))
    placed = TrafficOf(tree, DModK(tree)).of_flows(flows, Partition(nodes, None), fraction=fraction)
    if placed is None:  # all ranks on one node
        none = np.empty(0, dtype=np.int64)
        routes = DModK(tree).routes(none, none)
        return Traffic(none, none, np.empty(0), routes, iteration_s, np.empty(0))
    scale = iteration_s / placed.alone_s
    own = placed.traffic
    return replace(own, nbytes=own.nbytes * scale, compute_s=own.compute_s * scale)


_MATRIX_RANKS = 48


@lru_cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="matrices")


@lru_cache
def _matrix_file(seed: int) -> str:
    """Write a random sparse matrix, as one is measured, and return its path."""
    rng = np.random.default_rng((48, seed))
    src, dst = np.nonzero(rng.random((_MATRIX_RANKS, _MATRIX_RANKS)) < 0.1)
    keep = src != dst
    path = Path(_folder().name) / f"{seed}.csv"
    rows = [
        f"{a},{b},{rng.integers(1, 1_000_000)}" for a, b in zip(src[keep], dst[keep], strict=True)
    ]
    rows.append(f"0,{_MATRIX_RANKS - 1},1000")
    path.write_text("\n".join(["src,dst,bytes", *rows]) + "\n", encoding="utf-8")
    return str(path)
