"""Records that the packet simulation works on; times in ns, sizes in bytes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Table

Ints32 = NDArray[np.int32]

NONE = -1  # no packet, queue, flow, ...
IDLE, BUSY, STALLED = 0, 1, 2  # state of a NIC
UNLIMITED, END_POINT, DCQCN = 0, 1, 2  # what limits senders
FIXED, ADAPTIVE, SPRAY = 0, 1, 2  # next link: by table, by queues, by chance
RUNNING, DONE, DEADLOCK, CROWDED = 0, 1, 2, 3  # what `advance` returns

# One row: what changes, then what the switch and the routing say.
CLOCK = np.dtype(
    [
        ("now", "f8"),
        ("tick", "i8"),  # of the wheel, in which `now` is
        ("random", "u8"),  # state of SplitMix64
        ("scheduled", "i8"),  # events in the wheel
        ("wake", "f8"),  # earliest end of a compute phase
        ("unfinished", "i8"),  # jobs that have not made their iterations
        ("hops", "i8"),  # packets moved over a link
        ("pause", "i8"),  # hops at which `advance` returns for a while
        ("spare", "i8"),  # first packet that is not in use
        ("packet", "f8"),  # bytes
        ("ahead", "i8"),  # packets that a NIC makes ahead: slots of a channel
        ("round_robin", "i8"),  # whether a NIC goes by non-minimal paths its messages
        ("shuffles", "i8"),  # whether these come in another order each time
        ("per_ns", "f8"),  # ticks
        ("links", "i8"),  # their number; NICs follow them in the events
        ("kept", "i8"),  # iterations of a job whose time is written down
        ("by_rank", "i8"),  # whether each rank goes on by itself
        ("rule", "i8"),  # FIXED, ADAPTIVE or SPRAY
        ("width", "i8"),  # entries of a packet, where switches choose
        ("states", "i8"),  # places where a packet can be (`NextHops.n_states`)
        ("per_link", "i8"),  # virtual channels of a link
        ("ports", "i8"),  # input ports with queues of their own at a channel; 0: one queue for all
        ("nonminimal_hops", "f8"),  # mean links to go after the group in between
        ("idle_least", "f8"),  # random delay before a link that was idle: least + span * u
        ("idle_span", "f8"),
        ("gap_least", "f8"),  # the same between the packets of a NIC
        ("gap_span", "f8"),
        ("overhead", "f8"),  # before the first packet of a message
        ("scheme", "i8"),  # UNLIMITED, END_POINT or DCQCN
        ("horizon", "f8"),  # how far ahead events may lie
        ("reaction", "f8"),  # what is on its way to a receiver, in its time
        ("nics", "i8"),  # their number; pacers follow them in the events
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
# Link x virtual channel: free slots; list of the queues with packets that wait for one; packets
# that wait
CHANNEL = np.dtype(
    [("link", "i4"), ("free", "i4"), ("first", "i4"), ("last", "i4"), ("waiting", "i4")]
)
# Packets that wait for a slot of a channel: all of them, or those of one input port
QUEUE = np.dtype([("head", "i4"), ("tail", "i4"), ("next", "i4")])
# A place on a flow's path; after the last one there is one with channel NONE. Where switches
# choose, each packet has `width` entries of its own: its target, then places as it comes to them
ENTRY = np.dtype([("channel", "i4"), ("queue", "i4")])
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
        ("marked", "i4"),  # whether a queue on its way was long
    ],
    align=True,
)
# A NIC: when it could make a packet, ns per byte, messages to send, packets that wait
NIC = np.dtype(
    [
        ("free_at", "f8"),
        ("per_byte", "f8"),
        ("ready_at", "f8"),  # when software has prepared what it began
        ("first", "i4"),
        ("last", "i4"),
        ("waiting", "i4"),
        ("state", "i4"),
        ("fresh", "i4"),
        ("prepared", "i4"),  # message that software prepares
    ],
    align=True,
)
# A flow: packets and bytes of the last one; first place (where switches choose: first link), NIC,
# step; packets to send and to arrive; step of the rank that receives it, and how often it has
# arrived; where switches choose: last link, target before it; number of groups, or of routers of
# its group, by which packets may go: those from target `through` on but the ends `low` and `high`;
# router 0 of its group, or NONE where it leaves that
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
        ("others", "i4"),
        ("through", "i4"),
        ("low", "i4"),
        ("high", "i4"),
        ("router", "i4"),
        ("pacer", "i4"),  # what limits its rate
        ("granted", "i4"),  # whether its next packet may go
    ],
    align=True,
)
# What limits senders: a receiver (END_POINT) or a message (DCQCN). Flows that wait; when all that
# was let through has been taken; ns per byte of the link. DCQCN: rate and target as a share of the
# link, alpha, times of the last decay of alpha, rise and notification, rises by time and by bytes
PACER = np.dtype(
    [
        ("until", "f8"),
        ("per_byte", "f8"),
        ("rate", "f8"),
        ("target", "f8"),
        ("alpha", "f8"),
        ("decayed", "f8"),
        ("raised", "f8"),
        ("notified", "f8"),
        ("bytes", "f8"),
        ("by_time", "i4"),
        ("by_bytes", "i4"),
        ("first", "i4"),
        ("last", "i4"),
    ],
    align=True,
)
# Target x state: the first of the options that lead on, their number, channel to escape by, links
# to go. After a link: state, rank by which channels change, port of its switch
NEXT_HOP = np.dtype([("first", "i4"), ("count", "i4"), ("escape", "i4"), ("hops_left", "i4")])
LINK_END = np.dtype([("state", "i4"), ("rank", "i4"), ("port", "i4")])
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


class World(NamedTuple):
    """
    All that the simulation holds, a table for each kind of record.

    An event takes a packet off a link or lets a NIC make one. The packet finds its channel by its
    entry, waits in a queue of the channel or gets a slot, and then its time on the link::

        wheel -> events -> links, nics
        jobs -> steps -> flows -> packets -> entries -> channels -> links
                                                     -> queues  -> packets that wait

    `lasted` holds the ns of the first iterations of each job that count, `kept` each.

    Where switches choose, `link_ends` gives the state of a packet after a link, `next_hops` the
    links that lead on from a state to a target, as a range of `options`.
    """

    clock: Table
    wheel: Ints32
    events: Table
    links: Table
    channels: Table
    queues: Table
    entries: Table
    link_ends: Table
    next_hops: Table
    options: Ints32
    packets: Table
    nics: Table
    pacers: Table
    flows: Table
    steps: Table
    jobs: Table
    lasted: Floats
    order: Ints32


RECORDS = (
    *(CLOCK, np.int32, EVENT, LINK, CHANNEL, QUEUE, ENTRY, LINK_END, NEXT_HOP),
    *(np.int32, PACKET, NIC, PACER, FLOW, STEP, JOB, np.float64, np.int32),
)
"""Types of the tables of a `World`."""
