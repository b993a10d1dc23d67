"""Columns of the tables of a job's constants; `netsim.contention.constants` defines the values."""

import numpy as np

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
        ("held", np.float64),  # v
        ("until_s", np.float64),  # e, or inf where flows count as there for their whole step
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
