"""Columns of the table that the sweeps of a fixed point from scratch go over."""

import numpy as np

# an entry on a channel of several jobs, sorted by channel
MEETING = np.dtype(
    [
        ("step", np.int64),
        ("job", np.int64),
        ("weight", np.float64),  # W / (D g), while its step runs
        ("use", np.float64),  # B / (D g)
    ],
    align=True,
)
