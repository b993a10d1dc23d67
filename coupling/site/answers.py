"""What is said of a machine at one moment: jobs, links, node-hours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coupling.inputs.snapshot import JobId
from fabricsim.checking import shortened
from fabricsim.checking.documents import NOT_JSON, json_fields
from netsim.common.arrays import Ints, Tabled
from netsim.registries.accuracy import Setting, known_accuracy
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True)
class JobNow:
    """What happens to one job, over all samples of how jobs communicate."""

    id: JobId  # The job
    # user, name: whose it is, and what
    user: str
    name: str
    nodes: int  # Nodes that it has and the fabric knows
    network_slowdown: float
    low: float
    high: float
    interference: float  # Together / alone, median: the part that others cause
    # Share of the samples in which fewer than five other jobs are slower, and it is slowed
    among_worst: float
    culprit: JobId | None  # Job that costs it most in most samples
    culprit_share: float  # Share of the samples in which it does
    worst_link: str | None  # Link that holds it up most in most samples
    # Node-hours that it loses in a day, mean: to its placement and to others
    lost_node_hours: float


@dataclass(frozen=True, slots=True)
class LinkNow:
    """How busy one link is, mean over the samples."""

    link: str  # Directed link between switches, or shared by several jobs
    busy: float  # Share of its capacity that is taken
    # Node-hours that jobs lose to others in a day while this link holds them up most
    lost_node_hours: float
    jobs: tuple[tuple[JobId, float], ...]  # What each job takes of it, most first


@dataclass(frozen=True, slots=True)
class LostHours:
    """Node-hours that are lost in a day: median, and 5 to 95 % of the samples."""

    # median, low, high: node-hours
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Now(Tabled):
    """
    What the jobs of a machine do to each other at one moment.

    Parameters
    ----------
    source : str
        File of the jobs.
    topology : Topology
        The fabric.
    jobs : tuple of JobNow
        Most slowed first.
    links : tuple of LinkNow
        Busiest first.
    samples : int
        How often patterns and fractions were drawn.
    lost, to_others : LostHours
        Node-hours lost in a day, in all; to other jobs alone.
    used_nodes : int
        Nodes that jobs hold.
    job_nodes : mapping of int or str to int array
        Nodes of each job, in the order of the job list.
    assumed : tuple of str
        What the files do not say and had to be assumed.
    remarks : tuple of str
        What is odd: shared nodes, parts of arrays and heterogeneous jobs.
    unknown_hosts : tuple of str
        Hosts that the fabric has not.
    left_out : mapping of str to int
        Jobs that are not estimated, by reason.
    setting : Setting
        What the network was, by which the known error of the model is looked up.
    """

    source: str
    topology: Topology = field(metadata=NOT_JSON)
    jobs: tuple[JobNow, ...]
    links: tuple[LinkNow, ...]
    samples: int
    lost: LostHours = field(metadata=NOT_JSON)
    to_others: LostHours = field(metadata=NOT_JSON)
    used_nodes: int = field(metadata=NOT_JSON)
    job_nodes: Mapping[JobId, Ints] = field(metadata=NOT_JSON)
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]
    unknown_hosts: tuple[str, ...]
    left_out: Mapping[str, int]
    setting: Setting = field(metadata=NOT_JSON)

    def __repr__(self) -> str:
        lost = f"{self.lost.median:,.0f} node-hours lost a day"
        return f"<Now {shortened(self.source)!r}: {len(self.jobs)} jobs, {lost}>"

    @property
    def busiest(self) -> tuple[str, float]:
        """The busiest link, and the share of its capacity that the jobs take."""
        return (self.links[0].link, self.links[0].busy) if self.links else ("", 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim now --json` prints."""
        machine = {
            "jobs": len(self.jobs),
            "used_nodes": self.used_nodes,
            "nodes": int(self.topology.usable_nodes.size),
            "lost_node_hours_per_day": json_fields(self.lost),
            "lost_to_others_per_day": json_fields(self.to_others),
        }
        links = [
            json_fields(link) | {"jobs": [{"job": job, "busy": own} for job, own in link.jobs]}
            for link in self.links
        ]
        network = known_accuracy(self.setting, self.busiest)
        more = {"machine": machine, "links": links, "network": network}
        return {"fabric": self.topology.summary} | json_fields(self) | more
