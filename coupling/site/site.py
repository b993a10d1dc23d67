"""Site: a fabric and the jobs that run on it, from the files that its operators have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coupling.errors import SnapshotError
from coupling.inputs.fabric import described, left_open, topology_of, with_names
from coupling.inputs.files import Table, require_one_stdin
from coupling.inputs.places import MOST_RANKS, JobPlacement, JobPlacements, ask_meant, place
from coupling.inputs.snapshot import Snapshot
from coupling.results.formatting import counted, counted_remark
from coupling.site.running_jobs import HeldNodes, RunningJobs, running_at, running_in_queue
from coupling.site.state import MOST_SAMPLES, SiteState, scene_of_places, scene_of_snapshot
from fabricsim.checking import choice, whole, wrong
from netsim.common.errors import NetsimError
from netsim.registries.routings import limits_of, make_routing, usual_routing
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.switches import assumptions_of
from scheduler.workload.profile import DEFAULT_PROFILE, Profile, profile_from, read_profile

UNKNOWN = ("skip", "stop")
NO_PROFILE = (
    "how jobs communicate: five patterns with equal chance, 10 to 50 % of the time (no profile)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Jobs on the fabric of a site."""

    scene: SiteState  # Fabric, jobs, and samples of what they send
    assumed: tuple[str, ...] = ()  # What the files do not say and had to be assumed, a phrase each
    remarks: tuple[str, ...] = ()  # What is odd about the jobs, a sentence each
    unknown_hosts: tuple[str, ...] = ()  # Hosts that the fabric has not
    left_out: Mapping[str, int] | None = None  # Jobs that are not in the scene, by reason
    held: tuple[HeldNodes, ...] = ()  # Jobs that hold nodes, computing or not
    # When the file of the jobs was written at the earliest, seconds since 1970
    looked_s: float = 0.0
    zoned: bool = True  # Whether the times of that file are those of UTC
    # The jobs as their file states them, where there is one
    places: tuple[JobPlacement, ...] = ()
    stop: bool = True  # Whether a host that the fabric has not is an error, or is skipped


def read_site(
    topology: Any,  # noqa: ANN401 (whatever describes a fabric)
    squeue: Path | str | None = None,
    *,
    sacct: Path | str | None = None,
    at: str | None = None,
    name_map: Path | str | None = None,
    host_pattern: str | None = None,
    profile: Any = None,  # noqa: ANN401 (a file, a table or a Profile)
    unknown: str = "skip",
    routing: str | Mapping[str, Any] | None = None,
    samples: int = 50,
    seed: int = 1,
    idle: bool = False,
    lasting_s: float | None = None,
) -> Site:
    """
    Read a site.

    `squeue`: output of ``squeue --json``. `sacct`: instead: output of ``sacct -X -P``, with `at`.
    `unknown` {"skip", "stop"}: whether jobs go on without hosts that the fabric has not, or such a
    host is an error. `routing`: a key of `netsim.ROUTINGS`, or a table with ``lft``, a dump of the
    tables that are loaded; default: the usual one of the fabric. `idle`: it is no error if no job
    runs. `lasting_s`: beside `sacct`: jobs that ran within so many seconds from `at` on; the
    run time of a job is what it has of them. Result: jobs on the fabric, and all that had to be
    assumed or left out.
    """
    choice("unknown", unknown, UNKNOWN, error=SnapshotError)
    whole("samples", samples, 1, MOST_SAMPLES, error=SnapshotError)
    whole("seed", seed, 0, error=SnapshotError)
    if (squeue is None) == (sacct is None) or (sacct is None) != (at is None):
        given = [
            f"--{name}"
            for name, value in (("squeue", squeue), ("sacct", sacct), ("at", at))
            if value is not None
        ]
        raise SnapshotError(
            "expected --squeue FILE, or --sacct FILE with --at TIME, got "
            f"{' and '.join(given) or 'none of these'}."
        )
    fabric, assumed = fabric_of(topology, name_map, host_pattern)
    rules = profile_of(profile)
    if squeue is not None:
        running = running_in_queue(squeue, idle=idle)
    else:
        running = running_at(sacct or "", at or "", idle=idle, lasting_s=lasting_s or 0.0)
    places = JobPlacements((), (), 0, 0, 0, 0)
    if running.jobs:
        places = place(running.jobs, fabric, running.source, stop=unknown == "stop")
    name = routing or usual_routing(fabric, owned=False)
    try:
        ways = make_routing(name, fabric, seed)
    except NetsimError as error:
        raise SnapshotError(f"routing: {error}") from None
    scene = scene_of_places(
        places.jobs,
        (as_routed(fabric, ways), ways),
        rules,
        running.source,
        samples=samples,
        seed=seed,
    )
    if isinstance(name, str):
        assumed += [f"routing {name} (no tables of a subnet manager)"]
    assumed += limits_of(ways)
    assumed += [NO_PROFILE] if rules is DEFAULT_PROFILE else []
    left_out = dict(running.left_out) | ({"no known host": places.lost} if places.lost else {})
    return Site(
        scene,
        (*assumed, *_rank_order(places)),
        tuple(_job_remarks(running, places)),
        places.unknown,
        left_out,
        running.held,
        running.looked_s,
        running.zoned,
        places.jobs,
        stop=unknown == "stop",
    )


def refuse_two_stdins(site: Mapping[str, Any]) -> None:
    """Refuse two inputs of a site that are both standard input."""
    require_one_stdin({f"--{name.replace('_', '-')}": value for name, value in site.items()})


def site_of_snapshot(snapshot: Snapshot) -> Site:
    """Take the jobs of a snapshot as those of a site."""
    assumed = (*assumptions_of(snapshot.topology), *limits_of(snapshot.routing))
    return Site(scene_of_snapshot(snapshot), assumed)


def known_names(site: Site, entries: Sequence[str], option: str) -> tuple[list[object], list[str]]:
    """Return the entries of an option that the fabric has; refuse or remark on the others."""
    names = site.scene.topology.names
    try:
        known, unknown = names.parted(entries)
        if unknown and site.stop:
            names.vertices(unknown)  # names the first, and the nearest of the fabric
    except NetsimError as error:
        raise SnapshotError(f"{option}: {error}") from None
    if not unknown:
        return known, []
    some = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")  # noqa: PLR2004 (shown)
    hosts = counted(len(unknown), "host")
    asked = ask_meant(site.scene.topology, unknown)
    return known, [f"{option}: {hosts} not in the fabric ({some}{asked}), skipped."]


def fabric_of(
    topology: object, name_map: Path | str | None, host_pattern: str | None = None
) -> tuple[Topology, list[str]]:
    """Return the fabric that a user describes, and what its description leaves open."""
    if isinstance(topology, Topology):
        return topology, list(assumptions_of(topology))
    if isinstance(topology, Mapping):
        spec, folder, source = dict(topology), Path(), "topology"
    elif isinstance(topology, (str, Path)):
        spec, folder = described(str(topology), None)
        source = str(topology)
    else:
        raise wrong("topology", "a file, a machine or a Topology", topology, SnapshotError)
    spec = with_names(spec, name_map, host_pattern, source)
    made = topology_of(Table({"topology": spec}, f"{source}:", SnapshotError), folder)
    return made, [*left_open(spec), *assumptions_of(made)]


def profile_of(profile: object) -> Profile:
    """Return the rules of how jobs communicate."""
    if profile is None:
        return DEFAULT_PROFILE
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, Mapping):
        return profile_from(profile)
    if isinstance(profile, (str, Path)):
        return read_profile(profile)
    raise wrong("profile", "a file, its tables or a Profile", profile, SnapshotError)


def _rank_order(places: JobPlacements) -> list[str]:
    """Say how ranks were put on nodes."""
    if not places.one_rank:
        return ["ranks fill the nodes of a job in the order of its host list"]
    jobs = counted(places.one_rank, "job")
    verb = "has" if places.one_rank == 1 else "have"
    return [f"{jobs} {verb} one rank on each node (tasks unknown, or above {MOST_RANKS:,})"]


def _job_remarks(running: RunningJobs, places: JobPlacements) -> list[str]:
    """Say what is odd about the jobs."""
    lines = [f"{counted_remark(count, what)}." for what, count in running.remarks.items()]
    if places.unknown:
        some = ", ".join(places.unknown[:5]) + (", ..." if len(places.unknown) > 5 else "")  # noqa: PLR2004 (shown)
        hosts = counted(len(places.unknown), "host")
        lines.append(
            f"{hosts} not in the fabric ({some}{places.meant}); jobs that go on "
            f"without some of their hosts: {places.trimmed:,}."
        )
    if places.miscounted:
        jobs = counted(places.miscounted, "job")
        lines.append(f"{jobs} whose number of nodes is not that of their hosts: the hosts count.")
    if places.shared:
        lines.append(
            f"{counted(places.shared, 'node')} of several jobs: they share the links of the node."
        )
    if running.array_tasks:
        lines.append(
            f"Tasks of arrays, each a job of its own: {counted(running.array_tasks, 'job')}."
        )
    if running.het_parts:
        lines.append(
            "Parts of heterogeneous jobs, each a job of its own, without traffic between parts: "
            f"{counted(running.het_parts, 'job')}."
        )
    alone = sum(own.nodes.size == 1 for own in places.jobs)
    if alone:
        lines.append(f"{counted(alone, 'job')} on a single node: no network.")
    return lines
