"""The world that a packet simulation runs on, made from flows and a switch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints, Table
from netsim.common.units import ROUNDING
from netsim.flows.contention import Traffic
from netsim.packetsim.next_hops import NextHops
from netsim.packetsim.records import (
    CHANNEL,
    CLOCK,
    DCQCN,
    END_POINT,
    ENTRY,
    EVENT,
    FLOW,
    JOB,
    LINK,
    LINK_END,
    NEXT_HOP,
    NIC,
    NONE,
    PACER,
    PACKET,
    QUEUE,
    STEP,
    UNLIMITED,
    World,
)
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.switches import Switch

NS = 1e9
_IDLE = (0.5, 0.5)  # least and span of the delay before an idle link, in jitters
_GAP = (0.71, 1.0)  # the same between the packets of a NIC
_SLACK_NS = 1.0
_LONGEST_PAUSE_NS, _MOST_SLOTS = 50e3, 2**22
_SCHEMES = {"none": UNLIMITED, "end-point": END_POINT, "dcqcn": DCQCN}


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Flows of some jobs, none of which stays inside a node."""

    indptr: Ints  # (F + 1,): flow f crosses ``links[indptr[f]:indptr[f + 1]]``
    # links, channels: (nnz,): directed links in the order of travel, and the virtual channel of
    # each, from 0
    links: Ints
    channels: Ints
    nbytes: Floats  # (F,): bytes of each flow, ascending by job, then step
    step_first: Ints  # (S + 1,): step s has the flows from ``step_first[s]``; every step has some
    job_first: Ints  # (J + 1,): job j has the steps from ``job_first[j]``; every job has some
    # into, receives, receive_first: where each rank goes on by itself, and jobs above are ranks:
    # the step that each flow goes into, the flows by that step, and where those of each step begin
    into: Ints | None = None
    receives: Ints | None = None
    receive_first: Ints | None = None
    # where switches choose: of a path only the first and the last link count
    next_hops: NextHops | None = None


def scene_of(parts: Sequence[Traffic], channels: Ints, next_hops: NextHops | None = None) -> Scene:
    """
    Put jobs side by side.

    `parts`: what each job sends, without flows inside nodes, at least one flow each. `channels`
    (nnz,): virtual channel of each link of their routes. `next_hops`: where switches choose.
    Result: the jobs in the same order.
    """
    hops = np.concatenate([part.routes.hops for part in parts])
    steps = [np.flatnonzero(np.diff(part.step, prepend=-1)) for part in parts]
    n_flows = np.cumsum([0] + [part.step.size for part in parts])
    first = [step + offset for step, offset in zip(steps, n_flows, strict=False)]
    return Scene(
        indptr=np.concatenate([[0], np.cumsum(hops)]),
        links=np.concatenate([part.routes.links for part in parts]),
        channels=channels,
        nbytes=np.concatenate([part.nbytes for part in parts]),
        step_first=np.concatenate([*first, n_flows[-1:]]),
        job_first=np.cumsum([0] + [step.size for step in steps]),
        next_hops=next_hops,
    )


def by_rank(scene: Scene, topology: Topology) -> tuple[Scene, Ints]:
    """
    Turn each rank of each job, with a barrier after each step, into a job of its own.

    The ranks of a job are the nodes that it sends from and to. A rank has the steps in which it
    sends or receives; one ends when its own messages have left the NIC and those for it have
    arrived. Result: the ranks, and the job of each, (R,).
    """
    step = np.repeat(np.arange(scene.step_first.size - 1), np.diff(scene.step_first))
    job = np.searchsorted(scene.job_first, step, side="right") - 1
    n_nodes, n_steps = topology.n_nodes, scene.step_first.size
    sender = job * n_nodes + topology.link_tail[scene.links[scene.indptr[:-1]]]
    receiver = job * n_nodes + topology.link_head[scene.links[scene.indptr[1:] - 1]]
    sends, gets = sender * n_steps + step, receiver * n_steps + step
    tasks, place = np.unique(np.concatenate([sends, gets]), return_inverse=True)
    out, into = place[: step.size], place[step.size :]
    order = np.argsort(out, kind="stable")
    ranks, first = np.unique(tasks // n_steps, return_index=True)
    hops = np.diff(scene.indptr)
    rows = np.concatenate([np.arange(scene.indptr[f], scene.indptr[f + 1]) for f in order])
    bounds = np.arange(tasks.size + 1)
    receives = np.argsort(into[order], kind="stable")
    found = Scene(
        indptr=np.concatenate([[0], np.cumsum(hops[order])]),
        links=scene.links[rows],
        channels=scene.channels[rows],
        nbytes=scene.nbytes[order],
        step_first=np.searchsorted(out[order], bounds),
        job_first=np.append(first, tasks.size),
        into=into[order],
        receives=receives,
        receive_first=np.searchsorted(into[order][receives], bounds),
        next_hops=scene.next_hops,
    )
    return found, ranks // n_nodes


def by_sender(scene: Scene, persistent: Bools) -> tuple[Scene, Ints]:
    """
    Turn each sending node of some jobs into a job of its own, whose messages are one step.

    `persistent` (J,): which jobs. Result: the jobs and senders, and the job of each, (R,).
    """
    step = np.repeat(np.arange(scene.step_first.size - 1), np.diff(scene.step_first))
    job = np.searchsorted(scene.job_first, step, side="right") - 1
    apart = persistent[job]
    sender = np.where(apart, scene.links[scene.indptr[:-1]], 0)
    step = np.where(apart, 0, step)
    order = np.lexsort((step, sender, job))
    keys = np.stack([job, sender, step])[:, order]
    new_step = np.append(True, (np.diff(keys) != 0).any(axis=0))
    new_row = np.append(True, (np.diff(keys[:2]) != 0).any(axis=0))
    step_first = np.flatnonzero(new_step)
    rows = np.concatenate([np.arange(scene.indptr[f], scene.indptr[f + 1]) for f in order])
    found = replace(
        scene,
        indptr=np.concatenate([[0], np.cumsum(np.diff(scene.indptr)[order])]),
        links=scene.links[rows],
        channels=scene.channels[rows],
        nbytes=scene.nbytes[order],
        step_first=np.append(step_first, order.size),
        job_first=np.append(np.searchsorted(step_first, np.flatnonzero(new_row)), step_first.size),
    )
    return found, keys[0, new_row]


def packets_of(nbytes: Floats, packet_bytes: float) -> Ints:
    """
    Return how many packets messages make.

    `nbytes` (F,): bytes of each. Result (F,): at least 1; rounding makes none more.
    """
    whole = np.ceil(nbytes / packet_bytes * (1.0 - ROUNDING))
    count: Ints = np.maximum(whole, 1.0).astype(np.int64)
    return count


def build(scene: Scene, capacity: Floats, switch: Switch, seed: int, spare: int) -> World:
    """
    Make a world at time 0, in which no job computes, communicates or has anything to do.

    `capacity` (E,): bytes per second of each directed link. `spare`: packets that there is room
    for, at least 1. Result: links and NICs are numbered without gaps, in the order of the links'
    numbers.
    """
    hops = scene.next_hops
    if hops is None:
        used, number = np.unique(scene.links, return_inverse=True)
        n_channels = int(scene.channels.max()) + 1
        entries, n_queues = _path_entries(
            scene, number, number * n_channels + scene.channels, switch
        )
    else:
        used, number, n_channels = np.arange(capacity.size), scene.links, hops.n_channels
        entries, n_queues = np.zeros(0, dtype=ENTRY), used.size * n_channels
    links = _used_links(scene, number, capacity[used], switch)
    flows, nics = _world_flows(scene, number, links, switch)
    channels = np.zeros(used.size * n_channels, dtype=CHANNEL)
    channels["link"] = np.repeat(np.arange(used.size), n_channels)
    channels["free"] = switch.slots
    channels["first"] = NONE
    steps = np.zeros(scene.step_first.size, dtype=STEP)
    steps["flow"] = scene.step_first
    n_flows = scene.nbytes.size
    order = np.arange(n_flows, dtype=np.int32)
    flows["into"] = flows["step"] if scene.into is None else scene.into
    if scene.receives is not None and scene.receive_first is not None:
        steps["receives"] = n_flows + scene.receive_first
        order = np.concatenate([order, scene.receives.astype(np.int32)])
    steps["job"][:-1] = np.repeat(np.arange(scene.job_first.size - 1), np.diff(scene.job_first))
    jobs = np.zeros(scene.job_first.size, dtype=JOB)
    jobs["first"] = jobs["step"] = scene.job_first
    jobs["wake"], jobs["dropped"] = np.inf, 1
    clock = _clock_at_zero(switch, seed, used.size)
    clock["by_rank"] = scene.into is not None
    pacers = _sender_pacers(flows, number[scene.indptr[1:] - 1], links["per_byte"], switch)
    clock["nics"] = nics.size
    link_ends, table, options = np.zeros(1, LINK_END), np.zeros(1, NEXT_HOP), np.zeros(1, np.int32)
    if hops is not None:
        n_queues *= _set_choices(clock, flows, scene, hops, switch)
        link_ends, table, options = hops.link_ends, hops.table, hops.options
    queues = np.zeros(n_queues, dtype=QUEUE)
    queues["head"] = NONE
    # no event lies further ahead than the slowest packet on the slowest link, or than software
    largest = min(switch.packet_bytes, float(scene.nbytes.max()))
    ahead = float((links["per_byte"] * largest + links["delay"]).max())
    ahead = max(ahead, switch.overhead_s * NS)
    wheel = 1 << int(used.size + nics.size).bit_length()
    if switch.congestion_control == "dcqcn":  # pauses between packets are long
        far = max(ahead, _LONGEST_PAUSE_NS)
        wheel = min(wheel << int(far / ahead).bit_length(), _MOST_SLOTS)
        ahead = far
    clock["horizon"] = ahead
    clock["per_ns"] = (max(wheel, 4) - 2) / (ahead + 4.0 * switch.jitter_s * NS + _SLACK_NS)
    world = World(
        clock,
        np.full(max(wheel, 4), NONE, dtype=np.int32),
        np.zeros(used.size + nics.size + pacers.size, dtype=EVENT),
        links,
        channels,
        queues,
        entries,
        link_ends,
        table,
        options,
        np.zeros(0, dtype=PACKET),
        nics,
        pacers,
        flows,
        steps,
        jobs,
        np.zeros(0),
        order,
    )
    return with_packets(world, spare)


def with_packets(world: World, more: int) -> World:
    """
    Return a world with more spare packets.

    `more`: how many, at least 1. Result: the same but for its packets; the old one is not to be
    used again.
    """
    old = world.packets.size
    packets = np.zeros(old + more, dtype=PACKET)
    packets[:old] = world.packets
    packets["next"][old:] = np.arange(old + 1, old + more + 1)
    packets["next"][-1] = world.clock["spare"][0]
    world.clock["spare"] = old
    width = int(world.clock["width"][0])
    if not width:
        return world._replace(packets=packets)
    entries = np.zeros(packets.size * width, dtype=ENTRY)
    entries[: old * width] = world.entries
    return world._replace(packets=packets, entries=entries)


def _clock_at_zero(switch: Switch, seed: int, n_links: int) -> Table:
    """Return the clock at time 0."""
    clock = np.zeros(1, dtype=CLOCK)
    clock["random"] = np.uint64(seed % 2**64)
    clock["wake"] = np.inf
    clock["spare"] = NONE
    clock["packet"] = switch.packet_bytes
    clock["ahead"] = switch.slots
    clock["round_robin"] = switch.nic == "round-robin"
    clock["shuffles"] = switch.order == "random"
    clock["links"] = n_links
    jitter = switch.jitter_s * NS
    clock["idle_least"], clock["idle_span"] = _IDLE[0] * jitter, _IDLE[1] * jitter
    clock["overhead"] = switch.overhead_s * NS
    clock["scheme"] = _SCHEMES[switch.congestion_control]
    clock["reaction"] = switch.reaction_s * NS
    clock["gap_least"], clock["gap_span"] = _GAP[0] * jitter, _GAP[1] * jitter
    return clock


def _used_links(scene: Scene, number: Ints, capacity: Floats, switch: Switch) -> Table:
    """Return the links that are used."""
    links = np.zeros(capacity.size, dtype=LINK)
    links["per_byte"] = NS / capacity
    links["head"] = NONE
    starts, ends, fastest = _path_ends(scene, number, links["per_byte"])
    links["delay"] = np.where(starts, 0.0, switch.delay_s * NS)
    links["lag_per_byte"] = links["per_byte"]
    if switch.switching == "cut-through":
        # a faster link waits until it does not run dry; what ends here must be there as a whole
        behind = np.maximum(0.0, links["per_byte"] - fastest)
        links["lag_per_byte"] = np.where(ends, links["per_byte"], behind)
        links["lag_least"] = np.where(ends, 0.0, switch.header_bytes * links["per_byte"])
    return links


def _path_ends(scene: Scene, number: Ints, per_byte: Floats) -> tuple[Bools, Bools, Floats]:
    """Return which links start and which end paths, and ns per byte of the fastest next one."""
    size = per_byte.size
    fastest = np.full(size, np.inf)
    if scene.next_hops is None:
        last = scene.indptr[1:] - 1
        inner = np.flatnonzero(~_marked_places(number.size, last))
        np.minimum.at(fastest, number[inner], per_byte[number[inner + 1]])
        return (
            _marked_places(size, number[scene.indptr[:-1]]),
            _marked_places(size, number[last]),
            fastest,
        )
    fabric = scene.next_hops.topology
    leaving = np.full(fabric.n_nodes + fabric.n_switches, np.inf)
    np.minimum.at(leaving, fabric.link_tail, per_byte)
    starts, ends = fabric.link_tail < fabric.n_nodes, fabric.link_head < fabric.n_nodes
    return starts, ends, np.where(ends, np.inf, leaving[fabric.link_head])


def _set_choices(clock: Table, flows: Table, scene: Scene, hops: NextHops, switch: Switch) -> int:
    """Set clock and flows for switches that choose; return the queues of a channel."""
    fabric = hops.topology
    first, last = scene.links[scene.indptr[:-1]], scene.links[scene.indptr[1:] - 1]
    ports = int(hops.link_ends["port"].max()) + 1 if switch.arbitration == "round-robin" else 0
    clock["rule"], clock["width"], clock["states"] = hops.rule, hops.longest + 2, hops.n_states
    clock["per_link"] = hops.n_channels
    clock["ports"], clock["nonminimal_hops"] = ports, hops.nonminimal_hops
    flows["entry"], flows["end"] = first, last
    flows["target"] = hops.target[fabric.link_tail[last]]
    if isinstance(fabric, Dragonfly):
        _set_thirds(flows, hops, fabric.link_head[first], fabric.link_tail[last])
    return max(1, ports)


def _set_thirds(flows: Table, hops: NextHops, first: Ints, last: Ints) -> None:
    """Set by which groups, or routers of their group, packets may go between two routers (F,)."""
    fabric = hops.topology
    assert isinstance(fabric, Dragonfly)  # noqa: S101 (the caller looked)
    size = fabric.routers_per_group
    (here, out), (there, into) = (np.divmod(end - fabric.n_nodes, size) for end in (first, last))
    inside = here == there
    ends = np.where(inside, [out, into], [here, there])
    number = np.where(inside, hops.n_routers, hops.n_groups)
    n_targets = hops.table.size // hops.n_states
    flows["others"] = np.where(first == last, 0, np.maximum(0, number - 2))
    flows["through"] = n_targets - number - np.where(inside, 0, hops.n_routers)
    flows["low"], flows["high"] = ends.min(axis=0), ends.max(axis=0)
    flows["router"] = np.where(inside, fabric.n_nodes + here * size, NONE)


def _sender_pacers(flows: Table, last: Ints, per_byte: Floats, switch: Switch) -> Table:
    """Return what limits senders: a pacer for each receiver, or each message, and one at least."""
    scheme = _SCHEMES[switch.congestion_control]
    owner = last if scheme == END_POINT else np.arange(last.size if scheme == DCQCN else 1)
    _, first, flows["pacer"] = np.unique(
        np.resize(owner, last.size), return_index=True, return_inverse=True
    )
    pacers = np.zeros(first.size, dtype=PACER)
    pacers["per_byte"] = per_byte[last[first]]
    pacers["first"], pacers["rate"], pacers["target"], pacers["alpha"] = NONE, 1.0, 1.0, 1.0
    pacers["notified"] = -np.inf
    return pacers


def _marked_places(size: int, places: Ints) -> Bools:
    """Return true at some places."""
    marks = np.zeros(size, dtype=bool)
    marks[places] = True
    return marks


def _path_entries(scene: Scene, number: Ints, channel: Ints, switch: Switch) -> tuple[Table, int]:
    """Return the places of all paths, and how many queues there are."""
    n_flows = scene.nbytes.size
    entries = np.full(channel.size + n_flows, NONE, dtype=ENTRY)
    place = np.arange(channel.size) + np.repeat(np.arange(n_flows), np.diff(scene.indptr))
    entries["channel"][place] = channel
    if switch.arbitration == "first-come":
        entries["queue"][place] = channel
        return entries, int(channel.max()) + 1
    port = np.concatenate([[NONE], number[:-1]])  # a queue for every input port of a channel
    port[scene.indptr[:-1]] = NONE
    found, queue = np.unique(channel * (int(number.max()) + 2) + port + 1, return_inverse=True)
    entries["queue"][place] = queue
    return entries, found.size


def _world_flows(scene: Scene, number: Ints, links: Table, switch: Switch) -> tuple[Table, Table]:
    """Return flows and the NICs that send them."""
    n_flows = scene.nbytes.size
    sending, nic = np.unique(number[scene.indptr[:-1]], return_inverse=True)
    nics = np.zeros(sending.size, dtype=NIC)
    nics["first"] = nics["prepared"] = NONE
    nics["per_byte"] = links["per_byte"][sending]
    flows = np.zeros(n_flows, dtype=FLOW)
    flows["packets"] = flows["unarrived"] = packets_of(scene.nbytes, switch.packet_bytes)
    flows["rest"] = scene.nbytes - (flows["packets"] - 1) * switch.packet_bytes
    flows["entry"] = scene.indptr[:-1] + np.arange(n_flows)
    flows["nic"] = nic
    flows["step"] = np.repeat(np.arange(scene.step_first.size - 1), np.diff(scene.step_first))
    return flows, nics
