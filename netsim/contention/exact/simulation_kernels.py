"""Compiled flow-level simulation of iterating jobs; import through `netsim.kernelcache`."""

import numpy as np
from numba import boolean, float64, int64

from netsim.arrays import Floats, Ints, Table
from netsim.contention.exact.columns import JOB
from netsim.contention.exact.exact_kernels import (
    Plan,
    end_events,
    new_senders,
    next_step,
    reweigh,
    set_exponents,
    set_rates,
    start_step,
)
from netsim.contention.exact.reshare_kernels import new_dirty, new_tables, reshare
from netsim.contention.exact.spare_kernels import lists_of_one_job, spare_entries, without
from netsim.flows.maxmin_kernels import heap_set, new_heap
from netsim.jit import njit

_INTS, _FLOATS = int64[::1], float64[::1]  # as in the co-simulation: kernels compile once


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
    place_bytes: float,
) -> tuple[Table, Table]:
    """
    Run jobs that compute, then go through their steps, again and again.

    Flow f crosses the channels ``list_of[indptr[f]:indptr[f + 1] - 1]`` of the C there are; the
    last entry of its row is C + its sender. Step s has the flows from step_first[s], job j the
    steps from job_first[j]; no step is empty, and every flow crosses a channel. Job j makes
    need[j] iterations; with `persist` all go on until the last has made its own. Messages that are
    long beside `buffer_bytes` give way to each other as `weight_exponent` says, and those whose
    packets do not fill places of `place_bytes` as `place_fill` does. Returns the tables of jobs and
    flows.
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
    set_exponents(plan, buffer_bytes, place_bytes, flows, entries, lists)
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
