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
_BY_STATE = (np.float32, (STATES,))

ENTRY = np.dtype(  # a job on a link in one of its steps
    [
        ("drain_s", np.float64),  # B, of all its bytes
        ("weight", np.float64),  # m, of its flows when the step starts
        ("senders", np.float64),  # q
        ("end_s", np.float64),  # e, of its last flow, alone
        ("weight_s", np.float64),  # E, integral of the weight until then
        ("injection_s", np.float64),  # G, mean over flows by weight
        ("offered", np.float64),  # o, what links upstream let through, a share of the link
        ("blocked", np.float64),  # g, share of the time in which it blocks other packets
        ("first_packets_s", np.float64),  # p, one of each sender
        ("fraction", np.float64),  # v, of their flows that the bytes are: 1 on a single path
        ("time_s", np.float64),  # y, of its last flow, among others, before it waits in a queue
        ("step", np.int32),
        ("delay_s", *_BY_STATE),  # beyond tau, of records that are LATE
    ],
    align=True,
)
RECORD = np.dtype(  # a job on a link; its entries are contiguous
    [
        ("link", np.int32),
        ("job", np.int32),  # slot
        ("first_entry", np.int32),  # of the job's
        ("n_entries", np.int32),
        ("next_record", np.int32),  # on the link, -1: none
        ("free_weight", np.float32),  # of other jobs, up to which every entry ends as alone
        ("times_s", np.float64),  # sum of y as of the last commit
        ("channel", np.float32, (CHANNELS,)),  # share of it on each virtual channel
    ],
    align=True,
)
STEP = np.dtype(  # a step of a job
    [
        ("drain_s", np.float64),  # tau, the longest drain, of one round as all here and in ENTRY
        ("latency_s", np.float64),  # lam, of the longest path
        ("duration_s", np.float64),  # d, among others
        ("rounds", np.int64),
    ],
    align=True,
)
LINK = np.dtype(
    [
        ("first_record", np.int32),
        ("n_records", np.int32),
        ("buffer_s", np.float32),  # of a virtual channel; 0: not stated
        ("change", np.float32),  # of its totals since its records were marked dirty
    ],
    align=True,
)
LOAD = np.dtype(  # a record's contribution to its link, or the total of a link; float32 alone
    [
        ("weight", *_BY_STATE),  # N_i
        ("use", *_BY_STATE),  # R_i
        ("offered", *_BY_STATE),  # O_i
        ("blocked", *_BY_STATE),  # g_i
        ("mean_weight", np.float32),  # N, mean over an iteration, as all that follow
        ("mean_burst", np.float32),  # N x length of the burst
        ("blocked_use", np.float32),  # g R
        ("blocked_weight", np.float32),  # g E / L
        ("variance", np.float32),  # of the weight in time
        ("correlation", np.float32),  # variance x correlation time
        ("mean_use", np.float32),  # R
        ("blocked_on", np.float32, (CHANNELS,)),  # g by virtual channel
    ]
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
        ("committed_s", np.float64),  # P as of the last commit of all its records
        ("reported", np.float64),  # interference as of the last `solve`
        ("damping", np.float64),
        ("worst_record", np.int32),  # of its own, with the longest delay; -1: none
        ("queued", np.bool_),
        ("share", *_BY_STATE),  # part of its iterations in each state
        ("phase", np.int8, (STATES,)),  # state i in which it is in each cell, pi_j
    ],
    align=True,
)
WORK = np.dtype(  # scratch of the solver
    [
        ("weight", *_BY_STATE),  # N_i
        ("use", *_BY_STATE),  # R_i
        ("full", *_BY_STATE),  # R = 1
        ("blocked", *_BY_STATE),  # g_i
        ("times_s", *_BY_STATE),  # y_i
        ("blocked_s", *_BY_STATE),  # z_i
        ("speed", *_BY_STATE),  # v_i
        ("stretched_s", *_BY_STATE),  # t_i
    ]
)

# marks of a record
SHARED = 1  # other jobs are on the link
COMMITTED = 2  # its contribution is part of the totals of its link
DIRTY = 4  # the link's totals have changed since its delays were computed
MOVED = 8  # its time on the link has changed since its contribution was computed
LATE = 16  # some delay is above 0
FREE = 32  # the others' weight is at most `free_weight`, and nothing blocks it


class State(NamedTuple):
    """All that the solver knows of the running jobs; drawn in `netsim.fluid.solver_kernels`."""

    jobs: Table
    steps: Table
    records: Table
    marks: NDArray[np.uint8]  # (records,), apart from the rest: looked at most
    entries: Table
    links: Table
    loads: Table  # (records,), contributions
    totals: Table  # (links,)
    load_values: Float32s  # the same memory as `loads`, a row each
    total_values: Float32s  # the same memory as `totals`
    queue: Ints  # (jobs + 1,), ring of dirty jobs
    cursor: Ints  # (2,), first place of the queue and its length


class Demand(NamedTuple):
    """Tables of a job alone, as `job_demand` returns them."""

    steps: Table
    records: Table
    entries: Table


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
    rounds: Ints  # of each step, over which bytes are even
