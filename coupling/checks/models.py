"""What every contention model promises: ratios from 1, of the jobs that started or changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from netsim.common.errors import ContentionError
from netsim.flows.contention import ContentionModel, Traffic
from netsim.flows.latency import LatencyOf
from netsim.routing.dmodk import DModK
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, fat_tree_of_radix

Event = tuple[str, int, Traffic | None]
"""``"start"`` or ``"end"``, the job, and what it sends."""

_JOBS, _RANKS, _SEED, _TOLERANCE = 12, 6, 5, 1e-9


@dataclass(frozen=True)
class PlacedJobs:
    """A contention model on a fabric, and jobs that come and go."""

    make: Callable[[], ContentionModel]  # Makes a fresh model
    topology: Topology  # The fabric
    events: tuple[Event, ...]  # Starts and ends, in order
    apart: tuple[Traffic, ...]  # Jobs that share no link


def scene_of(make: Callable[[Topology], ContentionModel]) -> PlacedJobs:
    """Return jobs on random nodes of a small fat-tree, of which half end, and on whole pods."""
    tree = fat_tree_of_radix(6, "1 B/s")
    rng = np.random.default_rng(_SEED)
    events: list[Event] = []
    for job in range(_JOBS):
        nodes = rng.choice(tree.n_nodes, _RANKS, replace=False)
        events.append(("start", job, _ring_traffic(tree, nodes, float(rng.uniform(1.0, 5.0)))))
        if job % 2:
            events.append(("end", job - 1, None))
    leaves = np.arange(tree.n_nodes).reshape(-1, tree.nodes_per_leaf)
    pods = leaves.reshape(tree.n_pods, -1)
    apart = tuple(
        _ring_traffic(tree, nodes, 2.0) for nodes in (*leaves[: tree.leaves_per_pod], *pods[1:])
    )
    return PlacedJobs(lambda: make(tree), tree, tuple(events), apart)


def reports_changes(scene: PlacedJobs) -> Iterator[str]:
    """Check that `solve` reports jobs that started or changed, ratios from 1, and real links."""
    model, known = scene.make(), dict[int, float]()
    for kind, job, traffic in scene.events:
        if traffic is not None:
            model.start(job, traffic)
        else:
            model.end(job)
            known.pop(job)
        changes = model.solve()
        if kind == "start" and job not in changes:
            yield f"job {job} started, but solve does not report it"
        yield from _wrong_values(changes, known)
        known.update(changes)
        for other in known:
            if not -1 <= model.worst_link(other) < scene.topology.n_links:
                yield f"the worst link of job {other} is {model.worst_link(other)}"
    if left := dict(model.solve()):
        yield f"nothing happened, but solve reports {left}"


def one_without_sharing(scene: PlacedJobs) -> Iterator[str]:
    """Check that jobs that share no link have exactly 1."""
    model = scene.make()
    for job, traffic in enumerate(scene.apart):
        model.start(job, traffic)
    for job, value in model.solve().items():
        if value != 1.0:
            yield f"job {job} shares no link and has {value}"


def same_again(scene: PlacedJobs) -> Iterator[str]:
    """Check that the same events give the same numbers."""
    one, other = (dict(_start_jobs(scene)[0].solve()) for _ in range(2))
    if one != other:
        yield "the same jobs have other ratios when they are started again"


def one_when_alone(scene: PlacedJobs) -> Iterator[str]:
    """Check that a job has exactly 1 again when its neighbours have gone."""
    model, started = _start_jobs(scene)
    last, together = started[-1], model.solve()
    for job in started[:-1]:
        model.end(job)
    alone = {last: together[last]} | dict(model.solve())
    if alone != {last: 1.0}:
        yield f"job {last} is alone and has {alone[last]}"


def strangers_are_refused(scene: PlacedJobs) -> Iterator[str]:
    """Check that unknown and repeated jobs are refused."""
    model, traffic = scene.make(), scene.apart[0]
    model.start(7, traffic)
    calls: Mapping[str, tuple[Callable[[], object], str]] = {
        "start(7) again": (lambda: model.start(7, traffic), "job 7 has been started already"),
        "end(8)": (lambda: model.end(8), "job 8 has not been started"),
        "worst_link(8)": (lambda: model.worst_link(8), "job 8 has not been started"),
    }
    for call, (ask, words) in calls.items():
        try:
            ask()
        except ContentionError as error:
            if words not in str(error):
                yield f"{call}: the error does not say {words!r}: {error}"
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            yield f"{call}: {type(error).__name__} instead of a ContentionError"
        else:
            yield f"{call}: nothing is raised"


def unclaimed(scene: PlacedJobs) -> frozenset[str]:
    """Return the rule about blame, where a model tells none."""
    try:
        model, started = _start_jobs(scene)
        model.solve()
        blames = any(map(model.blame, started))
    except Exception:  # noqa: BLE001 (whatever a plug-in raises; reported as a breach)
        return frozenset()
    return frozenset() if blames else frozenset([BLAME])


def blame_adds_up(scene: PlacedJobs) -> Iterator[str]:
    """Check that shares of blame are those of other jobs and add up to 1, where they are known."""
    model, started = _start_jobs(scene)
    model.solve()
    for job in started:
        shares = model.blame(job)
        if job in shares or not shares.keys() <= set(started):
            yield f"job {job} blames {sorted(shares)}"
        if shares and abs(sum(shares.values()) - 1.0) > _TOLERANCE:
            yield f"the shares of job {job} add up to {sum(shares.values())}"


BLAME = "shares of blame are those of other jobs and add up to 1"
RULES: Mapping[str, Callable[[PlacedJobs], Iterator[str]]] = {
    "solve reports the jobs that started or changed, with ratios from 1": reports_changes,
    "jobs that share no link have exactly 1": one_without_sharing,
    "the same jobs have the same ratios again": same_again,
    "a job has exactly 1 again when its neighbours have gone": one_when_alone,
    "unknown and repeated jobs are refused with a ContentionError": strangers_are_refused,
    BLAME: blame_adds_up,
}


def _wrong_values(changes: Mapping[int, float], known: Mapping[int, float]) -> Iterator[str]:
    """Yield reports of values that are none, or that are known."""
    for job, value in changes.items():
        if not (value >= 1.0 and np.isfinite(value)):
            yield f"job {job} has the ratio {value}"
        elif known.get(job) == value:
            yield f"job {job} is reported with {value}, which it had before"


def _start_jobs(scene: PlacedJobs) -> tuple[ContentionModel, list[int]]:
    """Start all jobs of a scene under a fresh model; return both."""
    model = scene.make()
    jobs = {job: traffic for _, job, traffic in scene.events if traffic is not None}
    for job, traffic in jobs.items():
        model.start(job, traffic)
    return model, list(jobs)


def _ring_traffic(
    tree: FatTree, nodes: np.ndarray[tuple[int], np.dtype[np.int64]], nbytes: float
) -> Traffic:
    """Return the traffic of a job whose nodes send to their next."""
    src, dst = nodes, np.roll(nodes, -1)
    routes = DModK.on(tree).routes(src, dst)
    return Traffic(
        step=np.zeros(src.size, dtype=np.int64),
        sender=src,
        nbytes=np.full(src.size, nbytes),
        routes=routes,
        compute_s=1.0,
        latency_s=LatencyOf(tree)(routes).of(np.full(src.size, nbytes)),
    )
