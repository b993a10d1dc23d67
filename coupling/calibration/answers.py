"""The answer of a calibration: groups of jobs, links, cables; the profile that it amounts to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Any

import tomli_w

from coupling.calibration.design import JobGroup
from coupling.inputs.snapshot import JobId
from fabricsim.checking import shortened
from fabricsim.checking.documents import NOT_JSON, json_fields
from netsim.common.arrays import Tabled
from netsim.topology.base import Topology
from scheduler.job import Job
from scheduler.workload.match import name_of
from scheduler.workload.profile import VERSION, Profile, Rule


@dataclass(frozen=True, slots=True)
class GroupFit:
    """How the jobs of a group communicate."""

    group: str  # What its jobs have in common
    # jobs, nodes: how many it has; their nodes
    jobs: int
    nodes: int
    pattern: str  # Label of the rule that fits best
    rule: int  # Its place in the profile, from 1
    # Labels of rules that fit nearly as well: the links do not distinguish them
    others: tuple[str, ...]
    # fraction, low, high: communication at injection time / ideal iteration; 90 % interval. From
    # counters: of the time in which a node could send, at full speed. nan where runs do not
    # determine it.
    fraction: float
    low: float
    high: float
    bytes_per_s: float  # What one of its nodes sends, mean; nan from runs
    network_slowdown: float  # Together / ideal, mean over its jobs, by which bytes were counted
    predicted: float  # The same by the model
    identifiable: bool  # Whether the measurement determines the fraction
    why: str  # Why not, or of what it is the mean


@dataclass(frozen=True, slots=True)
class LinkFit:
    """What a link carried."""

    link: str  # Directed link
    # measured, predicted: as a share of its capacity
    measured: float
    predicted: float
    deviations: float  # Measured - predicted, in deviations of the noise
    waited: float | None  # Share of the time that its port had something to send and had to wait


@dataclass(frozen=True, slots=True)
class SlowCable:
    """A cable that is slower than it should be, or is not where the tables say."""

    link: str  # Directed link
    # measured, predicted: as a share of its capacity
    measured: float
    predicted: float
    speed: float  # Share of its nominal speed at which it seems to run
    why: str  # What says so
    jobs: tuple[JobId, ...]  # Jobs that send over it, most first


@dataclass(frozen=True, slots=True, eq=False)
class Calibration(Tabled):
    """
    How jobs communicate, from counters of ports or repeated runs.

    Parameters
    ----------
    source : str
        File of the jobs.
    topology : Topology
        The fabric.
    way : {"counters", "runs"}
        What it is fitted to.
    groups : tuple of GroupFit
        Most traffic first.
    links : tuple of LinkFit
        All measured links between switches, busiest first; empty for runs.
    slow : tuple of SlowCable
        Cables that are slower than they should be.
    rank, columns : int
        Independent directions of the groups that the links see.
    explained : float
        Share of the measured bytes that jobs explain, 0 to 1; nan for runs.
    noise : float
        By how much residuals are larger than the noise of counters alone.
    seconds : float
        Between the two readings; nan for runs.
    profile : mapping
        A communication profile: what was fitted, and the rules for the rest.
    assumed, remarks : tuple of str
        What had to be assumed; what is odd, and what is not identifiable.
    """

    source: str
    topology: Topology = field(metadata=NOT_JSON)
    way: str
    groups: tuple[GroupFit, ...]
    links: tuple[LinkFit, ...]
    slow: tuple[SlowCable, ...]
    rank: int
    columns: int
    explained: float
    noise: float
    seconds: float
    profile: Mapping[str, Any]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    _ROWS = "groups"

    def __repr__(self) -> str:
        identified = sum(group.identifiable for group in self.groups)
        of = f"{identified} of {len(self.groups)} groups identified"
        return f"<Calibration {shortened(self.source)!r}: {of}>"

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim calibrate --json` prints."""
        return {"fabric": self.topology.summary} | json_fields(self)


_DIGITS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ProfileDraft:
    """What is known of a group."""

    group: JobGroup  # Its jobs
    # Rules of the profile that may hold for them, best first; all have the same chance
    rules: tuple[int, ...]
    # low, high: interval of the fraction
    low: float
    high: float


def profile_table(
    drafts: Sequence[ProfileDraft], rules: Profile, jobs: Mapping[int, Job], by: str
) -> dict[str, Any]:
    """Return a profile: fitted rules, and the earlier ones for the rest."""
    # Rules know no job numbers: with a group per job, those of one name share the widest interval.
    written = rules.table.get("rule", [])
    found: list[dict[str, Any]] = []
    if by == "job":
        drafts, by = _by_name(drafts, jobs), "name"
    matches = [_match_conditions(jobs[own.group.jobs[0]], by, own.group, written) for own in drafts]
    twice = [matches.count(match) > 1 for match in matches]
    for own, match, again in zip(drafts, matches, twice, strict=True):
        if again:
            match["size"] = sorted({jobs[job].n_nodes for job in own.group.jobs})
        for left, rule in zip(range(len(own.rules), 0, -1), own.rules, strict=True):
            chance = {"chance": 1.0 / left} if left > 1 else {}
            sends = _rule_pattern(rules.rules[rule], written[rule], own)
            found.append({"match": match, **chance, **sends})
    rest = [_absolute_rule(rule, table) for rule, table in zip(rules.rules, written, strict=True)]
    return {"version": VERSION, "rule": [*found, *rest]}


def profile_text(table: Mapping[str, Any], head: Sequence[str]) -> str:
    """Write a profile as TOML, with lines of comment before it."""
    return "".join(f"# {line}\n" for line in head) + "\n" + tomli_w.dumps(dict(table))


def _match_conditions(
    job: Job, by: str, group: JobGroup, written: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the conditions that take the jobs of a group."""
    if by == "rule":
        return dict(written[group.rules[0]].get("match", {}))
    name = job.name if by == "name" else name_of(job, by)
    return {by: escape(name), "min_nodes": 2}


def _by_name(drafts: Sequence[ProfileDraft], jobs: Mapping[int, Job]) -> list[ProfileDraft]:
    """Put jobs of one name and the same rules together."""
    found: dict[tuple[str, tuple[int, ...]], list[ProfileDraft]] = {}
    for own in drafts:
        name = jobs[own.group.jobs[0]].name
        found.setdefault((name, own.group.rules), []).append(own)
    return [
        ProfileDraft(
            replace(
                parts[0].group,
                label=name,
                jobs=tuple(job for part in parts for job in part.group.jobs),
            ),
            tuple(dict.fromkeys(rule for part in parts for rule in part.rules)),
            min(part.low for part in parts),
            max(part.high for part in parts),
        )
        for (name, _), parts in found.items()
    ]


def _rule_pattern(rule: Rule, written: Mapping[str, Any], own: ProfileDraft) -> dict[str, Any]:
    """Return pattern and quantities of a rule with the fraction that was fitted."""
    fields = {
        key: value
        for key, value in _absolute_rule(rule, written).items()
        if key in ("pattern", "label", "bytes_per_flow", "iteration")
    }
    if rule.pattern is None or own.high <= 0.0:
        return {"comm_fraction": 0.0}
    low, high = (round(value, _DIGITS) for value in (own.low, own.high))
    fraction: Any = low if low == high else {"uniform": [low, high]}
    if "bytes_per_flow" in fields or "nbytes" in fields["pattern"]:
        fields.pop("iteration", None)
    return fields | {"comm_fraction": fraction}


def _absolute_rule(rule: Rule, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as it was written, with the files of its pattern where they are."""
    if rule.pattern is None:
        return dict(table)
    return {**table, "pattern": _with_absolute_paths(rule.pattern)}


def _with_absolute_paths(value: Any) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Let the paths of matrix files begin at the root."""
    if isinstance(value, Mapping):
        return {
            key: str(Path(own).absolute())
            if key == "file" and isinstance(own, str)
            else _with_absolute_paths(own)
            for key, own in value.items()
        }
    return [_with_absolute_paths(own) for own in value] if isinstance(value, list) else value
