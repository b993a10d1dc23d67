"""Columns of the tables that `pool` owns and the kernels of the fast model work on."""

import numpy as np

# a job on a channel, what every evaluation reads: a line of the cache; the rows of a job are
# contiguous, those of channels where it can be held up (active) first, then other shared ones
RECORD = np.dtype(
    [
        ("channel", np.int32),
        ("first_entry", np.int32),
        ("n_entries", np.int32),
        ("link", np.int32),
        ("drain_s", np.float64),  # sum of B over the entries
        ("presence_s", np.float64),  # sum of E
        ("weight_s", np.float64),  # W
        ("fresh_weight_s", np.float64),  # what W moves to
        ("others_weight", np.float64),  # N and R of the others at the last evaluation
        ("others_use", np.float64),
    ],
    align=True,
)
# the same rows, what is read when all records of a channel are tested
LISTED = np.dtype(
    [
        ("slot", np.int32),  # of the job
        ("following", np.int32),  # neighbours in the channel's list of records, -1: none
        ("previous", np.int32),
        ("first_entry", np.int32),  # as in `records`
        ("slack", np.float64),  # least limit / B over the entries
        ("per_weight", np.float64),  # greatest 1 / m
    ],
    align=True,
)
# a job on a channel in one of its steps, a line of the cache
ENTRY = np.dtype(
    [
        ("drain_s", np.float64),  # B
        ("weight", np.float64),  # m
        ("senders", np.float64),  # q, a divisor
        ("feed_s", np.float64),  # G
        ("end_s", np.float64),  # e
        ("queue_s", np.float64),  # w
        ("time_s", np.float64),  # what the link takes among the others, wait included
        ("step", np.int64),
    ],
    align=True,
)
# a step of a job
STEP = np.dtype(
    [
        ("drain_s", np.float64),  # tau
        ("time_s", np.float64),  # tau among the others
        ("link", np.int64),  # that takes this time
    ],
    align=True,
)
# a job, by slot; `n_shared` counts the active records too
JOB = np.dtype(
    [
        ("first_record", np.int64),
        ("n_active", np.int64),
        ("n_shared", np.int64),
        ("n_records", np.int64),
        ("first_entry", np.int64),
        ("n_entries", np.int64),
        ("first_step", np.int64),
        ("n_steps", np.int64),
        ("worst_link", np.int64),  # -1: none
        ("alone_s", np.float64),  # T
        ("slowdown", np.float64),  # s
        ("rate", np.float64),  # 1 / (T s), per second
        ("damping", np.float64),  # omega
        ("residual", np.float64),
        ("reported", np.float64),  # slowdown that was said last
    ],
    align=True,
)
# a channel, a line of the cache
CHANNEL = np.dtype(
    [
        ("weight", np.float64),  # N of all jobs on it, 0 where a single one is
        ("use", np.float64),  # R
        ("weight_woken", np.float64),  # the totals when its active jobs were last woken
        ("use_woken", np.float64),
        ("weight_tested", np.float64),  # the totals when its records were last tested
        ("use_tested", np.float64),
        ("n_jobs", np.int64),
        ("first_record", np.int64),  # of its list, -1: none
    ],
    align=True,
)
# what a job reads off the states, by slot
READING = np.dtype(
    [
        ("slowdown", np.float64),  # s when it was last put down
        ("lingering_s", np.float64),  # sum of W - E then
        ("value", np.float64),  # the reading, without what `closed` adds
        ("said", np.float64),  # the reading that was said last, with it
        ("met", np.float64),  # s when the times of all its links were found last
        ("worst_link", np.int64),  # -1: none
        ("closed", np.float64),  # share of its time that it loses before pools that others close
        ("closed_link", np.int64),  # of the worst of these, -1: none
        ("closes", np.bool_),  # whether it closes any
        ("pending", np.bool_),  # whether it is to be put down anew
        ("waking", np.bool_),  # whether it is to be read anew
    ],
    align=True,
)
