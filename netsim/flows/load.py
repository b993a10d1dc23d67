"""Load of the network: flows and bytes per directed link."""

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.topology.routes import Routes


def link_flows(routes: Routes) -> Ints:
    """Count the flows on every directed link (E,)."""
    return np.bincount(routes.links, minlength=routes.n_links)


def link_bytes(routes: Routes, nbytes: Floats) -> Floats:
    """Add up the bytes on every directed link (E,)."""
    carried = np.repeat(np.asarray(nbytes, dtype=np.float64), routes.hops)
    load = np.bincount(routes.links, weights=carried, minlength=routes.n_links)
    return load.astype(np.float64, copy=False)
