"""What is said of placements of one more job."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from coupling.inputs.snapshot import JobId
from fabricsim.checking import shortened
from fabricsim.checking.documents import NOT_JSON, json_fields
from netsim.common.arrays import Tabled
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True)
class PlacementOption:
    """One placement of the job."""

    # Its allocator; ``swaps``: the search from the best of them; none: one of all placements
    allocators: tuple[str, ...]
    nodes: tuple[int, ...] = field(metadata=NOT_JSON)  # Its nodes
    # switches, fragments: switches that its nodes are on, and ranges of `nodelist`: among equals
    # fewer are better
    switches: int
    fragments: int
    nodelist: str  # For ``sbatch --nodelist=``
    network_slowdown: float
    low: float
    high: float
    # own_node_hours, others_node_hours: node-hours that it loses in a day, and that the others
    # lose more than without it
    own_node_hours: float
    others_node_hours: float
    most_hurt: JobId | None  # Job that it slows down most
    most_hurt_by: float  # Slowdown of that job with / without the new one, mean
    links: tuple[str, ...] = ()  # Directed links that it owns
    owned: tuple[int, ...] = field(default=(), metadata=NOT_JSON)  # Their numbers
    # Whether no other job sends over them, and they carry every permutation of its nodes
    certified: bool = False
    proof: str = ""  # How that is known

    @property
    def lost_node_hours(self) -> float:
        """Node-hours lost in a day because of this placement, by all."""
        return self.own_node_hours + self.others_node_hours


@dataclass(frozen=True, slots=True)
class EarliestFit:
    """When there is room at the latest, if no other job starts."""

    # end_s, wait_s: seconds since 1970, and after the queue was looked at
    end_s: float
    wait_s: float
    clock: str  # The same as a date: UTC, ending in Z, or on the clock of records without a zone
    allocator: str  # That finds room then
    nodelist: str  # Where
    ended: tuple[int, ...]  # Jobs whose time limits end them by then


@dataclass(frozen=True, slots=True)
class Placing(Tabled):
    """
    Placements of one more job on a machine as it is.

    Parameters
    ----------
    source : str
        File of the jobs.
    topology : Topology
        The fabric.
    nodes : int
        Nodes that it needs.
    free : int
        Free nodes.
    connected : int
        Most of them that all reach each other.
    isolated : bool
        Whether it shall own links.
    options : tuple of Option
        Best first: by node-hours lost by all.
    tried : int
        Placements that were rated.
    all_tried : bool
        Whether there are no others.
    later : Later or None
        Where there is no option: when there will be one.
    samples : int
        How often patterns and fractions were drawn.
    refused : mapping of str to str
        Allocators that do not know the fabric, and why.
    assumed, remarks : tuple of str
        What had to be assumed; what is odd.
    """

    source: str
    topology: Topology = field(metadata=NOT_JSON)
    nodes: int
    free: int
    connected: int
    isolated: bool
    options: tuple[PlacementOption, ...]
    tried: int
    all_tried: bool
    later: EarliestFit | None
    samples: int
    refused: Mapping[str, str]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Placing {shortened(self.source)!r}: {self.nodes} nodes, "
            f"{len(self.options)} placements>"
        )

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the placements."""
        return [
            {key: value for key, value in asdict(own).items() if key not in ("nodes", "owned")}
            for own in self.options
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim place --json` prints."""
        return {"fabric": self.topology.summary} | json_fields(self)
