"""What is said of a machine before and after a change, and of its failures."""

from dataclasses import dataclass, field
from typing import Any

from coupling.inputs.snapshot import JobId
from coupling.site.answers import LostHours
from fabricsim.checking import shortened
from fabricsim.checking.documents import NOT_JSON, json_fields, json_value
from netsim.common.arrays import Tabled
from netsim.topology.base import Topology

CUT_OFF, DISCONNECTED, STOPPED = "cut off", "disconnected", "stops"
ENDED = frozenset((CUT_OFF, DISCONNECTED, STOPPED))
"""A job that has lost nodes or the paths between them, or stops by its rule on failures."""
DRAINED, MOVED = "drained", "moved"
SLOWED = 0.01
"""A job counts as slowed by a change where its slowdown grows by more, in the median sample."""


@dataclass(frozen=True, slots=True)
class JobChange:
    """One job before and after."""

    id: JobId  # The job
    # user, name: whose it is, and what
    user: str
    name: str
    nodes: int  # Its nodes
    # Empty, or cut off (nodes lost), disconnected (no path between its nodes), drained (on a
    # drained node), stops (a lost rail, by `on_failure`) or moved
    status: str
    lost_nodes: int  # Nodes that are cut off
    # before, after: total slowdown, together / ideal, median; None where it does not run
    before: float | None
    after: float | None
    # change, low, high: after / before: median, 5 and 95 % of the samples
    change: float | None
    low: float | None
    high: float | None
    # before_s, after_s: on GPU clusters, seconds of an iteration, median
    before_s: float | None = None
    after_s: float | None = None

    @property
    def is_touched(self) -> bool:
        """Whether the change stops the job, or makes it slower or faster."""
        return bool(self.status) or self.low != 1.0 or self.high != 1.0

    def summary(self) -> dict[str, Any]:
        """Return the fields, seconds where they are known."""
        found = json_fields(self)
        return found if self.before_s is not None else dict(list(found.items())[:-2])


@dataclass(frozen=True, slots=True)
class LeafChange:
    """The taper of one leaf before and after."""

    leaf: str  # The switch
    # before, after: capacity from its nodes / capacity to other switches; None where it has none
    # of one
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class WhatIf(Tabled):
    """
    What a change does to the jobs of a machine.

    Parameters
    ----------
    source : str
        File of the jobs.
    topology : Topology
        The fabric before.
    changes : tuple of str
        What is changed.
    jobs : tuple of JobChange
        Those that lose their nodes first, then by how much slower they get.
    leaves : tuple of LeafChange
        Leaves whose taper changes.
    samples : int
        How often patterns and fractions were drawn.
    lost_before, lost_after : LostHours
        Node-hours lost in a day to placement and other jobs, by the jobs that go on.
    lost_more : LostHours
        Node-hours lost in a day beyond those lost now, difference in the same sample: by the jobs
        that go on, and all of those that are cut off or disconnected.
    cut_off_hours : float
        Node-hours a day of the jobs that are cut off or disconnected.
    assumed, remarks : tuple of str
        What had to be assumed; what is odd.
    """

    source: str
    topology: Topology = field(metadata=NOT_JSON)
    changes: tuple[str, ...]
    jobs: tuple[JobChange, ...]
    leaves: tuple[LeafChange, ...]
    samples: int
    lost_before: LostHours = field(metadata=NOT_JSON)
    lost_after: LostHours = field(metadata=NOT_JSON)
    lost_more: LostHours = field(metadata=NOT_JSON)
    cut_off_hours: float = field(metadata=NOT_JSON)
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<WhatIf {shortened('; '.join(self.changes))!r}: {len(self.jobs)} jobs>"

    @property
    def cut_off(self) -> int:
        """Jobs that are cut off or disconnected."""
        return sum(job.status in ENDED for job in self.jobs)

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the jobs."""
        return [job.summary() for job in self.jobs]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim whatif --json` prints."""
        lost = {"before": self.lost_before, "after": self.lost_after, "more": self.lost_more}
        machine = {
            "jobs": len(self.jobs),
            "cut_off": self.cut_off,
            "cut_off_node_hours_per_day": self.cut_off_hours,
            "lost_node_hours_per_day": json_value(lost),
        }
        more = {"machine": machine, "jobs": self._table_rows()}
        return {"fabric": self.topology.summary} | json_fields(self) | more


@dataclass(frozen=True, slots=True)
class Failure:
    """What the failure of one switch, cable, rail or adapter would do."""

    what: str  # The switch with its place, the cable by one of its directions, the rail, the NIC
    cut_off: int  # Jobs that would be cut off or disconnected
    slowed: int  # Further jobs whose slowdown would grow by more than 1 %
    # lost_node_hours, low, high: node-hours that would be lost in a day beyond those lost now,
    # median, 5 and 95 % of the samples: all of the jobs that are cut off, and what others lose to
    # detours and each other. `WhatIf.lost_more` of this failure, to the model's tolerance.
    lost_node_hours: float
    low: float
    high: float
    # On GPU clusters: jobs that stop or whose iteration changes
    jobs: tuple[JobChange, ...] = field(default=(), metadata=NOT_JSON)


@dataclass(frozen=True, slots=True)
class Ranking(Tabled):
    """Which failure would hurt most."""

    source: str  # File of the jobs
    topology: Topology = field(metadata=NOT_JSON)  # The fabric
    kind: str  # switch, cable, rail, NIC: what fails
    failures: tuple[Failure, ...]  # Those that hurt most first
    idle: int  # Cables or adapters that carry nothing now and were not tried
    samples: int  # How often patterns and fractions were drawn
    # assumed, remarks: what had to be assumed; what is odd
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    stopped: bool = field(default=False, metadata=NOT_JSON)  # Before all were tried
    _ROWS = "failures"

    def __repr__(self) -> str:
        return (
            f"<Ranking {shortened(self.source)!r}: {len(self.failures)} failures of a {self.kind}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim whatif --each-switch --json` prints."""
        failures = [
            row | ({"jobs": [job.summary() for job in own.jobs]} if own.jobs else {})
            for row, own in zip(self._table_rows(), self.failures, strict=True)
        ]
        return {"fabric": self.topology.summary} | json_fields(self) | {"failures": failures}
