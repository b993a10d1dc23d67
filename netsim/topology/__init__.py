"""Topologies: fat-trees, tori, dragonflies and imported fabrics."""

from netsim.topology.machines import MACHINES
from netsim.topology.registry import TOPOLOGIES, make_topology

__all__ = ["MACHINES", "TOPOLOGIES", "make_topology"]
