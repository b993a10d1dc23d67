"""Columns of a job's constants, defined in `netsim.contention.constants`, and their sources."""

from typing import NamedTuple

import numpy as np

from netsim.arrays import Floats, Ints

PACKET_BYTES = 4096.0  # where a fabric states no packet

# a job on a channel; its entries are contiguous
RECORD = np.dtype(
    [
        ("channel", np.int32),
        ("first_entry", np.int32),
        ("n_entries", np.int32),
        ("link", np.int32),  # a directed link of the job on the channel
        ("drain_s", np.float64),  # sum of B over the entries
        ("presence_s", np.float64),  # sum of E
        ("slack", np.float64),  # least limit / B
        ("per_weight", np.float64),  # greatest 1 / m
    ],
    align=True,
)
# a job on a channel in one of its steps
ENTRY = np.dtype(
    [
        ("drain_s", np.float64),  # B
        ("weight", np.float64),  # m
        ("senders", np.float64),  # q, a divisor
        ("feed_s", np.float64),  # G
        ("end_s", np.float64),  # e
        ("limit_s", np.float64),
        ("queue_s", np.float64),  # w
        ("presence_s", np.float64),  # E
        ("held", np.float64),  # v; less than 0: as many buffers of own packets wait for the link
        ("closed", np.float64),  # part of the step for which a pool is closed to others
        ("queued", np.float64),  # z
        ("links", np.float64),  # that the channel stands for: more than 1 where switches choose
        ("drawn", np.float64),  # packets on a pool whose link chance decides, 0 elsewhere
        ("packet_s", np.float64),  # how long a link of it takes for one
        ("slots", np.float64),  # tau, in such times
        ("met_s", np.float64),  # wait of the step's unluckiest packet for others of its own job
        ("step", np.int32),
        ("stage", np.int32),
    ],
    align=True,
)
# a step of a job
STEP = np.dtype(
    [
        ("drain_s", np.float64),  # tau, the greatest B
        ("latency_s", np.float64),  # lam, of the longest path
        ("injection_s", np.float64),  # if the links of the nodes alone limited it, lam included
    ],
    align=True,
)


class Flows(NamedTuple):
    """The flows of a job, `Traffic` and its routes; steps ascend."""

    step: Ints
    sender: Ints
    nbytes: Floats
    indptr: Ints
    links: Ints
    latency_s: Floats


class Fabric(NamedTuple):
    """Channel of each link, capacity of each channel, bundles of channels, buffer, packet."""

    channel: Ints
    capacity: Floats
    bundle: Ints  # of each channel, from `netsim.topology.rails.node_bundles`
    bundle_capacity: Floats
    port_capacity: Floats  # of each channel: of one link where it stands for a pool
    buffer_bytes: float  # of a port
    packet_bytes: float
    place_bytes: float  # most that a place of a buffer holds: a packet, 0 where none is stated


class Scratch(NamedTuple):
    """Marks that are as they were after every job."""

    entry: Ints  # of each channel in this step, all -1
    opened: Ints  # flows of each sender, all 0; longer than senders and flows
    injected_s: Floats  # of each bundle, all 0


class Places(NamedTuple):
    """Where the entries lie while the steps are gone through: ordered by step."""

    channel: Ints
    link: Ints
    last_sender: Ints  # first flow of the sender counted last
    of_hop: Ints  # entry of each hop of each flow
    drain_s: Floats  # B of each entry
    fill: Floats  # of each entry: how full the places are that its packets take
