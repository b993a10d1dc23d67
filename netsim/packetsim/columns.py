"""Columns of the records that the packet simulation works on; times in ns, sizes in bytes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Table

Ints32 = NDArray[np.int32]

NONE = -1  # no packet, lane, flow, ...
IDLE, BUSY, STALLED = 0, 1, 2  # state of a NIC
FIXED, ADAPTIVE, SPRAY = 0, 1, 2  # who chooses the way of a packet
RUNNING, DONE, DEADLOCK, CROWDED = 0, 1, 2, 3  # what `advance` returns

# One row: time now, tick of the wheel that it is in, state of the random numbers, events in the
# wheel, earliest end of a compute phase, jobs that have not made their iterations, packets moved
# over a link, where `advance` returns for a while, first packet that is not in use. Then what does
# not change: bytes of a packet, packets that a NIC makes ahead, whether it takes turns among its
# messages, whether these come in another order each time, ticks per ns, links (NICs follow them in
# the events), whether each rank goes on by itself; who chooses ways, entries of a packet, states,
# channels of a link, groups for detours, lanes of a channel, mean links to go after a detour;
# random delays are least + span * u before a link that was idle, and between the packets of a NIC
CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("tick", "i8"),
        ("random", "u8"),
        ("scheduled", "i8"),
        ("wake", "f8"),
        ("unfinished", "i8"),
        ("hops", "i8"),
        ("pause", "i8"),
        ("spare", "i8"),
        ("packet", "f8"),
        ("ahead", "i8"),
        ("turns", "i8"),
        ("shuffles", "i8"),
        ("per_ns", "f8"),
        ("links", "i8"),
        ("by_rank", "i8"),
        ("rule", "i8"),
        ("width", "i8"),
        ("states", "i8"),
        ("per_link", "i8"),
        ("groups", "i8"),
        ("lanes", "i8"),
        ("beyond", "f8"),
        ("idle_least", "f8"),
        ("idle_span", "f8"),
        ("gap_least", "f8"),
        ("gap_span", "f8"),
    ]
)
# A link's next arrival or a NIC's next packet; neighbour in its slot of the wheel
EVENT = np.dtype([("time", "f8"), ("next", "i4")], align=True)
# A link: ns per byte; from the start of a packet to the arrival of what the next switch waits for:
# max(lag_least, bytes * lag_per_byte) + delay; when it is free; packets under way; totals
LINK = np.dtype(
    [
        ("per_byte", "f8"),
        ("lag_per_byte", "f8"),
        ("lag_least", "f8"),
        ("delay", "f8"),
        ("free_at", "f8"),
        ("head", "i4"),
        ("tail", "i4"),
        ("packets", "i8"),
        ("bytes", "f8"),
        ("waited", "f8"),
    ]
)
# Link x virtual channel: free slots; lanes with packets that wait for one, whose turn it is first;
# packets that wait
CHANNEL = np.dtype(
    [("link", "i4"), ("free", "i4"), ("first", "i4"), ("last", "i4"), ("waiting", "i4")]
)
# Packets that wait for a slot of a channel: all of them, or those of one input port
LANE = np.dtype([("head", "i4"), ("tail", "i4"), ("next", "i4")])
# A place on a flow's path; after the last one there is one with channel NONE. Where switches
# choose, each packet has `width` entries of its own: its target, then places as it comes to them
ENTRY = np.dtype([("channel", "i4"), ("lane", "i4")])
# A packet: when it came to where it is or will arrive, bytes, place, flow, the next in a list,
# whether it is the last of its message
PACKET = np.dtype(
    [
        ("time", "f8"),
        ("bytes", "f8"),
        ("entry", "i4"),
        ("flow", "i4"),
        ("next", "i4"),
        ("last", "i4"),
    ],
    align=True,
)
# A NIC: when it could make a packet, ns per byte, messages to send, packets that wait
NIC = np.dtype(
    [
        ("free_at", "f8"),
        ("per_byte", "f8"),
        ("first", "i4"),
        ("last", "i4"),
        ("waiting", "i4"),
        ("state", "i4"),
        ("fresh", "i4"),
    ],
    align=True,
)
# A flow: packets and bytes of the last one; first place (where switches choose: first link), NIC,
# step; packets to send and to arrive; step of the rank that receives it, and how often it has
# arrived; where switches choose: last link, target before it, groups that it leaves and goes to
FLOW = np.dtype(
    [
        ("rest", "f8"),
        ("packets", "i4"),
        ("entry", "i4"),
        ("nic", "i4"),
        ("step", "i4"),
        ("next", "i4"),
        ("unsent", "i4"),
        ("unarrived", "i4"),
        ("into", "i4"),
        ("done", "i4"),
        ("end", "i4"),
        ("target", "i4"),
        ("home", "i4"),
        ("group", "i4"),
    ],
    align=True,
)
# Target x state: the first of the options that lead on, their number, channel to escape by, links
# to go. After a link: state, rank by which channels change, port of its switch
WAY = np.dtype([("first", "i4"), ("count", "i4"), ("escape", "i4"), ("togo", "i4")])
TURN = np.dtype([("state", "i4"), ("rank", "i4"), ("port", "i4")])
# A step (and one after the last): its first flow, its job, flows under way, where the list of the
# flows that its rank receives begins
STEP = np.dtype([("flow", "i4"), ("job", "i4"), ("open", "i4"), ("receives", "i4")])
# A job, or a rank that goes on by itself (and one after the last): compute time, and the part of it
# that is drawn; when it next starts to communicate; whether it leaves after its iterations; what
# it did
JOB = np.dtype(
    [
        ("compute", "f8"),
        ("spread", "f8"),
        ("wake", "f8"),
        ("first", "i4"),
        ("step", "i4"),
        ("need", "i8"),
        ("dropped", "i8"),
        ("leaves", "i8"),
        ("count", "i8"),
        ("began", "f8"),
        ("first_end", "f8"),
        ("need_end", "f8"),
        ("last_end", "f8"),
        ("comm_first", "f8"),
        ("comm_sum", "f8"),
    ]
)


class Paths(NamedTuple):
    """Places of paths; where switches choose: what comes after a link, ways, and their options."""

    entries: Table
    turns: Table
    ways: Table
    options: Ints32


class World(NamedTuple):
    """All that the simulation holds; records as above."""

    clock: Table
    wheel: Ints32
    events: Table
    links: Table
    channels: Table
    lanes: Table
    paths: Paths
    packets: Table
    nics: Table
    flows: Table
    steps: Table
    jobs: Table
    order: Ints32
