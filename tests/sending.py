"""Jobs of given messages between the nodes of a fabric, under a routing."""

import numpy as np

from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.multipath import as_routed
from scheduler.traffic import RankFlows, TrafficOf

KIB = 1024.0
LINKS = {"bandwidth": "100 Gb/s", "latency": "codes"}


def routed(spec, rule):
    """Return a fabric, and what makes traffic of messages (step, source, destination, bytes)."""
    built = make_topology({**LINKS, **spec})
    routing = make_routing(rule, built)
    fabric = as_routed(built, routing)
    of, all_nodes = TrafficOf(fabric, routing), Partition(np.arange(fabric.n_nodes), None)

    def sent(messages, compute_s=0.0):
        flows = RankFlows(*(np.array(column) for column in zip(*messages, strict=True)))
        return of.of_flows(flows, all_nodes, compute_s=compute_s).traffic

    return fabric, sent


def between(spec, rule):
    """Return a fabric, and what makes traffic of equal messages, all of them in each step."""
    fabric, sent = routed(spec, rule)

    def repeated(src, dst, nbytes, compute_s, steps=1):
        messages = [
            (a, one, other, float(nbytes))
            for a in range(steps)
            for one, other in zip(src, dst, strict=True)
        ]
        return sent(messages, compute_s)

    return fabric, repeated


def chosen(leaf, leaves, spines):
    """Return a tree of two levels whose switches choose, and what makes traffic on it in KiB."""
    spec = {"kind": "fat-tree", "children": [leaf, leaves], "parents": [1, spines]}
    fabric, sent = routed({**spec, "parallel": [1, 1]}, "adaptive")

    def in_kib(messages, compute_s=0.0):
        return sent([(a, src, dst, KIB * size) for a, src, dst, size in messages], compute_s)

    return fabric, in_kib
