"""
Errors of the network package.

* NetsimError
  + UnitError          a quantity that cannot be read
  + TopologyError      a fabric that cannot be built, read or used as asked
  + RoutingError       a path that does not exist, or a routing that does not fit the fabric
  + PartitionError     links or nodes that are no legal partition
  + ContentionError    traffic or options that a contention model cannot use
"""

from fabricsim.checking.errors import FabricsimError


class NetsimError(FabricsimError):
    """Base of all errors that the network package raises on purpose."""


class UnitError(NetsimError):
    """A quantity with a unit could not be read."""


class TopologyError(NetsimError):
    """A fabric cannot be built, read or used in the way asked for."""


class RoutingError(NetsimError):
    """A path does not exist, or a routing does not fit the fabric."""


class PartitionError(NetsimError):
    """Nodes or links do not form a partition of the fabric."""


class ContentionError(NetsimError):
    """Traffic or options that a contention model cannot use."""
