"""By which adapters and links inside hosts the messages of a job on a GPU cluster travel."""

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints, occurrence_numbers
from netsim.common.errors import RoutingError
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import links_in_service
from netsim.topology.reach import switch_meetings

_ONE = 1


def cluster_flows(
    cluster: GpuCluster,
    nodes: Ints,
    src: Ints,
    dst: Ints,
    channel: Ints | None,
    *,
    gpus: Ints | None = None,
) -> tuple[Ints, Ints, Ints, Ints | Floats, tuple[Ints, Ints, Ints, Ints] | None]:
    """
    Split messages between ranks into flows between endpoints.

    Rank i of those on a host runs on its GPU i; a job with one rank on each host has all GPUs and
    adapters of it. Where `gpus` are given, each rank has just that one.

    A message to another host goes by the adapter of the receiver's GPU at both
    ends, as NCCL's PXN has it, and reaches that adapter through the host's own network; without PXN
    it leaves by the sender's adapter. `channel` (F,) names the adapter of messages of a collective,
    -1 for none. Over the ports of an adapter it is split evenly.

    Result: message of each flow, endpoints, parts of the message, and where hosts have a network
    the links in it: out and in before the flow leaves its host, out and in after it has come.
    """
    hosts, first = cluster.hosts, cluster.endpoints.first
    local, count = occurrence_numbers(nodes) % hosts.gpus, np.bincount(nodes)
    if gpus is not None:
        local, count = gpus, np.full_like(count, hosts.gpus + 1)  # none is a whole host
    here, there = nodes[src], nodes[dst]
    apart = here != there
    owned = _owned(cluster, local[dst], count[there] == _ONE, channel)
    owned[~apart] = np.arange(hosts.ends) == 0
    crossing = apart & (not hosts.pxn)
    if channel is not None:
        crossing &= channel < 0
    share: Floats | None = None
    if cluster.absent is not None and cluster.absent.size:
        share = owned / owned.sum(axis=1, keepdims=True)
        same = ~crossing  # of those that stay on a rail
        share[same] = _in_service(cluster, owned[same], here[same], there[same])
        owned = share > 0.0
    flow, into = np.nonzero(owned)
    out = into.copy()
    rows = np.flatnonzero(crossing[flow])
    if rows.size:
        own = _owned(cluster, local[src[flow[rows]]], count[here[flow[rows]]] == _ONE, None)
        place = rows - np.searchsorted(flow, flow[rows])
        nth = np.cumsum(own, axis=1) == (place % own.sum(axis=1) + 1)[:, None]
        out[rows] = np.argmax(own & nth, axis=1)
    parts: Ints | Floats = owned.sum(axis=1)[flow]
    if share is not None:
        flow, out, into, parts = _around(
            cluster, (here, there), crossing, (flow, out, into), share[flow, into]
        )
    ends = first[here[flow]] + out, first[there[flow]] + into
    if not hosts.gpu_rate:
        return flow, *ends, parts, None
    whole = count == _ONE
    sides = (here[flow], there[flow], local[src[flow]], local[dst[flow]])
    legs = _legs(cluster, sides, (out % hosts.nics, into % hosts.nics), apart[flow])
    idle = whole[sides[0]] | whole[sides[1]]
    if channel is not None:
        idle |= channel[flow] >= 0
    silent = idle & apart[flow]
    return flow, *ends, parts, tuple(np.where(silent, -1, leg) for leg in legs)  # type: ignore[return-value]


def _owned(cluster: GpuCluster, gpu: Ints, whole: Bools, channel: Ints | None) -> Bools:
    """Return which endpoints of a host messages to GPUs use, (F, ends)."""
    hosts = cluster.hosts
    nic = np.arange(hosts.ends) % hosts.nics
    each = max(1, hosts.nics // hosts.gpus)
    start = hosts.nic_of(gpu)[:, None]
    owned: Bools = ((nic >= start) & (nic < start + each)) | whole[:, None]
    if channel is not None:
        owned = np.where((channel >= 0)[:, None], nic == channel[:, None], owned)
    return owned


def _legs(
    cluster: GpuCluster,
    sides: tuple[Ints, Ints, Ints, Ints],
    nics: tuple[Ints, Ints],
    apart: Bools,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the links inside hosts of flows, -1 for none."""
    hosts = cluster.hosts
    here, there, sender, receiver = sides
    near = hosts.gpu_of(nics[0]), hosts.gpu_of(nics[1])
    each = max(1, hosts.nics // hosts.gpus)
    own = [hosts.nic_of(gpu) for gpu in (sender, receiver)]
    relayed = [
        apart & ~((nic >= start) & (nic < start + each))
        for nic, start in zip(nics, own, strict=True)
    ]
    target = np.where(apart, near[0], receiver)
    out, _ = cluster.intra_links(here, sender)
    _, into = cluster.intra_links(here, target)
    before = ~apart | relayed[0]
    last_out, _ = cluster.intra_links(there, near[1])
    _, last_in = cluster.intra_links(there, receiver)
    return (
        np.where(before, out, -1),
        np.where(before, into, -1),
        np.where(relayed[1], last_out, -1),
        np.where(relayed[1], last_in, -1),
    )


def working_ends(cluster: GpuCluster, here: Ints, there: Ints) -> Bools:
    """Find which endpoints of two hosts, by their numbers there, a path joins, (F, ends)."""
    behind, meet = _behind_ends(cluster)
    joined: Bools = meet[behind[here], behind[there]]
    return joined


def _behind_ends(cluster: GpuCluster) -> tuple[Ints, Bools]:
    """Return the kinds of switches behind ends of hosts, the last: none; which of them meet."""
    kind, meet = switch_meetings(cluster)
    works = links_in_service(cluster)
    links, _ = cluster.node_links
    lost = ~works[links] | ~works[cluster.reverse[links]]
    behind = np.where(lost, meet.shape[0], kind[cluster.link_head[links]])
    return behind.reshape(cluster.n_nodes, -1), np.pad(meet, (0, 1))


def _around(
    cluster: GpuCluster,
    hosts: tuple[Ints, Ints],
    crossing: Bools,
    flows: tuple[Ints, Ints, Ints],
    share: Floats,
) -> tuple[Ints, Ints, Ints, Floats]:
    """
    Move flows that cross rails off lost ends; return message, both ends and parts of each.

    They take the other ports of their adapters where these work. Else a lost end of the sender, or
    of the receiver, gives way to the others of its host; of both, to those of one rail.
    """
    flow, out, into = flows
    behind, meet = _behind_ends(cluster)
    here, there = hosts[0][flow], hosts[1][flow]
    broken = np.flatnonzero(crossing[flow] & ~meet[behind[here, out], behind[there, into]])
    if not broken.size:
        return flow, out, into, 1.0 / share
    own = here[broken], there[broken], out[broken], into[broken]
    none = meet.shape[0] - 1
    lost = behind[own[0], own[2]] == none, behind[own[1], own[3]] == none
    free = lost[0] | ~lost[1], lost[1] | ~lost[0]  # ends that give way
    slots, nics, planes = np.arange(cluster.hosts.ends), cluster.hosts.nics, cluster.hosts.planes
    tried = tuple(
        np.concatenate([end % nics + np.arange(planes) * nics, np.where(gives, slots, end)], axis=1)
        for gives, end in ((free[0][:, None], own[2][:, None]), (free[1][:, None], own[3][:, None]))
    )
    others = meet[behind[own[0][:, None], tried[0]], behind[own[1][:, None], tried[1]]]
    wanted = np.where(free[0], own[2], own[3])
    beside = others[:, :planes].any(axis=1)  # by other ports of the same adapters
    others[beside, planes:] = False
    rule = cluster.hosts.on_failure
    if rule == "abort" or (rule == "plane" and not beside.all()):
        at = 0 if rule == "abort" else int(np.argmin(beside))
        words = _words(cluster, int(own[0][at]), int(own[1][at]), int(wanted[at]))
        raise RoutingError(f"{words}; the job stops.")
    if not others.any(axis=1).all():
        at = int(np.argmin(others.any(axis=1)))
        raise _no_path(cluster, int(own[0][at]), int(own[1][at]))
    if rule == "double":
        others[:, planes:] = _double(cluster, others[:, planes:], wanted)
    row, slot = np.nonzero(others)
    whole = np.ones(flow.size, dtype=np.bool_)
    whole[broken] = False
    moved = broken[row]
    columns = (
        np.concatenate([flow[whole], flow[moved]]),
        np.concatenate([out[whole], tried[0][row, slot]]),
        np.concatenate([into[whole], tried[1][row, slot]]),
        np.concatenate([1.0 / share[whole], others.sum(axis=1)[row] / share[moved]]),
    )
    order = np.argsort(columns[0], kind="stable")
    return columns[0][order], columns[1][order], columns[2][order], columns[3][order]


def _no_path(cluster: GpuCluster, here: int, there: int) -> RoutingError:
    """Return the error of two hosts that nothing joins."""
    return RoutingError(
        f"no path leads from {cluster.vertex_name(here)} to {cluster.vertex_name(there)} in the "
        f"fabric ({cluster.summary})."
    )


def _in_service(cluster: GpuCluster, owned: Bools, here: Ints, there: Ints) -> Floats:
    """
    Return the share of messages by endpoint where some are lost, as `Hosts.on_failure` has it.

    What a lost port had stays on the other port of its adapter, if that works.
    """
    works = working_ends(cluster, here, there) | (here == there)[:, None]
    rule = cluster.hosts.on_failure
    left: Bools = owned & works
    gone = np.flatnonzero((left != owned).any(axis=1))
    by_adapter = (-1, cluster.hosts.planes, cluster.hosts.nics)
    ports = left.reshape(by_adapter).sum(axis=1, keepdims=True)  # of each adapter that are left
    alone = ~ports.astype(np.bool_) & owned.reshape(by_adapter).any(axis=1, keepdims=True)
    lost = np.flatnonzero(alone.any(axis=(1, 2)) if rule == "plane" else ~left.any(axis=1))
    if (rule == "abort" and gone.size) or (rule == "plane" and lost.size):
        at = int(gone[0] if rule == "abort" else lost[0])
        end = int(np.argmax(owned[at] & ~works[at]))
        raise RoutingError(f"{_words(cluster, int(here[at]), int(there[at]), end)}; the job stops.")
    others = left.copy()  # that take what lost adapters had
    if rule == "respread":
        others = works.copy()
    elif lost.size:
        others[lost] = _double(cluster, works[lost], np.argmax(owned[lost], axis=1))
    none = ~others.any(axis=1)
    if none.any():
        at = int(np.argmax(none))
        raise _no_path(cluster, int(here[at]), int(there[at]))
    share: Floats = owned / owned.sum(axis=1, keepdims=True)
    moved = (share * ~works).reshape(by_adapter).sum(axis=1, keepdims=True)
    beside = np.where(ports, moved / np.maximum(ports, 1), 0.0)
    share = left * (
        share + np.broadcast_to(beside, (len(left), *by_adapter[1:])).reshape(left.shape)
    )
    rest = np.where(ports, 0.0, moved).sum(axis=(1, 2))
    found: Floats = share + others * (rest / others.sum(axis=1))[:, None]
    return found


def _double(cluster: GpuCluster, works: Bools, wanted: Ints) -> Bools:
    """Return for each lost adapter one that works, the next lost one the next of them."""
    nics, planes = cluster.hosts.nics, cluster.hosts.planes
    adapters = works.reshape(-1, planes, nics).any(axis=1)
    place = (~adapters & (np.arange(nics) < (wanted % nics)[:, None])).sum(axis=1)
    count = np.maximum(adapters.sum(axis=1), 1)
    nth = np.cumsum(adapters, axis=1) == (place % count + 1)[:, None]
    found: Bools = np.tile(nth & adapters, planes) & works
    return found


def _words(cluster: GpuCluster, here: int, there: int, end: int) -> str:
    """Name the rail that is lost between two hosts."""
    plane, nic = divmod(end, cluster.hosts.nics)
    of = f" of plane {plane}" if cluster.hosts.planes > 1 else ""
    names = (cluster.vertex_name(here), cluster.vertex_name(there))
    return f"rail {nic}{of} is lost between {names[0]} and {names[1]}"


def lost_rails(cluster: GpuCluster) -> str:
    """Say which rails are out of service on how many hosts; empty where none is."""
    works = links_in_service(cluster)
    links, _ = cluster.node_links
    lost = (~works[links]).reshape(cluster.n_nodes, -1)
    usable = lost[cluster.usable_nodes]
    count = usable.reshape(-1, cluster.hosts.planes, cluster.hosts.nics).any(axis=1).sum(axis=0)
    rails = [f"{nic} on {n:,} hosts" for nic, n in enumerate(count.tolist()) if n]
    if not rails:
        return ""
    word = "rail" if len(rails) == 1 else "rails"
    return f"{word} out of service: {', '.join(rails)}; on_failure = {cluster.hosts.on_failure}"
