"""Arrays that the kernels of fixed points solved from scratch work on."""

from typing import NamedTuple

from netsim.arrays import Floats, Ints


class Shared(NamedTuple):
    """
    How J jobs, S steps, K entries, P pairs (job, channel) and C channels belong together.

    Channels are those of several jobs; the others change nothing. Entries are sorted by step, steps
    and pairs by job.
    """

    pair: Ints  # (K,) of each entry
    channel: Ints  # (P,) of each pair
    job: Ints  # (P,) of each pair
    first_step: Ints  # (J + 1,) of each job
    first_entry: Ints  # (S + 1,) of each step
    first_pair: Ints  # (J + 1,) of each job
    first_there: Ints  # (C + 1,) of each channel, in `there`
    there: Ints  # (P,) pairs, sorted by channel


class State(NamedTuple):
    """Where the sweeps stand."""

    slow: Floats  # (J,) slowdown
    omega: Floats  # (J,) damping
    residual: Floats  # (J,) when it was looked at last
    left: Floats  # (J,) what its last move left over
    duration_s: Floats  # (S,) D g
    fresh_s: Floats  # (S,) what it moves to
    late_s: Floats  # (K,) y
    fresh_late_s: Floats  # (K,) what it moves to
    held_s: Floats  # (K,) the same with the wait for the queue
    stale: Floats  # (P,) what others have changed there since, as it may change the slowdown
    effect: Floats  # (P,) by how much a slowdown may move with N


class Closed(NamedTuple):
    """What jobs lose before pools that others' hot spots close."""

    share: Floats  # (J,) of its time that each loses, to be multiplied with its slowdown
    pair: Ints  # (J,) of the pool before which it does, -1: none
    closing: Floats  # (P,) what each job adds to the closing of each pool


class Crowd(NamedTuple):
    """What is on channels in each of M states: of each pair, and of all jobs."""

    weight: Floats  # (P, M) weight of the flows, N
    use: Floats  # (P,) share of the capacity, R
    lasting_s: Floats  # (P,) mean of weight x length of the step, D
    held: Floats  # (P,) mean of what is held while it waits for other links, V
    queued_s: Floats  # (P,) mean of how long own packets queue, Z
    all_weight: Floats  # (C, M)
    all_use: Floats  # (C,)
    all_lasting_s: Floats  # (C,)
    all_held: Floats  # (C,)
    all_queued_s: Floats  # (C,)
    all_crossed_s: Floats  # (C,) sum of D R
    cells: Ints  # (J, M) the cell in which each job is in each state
    scratch: Floats  # (L, M + 4), L at least 4 and the most pairs of a job
    waits: Floats  # (1, STAGES) scratch
    of_lanes: Floats  # (K, L) of each entry, from `lane_kernels`; no rows: a lane a link
    lanes: Floats  # (P, S) what is on each lane; no rows: the same
    all_lanes: Floats  # (C, S)


class Longest(NamedTuple):
    """The entry whose link takes longest for a step, by state, and those of further waits."""

    entry: Ints  # -1: none
    by_use_s: Floats  # delay that the bound 1 / (1 - R) decides
    by_weight_s: Floats  # delay that the share bound decides, and waits
    waiting: Ints  # the entry of the longest wait at each stage, -1: none
    wait_s: Floats  # how long it is, in the mean over the states
