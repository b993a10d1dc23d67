"""Columns of the tables that `ledgers` owns and its kernels work on."""

import numpy as np

# a communicating job, by slot
MEMBER = np.dtype(
    [
        ("job", np.int64),
        ("since_s", np.float64),  # of its last change
        ("work_s", np.float64),  # done by then, at full rate
        ("interference", np.float64),  # from then on
        ("network_slowdown", np.float64),
        ("n_nodes", np.float64),
        ("worst_link", np.int64),  # -1: none yet
        ("first_loss", np.int64),  # of its losses, in the order in which they were first told
        ("last_loss", np.int64),
        ("first_cause", np.int64),  # of the losses that go on now, -1: nobody was told yet
    ],
    align=True,
)
# what a job lost to another on a class of links
LOSS = np.dtype(
    [
        ("victim", np.int64),
        ("culprit", np.int64),
        ("interference_delay_node_s", np.float64),
        ("share", np.float64),  # of what the job loses now
        ("following", np.int64),  # of the losses of the job, or of the free rows; -1: none
        ("cause", np.int64),  # the next of the losses that go on, -1: none
        ("kind", np.int64),
    ],
    align=True,
)
