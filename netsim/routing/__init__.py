"""Routings: one path for each flow."""

from netsim.routing.registry import ROUTINGS, make_routing

__all__ = ["ROUTINGS", "make_routing"]
