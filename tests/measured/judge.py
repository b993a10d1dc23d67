"""The packet simulation on the cases of another one (CODES on ROSS)."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from measured.packets import FILES, errors, traffic_of, tree_of_packets
from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import Traffic
from netsim.packetsim.records import World
from netsim.packetsim.running import advance
from netsim.packetsim.world import build, by_rank, scene_of
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from netsim.topology.switches import Switch

DUTY, ALWAYS = FILES
RANKS = f"{ALWAYS}, ranks by themselves"
JUDGED = FILES | {RANKS: FILES[ALWAYS]}
DRAWS = {DUTY: 1, ALWAYS: 3, RANKS: 3}  # seeds averaged; three iterations in step are two-valued
START_NS = 1.0
MICRO_SEEDS = 12  # the other program draws the order of messages in a NIC, once
MICRO_PACKETS, MICRO_RELATIVE = 4.0, 0.01
VARIANTS = {  # of the small cases
    "default": Switch(),
    "pkt1024": replace(Switch(), packet_bytes=1024.0),
    "vc16K": replace(Switch(), buffer_bytes=16384.0),
    "vc256K": replace(Switch(), buffer_bytes=262144.0),
    "vc1G": replace(Switch(), buffer_bytes=2.0**30),
    "fcfs": replace(Switch(), nic="first-come"),
}
BARS = (  # cases, quantity, least, most
    (ALWAYS, "alone mean", 0.0, 0.5),
    (ALWAYS, "alone worst", 0.0, 2.0),
    (ALWAYS, "mean", 0.0, 0.6),
    (ALWAYS, "contended", 0.0, 1.0),
    (DUTY, "alone mean", 0.0, 0.5),
    (DUTY, "alone worst", 0.0, 2.0),
    (DUTY, "mean", 0.0, 1.0),
    (DUTY, "contended", 0.0, 1.5),
    (DUTY, "bias", 0.97, 1.03),
    (RANKS, "mean", 0.0, 1.5),
)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Jobs of one kind of cases: time alone and interference, of both programs."""

    n_cases: int
    alone: Floats
    alone_true: Floats
    together: Floats
    true: Floats

    def quantities(self) -> dict[str, float]:
        """Return what bars are about, errors in per cent."""
        off = 100.0 * np.abs(self.alone / self.alone_true - 1.0)
        found = errors(self.true, self.together)
        return {
            "alone mean": float(off.mean()),
            "alone worst": float(off.max()),
            "mean": found.mean,
            "contended": found.contended,
            "worst": found.worst,
            "bias": found.bias,
        }


def simulated(
    tree: FatTree,
    parts: Sequence[Traffic],
    switch: Switch,
    *,
    seed: int,
    need: Sequence[int],
    wake_ns: Sequence[float] | None = None,
    spread: Sequence[float] | None = None,
    leaves: bool = False,
) -> World:
    """Run jobs until each has made its iterations; it leaves then, or goes on until all have."""
    links = np.concatenate([part.routes.links for part in parts])
    world = build(scene_of(parts, np.zeros_like(links)), tree.capacity, switch, seed, 2**14)
    jobs = world.jobs[: len(parts)]
    jobs["need"], jobs["leaves"] = need, leaves
    jobs["wake"] = START_NS if wake_ns is None else wake_ns
    if spread is not None:
        jobs["spread"] = spread
        jobs["compute"] = [1e9 * part.compute_s for part in parts]
    return advance(world)


def always_case(tree: FatTree, case: Mapping[str, Any], seed: int) -> tuple[Floats, Floats]:
    """Return time alone in ns and interference of jobs that always communicate."""
    jobs = case["jobs"]
    parts = [traffic_of(tree, job) for job in jobs]
    need = [job["iters"] for job in jobs]
    alone = [
        simulated(tree, [part], Switch(), seed=seed, need=[count]).jobs["need_end"][0]
        for part, count in zip(parts, need, strict=True)
    ]
    together = simulated(tree, parts, Switch(), seed=seed, need=need).jobs["need_end"][:-1]
    own = np.array(alone) - START_NS
    return own, (together - START_NS) / own


def duty_case(tree: FatTree, case: Mapping[str, Any], seed: int) -> tuple[Floats, Floats]:
    """Return communication alone in ns and interference of jobs with compute phases."""
    jobs = case["jobs"]
    parts = [traffic_of(tree, job) for job in jobs]
    alone = np.array(
        [
            simulated(tree, [part], Switch(), seed=seed, need=[1]).jobs["comm_first"][0]
            for part in parts
        ]
    )
    fewest = min(job["together"]["iterations"] for job in jobs)
    world = simulated(
        tree,
        parts,
        Switch(),
        seed=seed,
        need=[fewest] * len(parts),
        wake_ns=[job["offset_ns"] for job in jobs],
        spread=[0.0 if job["compute_jitter"] == "none" else 0.5 for job in jobs],
    )
    done = world.jobs[:-1]
    communication = done["comm_sum"] / (done["count"] - 1)
    compute = np.array([job["compute_ns"] for job in jobs])
    return alone, (compute + communication) / (compute + alone)


def rank_case(tree: FatTree, case: Mapping[str, Any], seed: int) -> tuple[Floats, Floats]:
    """Return the same of jobs without barriers; alone a rank leaves after its iterations."""
    jobs = case["jobs"]
    parts = [traffic_of(tree, job) for job in jobs]
    need = np.array([job["iters"] for job in jobs])
    own = np.concatenate(
        [
            _ranks_end_ns(tree, [part], need[i : i + 1], seed, leaves=True)
            for i, part in enumerate(parts)
        ]
    )
    return own, _ranks_end_ns(tree, parts, need, seed, leaves=False) / own


def _ranks_end_ns(
    tree: FatTree, parts: Sequence[Traffic], need: Ints, seed: int, *, leaves: bool
) -> Floats:
    """Return how long the last rank of each job takes for the iterations asked for."""
    links = np.concatenate([part.routes.links for part in parts])
    scene, job = by_rank(scene_of(parts, np.zeros_like(links)), tree)
    world = build(scene, tree.capacity, Switch(), seed, 2**14)
    ranks = world.jobs[:-1]
    ranks["need"], ranks["leaves"], ranks["wake"] = need[job], leaves, START_NS
    ended = advance(world).jobs["need_end"][:-1]
    return np.array([ended[job == own].max() for own in range(len(parts))]) - START_NS


def judged(title: str, path: Path, every: int = 1) -> Judged:
    """Simulate the cases of a file, or every n-th of them."""
    tree = tree_of_packets()
    cases = json.loads(gzip.decompress(path.read_bytes()))["cases"][::every]
    run = {ALWAYS: always_case, DUTY: duty_case, RANKS: rank_case}[title]
    drawn = [[run(tree, case, seed) for case in cases] for seed in range(DRAWS[title])]
    alone, together = (
        np.mean([np.concatenate([case[i] for case in draw]) for draw in drawn], axis=0)
        for i in range(2)
    )
    if title != DUTY:
        alone_key, together_key = (
            ("rank_alone", "rank_persist") if title == RANKS else ("bsp_alone", "bsp_persist")
        )
        results = [case["results"] for case in cases]
        pairs = [
            (own["jobs"][0]["comm_ns"], both["slowdown"])
            for found in results
            for own, both in zip(found[alone_key], found[together_key]["jobs"], strict=True)
        ]
    else:
        pairs = [
            (job["comm_alone_ns"], job["together"]["slowdown"])
            for case in cases
            for job in case["jobs"]
        ]
    alone_true, true = np.array(pairs).T
    return Judged(len(cases), alone, alone_true, together, true)


def micro_errors(tree: FatTree, case: Mapping[str, Any], switch: Switch) -> tuple[float, float]:
    """
    Return how far the ends of flows are off at most: in packets, and relative to the flow.

    Each program draws the order of messages in a NIC; the best of several orders counts, and
    flows that change places are compared by their ends.
    """
    flows = case["flows"]
    src, dst = (np.array([flow[key] for flow in flows]) for key in ("src", "dst"))
    nbytes = np.array([float(flow["bytes"]) for flow in flows])
    parts = [_lone_flow(tree, src[i : i + 1], dst[i : i + 1], nbytes[i]) for i in range(src.size)]
    true = np.sort([flow["dur_ns"] for flow in flows])
    best = (np.inf, np.inf)
    for seed in range(MICRO_SEEDS):
        order = np.random.default_rng(seed).permutation(src.size)
        wake = START_NS + 1e-3 * order
        need = [1] * src.size
        world = simulated(
            tree, parts, switch, seed=seed, need=need, wake_ns=wake.tolist(), leaves=True
        )
        off = np.abs(np.sort(world.jobs["first_end"][:-1] - START_NS) - true)
        packets = off / (switch.packet_bytes / 12.5)
        found = float(packets.max()), float((off / true).max())
        best = min(best, found)
    return best


def _lone_flow(tree: FatTree, src: Ints, dst: Ints, nbytes: float) -> Traffic:
    """Return a job of one message."""
    routes = DModK(tree).routes(src, dst)
    return Traffic(np.zeros(1, int), src, np.array([nbytes]), routes, 0.0, np.zeros(1))


def close(packets: float, relative: float) -> bool:
    """Say whether the ends of a small case are as near as wanted."""
    return packets <= MICRO_PACKETS or relative <= MICRO_RELATIVE
