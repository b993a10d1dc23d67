"""Parts of a training step: computation, exposed communication, bytes by class of link."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import step_hides_s
from netsim.flows.traffic import StepTimes, bytes_per_link
from netsim.topology.gpucluster import GpuCluster
from scheduler.traffic import PlacedTraffic

COMPUTATION, COMMUNICATION = "computation", "communication"
OWN, OTHERS = "own messages on shared links", "other jobs"
_ROUNDING = 1e-9

_CLASSES = (  # by the levels of a tree, with the kinds of links of the way up
    ("inside hosts", "gpu-out"),
    ("host to leaf", "injection"),
    ("leaf to spine", "leaf-up"),
    ("spine to core", "L2-up"),
)


@dataclass(frozen=True, slots=True)
class StepPart:
    """What a part of a step takes alone."""

    what: str  # Computation, a collective and its dimension, or other jobs
    time_s: float  # Seconds of it
    exposed_s: float  # Seconds by which it makes the step longer

    @property
    def dimension(self) -> str:
        """Dimension of parallelism, empty where it is none."""
        return self.what.partition(" over ")[2]


@dataclass(frozen=True, slots=True)
class ClassBytes:
    """What a job sends over one class of links in a step."""

    links: str  # The class
    nbytes: float  # Bytes each way: as many go up as come down
    busiest_link: str  # Directed link with the longest transfer
    busiest_s: float  # Seconds that its bytes take


def step_parts(
    placed: PlacedTraffic, times: StepTimes, alone_s: float, together_s: float
) -> tuple[StepPart, ...]:
    """
    Split a step into parts whose exposed times add up to it.

    Computation beside collectives hides the first of them: these follow each other. They have the
    time of their busiest link; what a simulation has more of it alone is a part too.
    """
    hide_s = step_hides_s(placed.traffic)
    length_s = times.steps["drain_s"] + times.steps["latency_s"]
    computed_s = placed.traffic.compute_s + float(hide_s[hide_s > 0.0].sum())
    labels = placed.labels or (COMMUNICATION,) * length_s.size
    total = dict.fromkeys(labels, 0.0)
    exposed = total.copy()
    first = 0
    for last in np.flatnonzero(hide_s >= 0.0).tolist():  # of collectives beside one computation
        until_s = 0.0
        for label, own_s in zip(labels[first : last + 1], length_s[first : last + 1], strict=True):
            total[label] += float(own_s)
            hidden_s = max(0.0, float(hide_s[last]) - until_s)
            exposed[label] += max(0.0, float(own_s) - hidden_s)
            until_s += float(own_s)
        first = last + 1
    parts = [StepPart(COMPUTATION, computed_s, computed_s)] if computed_s else []
    parts += [StepPart(label, total[label], exposed[label]) for label in total]
    own_s = alone_s - sum(part.exposed_s for part in parts)
    for what, rest_s in ((OWN, own_s), (OTHERS, together_s - alone_s)):
        if abs(rest_s) > _ROUNDING * together_s:
            parts.append(StepPart(what, rest_s, rest_s))
    return tuple(parts)


def class_bytes(cluster: GpuCluster, placed: PlacedTraffic) -> tuple[ClassBytes, ...]:
    """Return the bytes of a step by class of link, those inside hosts first."""
    links, nbytes = bytes_per_link(placed.traffic)
    kinds = cluster.first_of_kind
    names = sorted(kinds, key=kinds.__getitem__)
    kind = np.searchsorted([kinds[name] for name in names], links, side="right") - 1
    found = []
    for what, up in _CLASSES:
        if up not in kinds:
            continue
        own = (kind == names.index(up)) | (kind == names.index(_way_back(up)))
        if own.any():
            found.append(_of_class(cluster, what, links[own], nbytes[own]))
    return tuple(found)


def _way_back(up: str) -> str:
    """Return the kind of the links of the other direction."""
    return {"gpu-out": "gpu-in", "injection": "ejection"}.get(up, up.replace("up", "down"))


def _of_class(cluster: GpuCluster, what: str, links: Ints, nbytes: Floats) -> ClassBytes:
    """Return the bytes of links of one class."""
    busy_s = nbytes / cluster.capacity[links]
    most = int(np.argmax(busy_s))
    name = cluster.link_name(int(links[most]))
    return ClassBytes(what, float(nbytes.sum()) / 2, name, float(busy_s[most]))
