"""Compiled flow-level simulation of iterating jobs; import through `netsim.kernelcache`."""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, njit, types

from netsim.arrays import Bools, Floats, Ints, Table
from netsim.contention.exact.columns import JOB
from netsim.contention.exact.reshare_kernels import (
    Dirty,
    add_flow,
    loosen,
    new_dirty,
    new_tables,
    remove_flow,
    reshare,
    vacate,
)
from netsim.contention.exact.spare_kernels import lists_of_one_job, spare_entries, without
from netsim.contention.link_kernels import divisor, weight_exponent
from netsim.flows.maxmin_kernels import Heap, heap_remove, heap_set, new_heap
from netsim.uncounted_kernels import uncounted

_INTS = types.Array(int64, 1, "C", readonly=True)
_FLOATS = types.Array(float64, 1, "C", readonly=True)
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


@uncounted()
def mark(senders: Senders, sender: int) -> None:
    """List a sender, once."""
    if senders.matter and not senders.marked[sender]:
        senders.marked[sender] = True
        senders.listed[senders.size[0]] = sender
        senders.size[0] += 1


@uncounted()
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


@uncounted()
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


@uncounted()
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


@uncounted()
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


@uncounted()
def reweigh(
    senders: Senders, flows: Table, entries: Table, seats: Table, lists: Table, dirty: Dirty
) -> None:
    """Weigh the flows of the listed senders anew, by how many are open, and forget the list."""
    for i in range(senders.size[0]):
        senders.marked[senders.listed[i]] = False
        sender = lists[senders.listed[i]]
        for seat in range(sender.first, sender.first + sender.length):
            number = seats[seat].flow
            share = 1.0 / divisor(sender.length, flows[number].exponent)
            if flows[number].weight != share:
                loosen(number, share, flows, entries, lists, dirty)
    senders.size[0] = 0


@njit(cache=True, error_model="numpy")
def set_exponents(
    plan: Plan, buffer_bytes: float, flows: Table, entries: Table, lists: Table
) -> None:
    """Say how much the flows of a sender give way to each other, step by step."""
    sent, opened = np.zeros(lists.size), np.zeros(lists.size)
    for step in range(plan.step_first.size - 1):
        for again in range(2):
            for number in range(plan.step_first[step], plan.step_first[step + 1]):
                sender = entries[flows[number].sender_entry].list
                if again:
                    mean = sent[sender] / opened[sender]
                    flows[number].exponent = weight_exponent(mean, buffer_bytes)
                else:
                    sent[sender] += plan.nbytes[number]
                    opened[sender] += 1.0
        for number in range(plan.step_first[step], plan.step_first[step + 1]):
            sender = entries[flows[number].sender_entry].list
            sent[sender] = opened[sender] = 0.0


@uncounted()
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


@njit(
    (
        _INTS,
        _INTS,
        _FLOATS,
        _FLOATS,
        _FLOATS,
        _INTS,
        _INTS,
        _FLOATS,
        _FLOATS,
        _INTS,
        boolean,
        boolean,
        float64,
    ),
    cache=True,
)
def simulate(
    indptr: Ints,
    list_of: Ints,
    capacity: Floats,
    nbytes: Floats,
    latency_s: Floats,
    step_first: Ints,
    job_first: Ints,
    compute_s: Floats,
    start_s: Floats,
    need: Ints,
    persist: bool,
    per_sender: bool,
    buffer_bytes: float,
) -> tuple[Table, Table]:
    """
    Run jobs that compute, then go through their steps, again and again.

    Flow f crosses the channels ``list_of[indptr[f]:indptr[f + 1] - 1]`` of the C there are; the
    last entry of its row is C + its sender. Step s has the flows from step_first[s], job j the
    steps from job_first[j]; no step is empty, and every flow crosses a channel. Job j makes
    need[j] iterations; with `persist` all go on until the last has made its own. Messages that are
    long beside `buffer_bytes` give way to each other as `weight_exponent` says. Returns the tables
    of jobs and flows.
    """
    n_flows, n_jobs = nbytes.size, compute_s.size
    job_of = np.empty(n_flows, dtype=np.int64)
    for job in range(n_jobs):
        job_of[step_first[job_first[job]] : step_first[job_first[job + 1]]] = job
    spare = spare_entries(indptr, list_of, capacity, step_first)
    of_one_job = lists_of_one_job(indptr, list_of, job_of)
    for entry in range(spare.size):
        spare[entry] = spare[entry] and of_one_job[list_of[entry]]
    flows, entries, seats, lists = new_tables(*without(spare, indptr, list_of), capacity)
    plan = Plan(nbytes, latency_s, job_of, step_first, compute_s, need, persist)
    senders = new_senders(lists.size, capacity.size, per_sender)
    dirty = new_dirty(capacity.size)
    done = np.empty(n_flows, dtype=np.int64)
    clock = new_heap(n_flows + n_jobs)  # a flow's end; a job's next step
    set_exponents(plan, buffer_bytes, flows, entries, lists)
    jobs = np.zeros(n_jobs, JOB)
    for job in range(n_jobs):
        jobs[job].first_step, jobs[job].end_step = job_first[job], job_first[job + 1]
        jobs[job].at = job_first[job] - 1
        heap_set(clock, n_flows + job, start_s[job] + compute_s[job])
    ready = np.empty(n_jobs, dtype=np.int64)
    n_unfinished = n_jobs
    while n_unfinished > 0:
        now = clock.key[clock.items[0]]
        n_ready = end_events(
            now, plan, jobs, flows, entries, seats, lists, dirty, clock, senders, done, ready
        )
        for i in range(n_ready):
            step, enough = next_step(ready[i], now, plan, jobs, clock)
            n_unfinished -= enough
            if step >= 0:
                start_step(step, now, plan, flows, entries, seats, lists, dirty, senders)
        reweigh(senders, flows, entries, seats, lists, dirty)
        n_done = reshare(flows, entries, seats, lists, dirty, done)
        set_rates(now, done, n_done, flows, clock)
    return jobs, flows
