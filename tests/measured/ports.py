"""A site with known communication, and what the ports of its fabric would count."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from ib_fabrics import tree_fabric, write_ibnetdiscover

from coupling.site.drawn_traffic import JobLoads
from coupling.site.outcome import solve
from coupling.site.site import Site, read_site
from netsim.common.arrays import Floats
from netsim.infiniband.discover import IbFabric
from netsim.infiniband.wiring import wire_fat_tree
from netsim.topology.fattree import build_fat_tree

WORD = 4
SECONDS = 60.0
_MASKS = "(CapMask: 0x5300 CapMask2: 0x0000002)"
RATE = 12.5e9  # bytes per second of 4xEDR
KINDS: Mapping[str, tuple[dict[str, Any], float]] = {
    "cfd": ({"name": "stencil", "dims": 3}, 0.25),
    "fft": ({"name": "all-to-all"}, 0.45),
    "train": ({"name": "allreduce", "algorithm": "ring"}, 0.35),
    "graph": ({"name": "sub-all-to-all"}, 0.15),
}
"""Pattern and fraction by name of the job."""


@dataclass(frozen=True, slots=True)
class Counted:
    """
    Files of a site, and the truth behind them.

    Parameters
    ----------
    fabric, queue, before, after : Path
        As ibnetdiscover, squeue and perfquery print them.
    rate : (E,) float array
        True bytes per second of each directed link.
    missing : (k,) int array
        Links whose ports were not read.
    network_slowdown : mapping of int to float
        True, by job.
    """

    fabric: Path
    queue: Path
    before: Path
    after: Path
    rate: Floats
    missing: np.ndarray
    network_slowdown: Mapping[int, float]


def profile_of(kinds: Mapping[str, tuple[dict[str, Any], float]] = KINDS) -> dict[str, Any]:
    """Return the true profile."""
    return {
        "version": 1,
        "rule": [
            {
                "match": {"name": name},
                "pattern": {**pattern, "nbytes": "4 MiB"},
                "comm_fraction": fraction,
            }
            for name, (pattern, fraction) in kinds.items()
        ],
    }


def guessed(kinds: Mapping[str, tuple[dict[str, Any], float]] = KINDS) -> dict[str, Any]:
    """Return the profile of who knows the patterns, but not which job has which, nor how much."""
    rules: list[dict[str, Any]] = []
    for left, (pattern, _) in zip(range(len(kinds), 0, -1), kinds.values(), strict=True):
        rules.append(
            {
                "chance": 1.0 / left,
                "pattern": pattern,
                "comm_fraction": {"uniform": [0.1, 0.5]},
                "bytes_per_flow": "4 MiB",
            }
        )
    return {"version": 1, "rule": rules}


def write_fabric(path: Path, leaves: int = 8, nodes: int = 8, spines: int = 4) -> IbFabric:
    """Write a two-level tree as ibnetdiscover prints it."""
    fabric = tree_fabric(build_fat_tree((nodes, leaves), (1, spines), (1, 1), RATE))
    fabric = replace(fabric, rates=dict.fromkeys(fabric.cables, "4xEDR"))
    path.write_text(write_ibnetdiscover(fabric))
    return fabric


def write_queue(path: Path, jobs: Sequence[tuple[int, str, Sequence[str]]]) -> None:
    """Write who runs: number, name, hosts."""
    rows = [
        {
            "job_id": number,
            "job_state": ["RUNNING"],
            "user_name": f"u{number % 3}",
            "name": name,
            "nodes": ",".join(hosts),
            "submit_time": 1,
            "start_time": 2,
        }
        for number, name, hosts in jobs
    ]
    path.write_text(json.dumps({"jobs": rows}))


def scattered_jobs(
    hosts: Sequence[str], sizes: Sequence[int], names: Sequence[str], seed: int
) -> list[tuple[int, str, list[str]]]:
    """Place jobs on hosts at random, names in turn."""
    order = np.random.default_rng(seed).permutation(len(hosts)).tolist()
    jobs, first = [], 0
    for number, size in enumerate(sizes):
        own = sorted(order[first : first + size])
        jobs.append((100 + number, names[number % len(names)], [hosts[k] for k in own]))
        first += size
    return jobs


def true_rates(
    site: Site, judged: Mapping[int, float] | None = None
) -> tuple[Floats, dict[int, float]]:
    """
    Return what links carry, and how slow jobs are.

    `judged`: the slowdowns; None: as the model `accurate` says.
    """
    found = solve(site.scene, JobLoads(site.scene))
    numbers = [job.number for job in site.scene.jobs]
    modelled = found.network_slowdown.mean(axis=0)
    true = modelled if judged is None else np.array([judged[number] for number in numbers])
    use = found.share * (modelled / true)[found.job]
    share = np.bincount(found.link, weights=use, minlength=site.scene.topology.n_links)
    return share * site.scene.topology.capacity, dict(zip(numbers, true.tolist(), strict=True))


def slowed_down(site: Site, link: str) -> Site:
    """Return a site of which one directed link runs at a quarter of its speed."""
    scene = site.scene
    capacity = scene.topology.capacity.copy()
    capacity[scene.topology.link_number(link)] /= 4.0
    topology = replace(scene.topology, capacity=capacity)
    return replace(site, scene=replace(scene, topology=topology))


def waits_of(
    site: Site, slow: str, late: Mapping[int, float], healthy: Mapping[int, float]
) -> dict[int, float]:
    """
    Return the share of the time that the ports of links wait.

    `late`, `healthy`: slowdown of jobs with the slow link, and without. Ports of nodes wait as
    their job is slowed down; where a link is slow, that holds for all ports before it on the ways
    of a job, and the other ports of the job wait as if it was not.
    """
    topology = site.scene.topology
    found: dict[int, float] = {}
    for job in site.scene.jobs:
        usual, long = (1.0 - 1.0 / slowed[job.number] for slowed in (healthy, late))
        src, dst = np.repeat(job.nodes, job.nodes.size), np.tile(job.nodes, job.nodes.size)
        routes = site.scene.routing.routes(src, dst, job.partition)
        ways = [routes.links[a:b].tolist() for a, b in pairwise(routes.indptr.tolist())]
        before = {
            link
            for way in ways
            if slow and topology.link_number(slow) in way
            for link in way[: way.index(topology.link_number(slow))]
        }
        first = {way[0] for way in ways if way}
        for link in first | before:
            found[link] = max(found.get(link, 0.0), long if link in before else usual)
    return found


def write_counters(
    folder: Path,
    fabric: IbFabric,
    rate: Mapping[tuple[int, int], float],
    *,
    waited: Mapping[tuple[int, int], float] | None = None,
    noise: float = 0.0,
    offset_s: float = 0.0,
    left_out: frozenset[tuple[int, int]] = frozenset(),
    seed: int = 1,
) -> tuple[Path, Path]:
    """
    Write what perfquery -x prints of all ports, twice.

    `rate`: bytes per second that (device, port) sends. `waited`: share of the time that it waits.
    `noise`: of each port, as a share. `offset_s`: by how much later a device may be read.
    """
    chance = np.random.default_rng(seed)
    late = chance.uniform(0.0, offset_s, (2, len(fabric.devices)))
    texts: list[list[str]] = [[], []]
    for (device, port), other in sorted(fabric.cables.items()):
        base = chance.integers(10**9, 10**13, 3)
        factor = 1.0 + noise * chance.standard_normal(2)
        if (device, port) in left_out:
            continue
        span = SECONDS + late[1, device] - late[0, device]
        sent = rate.get((device, port), 0.0) * span * factor[0] / WORD
        received = rate.get(other, 0.0) * span * factor[1] / WORD
        ticks = (waited or {}).get((device, port), 0.0) * span * RATE / WORD
        for lines, more in zip(texts, (0.0, 1.0), strict=True):
            values = [
                int(own + more * counted)
                for own, counted in zip(base.tolist(), (sent, received, ticks), strict=True)
            ]
            lines += [
                f"# Port extended counters: Lid {fabric.devices[device].lid} port {port} {_MASKS}",
                f"PortSelect:......................{port}",
                "CounterSelect:...................0x0000",
                f"PortXmitData:....................{values[0]}",
                f"PortRcvData:.....................{values[1]}",
            ]
            if waited is not None:
                lines.append(f"PortXmitWait:....................{values[2]}")
    before, after = folder / "before.txt", folder / "after.txt"
    before.write_text("\n".join(texts[0]) + "\n")
    after.write_text("\n".join(texts[1]) + "\n")
    return before, after


def ports_of(fabric: IbFabric, site: Site) -> list[tuple[int, int]]:
    """Return the port at which each directed link begins."""
    wiring = wire_fat_tree(fabric)
    device = wiring.device[site.scene.topology.link_tail].tolist()
    return list(zip(device, wiring.port.tolist(), strict=True))


def counted_site(
    folder: Path,
    *,
    shape: tuple[int, int, int] = (8, 8, 4),
    sizes: Sequence[int] = (12, 10, 8, 8, 6, 6, 5, 4),
    kinds: Mapping[str, tuple[dict[str, Any], float]] = KINDS,
    noise: float = 0.0,
    offset_s: float = 0.0,
    missing: float = 0.0,
    waits: bool = False,
    slow: str = "",
    judge: Callable[[Site], Mapping[int, float]] | None = None,
    seed: int = 1,
) -> Counted:
    """
    Write a site whose jobs communicate as told.

    `shape`: leaves, nodes of each, spines. `missing`: share of the links between switches of which
    both ends are not read. `waits`: ports of nodes count the share of the time that they wait.
    `slow`: a directed link that runs at a quarter of its speed, which the file of the fabric does
    not tell. `judge`: says how slow the jobs truly are; None: the model `accurate`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fabric_file, queue = folder / "fabric.txt", folder / "squeue.json"
    fabric = write_fabric(fabric_file, *shape)
    hosts = [device.name for device in fabric.devices if not device.is_switch]
    write_queue(queue, scattered_jobs(hosts, sizes, list(kinds), seed))
    truth = folder / "truth.toml"
    truth.write_text(tomli_w.dumps(profile_of(kinds)))
    site = read_site(str(fabric_file), queue, profile=truth, samples=1)
    topology = site.scene.topology
    judged = None if judge is None else judge(site)
    healthy = true_rates(site, judged)[1]
    site = slowed_down(site, slow) if slow else site
    rate, late = true_rates(site, judged)
    begins = ports_of(fabric, site)
    inner = np.flatnonzero(
        (topology.link_tail >= topology.n_nodes) & (topology.link_head >= topology.n_nodes)
    )
    chance = np.random.default_rng(seed + 1)
    lost = chance.choice(inner, int(missing * inner.size), replace=False)
    gone = {begins[link] for link in lost.tolist()}
    gone |= {fabric.cables[end] for end in gone}
    dark = np.array([link for link, end in enumerate(begins) if end in gone], dtype=np.int64)
    waited = None
    if waits:
        waited = {
            begins[link]: share for link, share in waits_of(site, slow, late, healthy).items()
        }
    before, after = write_counters(
        folder,
        fabric,
        dict(zip(begins, rate.tolist(), strict=True)),
        waited=waited,
        noise=noise,
        offset_s=offset_s,
        left_out=frozenset(gone),
        seed=seed + 2,
    )
    return Counted(fabric_file, queue, before, after, rate, dark, late)
