"""What the hash of ECMP costs placed jobs: times over seeds, beside packets that are sprayed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.snapshot import PlacedJob, Snapshot, require_snapshot
from fabricsim.checking import whole
from fabricsim.checking.documents import NOT_JSON, json_fields
from netsim.common.arrays import Floats, Tabled
from netsim.common.errors import NetsimError
from netsim.flows.traffic import bytes_per_link
from netsim.registries.routings import make_routing
from netsim.routing.base import queue_pairs
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.multipath import as_built
from patterns.errors import PatternError
from scheduler.traffic import TrafficOf

SEEDS, MOST_SEEDS = 100, 10_000
QUANTILES = (50, 90, 99, 100)


@dataclass(frozen=True, slots=True)
class AuditedJob:
    """Seconds of an iteration of one job alone, over seeds of the hash."""

    id: int | str
    sprayed_s: float
    mean_s: float
    quantiles_s: tuple[float, ...]  # as `QUANTILES` names them


@dataclass(frozen=True, slots=True, eq=False)
class EcmpAudit(Tabled):
    """
    What the hash of ECMP costs placed jobs.

    Parameters
    ----------
    jobs : tuple of AuditedJob
        In the order of the snapshot, those that send something.
    links : tuple of (str, int, float)
        Links between switches that are the busiest of a seed: name, seeds, and the most seconds for
        which an iteration of all jobs takes one.
    seeds, qps : int
        Seeds of the hash, 1 on, and queue pairs of a message.
    topology : Topology
        The fabric.
    """

    jobs: tuple[AuditedJob, ...]
    links: tuple[tuple[str, int, float], ...]
    seeds: int
    qps: int
    topology: Topology = field(metadata=NOT_JSON)

    def __repr__(self) -> str:
        return f"<EcmpAudit: {len(self.jobs)} jobs over {self.seeds} seeds>"

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the jobs."""
        return [
            {"id": job.id, "sprayed_s": job.sprayed_s, "mean_s": job.mean_s}
            | {f"p{q}_s": value for q, value in zip(QUANTILES, job.quantiles_s, strict=True)}
            for job in self.jobs
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim ecmp-audit --json` prints."""
        names = ("link", "seeds", "most_s")
        links = [dict(zip(names, row, strict=True)) for row in self.links]
        return json_fields(self) | {"jobs": self._table_rows(), "links": links}


def ecmp_audit(
    snapshot: Snapshot | Mapping[str, Any], *, seeds: int = SEEDS, qps: int | None = None
) -> EcmpAudit:
    """
    Return how long iterations of placed jobs take over seeds of ECMP's hash.

    Loads of links are counted for each seed, without a fixed point: times are of each job alone,
    the busiest link is that of all jobs together.

    Parameters
    ----------
    snapshot : Snapshot or mapping
        Jobs on a fabric; its routing gives way to ECMP.
    seeds : int
        Seeds, 1 to this.
    qps : int, optional
        Queue pairs of a message; default: those of the snapshot's routing.

    Returns
    -------
    EcmpAudit
        Quantiles of each job, worst links.

    Raises
    ------
    SnapshotError
        If a job does not say what it sends, or the fabric has no ECMP.
    """
    whole("seeds", seeds, 1, MOST_SEEDS, error=SnapshotError)
    snapshot = require_snapshot(snapshot)
    qps = queue_pairs(snapshot.routing) if qps is None else qps
    fabric = as_built(snapshot.topology)
    jobs = [job for job in snapshot.jobs if job.flows is not None and job.flows.src.size]
    if not jobs:
        raise SnapshotError(f"{snapshot.source}: jobs: expected one that sends something.")
    switches = (fabric.link_tail >= fabric.n_nodes) & (fabric.link_head >= fabric.n_nodes)
    switches[fabric.n_fabric_links :] = False
    times, busiest, most = np.zeros((seeds, len(jobs))), Counter[int](), dict[int, float]()
    try:
        spray = make_routing("spray", fabric)
        sprayed, _ = _alone(jobs, as_routed(fabric, spray), spray)
        for seed in range(1, seeds + 1):
            routing = make_routing({"name": "ecmp", "qps": qps}, fabric, seed)
            times[seed - 1], load_s = _alone(jobs, fabric, routing)
            link = int(np.argmax(np.where(switches, load_s, -1.0)))
            if switches[link] and load_s[link] > 0.0:
                busiest[link] += 1
                most[link] = max(most.get(link, 0.0), float(load_s[link]))
    except (NetsimError, PatternError) as error:
        raise SnapshotError(f"{snapshot.source}: {error}") from None
    return EcmpAudit(
        tuple(
            AuditedJob(job.id, sprayed[at], float(times[:, at].mean()), _quantiles(times[:, at]))
            for at, job in enumerate(jobs)
        ),
        tuple((fabric.link_name(link), n, most[link]) for link, n in busiest.most_common()),
        seeds,
        qps,
        fabric,
    )


def _quantiles(times_s: Floats) -> tuple[float, ...]:
    """Return the quantiles of an iteration."""
    return tuple(np.percentile(times_s, QUANTILES).tolist())


def _alone(jobs: list[PlacedJob], fabric: Topology, routing: Any) -> tuple[list[float], Floats]:  # noqa: ANN401 (any routing)
    """Return the seconds of iterations alone, and for how long all take each link, (E,)."""
    traffic_of = TrafficOf(fabric, routing)
    found, load_s = [], np.zeros(fabric.n_links)
    for job in jobs:
        assert job.flows is not None  # noqa: S101 (these send)
        placed = traffic_of.of_flows(
            job.flows, job.partition, fraction=job.fraction, compute_s=job.compute_s
        )
        found.append((job.compute_s or 0.0) if placed is None else placed.alone_s)
        if placed is not None:
            links, nbytes = bytes_per_link(placed.traffic)
            load_s[links] += nbytes / fabric.capacity[links]
    return found, load_s
