"""What pictures of results share: dates, names of nodes, the end of the colours."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coupling.results.columns import finished
from coupling.results.framed import nodes_used
from coupling.results.result import Result
from netsim.topology.base import Topology

_QUANTILE = 0.98  # of node time: a few jobs that are slowed much must not hide the others
LEAST_SCALE = 1.05
"""End of the colours where no job is slowed."""
_LAST_S = 2.5e11  # the year 9999, beyond which there are no dates


def begin_of(results: Sequence[Result]) -> float | None:
    """Return the date of second 0, where all runs have one and the same, and end before 9999."""
    ends = [float(result.timeline["time_s"].max()) for result in results if len(result.timeline)]
    return dates_of([result.summary for result in results], max(ends, default=0.0))[0]


def zone_of(results: Sequence[Result]) -> str:
    """Return the time zone of the logs of runs, UTC where they do not tell one and the same."""
    return dates_of([result.summary for result in results], 0.0)[1]


def dates_of(summaries: Sequence[Mapping[str, Any]], end_s: float) -> tuple[float | None, str]:
    """Return date of second 0 (None without a common one before year 9999) and time zone."""
    begins = {summary.get("log_begin_unix_s") for summary in summaries}
    zones = {str(summary.get("log_time_zone", "UTC")) for summary in summaries}
    begin = begins.pop() if len(begins) == 1 else None
    zone = zones.pop() if len(zones) == 1 else "UTC"
    if begin is None or not 0 <= begin <= begin + end_s < _LAST_S:
        return None, zone
    return float(begin), zone


def node_names(result: Result, topology: Topology | None = None) -> list[str]:
    """Return node names in the order of the fabric; without one, from the links."""
    if topology is not None:
        return [topology.vertex_name(node) for node in range(topology.n_nodes)]
    own = result.links.loc[result.links["class"] == "injection", "link"]
    return list(dict.fromkeys(str(name).split(">")[0] for name in own))


def slowdown_scale(results: Sequence[Result]) -> float:
    """Return the slowdown that 98 % of the node time of all runs stays below."""
    jobs = pd.concat([finished(result.jobs) for result in results])
    order = np.argsort(jobs["network_slowdown"].to_numpy())
    weight = (nodes_used(jobs) * (jobs["end_s"] - jobs["start_s"]).to_numpy())[order]
    total = np.cumsum(weight)
    if not total.size:
        return LEAST_SCALE
    place = min(int(np.searchsorted(total, _QUANTILE * total[-1])), total.size - 1)
    return max(LEAST_SCALE, float(jobs["network_slowdown"].to_numpy()[order][place]))
