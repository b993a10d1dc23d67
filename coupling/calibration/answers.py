"""The answer of a calibration: groups of jobs, links, cables, and what is not identifiable."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from coupling.inputs.snapshot import JobId
from fabricsim.checking import shortened
from netsim.common.arrays import Tabled
from netsim.topology.base import Topology


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
    topology: Topology
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

    def __repr__(self) -> str:
        identified = sum(group.identifiable for group in self.groups)
        of = f"{identified} of {len(self.groups)} groups identified"
        return f"<Calibration {shortened(self.source)!r}: {of}>"

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the groups."""
        return [
            asdict(group)
            | {
                "others": list(group.others),
                "fraction": _finite_number(group.fraction),
                "bytes_per_s": _finite_number(group.bytes_per_s),
            }
            for group in self.groups
        ]

    def to_dict(self) -> dict[str, Any]:
        """
        Return what `fabricsim calibrate --json` prints.

        Returns
        -------
        dict
            Fields as in docs/reference/commands.
        """
        return {
            "source": self.source,
            "fabric": self.topology.summary,
            "way": self.way,
            "groups": self._table_rows(),
            "links": [asdict(link) for link in self.links],
            "slow": [asdict(cable) | {"jobs": list(cable.jobs)} for cable in self.slow],
            "rank": self.rank,
            "columns": self.columns,
            "explained": _finite_number(self.explained),
            "noise": _finite_number(self.noise),
            "seconds": _finite_number(self.seconds),
            "profile": dict(self.profile),
            "assumed": list(self.assumed),
            "remarks": list(self.remarks),
        }


def _finite_number(value: float) -> float | None:
    """Return a number that JSON has; None for nan."""
    return None if value != value else value  # noqa: PLR0124 (nan)
