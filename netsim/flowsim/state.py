"""
State of the flow-level simulation: structured arrays that refer to each other by row.

The sharing problem has SimGrid's terms. A flow is a variable; a channel of a link is a constraint;
an element says that a flow crosses a channel. Senders, whose flows share a weight, are constraints
without a capacity, numbered after all channels. Enabled elements, those of running flows, are
members of their constraint::

    jobs ----> steps ----> flows ----> elements <----> members <---- constraints
    a slot     first_flow  first_element   constraint,     flow, element    first_member,
    each                   sender_element  member                           n_members
               first_crossed -> crossed: the constraints of a step, each once
               first_change  -> changes: rates of the step's flows when the job is alone (solo run)

Rows of a job are contiguous, and a row after its last step says where rows end. `dirty` holds
saturated or modified channels by level while rates are shared anew; `clock` holds the ends of flows
and, after all flows, the next step of each job. The other arrays are lists whose lengths stand
in `counts`.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netsim.common.arrays import Floats, Ints, Table

if TYPE_CHECKING:
    from netsim.flows.maxmin_kernels import Heap  # imports the compiler

CONSTRAINT = np.dtype(
    [
        ("first_member", np.int64),
        ("n_members", np.int64),
        ("capacity", np.float64),  # bytes per second; of channels, as what follows
        ("saturated_at", np.float64),  # level at which it is saturated; inf: it has room
        ("fixed_rate", np.float64),  # bytes per second of flows with another bottleneck
        ("rising_weight", np.float64),  # of the other flows
        ("top_level", np.float64),  # no flow with another bottleneck has a higher level
        ("n_rising", np.int64),
        ("sums_known", np.bool_),  # whether the four above hold, to rounding
        ("modified", np.bool_),  # in the modified set
        ("key_exact", np.bool_),  # whether its key in the heap is its fair level, exactly
        ("sweep", np.int64),  # last one in which it was saturated
        ("sweep_level", np.float64),  # and at which level
        ("reweighed", np.bool_),  # a sender: its flows are to be weighed anew
        ("n_jobs", np.int64),  # jobs whose present step crosses it
        ("only_job", np.int64),  # slot of the one job whose step crosses it; -1: none or several
    ],
    align=True,
)
MEMBER = np.dtype([("flow", np.int64), ("element", np.int64)], align=True)
ELEMENT = np.dtype([("constraint", np.int64), ("member", np.int64)], align=True)  # -1: disabled
FLOW = np.dtype(
    [
        ("nbytes", np.float64),
        ("latency_s", np.float64),
        ("job", np.int64),  # slot
        ("first_element", np.int64),
        ("end_element", np.int64),  # those before it are enabled while the flow runs
        ("spare_element", np.int64),  # from here to the sender's: of channels that are spare
        ("sender_element", np.int64),
        ("exponent", np.float64),  # weight = fill * (flows open at the sender) ** -exponent
        ("fill", np.float64),  # bytes of its packets / bytes of full ones
        ("solo_sent_s", np.float64),  # when its bytes have gone in the solo run, from its step on
        ("weight", np.float64),  # 1 / SimGrid's sharing penalty
        ("level", np.float64),  # rate / weight
        ("bottleneck", np.int64),  # channel that limits it; -1: it is to be found
        ("final", np.bool_),  # has its level in this sweep
        ("rate", np.float64),  # bytes per second
        ("left", np.float64),  # bytes not sent at time `since_s`
        ("since_s", np.float64),
    ],
    align=True,
)
STEP = np.dtype(
    [
        ("first_flow", np.int64),
        ("first_crossed", np.int64),
        ("first_change", np.int64),
        ("solo_s", np.float64),  # how long a round takes when the job is alone
        ("rounds", np.int64),
        ("hide_s", np.float64),  # computation beside it and steps before; -1: goes on
    ],
    align=True,
)
CHANGE = np.dtype([("at_s", np.float64), ("flow", np.int64), ("rate", np.float64)], align=True)
JOB = np.dtype(
    [
        ("first_step", np.int64),
        ("end_step", np.int64),  # after its last one
        ("compute_s", np.float64),
        ("need", np.int64),  # iterations
        ("persists", np.bool_),  # goes on after these
        ("at", np.int64),  # step that runs or has just ended, or one before the first
        ("round", np.int64),  # rounds of it that have ended
        ("n_open", np.int64),  # flows of this step that still run
        ("step_end_s", np.float64),  # when the last byte arrives, of the flows that have ended
        ("count", np.int64),  # iterations made
        ("first_end_s", np.float64),
        ("last_end_s", np.float64),
        ("phase_s", np.float64),  # since when it has been in its round, or computing
        ("took_s", np.float64),  # its last iteration
        ("beside_s", np.float64),  # when the computation beside its steps began
        ("computes", np.bool_),  # its steps have ended before the computation beside them
        ("crosses", np.bool_),  # in a step
        ("quiet", np.bool_),  # in a step that no other job has disturbed: no flow is a member
        ("joined", np.bool_),  # another job has just come onto a channel that it had alone
        ("disturbed", np.bool_),  # by another job, in some step
    ],
    align=True,
)
COUNTS = np.dtype(
    [
        ("n_channels", np.int64),
        ("per_sender", np.bool_),  # whether weights depend on the flows open at the sender
        ("sweep", np.int64),
        ("n_modified", np.int64),
        ("n_senders", np.int64),
        ("n_visited", np.int64),
        ("n_ended", np.int64),
    ],
    align=True,
)


class State(NamedTuple):
    """All that a simulation consists of."""

    jobs: Table
    steps: Table
    flows: Table
    elements: Table
    members: Table
    constraints: Table
    changes: Table
    crossed: Ints
    counts: Table  # one row
    dirty: "Heap"  # channels by level; after all channels, those whose flows are to be released
    clock: "Heap"
    modified: Ints  # channels whose level is to be found
    senders: Ints  # whose flows are to be weighed anew
    visited: Ints  # flows that the last sweep has visited
    ended: Ints  # flows that end at one instant
    ready: Ints  # slots of jobs whose phase ends at one instant
    over: Ints  # slots of jobs that have made their iterations


class Sent(NamedTuple):
    """What a job sends in an iteration, ascending by step; flow f crosses indptr[f]:indptr[f+1]."""

    step: Ints
    sender: Ints
    indptr: Ints
    links: Ints
    nbytes: Floats
    latency_s: Floats


class Fabric(NamedTuple):
    """What a solo run must know of the fabric."""

    channel: Ints  # of each link
    capacity: Floats  # of each channel
    number: Ints  # of each constraint: -1, except while a solo run numbers those of its job
    buffer_bytes: float
    packet_bytes: float
    per_sender: bool


class Solo(NamedTuple):
    """
    What a job does alone in an iteration, as rows that start at 0.

    `used`: constraints that it has members on, `most`: how many at once.
    """

    steps: Table
    flows: Table
    elements: Table
    changes: Table
    crossed: Ints
    used: Ints
    most: Ints
