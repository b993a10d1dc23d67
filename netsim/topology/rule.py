"""How switches spread packets over the paths of a fabric."""

from dataclasses import dataclass

from netsim.common.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """
    How switches spread packets over paths, where no routing table fixes the path of a flow.

    Parameters
    ----------
    rule : {"adaptive", "spray"}
        Whether a packet takes the least occupied of the links that lead on, or a random one.
    capacity : (E,) float array
        Bytes per second of each link as it was built; the capacity of the fabric is that of what
        the link stands for (`netsim.topology.spread`).
    """

    rule: str
    capacity: Floats
