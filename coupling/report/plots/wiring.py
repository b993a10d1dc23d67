"""A fabric from the names of its links, where nothing else states how it is wired."""

import re

import numpy as np
import pandas as pd

from netsim.common.errors import TopologyError
from netsim.topology.base import Topology

_LINK = re.compile(r"([^>]+)>([^>]+?)(?:#([0-9]{1,9}))?")
_DIGITS = re.compile(r"([0-9]{1,18})")


def wiring_of(links: pd.DataFrame) -> Topology | None:
    """Return the fabric of a result's link table as a graph; None where names lack ends."""
    parts = [_LINK.fullmatch(str(name)) for name in links["link"]]
    if not parts or any(part is None for part in parts):
        return None
    tails, heads, cables = zip(*(part.groups() for part in parts if part), strict=True)
    injects = (links["class"] == "injection").to_numpy()
    nodes = list(dict.fromkeys(name for name, own in zip(tails, injects, strict=True) if own))
    switches = sorted({*tails, *heads} - set(nodes), key=_natural_key)
    number = {name: place for place, name in enumerate([*nodes, *switches])}
    try:
        graph = Topology(
            name="fabric",
            n_nodes=len(nodes),
            n_switches=len(switches),
            link_tail=np.array([number[name] for name in tails], dtype=np.int64),
            link_head=np.array([number[name] for name in heads], dtype=np.int64),
            link_cable=np.array([int(cable or 0) for cable in cables], dtype=np.int64),
            capacity=np.ones(len(parts)),
            channel=np.arange(len(parts)),
        )
        _ = graph.reverse
    except TopologyError:
        return None
    return graph


def _natural_key(name: str) -> list[tuple[int, str]]:
    """Return a key by which s1.10 comes after s1.9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]
