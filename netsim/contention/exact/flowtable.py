"""Traffic of some jobs as the arrays that the compiled simulation runs on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.base import Traffic
from netsim.errors import ContentionError
from netsim.flows.maxmin import as_channels
from netsim.kernelcache import load_kernels
from netsim.routes import Routes


@dataclass(frozen=True, slots=True, eq=False)
class FlowTable:
    """
    Flows of some jobs, none of which stays inside a node.

    Parameters
    ----------
    indptr : (F + 1,) int array
        Rows of `lists`.
    lists : (nnz,) int array
        For each flow the channels it crosses, 0..C-1, and last C + its sender.
    capacity : (C,) float array
        Bytes per second of each channel.
    nbytes : (F,) float array
        Bytes of each flow, ascending by job, then step.
    latency_s : (F,) float array
        Latency of each flow's path.
    step_first : (S + 1,) int array
        Step s has the flows from ``step_first[s]``; every step has some.
    job_first : (J + 1,) int array
        Job j has the steps from ``job_first[j]``; every job has some.
    """

    indptr: Ints
    lists: Ints
    capacity: Floats
    nbytes: Floats
    latency_s: Floats
    step_first: Ints
    job_first: Ints


@dataclass(frozen=True, slots=True)
class Sharing:
    """
    What flows weigh.

    Parameters
    ----------
    per_sender : bool
        Whether flows weigh 1 / (flows open at their sender now) instead of 1.
    buffer_bytes : float
        Of a port; with them to the power of `netsim.contention.link_kernels.weight_exponent`.
    place_bytes : float
        Of a packet; then times `netsim.contention.link_kernels.place_fill`.
    """

    per_sender: bool
    buffer_bytes: float = 0.0
    place_bytes: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """
    What the compiled simulation returns.

    Parameters
    ----------
    first_end_s, last_end_s : (J,) float array
        End of each job's first and last iteration.
    count : (J,) int array
        Iterations that each job completed.
    rate : (F,) float array
        Rate of each flow when it first started, bytes per second.
    sent_s : (F,) float array
        When the bytes of each flow had last gone.
    """

    first_end_s: Floats
    last_end_s: Floats
    count: Ints
    rate: Floats
    sent_s: Floats


def outside_nodes(traffic: Traffic) -> Traffic:
    """Return the traffic that crosses links."""
    step, nbytes, latency_s = traffic.step, traffic.nbytes, traffic.latency_s
    if bool((step[1:] < step[:-1]).any()):
        raise ContentionError("flows must be given in the order of their steps.")
    if step.size and not 0.0 < nbytes.min() <= nbytes.max() < np.inf:
        raise ContentionError("nbytes must be positive and finite for every flow.")
    good = not step.size or 0.0 <= latency_s.min() <= latency_s.max() < np.inf
    if not (good and 0.0 <= traffic.compute_s < np.inf):
        raise ContentionError("compute_s and latency_s must be at least 0 and finite.")
    keep = traffic.routes.hops > 0
    if keep.all() and nbytes.dtype == latency_s.dtype == np.float64:  # as mostly
        return traffic
    indptr = np.concatenate([[0], np.cumsum(traffic.routes.hops[keep])])
    return Traffic(
        traffic.step[keep],
        traffic.sender[keep],
        np.asarray(traffic.nbytes[keep], dtype=np.float64),
        Routes(indptr, traffic.routes.links, traffic.routes.n_links, traffic.routes.rule),
        traffic.compute_s,
        np.asarray(traffic.latency_s[keep], dtype=np.float64),
    )


def flow_table(parts: Sequence[Traffic], capacity: Floats, channel: Ints | None) -> FlowTable:
    """
    Put jobs side by side, channels and senders numbered without gaps.

    `parts`: what each job sends, from `outside_nodes`, at least one flow each. `capacity` (E,):
    bytes per second of each directed link's channel. `channel` (E,) or None: channel of each link;
    None when every link is a channel of its own. Result: the jobs in the same order.
    """
    hops = np.concatenate([part.routes.hops for part in parts])
    links = np.concatenate([part.routes.links for part in parts])
    routes = Routes(np.concatenate([[0], np.cumsum(hops)]), links, parts[0].routes.n_links)
    channels, channel_capacity = as_channels(routes, capacity, channel)
    used, number = np.unique(channels, return_inverse=True)
    _, sender = np.unique(np.concatenate([part.sender for part in parts]), return_inverse=True)
    lists = np.insert(number, routes.indptr[1:], used.size + sender)
    steps = [np.flatnonzero(np.diff(part.step, prepend=-1)) for part in parts]
    n_flows = np.cumsum([0] + [part.step.size for part in parts])
    first = [step + offset for step, offset in zip(steps, n_flows, strict=False)]
    return FlowTable(
        indptr=routes.indptr + np.arange(routes.n_flows + 1),
        lists=lists,
        capacity=channel_capacity[used],
        nbytes=np.concatenate([part.nbytes for part in parts]),
        latency_s=np.concatenate([part.latency_s for part in parts]),
        step_first=np.concatenate([*first, n_flows[-1:]]),
        job_first=np.cumsum([0] + [step.size for step in steps]),
    )


def run(
    table: FlowTable,
    compute_s: Sequence[float],
    start_s: Sequence[float],
    iterations: Sequence[int],
    *,
    persist: bool,
    sharing: Sharing,
) -> Run:
    """
    Simulate the jobs of a table.

    `iterations`: iterations that each job makes, at least 1. Result: times since time 0.
    """
    kernels = load_kernels(
        "netsim.contention.exact.simulation_kernels", "exact simulation", seconds=10
    )
    jobs, flows = kernels.simulate(
        table.indptr,
        table.lists,
        table.capacity,
        table.nbytes,
        table.latency_s,
        table.step_first,
        table.job_first,
        np.array(compute_s, dtype=np.float64),
        np.array(start_s, dtype=np.float64),
        np.array(iterations, dtype=np.int64),
        persist,
        sharing.per_sender,
        sharing.buffer_bytes,
        sharing.place_bytes,
    )
    return Run(
        jobs["first_end_s"],
        jobs["last_end_s"],
        jobs["count"],
        flows["first_rate"],
        flows["sent_s"],
    )
