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
    """
    The links that flows cross, in the order of travel.

    `indptr` (F + 1,): flow f has the hops ``indptr[f]:indptr[f + 1]``. `link` (H,): directed links.
    `share` (H,): part of the flow on each; 1 but where packets are spread over paths.
    """

    indptr: Ints
    link: Ints
    share: Floats
