"""
The network alone: topologies, routings, link loads, contention, proofs.

Names are loaded on first use, so that a command imports what it needs alone.

* `make_topology`, `TOPOLOGIES`, `MACHINES` -- fabrics by kind or machine name
* `Topology`, `FatTree`, `build_fat_tree`, `fat_tree_of_radix` -- nodes, switches, directed links
* `read_topology`, `from_networkx`, `convert`, `inspect_topology` -- fabrics from files and graphs,
  to files, and what is in them
* `make_routing`, `ROUTINGS`, `Routing`, `Routes` -- one path for each flow
* `as_routed` -- the fabric as models must see it where switches choose the way of each packet
* `Partition` -- nodes and links that a job owns
* `broken_conditions` -- which of Jigsaw's conditions a partition breaks
* `rearrangeable` -- whether a partition is rearrangeable non-blocking, with certificate or witness
* `shared_links` -- which jobs share which links
* `report_flows`, `max_min_rates` -- routes, loads, rates and finish times of flows
* `make_contention_model`, `CONTENTION_MODELS`, `ContentionModel`, `Traffic` -- how jobs that
  share links slow each other down
* `LatencyOf` -- latency of messages, as `Traffic` holds it
* `average_pairwise_hops`, `hop_bytes` -- distance metrics
* `parse_rate`, `parse_size`, `parse_time` -- quantities with units
* `NetsimError` and its kinds -- what goes wrong
"""

from typing import TYPE_CHECKING

from fabricsim.checking.onuse import on_use

if TYPE_CHECKING:
    from netsim.common.errors import (
        ContentionError,
        NetsimError,
        PartitionError,
        RoutingError,
        TopologyError,
        UnitError,
    )
    from netsim.common.units import parse_rate, parse_size, parse_time
    from netsim.flows.contention import ContentionModel, Traffic
    from netsim.flows.distance import average_pairwise_hops, hop_bytes
    from netsim.flows.isolation import shared_links
    from netsim.flows.latency import LatencyOf
    from netsim.flows.maxmin import max_min_rates
    from netsim.flows.partition import Partition
    from netsim.flowsim.flow_report import report_flows
    from netsim.formats.exporters.registry import convert
    from netsim.formats.importers.graphs import from_networkx
    from netsim.formats.importers.registry import read_topology
    from netsim.nonblocking.conditions import broken_conditions
    from netsim.nonblocking.verdict import rearrangeable
    from netsim.registries.contention_models import CONTENTION_MODELS, make_contention_model
    from netsim.registries.routings import ROUTINGS, make_routing
    from netsim.registries.topologies import TOPOLOGIES, make_topology
    from netsim.routing.base import Routing
    from netsim.routing.multipath import as_routed
    from netsim.topology.base import Topology
    from netsim.topology.fattree import FatTree, build_fat_tree, fat_tree_of_radix
    from netsim.topology.machines import MACHINES
    from netsim.topology.routes import Routes
    from netsim.topology.structure.inspect import inspect_topology

__all__ = [
    "CONTENTION_MODELS",
    "MACHINES",
    "ROUTINGS",
    "TOPOLOGIES",
    "ContentionError",
    "ContentionModel",
    "FatTree",
    "LatencyOf",
    "NetsimError",
    "Partition",
    "PartitionError",
    "Routes",
    "Routing",
    "RoutingError",
    "Topology",
    "TopologyError",
    "Traffic",
    "UnitError",
    "as_routed",
    "average_pairwise_hops",
    "broken_conditions",
    "build_fat_tree",
    "convert",
    "fat_tree_of_radix",
    "from_networkx",
    "hop_bytes",
    "inspect_topology",
    "make_contention_model",
    "make_routing",
    "make_topology",
    "max_min_rates",
    "parse_rate",
    "parse_size",
    "parse_time",
    "read_topology",
    "rearrangeable",
    "report_flows",
    "shared_links",
]

__getattr__, __dir__ = on_use(__name__)
