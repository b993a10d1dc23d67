"""Changes to a scene: what fails, is drained, added, moved, or routed otherwise."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coupling.errors import SnapshotError
from coupling.site.state import SiteJob, SiteState
from fabricsim.checking import number
from netsim.common.arrays import Ints
from netsim.common.errors import NetsimError
from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing, on_changed
from netsim.routing.multipath import as_routed
from netsim.routing.shortest import Shortest
from netsim.topology.base import Topology
from netsim.topology.multipath import as_built
from netsim.topology.outage import add_cables, exclude, fail, with_taper

_CABLES = re.compile(r"(.+)>(.+?)(?:\*([0-9]{1,6}))?")
_LEAST_TAPER, _MOST_TAPER = 0.01, 1000.0


@dataclass(frozen=True, slots=True)
class Changes:
    """What is otherwise than it is."""

    # Switches, nodes and cables (``tail>head``) that fail, by name or list of names
    fail: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()  # Nodes, or switches for all their nodes, whose jobs have ended
    add_cables: tuple[str, ...] = ()  # Cables between switches: ``A>B``, or ``A>B*4`` for four
    routing: str | None = None  # Another routing
    taper: float | None = None  # Capacity from the nodes of every leaf / capacity to other switches
    move: tuple[str, ...] = ()  # Other nodes of jobs: ``JOB=NODES``

    def __post_init__(self) -> None:
        """Check what can be checked without a fabric."""
        if self.taper is not None:
            number("--taper", self.taper, _LEAST_TAPER, _MOST_TAPER, error=SnapshotError)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is changed, a phrase each."""
        return (
            *(f"{what} fails" for what in self.fail),
            *(f"{what} drained" for what in self.drain),
            *(f"cables {what} added" for what in self.add_cables),
            *([f"routing {self.routing}"] if self.routing else []),
            *([f"every leaf tapered {self.taper:g}:1"] if self.taper is not None else []),
            *(f"{what} moved" for what in self.move),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChangedState:
    """A scene before and after."""

    # before, after: `after` lacks the jobs that are cut off or drained
    before: SiteState
    after: SiteState
    # Nodes that a job has lost, by number of the job
    cut_off: Mapping[int, int] = field(default_factory=dict)
    # drained, moved: numbers of jobs
    drained: frozenset[int] = frozenset()
    moved: frozenset[int] = frozenset()
    remarks: tuple[str, ...] = ()  # What had to be done besides


def changed(scene: SiteState, changes: Changes, seed: int = 1) -> ChangedState:
    """Move jobs, then add cables, taper leaves and fail parts; return before and after."""
    try:
        return _changed_scene(scene, changes, seed)
    except NetsimError as error:
        raise SnapshotError(f"{_option_of(changes, str(error), scene)}: {error}") from None


def _option_of(changes: Changes, words: str, scene: SiteState) -> str:
    """Return the option that an error is about: the one that holds the name it quotes."""
    given = {
        "--move": changes.move,
        "--fail": changes.fail,
        "--drain": changes.drain,
        "--add-cables": changes.add_cables,
    }
    stated = [(option, text) for option, texts in given.items() for text in texts]
    if len({option for option, _ in stated}) == 1:
        return stated[0][0]
    quoted = re.search(r"'([^']+)'", words)
    name = quoted[1] if quoted else "\0"
    return next((option for option, text in stated if name in text), scene.source)


def _changed_scene(scene: SiteState, changes: Changes, seed: int) -> ChangedState:
    """Change a scene; errors are of the fabric."""
    if "" in changes.drain:
        raise SnapshotError("--drain: expected names of nodes, got an empty text.")
    before, remarks = scene, []
    jobs, moved = _moved_jobs(scene, changes.move)
    built = as_built(scene.topology)
    topology, routing = built, scene.routing
    if changes.add_cables:
        topology = add_cables(topology, [_read_cables(text) for text in changes.add_cables])
        routing = Shortest.on(topology)
        if not isinstance(scene.routing, Shortest):
            before = replace(scene, topology=built, routing=Shortest.on(built))
            remarks.append("With cables added, all is routed by shortest, before and after.")
    if changes.taper is not None:
        topology = with_taper(topology, changes.taper)
    cables = [name for name in changes.fail if ">" in name]
    whole = topology.usable_nodes
    topology = fail(topology, cables, [name for name in changes.fail if ">" not in name])
    lost = np.setdiff1d(whole, topology.usable_nodes)
    drained = np.setdiff1d(topology.usable_nodes, exclude(topology, changes.drain).usable_nodes)
    if changes.routing is not None:
        routing = make_routing(changes.routing, topology, seed)
    elif topology is not built:
        routing = on_changed(routing, topology)
    cut_off = _nodes_by_job(jobs, lost)
    ended = _nodes_by_job(jobs, drained).keys() - cut_off.keys()
    kept = tuple(job for job in jobs if job.number not in cut_off.keys() | ended)
    after = replace(scene, topology=as_routed(topology, routing), routing=routing, jobs=kept)
    return ChangedState(before, after, cut_off, frozenset(ended), moved, tuple(remarks))


def _nodes_by_job(jobs: Sequence[SiteJob], nodes: Ints) -> dict[int, int]:
    """Return how many of some nodes are a job's, by number, of jobs that have any."""
    if not nodes.size:
        return {}
    held = np.repeat([job.number for job in jobs], [job.nodes.size for job in jobs])
    among = np.isin(np.concatenate([np.empty(0, np.int64), *(job.nodes for job in jobs)]), nodes)
    numbers, count = np.unique(held[among], return_counts=True)
    return dict(zip(numbers.tolist(), count.tolist(), strict=True))


def _read_cables(text: str) -> tuple[str, str, int]:
    """Read cables to be added."""
    match = _CABLES.fullmatch(text)
    if match is None:
        raise SnapshotError(
            f"--add-cables: expected SWITCH>SWITCH or SWITCH>SWITCH*4, got {text!r}."
        )
    return match[1], match[2], int(match[3] or 1)


def _moved_jobs(
    scene: SiteState, moves: Sequence[str]
) -> tuple[tuple[SiteJob, ...], frozenset[int]]:
    """Return the jobs of a scene, some of them elsewhere, and which these are."""
    jobs = {str(job.id): job for job in scene.jobs}
    moved = set()
    for text in moves:
        name, sign, hosts = text.partition("=")
        if not sign or name not in jobs:
            some = ", ".join(list(jobs)[:5])
            raise SnapshotError(f"--move: expected JOB=NODES with a job ({some}), got {text!r}.")
        jobs[name] = _moved_job(jobs[name], hosts, scene.topology)
        moved.add(jobs[name].number)
    _require_free(scene, list(jobs.values()), moved)
    return tuple(jobs.values()), frozenset(moved)


def _moved_job(job: SiteJob, hosts: str, topology: Topology) -> SiteJob:
    """Return a job on other nodes, its ranks in the same order."""
    if job.partition.links is not None:
        raise SnapshotError(
            f"--move {job.id}: expected a job that owns no links, got one of "
            f"{job.partition.links.size}."
        )
    nodes = np.array(topology.names.nodes([hosts]), dtype=np.int64)
    if np.unique(nodes).size != nodes.size or nodes.size != job.nodes.size:
        raise SnapshotError(
            f"--move {job.id}: expected {job.nodes.size} different nodes, got {hosts!r}, which is "
            f"{np.unique(nodes).size}."
        )
    place = {node: at for at, node in enumerate(job.nodes.tolist())}
    slots = [place[node] for node in job.partition.nodes.tolist()]
    return replace(job, nodes=nodes, partition=Partition(nodes[slots], None))


def _require_free(scene: SiteState, jobs: Sequence[SiteJob], moved: set[int]) -> None:
    """Refuse a job on nodes that another holds."""
    holder = {node: job for job in jobs if job.number not in moved for node in job.nodes.tolist()}
    for job in jobs:
        if job.number not in moved:
            continue
        for node in job.nodes.tolist():
            if node in holder:
                raise SnapshotError(
                    f"--move {job.id}: node {scene.topology.vertex_name(node)} is of job "
                    f"{holder[node].id}; expected free nodes."
                )
            holder[node] = job
