"""Where a fabric is wanted, nothing else will do."""

from fabricsim.checking import wrong
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.limits import demand_sane


def demand_topology(topology: object, error: type[ValueError]) -> None:
    """
    Refuse what is no fabric, such as its name, or has quantities that make no sense.

    `error`: raised for anything but such a `Topology`.
    """
    if not isinstance(topology, Topology):
        raise wrong("topology", "a Topology (see make_topology)", topology, error)
    try:
        demand_sane(topology)
    except TopologyError as wrong_quantity:
        raise error(f"topology: {wrong_quantity}") from None
