"""Tables that kernels of traffic read and write."""

from typing import NamedTuple

import numpy as np

from netsim.common.arrays import Floats, Ints

STEP = np.dtype(  # of a job
    [
        ("drain_s", np.float64),  # tau, of the link with the most bytes
        ("latency_s", np.float64),  # lam, of the longest path
        ("injection_s", np.float64),  # if the links of the nodes alone limited it, lam included
    ],
    align=True,
)


class Hops(NamedTuple):
    """Directed links that flows cross in order of travel; `share`: part of the flow on each."""

    indptr: Ints
    link: Ints
    share: Floats
