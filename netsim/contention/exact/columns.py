"""Columns of the tables that the exact simulation works on."""

import numpy as np

# a channel, and after all channels a sender: who is on it sits in a row of its own of seats
LIST = np.dtype(
    [
        ("first", np.int64),  # seat
        ("length", np.int64),  # seats taken
        ("capacity", np.float64),  # bytes per second; of channels, as what follows
        ("filled", np.float64),  # level at which it is full; inf: is not
        ("held", np.float64),  # bytes per second of flows that another channel holds
        ("rising", np.float64),  # weight of the others
        ("top", np.float64),  # no flow that another channel holds has a higher level
        ("n_rising", np.int64),
        ("known", np.bool_),  # whether the four above are, to rounding
        ("listed", np.bool_),  # whether its level is to be found
        ("fresh", np.bool_),  # whether its key, while it is dirty, is its fair level exactly
        ("froze", np.int64),  # last sweep in which it filled
        ("froze_at", np.float64),  # and at what level
    ],
    align=True,
)
SEAT = np.dtype([("flow", np.int64), ("entry", np.int64)], align=True)
# a flow on a list, seat -1: not now; the entries of a flow are contiguous, its sender is the last
ENTRY = np.dtype([("list", np.int64), ("seat", np.int64)], align=True)
FLOW = np.dtype(
    [
        ("weight", np.float64),
        ("level", np.float64),  # rate / weight
        ("bottleneck", np.int64),  # channel that holds the flow; -1: new, released or re-weighted
        ("final", np.bool_),  # has its level in this sweep
        ("first_entry", np.int64),
        ("end_entry", np.int64),  # those before it have seats while the flow runs
        ("sender_entry", np.int64),
        ("exponent", np.float64),  # weight = fill * (flows open at the sender) ** -exponent
        ("fill", np.float64),  # how full its packets are
        ("rate", np.float64),  # bytes per second
        ("left", np.float64),  # bytes not sent at time `since_s`
        ("since_s", np.float64),
        ("first_rate", np.float64),  # when it first started; -1: not yet
        ("sent_s", np.float64),  # when its bytes had last gone
    ],
    align=True,
)
JOB = np.dtype(
    [
        ("first_step", np.int64),
        ("end_step", np.int64),  # after its last one
        ("at", np.int64),  # step that runs or has just ended, or one before the first
        ("n_open", np.int64),  # flows of this step that still run
        ("step_end_s", np.float64),  # when the last byte arrives, of the flows that have ended
        ("count", np.int64),  # iterations made
        ("first_end_s", np.float64),
        ("last_end_s", np.float64),
    ],
    align=True,
)
# what the co-simulation knows of a job beside that
PART = np.dtype(
    [
        ("phase_s", np.float64),  # since when it has been in its step, or computing
        ("round_s", np.float64),  # since when it has been in its iteration
        ("took_s", np.float64),  # its last iteration
        ("crossing", np.bool_),  # in a step
        ("quiet", np.bool_),  # in a step during which nobody has crossed its lists
        ("joined", np.bool_),  # somebody has just come onto a list that it had for itself
        ("met", np.bool_),  # somebody has crossed them in some step
    ],
    align=True,
)
