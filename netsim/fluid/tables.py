"""
Tables of the model `fluid`: what a job puts on links, and what all jobs together do there.

Symbols are those of the page on the model. Seconds are seconds of a link: bytes / capacity.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints, Table

STATES = 16  # sampled phases of the other jobs; 8 cost half and err by 0.3 points more
CHANNELS = 4  # virtual channels told apart; higher ones count as the last

Float32s = NDArray[np.float32]

ENTRY = np.dtype(  # a job on a link in one of its steps
    [
        ("drain_s", np.float64),  # B, of all its bytes
        ("weight", np.float64),  # m, of its flows when the step starts
        ("senders", np.float64),  # q
        ("end_s", np.float64),  # e, of its last flow, alone
        ("weight_s", np.float64),  # E, integral of the weight until then
        ("feed_s", np.float64),  # G, when the senders' injection links are done, weighted mean
        ("offered", np.float64),  # o, what links upstream let through, a share of the link
        ("blocked", np.float64),  # g, part of the time in which it blocks what comes behind
        ("first_s", np.float64),  # of a first packet of each sender
        ("part", np.float64),  # v, of their flows that the bytes are: less than 1 on several paths
        ("time_s", np.float64),  # y, of its last flow, among others, before it waits
        ("step", np.int32),
    ],
    align=True,
)
RECORD = np.dtype(  # a job on a link; its entries are contiguous
    [
        ("link", np.int32),
        ("job", np.int32),  # slot
        ("first_entry", np.int32),
        ("n_entries", np.int32),
        ("following", np.int32),  # next record on the link, -1: none
        ("times_s", np.float64),  # sum of y as the totals know it
    ],
    align=True,
)
STEP = np.dtype(  # a step of a job
    [
        ("drain_s", np.float64),  # tau, the longest drain
        ("latency_s", np.float64),  # lam, of the longest path
        ("duration_s", np.float64),  # d, among others
    ],
    align=True,
)
LINK = np.dtype(  # what records on a link add up to
    [
        ("first_record", np.int32),
        ("n_records", np.int32),
        ("change", np.float32),  # of the totals since its records were marked dirty
    ],
    align=True,
)
SUMS = np.dtype(  # of a record or a link, means over an iteration
    [
        ("use", np.float32),  # R
        ("weight", np.float32),  # N
        ("burst", np.float32),  # N x length of the burst
        ("blocked_use", np.float32),  # g R
        ("blocked_weight", np.float32),  # g E / L
        ("variance", np.float32),  # of the weight in time
        ("memory", np.float32),  # variance x correlation time
        ("blocked", np.float32, (CHANNELS,)),  # g by virtual channel
    ],
    align=True,
)
JOB = np.dtype(
    [
        ("first_record", np.int32),
        ("n_records", np.int32),
        ("first_entry", np.int32),
        ("n_entries", np.int32),
        ("first_step", np.int32),
        ("n_steps", np.int32),
        ("compute_s", np.float64),
        ("alone_s", np.float64),  # T, iteration alone
        ("period_s", np.float64),  # P, iteration among others
        ("committed_s", np.float64),  # P as the totals know it
        ("reported", np.float64),  # interference as of the last `solve`
        ("damping", np.float64),
        ("worst_record", np.int32),  # of its own, that holds it up most; -1: none
        ("queued", np.bool_),
    ],
    align=True,
)


# marks of a record
SHARED = 1  # other jobs are on the link
COMMITTED = 2  # it is part of the totals of its link
DIRTY = 4  # the link's totals have changed since its delays were found
MOVED = 8  # it is on the link for longer or shorter than the totals know
LATE = 16  # some delay is above 0


class State(NamedTuple):
    """
    All that the solver knows of the running jobs.

    A job (slot) has steps, and records, one a link that it uses; a record has entries, one a step.
    Rows of a job are contiguous. `own` and `total` hold for each of `STATES` sampled phases the
    weight, use, offered load and blocked share that a record adds to its link and that a link has::

        jobs ── steps
          └── records ── own (record, quantity x state), own_sums
                 └── entries ── delay (entry, state)
        links ── total (link, quantity x state), total_sums; a list of records
    """

    jobs: Table
    steps: Table
    records: Table
    marks: NDArray[np.uint8]  # (records,), apart from the rest: they are looked at most
    entries: Table
    links: Table
    own: Float32s  # (records, 4 STATES): weight, use, offered load, blocked share by state
    total: Float32s  # (links, 4 STATES): the same
    own_sums: Table
    total_sums: Table
    delay: Float32s  # (entries, STATES), seconds beyond tau; -inf: none
    channel: Float32s  # (records, CHANNELS), share of the record on each virtual channel
    phase: NDArray[np.int8]  # (jobs, STATES), state in which each cell of the iteration is met
    share: Float32s  # (jobs, STATES), part of the job's iterations in each state
    buffer_s: Float32s  # (links,), buffer of a virtual channel; 0: not stated
    queue: Ints  # (jobs + 1,), ring of jobs to be evaluated


class Flows(NamedTuple):
    """Flows of a job and what they cross; `share` is the part of the flow on each hop."""

    step: Ints
    sender: Ints
    nbytes: Floats
    latency_s: Floats
    indptr: Ints
    link: Ints
    share: Floats
    channel: Ints  # virtual channel of each hop
