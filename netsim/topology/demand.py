"""Where a fabric is wanted, nothing else will do."""

from fabricsim.checking import wrong
from netsim.topology.base import Topology


def demand_topology(topology: object, error: type[ValueError]) -> None:
    """
    Refuse what is no fabric, such as its name.

    `error`: raised for anything but a `Topology`.
    """
    if not isinstance(topology, Topology):
        raise wrong("topology", "a Topology (see make_topology)", topology, error)
