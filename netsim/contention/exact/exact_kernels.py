"""Compiled events of iterating jobs: flows start and end, steps follow each other."""

from typing import NamedTuple

import numpy as np

from netsim.arrays import Bools, Floats, Ints, Table
from netsim.contention.exact.reshare_kernels import (
    Dirty,
    add_flow,
    loosen,
    remove_flow,
    vacate,
)
from netsim.contention.link_kernels import divisor, place_fill, weight_exponent
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set
from netsim.jit import njit
from netsim.uncounted_kernels import uncounted

_TIE = 1e-12  # times and rates closer than this (relative) are equal


class Plan(NamedTuple):
    """What the jobs do."""

    nbytes: Floats  # of each flow
    latency_s: Floats  # of each flow
    job_of: Ints  # of each flow
    step_first: Ints  # flow
    compute_s: Floats  # of each job
    need: Ints  # iterations of each job
    persist: bool  # whether all go on until the last has made its own


class Senders(NamedTuple):
    """Senders whose flows came or went, so that the weights of their flows change."""

    listed: Ints
    marked: Bools  # by number of the list
    size: Ints  # one number: how many are listed
    matter: bool  # false: all flows weigh 1


@njit(cache=True)
def new_senders(n_lists: int, n_channels: int, matter: bool) -> Senders:
    """Return a list of senders without any."""
    return Senders(
        np.empty(n_lists - n_channels, dtype=np.int64),
        np.zeros(n_lists, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        matter,
    )


@uncounted(dissolved=True)
def mark(senders: Senders, sender: int) -> None:
    """List a sender, once."""
    if senders.matter and not senders.marked[sender]:
        senders.marked[sender] = True
        senders.listed[senders.size[0]] = sender
        senders.size[0] += 1


@uncounted(dissolved=True)
def end_flow(number: int, now: float, plan: Plan, jobs: Table, flows: Table, clock: Heap) -> bool:
    """Note that the bytes of a flow have gone; return whether its job's step ends now."""
    flows[number].sent_s = now
    job = jobs[plan.job_of[number]]
    job.step_end_s = max(job.step_end_s, now + plan.latency_s[number])
    job.n_open -= 1
    if job.n_open > 0:
        return False
    if job.step_end_s > now:
        heap_set(clock, plan.nbytes.size + plan.job_of[number], job.step_end_s)
        return False
    return True


@uncounted(dissolved=True)
def end_events(
    now: float,
    plan: Plan,
    jobs: Table,
    flows: Table,
    entries: Table,
    seats: Table,
    lists: Table,
    dirty: Dirty,
    clock: Heap,
    senders: Senders,
    gone: Ints,
    ready: Ints,
) -> int:
    """
    Let flows end and jobs be ready for their next step; return how many jobs are.

    All flows leave before anybody looks at the room they leave; `gone` is scratch for them.
    """
    n_flows, n_ready, n_gone = plan.nbytes.size, 0, 0
    while clock.size[0] > 0:
        item = clock.items[0]
        if clock.key[item] > now:
            if item >= n_flows:
                break
            if (clock.key[item] - now) * flows[item].rate > _TIE * plan.nbytes[item]:
                break
        heap_remove(clock, item)
        if item >= n_flows:
            ready[n_ready] = item - n_flows
            n_ready += 1
            continue
        remove_flow(item, flows, entries, seats, lists)
        gone[n_gone] = item
        n_gone += 1
        mark(senders, entries[flows[item].sender_entry].list)
        if end_flow(item, now, plan, jobs, flows, clock):
            ready[n_ready] = plan.job_of[item]
            n_ready += 1
    for i in range(n_gone):
        vacate(gone[i], flows, entries, lists, dirty)
    return n_ready


@uncounted(dissolved=True)
def next_step(number: int, now: float, plan: Plan, jobs: Table, clock: Heap) -> tuple[int, bool]:
    """Return the step that a job starts, -1 for none, and whether it has made its iterations."""
    job = jobs[number]
    enough = False
    job.at += 1
    if job.at == job.end_step:
        job.count += 1
        job.last_end_s = now
        if job.count == 1:
            job.first_end_s = now
        enough = job.count == plan.need[number]
        if enough and not plan.persist:
            return -1, True
        job.at = job.first_step - 1
        if plan.compute_s[number] > 0.0:
            heap_set(clock, plan.nbytes.size + number, now + plan.compute_s[number])
            return -1, enough
        job.at += 1
    job.n_open = plan.step_first[job.at + 1] - plan.step_first[job.at]
    job.step_end_s = now
    return int(job.at), enough


@uncounted(dissolved=True)
def start_step(
    step: int,
    now: float,
    plan: Plan,
    flows: Table,
    entries: Table,
    seats: Table,
    lists: Table,
    dirty: Dirty,
    senders: Senders,
) -> None:
    """Start the flows of a step."""
    for number in range(plan.step_first[step], plan.step_first[step + 1]):
        add_flow(number, flows, entries, seats, lists)
        flow = flows[number]
        flow.left, flow.since_s, flow.rate = plan.nbytes[number], now, 0.0
        loosen(number, flow.weight, flows, entries, lists, dirty)
        mark(senders, entries[flow.sender_entry].list)


@uncounted(dissolved=True)
def reweigh(
    senders: Senders, flows: Table, entries: Table, seats: Table, lists: Table, dirty: Dirty
) -> None:
    """Weigh the flows of the listed senders anew, by how many are open, and forget the list."""
    for i in range(senders.size[0]):
        senders.marked[senders.listed[i]] = False
        sender = lists[senders.listed[i]]
        for seat in range(sender.first, sender.first + sender.length):
            number = seats[seat].flow
            share = flows[number].fill / divisor(sender.length, flows[number].exponent)
            if flows[number].weight != share:
                loosen(number, share, flows, entries, lists, dirty)
    senders.size[0] = 0


@njit(cache=True, error_model="numpy")
def set_exponents(
    plan: Plan,
    buffer_bytes: float,
    place_bytes: float,
    flows: Table,
    entries: Table,
    lists: Table,
) -> None:
    """Say how much flows give way to others of their sender, step by step, and to all others."""
    sent, opened = np.zeros(lists.size), np.zeros(lists.size)
    for step in range(plan.step_first.size - 1):
        for again in range(2):
            for number in range(plan.step_first[step], plan.step_first[step + 1]):
                sender = entries[flows[number].sender_entry].list
                if again:
                    mean = sent[sender] / opened[sender]
                    flows[number].exponent = weight_exponent(mean, buffer_bytes)
                    flows[number].fill = 1.0
                    if buffer_bytes > 0.0:
                        flows[number].fill = place_fill(plan.nbytes[number], place_bytes)
                else:
                    sent[sender] += plan.nbytes[number]
                    opened[sender] += 1.0
        for number in range(plan.step_first[step], plan.step_first[step + 1]):
            sender = entries[flows[number].sender_entry].list
            sent[sender] = opened[sender] = 0.0


@uncounted(dissolved=True)
def set_rates(now: float, done: Ints, n_done: int, flows: Table, clock: Heap) -> None:
    """Give the flows that were visited their new rates, and put their ends on the clock."""
    for i in range(n_done):
        flow = flows[done[i]]
        rate = flow.weight * flow.level
        if abs(rate - flow.rate) <= _TIE * rate:
            continue
        flow.left = max(0.0, flow.left - flow.rate * (now - flow.since_s))
        flow.since_s, flow.rate = now, rate
        if flow.first_rate < 0.0:
            flow.first_rate = rate
        heap_set(clock, done[i], now + flow.left / rate)
