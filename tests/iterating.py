"""Jobs on links that lead nowhere, as lists for the naive twin and as traffic."""

import numpy as np
from hypothesis import strategies as st

from netsim.flows.contention import Traffic
from netsim.topology.base import Topology
from netsim.topology.routes import Routes


def make_fabric(capacity, channel=None, n_nodes=64, buffer_bytes=0.0, packet_bytes=0.0):
    """Return a fabric of links that lead nowhere: only capacity and channel matter."""
    n_links = len(capacity)
    return Topology(
        name="links",
        n_nodes=n_nodes,
        n_switches=1,
        link_tail=np.arange(n_links) % n_nodes,  # a node for each link: none has two
        link_head=np.full(n_links, n_nodes),
        link_cable=np.arange(n_links),
        capacity=np.array(capacity, dtype=float),
        channel=np.arange(n_links) if channel is None else np.array(channel),
        buffer_bytes=buffer_bytes,
        packet_bytes=packet_bytes,
    )


def traffic_of(steps, n_links, compute_s=0.0):
    """Return the traffic of steps that list flows as (sender, links, bytes, latency)."""
    flows = [(number, *flow) for number, step in enumerate(steps) for flow in step]
    step, sender, links, nbytes, latency = zip(*flows, strict=True) if flows else [()] * 5
    return Traffic(
        np.array(step, dtype=np.int64),
        np.array(sender, dtype=np.int64),
        np.array(nbytes, dtype=float),
        Routes.from_lists(links, n_links),
        compute_s,
        np.array(latency, dtype=float),
    )


@st.composite
def machines(draw):
    """Return jobs as (steps, compute, start, iterations), capacities, and channels or None."""
    n_links = draw(st.integers(1, 4))
    link = st.integers(0, n_links - 1)
    latency = st.sampled_from([0.0, 0.0, 0.25, 1.0])
    links = st.lists(link, max_size=3, unique=True)
    flow = st.tuples(st.integers(0, 2), links, st.integers(1, 4).map(float), latency)
    steps = st.lists(st.lists(flow, min_size=1, max_size=3), max_size=3)
    compute = st.sampled_from([0.0, 0.5, 2.0])
    job = st.tuples(steps, compute, st.integers(0, 3).map(float), st.integers(1, 3))
    jobs = draw(st.lists(job, min_size=1, max_size=3))
    channel = draw(st.none() | st.just([draw(link) for _ in range(n_links)]))
    by_channel = [float(draw(st.integers(1, 3))) for _ in range(n_links)]
    numbers = range(n_links) if channel is None else channel
    return jobs, [by_channel[c] for c in numbers], channel


def talks(steps):
    """Return whether any flow crosses a link."""
    return any(flow[1] for step in steps for flow in step)
