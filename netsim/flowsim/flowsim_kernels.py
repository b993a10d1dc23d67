"""
Compiled flow-level simulation: jobs come and go while it runs; import through `netsim.common.jit`.

Each job is first run alone (`solo_run`). While no other job crosses the channels of its step, a job
is *quiet*: the step takes as long as in the solo run and is one event. Where another job comes onto
one of these channels, the quiet job is disturbed: its flows start with what they have left by then.

A channel is *spare* in a step of a job if all flows that cross it there cross another channel too,
one that carries no more: that one is saturated before it. On a full tree with D-mod-k these are the
links down to a node, as the node's own link has all their flows. This holds while flows end, but
only until another job crosses the channel: then elements of spare channels are enabled.
"""

import math

import numpy as np
from numba import boolean, float64, from_dtype, int64, types

from netsim.common.arrays import Bools, Floats, Ints, Table
from netsim.common.jit import njit
from netsim.common.units import ROUNDING
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set, new_heap
from netsim.flowsim.sharing_kernels import (
    TIE,
    add_flow,
    add_member,
    mark_left,
    remove_flow,
    reweigh,
    share,
    sweep,
)
from netsim.flowsim.state import (
    CHANGE,
    CONSTRAINT,
    COUNTS,
    ELEMENT,
    FLOW,
    JOB,
    MEMBER,
    STEP,
    Fabric,
    Sent,
    Solo,
    State,
)

__all__ = ["Heap", "advance", "begin", "move_members", "solo_run", "withdraw"]

WINDOWS = 2.0  # buffers that a message fills before its sender's other flows wait for it
HELD = 0.25  # what the exponent of the weight loses where messages are much longer
LEAST_FILL = 1e-4  # of a packet: for shorter messages a buffer slot counts as full as that

_INTS, _FLOATS = int64[::1], float64[::1]
_READ_INTS = types.Array(int64, 1, "C", readonly=True)
_READ_FLOATS = types.Array(float64, 1, "C", readonly=True)
_TABLES = [from_dtype(row)[::1] for row in (JOB, STEP, FLOW, ELEMENT, MEMBER, CONSTRAINT, CHANGE)]
_HEAP = types.NamedTuple((_INTS, _INTS, _FLOATS, _INTS), Heap)
_STATE = types.NamedTuple(
    (*_TABLES, _INTS, from_dtype(COUNTS)[::1], _HEAP, _HEAP, *([_INTS] * 6)), State
)
_SENT = types.NamedTuple((*([_READ_INTS] * 4), *([_READ_FLOATS] * 2)), Sent)
_FABRIC = types.NamedTuple((_READ_INTS, _READ_FLOATS, _INTS, float64, float64, boolean), Fabric)


@njit(cache=True)
def _spare_elements(first: Ints, constraint_of: Ints, capacity: Floats, first_flow: Ints) -> Bools:
    """
    Return the elements of flows whose channels are spare in the steps of the flows.

    Flow f has the elements ``first[f]`` to ``first[f + 1]``, its sender's last; step s the flows
    from ``first_flow[s]``. Of channels with the same flows and capacity one is not spare. None is
    in a step of which a flow crosses a channel twice.
    """
    spare = np.zeros(constraint_of.size, dtype=np.bool_)
    n_channels = capacity.size
    count, place = np.zeros(n_channels, np.int64), np.zeros(n_channels, np.int64)
    hits, last = np.zeros(n_channels, np.int64), np.full(n_channels, -1)
    needless = np.zeros(n_channels, dtype=np.bool_)
    used, members = np.empty(n_channels, np.int64), np.empty(constraint_of.size, np.int64)
    for step in range(first_flow.size - 1):
        n_used, twice = 0, False
        for flow in range(first_flow[step], first_flow[step + 1]):
            for element in range(first[flow], first[flow + 1] - 1):
                channel = constraint_of[element]
                twice |= last[channel] == flow
                last[channel] = flow
                if count[channel] == 0:
                    used[n_used] = channel
                    n_used += 1
                count[channel] += 1
        begin = 0
        for i in range(n_used):
            place[used[i]] = begin
            begin += count[used[i]]
        for flow in range(first_flow[step], first_flow[step + 1]):
            for element in range(first[flow], first[flow + 1] - 1):
                members[place[constraint_of[element]]] = flow
                place[constraint_of[element]] += 1
        for i in range(0 if twice else n_used):
            channel = used[i]
            end = place[channel]
            begin = end - count[channel]
            for j in range(begin, end):
                for element in range(first[members[j]], first[members[j] + 1] - 1):
                    hits[constraint_of[element]] += 1
            for element in range(first[members[begin]], first[members[begin] + 1] - 1):
                other = constraint_of[element]
                if hits[other] < count[channel] or capacity[other] > capacity[channel]:
                    continue
                more = count[other] > count[channel] or capacity[other] < capacity[channel]
                needless[channel] |= more or other < channel
            for j in range(begin, end):
                for element in range(first[members[j]], first[members[j] + 1] - 1):
                    hits[constraint_of[element]] = 0
        for flow in range(first_flow[step], first_flow[step + 1]):
            for element in range(first[flow], first[flow + 1] - 1):
                spare[element] = needless[constraint_of[element]]
        for i in range(n_used):
            count[used[i]], needless[used[i]] = 0, False
    return spare


@njit(cache=True, error_model="numpy")
def _weigh_flows(flows: Table, sender: Ints, first_flow: Ints, fabric: Fabric) -> None:
    """
    Set by how much flows give way to others of their sender, and to all.

    A network card takes its open messages in turn, so a flow of o offers 1/o of a link. Packets
    that wait keep their slots in the card's window; once it is full of them, the other flows of
    the sender go no faster. So long messages weigh o^-c, c = 1 - HELD max(0, 1 - WINDOWS buffer /
    message), with the mean of the messages that the sender opens in the step. A slot takes one
    packet, however short, so flows of short packets weigh less. Without a buffer c = 1.
    """
    sent, opened = np.zeros(sender.max() + 1), np.zeros(sender.max() + 1)
    buffer, packet = fabric.buffer_bytes, fabric.packet_bytes
    for step in range(first_flow.size - 1):
        begin, end = first_flow[step], first_flow[step + 1]
        for flow in range(begin, end):
            sent[sender[flow]] += flows[flow].nbytes
            opened[sender[flow]] += 1.0
        for flow in range(begin, end):
            flows[flow].exponent = flows[flow].fill = 1.0
            if buffer > 0.0:
                mean = sent[sender[flow]] / opened[sender[flow]]
                flows[flow].exponent = 1.0 - HELD * max(0.0, 1.0 - WINDOWS * buffer / mean)
                if packet > 0.0:
                    packets = flows[flow].nbytes / packet
                    whole = math.ceil(packets * (1.0 - ROUNDING))
                    flows[flow].fill = min(1.0, max(LEAST_FILL, packets / whole))
        for flow in range(begin, end):
            sent[sender[flow]] = opened[sender[flow]] = 0.0


@njit(allocates=False)
def _end_events(now: float, state: State) -> int:
    """
    Let flows end and jobs be ready for their next phase; return how many jobs are.

    All flows leave before levels are looked at. Flows that would end within rounding end too.
    """
    jobs, flows, clock = state.jobs, state.flows, state.clock
    n_flows, n_ready, n_ended = flows.size, 0, 0
    while clock.size[0] > 0:
        item = clock.items[0]
        if clock.key[item] > now:
            if item >= n_flows:
                break
            if (clock.key[item] - now) * flows[item].rate > TIE * flows[item].nbytes:
                break
        heap_remove(clock, item)
        if item >= n_flows:
            state.ready[n_ready] = item - n_flows
            n_ready += 1
            continue
        remove_flow(item, state)
        state.ended[n_ended] = item
        n_ended += 1
        slot = flows[item].job
        job = jobs[slot]
        job.step_end_s = max(job.step_end_s, now + flows[item].latency_s)
        job.n_open -= 1
        if job.n_open == 0 and job.step_end_s > now:
            heap_set(clock, n_flows + slot, job.step_end_s)
        elif job.n_open == 0:
            state.ready[n_ready] = slot
            n_ready += 1
    state.counts[0].n_ended = n_ended
    for i in range(n_ended):
        mark_left(state.ended[i], state)
    return n_ready


@njit((_SENT, _FABRIC), cache=True)
def solo_run(sent: Sent, fabric: Fabric) -> Solo:
    """
    Run each step of a job alone; every flow crosses a link.

    Constraints are numbered without gaps for the run, channels first. The rows that are returned
    have the fabric's numbers; spare elements of a flow stand after its others.
    """
    n_flows, n_all = sent.nbytes.size, fabric.capacity.size
    first = np.empty(n_flows + 1, np.int64)
    real = np.empty(sent.links.size + n_flows, np.int64)  # the fabric's constraint of each element
    first[0] = sent.indptr[0]
    for flow in range(n_flows):
        for hop in range(sent.indptr[flow], sent.indptr[flow + 1]):
            real[hop + flow] = fabric.channel[sent.links[hop]]
        first[flow + 1] = sent.indptr[flow + 1] + flow + 1
        real[first[flow + 1] - 1] = n_all + sent.sender[flow]
    first_flow, n_steps = np.empty(n_flows + 1, np.int64), 0
    for flow in range(n_flows):
        if flow == 0 or sent.step[flow] != sent.step[flow - 1]:
            first_flow[n_steps] = flow
            n_steps += 1
    first_flow[n_steps] = n_flows
    first_flow = first_flow[: n_steps + 1].copy()

    number, used, n_used, n_channels = fabric.number, np.empty_like(real), 0, 0
    for senders in (False, True):
        for element in range(real.size):
            if (real[element] >= n_all) == senders and number[real[element]] < 0:
                number[real[element]] = n_used
                used[n_used] = real[element]
                n_used += 1
        if not senders:
            n_channels = n_used
    used = used[:n_used].copy()
    own = number[real]
    for i in range(n_used):
        number[used[i]] = -1

    # rows as they are handed out, and the same without spare elements for the run
    spare = _spare_elements(first, own, fabric.capacity[used[:n_channels]], first_flow)
    flows, runs = np.zeros(n_flows, FLOW), np.zeros(n_flows, FLOW)
    elements, kept = np.zeros(real.size, ELEMENT), np.zeros(real.size, ELEMENT)
    constraints, n_kept = np.zeros(n_used, CONSTRAINT), 0
    for flow in range(n_flows):
        begin, end = first[flow], first[flow + 1] - 1
        flows[flow].first_element, flows[flow].sender_element = begin, end
        runs[flow].first_element = n_kept
        elements[end].constraint = real[end]
        for element in range(first[flow], first[flow + 1]):
            if spare[element]:
                end -= 1
                elements[end].constraint = real[element]
                continue
            kept[n_kept].constraint, kept[n_kept].member = own[element], -1
            constraints[own[element]].first_member += 1
            n_kept += 1
            if element < flows[flow].sender_element:
                elements[begin].constraint = real[element]
                begin += 1
        flows[flow].spare_element = flows[flow].end_element = begin
        runs[flow].end_element = runs[flow].sender_element = n_kept - 1
        for row in (flows[flow], runs[flow]):
            row.nbytes, row.latency_s = sent.nbytes[flow], sent.latency_s[flow]
            row.weight, row.bottleneck = 1.0, -1
    for element in range(real.size):
        elements[element].member = -1
    n_members = 0
    for i in range(n_used):
        n_members += constraints[i].first_member
        constraints[i].first_member = n_members - constraints[i].first_member
        if i < n_channels:
            constraints[i].capacity = fabric.capacity[used[i]]
            constraints[i].saturated_at = np.inf
    _weigh_flows(runs, own[first[1:] - 1], first_flow, fabric)

    counts, jobs = np.zeros(1, COUNTS), np.zeros(1, JOB)
    counts[0].n_channels, counts[0].per_sender = n_channels, fabric.per_sender
    steps, changes, n_changes = np.zeros(n_steps + 1, STEP), np.zeros(2 * n_flows, CHANGE), 0
    state = State(
        jobs,
        steps,
        runs,
        kept,
        np.zeros(n_kept, MEMBER),
        constraints,
        changes,
        used,
        counts,
        new_heap(2 * n_channels),
        new_heap(n_flows + 1),
        np.empty(n_channels, np.int64),
        np.empty(n_used - n_channels, np.int64),
        np.empty(n_flows, np.int64),
        np.empty(n_flows, np.int64),
        np.empty(1, np.int64),
        np.empty(1, np.int64),
    )
    known_rate = np.zeros(n_flows)
    for step in range(n_steps):
        jobs[0].n_open, jobs[0].step_end_s = first_flow[step + 1] - first_flow[step], 0.0
        for flow in range(first_flow[step], first_flow[step + 1]):
            add_flow(flow, runs[flow].nbytes, 0.0, state)
        now, n_ready = 0.0, 0
        while n_ready == 0:
            share(now, state)
            if n_changes + counts[0].n_visited > changes.size:
                longer = np.zeros(2 * (n_changes + counts[0].n_visited), CHANGE)
                longer[:n_changes] = changes[:n_changes]
                changes = longer
            for i in range(counts[0].n_visited):
                flow = state.visited[i]
                if runs[flow].rate != known_rate[flow]:
                    known_rate[flow] = runs[flow].rate
                    changes[n_changes].at_s, changes[n_changes].flow = now, flow
                    changes[n_changes].rate = runs[flow].rate
                    n_changes += 1
            now = state.clock.key[state.clock.items[0]]
            n_ready = _end_events(now, state)
            for i in range(counts[0].n_ended):
                flows[state.ended[i]].solo_sent_s = now
        reweigh(state)
        sweep(state)
        steps[step].first_flow, steps[step].solo_s = first_flow[step], now
        steps[step + 1].first_change = n_changes
    steps[n_steps].first_flow = n_flows

    # constraints of each step, each once; senders count where they share weights
    n_matter = n_used if fabric.per_sender else n_channels
    seen, n_now = np.full(n_used, -1), np.zeros(n_used, np.int64)
    most, crossed, n_crossed = np.zeros(n_used, np.int64), np.empty(own.size, np.int64), 0
    for step in range(n_steps):
        for element in range(first[first_flow[step]], first[first_flow[step + 1]]):
            constraint = own[element]
            if seen[constraint] != step:
                seen[constraint], n_now[constraint] = step, 0
                if constraint < n_matter:
                    crossed[n_crossed] = used[constraint]
                    n_crossed += 1
            n_now[constraint] += 1
            most[constraint] = max(most[constraint], n_now[constraint])
        steps[step + 1].first_crossed = n_crossed
    for flow in range(n_flows):
        flows[flow].exponent, flows[flow].fill = runs[flow].exponent, runs[flow].fill
    return Solo(
        steps, flows, elements, changes[:n_changes].copy(), crossed[:n_crossed].copy(), used, most
    )


@njit(allocates=False)
def _next_phase(slot: int, now: float, state: State) -> bool:
    """End the phase of a job and begin the next; return whether it has made its iterations."""
    job, enough = state.jobs[slot], False
    last = job.at < job.first_step or job.round + 1 == state.steps[job.at].rounds
    if job.at >= job.first_step and last and state.steps[job.at].hide_s >= 0.0:
        until_s = job.beside_s + state.steps[job.at].hide_s
        if until_s > now and not job.computes:
            job.computes = True
            heap_set(state.clock, state.flows.size + slot, until_s)
            return enough
        job.computes, job.beside_s = False, now
    job.round += 1
    if last:
        if job.at < job.first_step:
            job.beside_s = now
        job.at += 1
        job.round = 0
    job.phase_s = now
    if job.at == job.end_step:
        job.count += 1
        if job.count == 1:
            job.first_end_s = now
        job.took_s, job.last_end_s = now - job.last_end_s, now
        enough = bool(job.count == job.need)
        if enough and not job.persists:
            return True
        job.at = job.first_step - 1
        if job.compute_s > 0.0:
            heap_set(state.clock, state.flows.size + slot, now + job.compute_s)
            return enough
        job.at += 1
        job.beside_s = now
    step = state.steps[job.at]
    job.n_open = state.steps[job.at + 1].first_flow - step.first_flow
    job.step_end_s = now
    alone = _enter_constraints(slot, now, state)
    _note_only(slot, state)
    if alone:
        heap_set(state.clock, state.flows.size + slot, now + step.solo_s)
        return enough
    job.disturbed = True
    _enable_spare(job.at, False, state)
    for number in range(step.first_flow, state.steps[job.at + 1].first_flow):
        add_flow(number, state.flows[number].nbytes, now, state)
    return enough


@njit(allocates=False)
def _enter_constraints(slot: int, now: float, state: State) -> bool:
    """
    Count a job on the constraints of its step; return whether it is alone on all.

    Jobs that were alone on one of these are disturbed.
    """
    jobs, constraints, over = state.jobs, state.constraints, state.over
    at = jobs[slot].at
    alone, n_joined = True, 0
    for i in range(state.steps[at].first_crossed, state.steps[at + 1].first_crossed):
        own = constraints[state.crossed[i]]
        if own.n_jobs > 0:
            alone = False
            if own.only_job >= 0 and not jobs[own.only_job].joined:
                jobs[own.only_job].joined = True
                over[over.size - 1 - n_joined] = own.only_job  # its end is scratch here
                n_joined += 1
        own.n_jobs += 1
    for i in range(n_joined):
        other = over[over.size - 1 - i]
        jobs[other].joined = False
        if jobs[other].quiet:
            _wake_job(other, now, state)
        else:
            _enable_spare(jobs[other].at, True, state)
        _note_only(other, state)
    jobs[slot].crosses, jobs[slot].quiet = True, alone
    return alone


@njit(allocates=False)
def _note_only(slot: int, state: State) -> None:
    """Note on the constraints of a job's step whether it is the only one there."""
    at = state.jobs[slot].at
    for i in range(state.steps[at].first_crossed, state.steps[at + 1].first_crossed):
        own = state.constraints[state.crossed[i]]
        own.only_job = slot if own.n_jobs == 1 else -1


@njit(allocates=False)
def _leave_constraints(slot: int, state: State) -> None:
    """Take a job whose step is over from the constraints that the step crossed."""
    job = state.jobs[slot]
    if not job.crosses:
        return
    at = job.at
    for i in range(state.steps[at].first_crossed, state.steps[at + 1].first_crossed):
        own = state.constraints[state.crossed[i]]
        own.n_jobs -= 1
        if own.only_job == slot:
            own.only_job = -1
    job.crosses = job.quiet = False


@njit(allocates=False)
def _enable_spare(at: int, runs: bool, state: State) -> None:
    """Enable elements of a step's flows on spare channels that several jobs cross."""
    elements = state.elements
    for number in range(state.steps[at].first_flow, state.steps[at + 1].first_flow):
        flow = state.flows[number]
        if runs and elements[flow.sender_element].member < 0:
            continue
        if not runs:
            flow.end_element = flow.spare_element
        for element in range(flow.end_element, flow.sender_element):
            channel = elements[element].constraint
            if state.constraints[channel].n_jobs > 1:
                elements[element].constraint = elements[flow.end_element].constraint
                elements[flow.end_element].constraint = channel
                if runs:
                    add_member(number, flow.end_element, state)
                flow.end_element += 1


@njit(allocates=False)
def _wake_job(slot: int, now: float, state: State) -> None:
    """Put the flows of a quiet job on the network, with what they have left by now."""
    flows, job = state.flows, state.jobs[slot]
    at, begin_s = job.at, job.phase_s
    job.quiet, job.disturbed = False, True
    heap_remove(state.clock, flows.size + slot)
    begin, end = state.steps[at].first_flow, state.steps[at + 1].first_flow
    for number in range(begin, end):
        flow = flows[number]
        flow.left, flow.since_s, flow.rate = flow.nbytes, begin_s, 0.0
    for i in range(state.steps[at].first_change, state.steps[at + 1].first_change):
        at_s = begin_s + state.changes[i].at_s
        if at_s > now:
            break
        flow = flows[state.changes[i].flow]
        flow.left -= flow.rate * (at_s - flow.since_s)
        flow.since_s, flow.rate = at_s, state.changes[i].rate
    _enable_spare(at, False, state)
    for number in range(begin, end):
        flow = flows[number]
        sent_s = begin_s + flow.solo_sent_s
        if sent_s <= now:
            job.n_open -= 1
            job.step_end_s = max(job.step_end_s, sent_s + flow.latency_s)
            continue
        add_flow(number, max(0.0, flow.left - flow.rate * (now - flow.since_s)), now, state)
    if job.n_open == 0:
        heap_set(state.clock, flows.size + slot, max(now, job.step_end_s))


@njit((float64, float64, _STATE), cache=True, allocates=False)
def advance(now: float, until_s: float, state: State) -> tuple[float, float]:
    """
    Go on from `now` to the first instant at which jobs have made their iterations, if it comes.

    Returns the instant, `until_s` at the latest, and how many slots are listed in `over`.
    """
    clock, n_over = state.clock, 0
    share(now, state)  # a job may have been taken away
    while clock.size[0] > 0 and n_over == 0:
        now = clock.key[clock.items[0]]
        if now > until_s:
            return until_s, 0.0
        n_ready = _end_events(now, state)
        for i in range(n_ready):
            _leave_constraints(state.ready[i], state)
        for i in range(n_ready):
            if _next_phase(state.ready[i], now, state):
                state.over[n_over] = state.ready[i]
                n_over += 1
        share(now, state)
    return (now, float(n_over)) if n_over else (until_s, 0.0)


@njit((int64, float64, _STATE), cache=True, allocates=False)
def begin(slot: int, at_s: float, state: State) -> None:
    """Let the job in a slot start its first step then."""
    heap_set(state.clock, state.flows.size + slot, at_s)


@njit((int64, _STATE), cache=True, allocates=False)
def withdraw(slot: int, state: State) -> None:
    """Take a job away; `advance` shares what it had."""
    job, n_flows = state.jobs[slot], state.flows.size
    if job.crosses and not job.quiet:
        for number in range(state.steps[job.at].first_flow, state.steps[job.at + 1].first_flow):
            if state.clock.place[number] >= 0:
                heap_remove(state.clock, number)
                remove_flow(number, state)
                mark_left(number, state)
    if state.clock.place[n_flows + slot] >= 0:
        heap_remove(state.clock, n_flows + slot)
    _leave_constraints(slot, state)


@njit((_INTS, _STATE, _TABLES[4]), cache=True, allocates=False)
def move_members(room: Ints, state: State, members: Table) -> None:
    """Move all members to another table, with so much room for each constraint."""
    first = 0
    for number in range(room.size):
        own = state.constraints[number]
        for i in range(own.n_members):
            old = state.members[own.first_member + i]
            members[first + i].flow, members[first + i].element = old.flow, old.element
            state.elements[old.element].member = first + i
        own.first_member = first
        first += room[number]
