"""Loaded tables: a dump of a running fabric as a routing."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fabricsim.checking.inputs import read_text
from netsim.common.errors import RoutingError
from netsim.formats.importers import infiniband
from netsim.infiniband.dump import read_lft_dump, tables_of
from netsim.infiniband.lft import LFT
from netsim.topology.base import Topology

KEYS = ("lft", "fabric")


def load_tables(spec: Mapping[str, Any], topology: Topology) -> LFT:
    """Read forwarding tables (``lft``) and their fabric (``fabric``, if not `topology`)."""
    unknown = sorted(set(spec) - set(KEYS))
    if unknown:
        raise RoutingError(f"unknown key {unknown[0]!r}; choose from {', '.join(KEYS)}.")
    origin = topology.origin
    own = origin.source if origin is not None and origin.form == infiniband.FORM else None
    dump, fabric = spec["lft"], spec.get("fabric", own)
    for key, path in (("lft", dump), ("fabric", fabric)):
        if not isinstance(path, str):
            expected = "the path of a dump" if key == "lft" else "the path of ibnetdiscover output"
            raise RoutingError(f"{key}: expected {expected}, got {path!r}.")
    wiring, _ = infiniband.read_wiring(read_text(fabric, RoutingError), fabric)
    wired = wiring.topology
    same = (wired.n_nodes, wired.n_switches) == (topology.n_nodes, topology.n_switches)
    if not (
        same
        and np.array_equal(wired.link_tail, topology.link_tail)
        and np.array_equal(wired.link_head, topology.link_head)
    ):
        raise RoutingError(
            f"{fabric}: expected the fabric {topology.summary}, got {wired.summary}."
        )
    tables = tables_of(read_lft_dump(read_text(dump, RoutingError), dump), wiring)
    return LFT(topology, tables.out)
