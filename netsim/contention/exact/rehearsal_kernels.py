"""Compiled rehearsal: what a job does with nobody else; import through `netsim.kernelcache`."""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from netsim.arrays import Bools, Floats, Ints
from netsim.contention.exact.columns import JOB
from netsim.contention.exact.exact_kernels import (
    Plan,
    end_events,
    new_senders,
    reweigh,
    set_exponents,
    set_rates,
    start_step,
)
from netsim.contention.exact.reshare_kernels import new_dirty, new_tables, reshare
from netsim.contention.exact.spare_kernels import spare_entries, without
from netsim.flows.maxmin_kernels import new_heap
from netsim.jit import njit

_INTS, _FLOATS = int64[::1], float64[::1]
_READ_INTS = types.Array(int64, 1, "C", readonly=True)
_READ_FLOATS = types.Array(float64, 1, "C", readonly=True)


class Alone(NamedTuple):
    """What jobs do with nobody else; rows of a step are contiguous."""

    step_s: Floats  # how long each step takes
    sent_s: Floats  # of each flow, when its bytes have gone, since its step began
    crossed_first: Ints  # of each step
    crossed: Ints  # lists that the step crosses, each once
    news_first: Ints  # of each step
    news_s: Floats  # when a flow has a new rate, since its step began
    news_flow: Ints
    news_rate: Floats


@njit(cache=True)
def _rows(first_hop: Ints, links: Ints, channel_of: Ints, sender: Ints) -> tuple[Ints, Ints]:
    """Return rows of the channels that each flow crosses, and last of its sender."""
    indptr, list_of = np.empty_like(first_hop), np.empty(links.size + sender.size, np.int64)
    indptr[0] = first_hop[0]
    for flow in range(sender.size):
        for hop in range(first_hop[flow], first_hop[flow + 1]):
            list_of[hop + flow] = channel_of[links[hop]]
        indptr[flow + 1] = first_hop[flow + 1] + flow + 1
        list_of[indptr[flow + 1] - 1] = channel_of.size + sender[flow]
    return indptr, list_of


@njit(cache=True)
def _first_of_steps(step: Ints) -> Ints:
    """Return the first flow of each step that has flows, and last how many flows there are."""
    first, n_steps = np.empty(step.size + 1, np.int64), 0
    for flow in range(step.size):
        if flow == 0 or step[flow] != step[flow - 1]:
            first[n_steps] = flow
            n_steps += 1
    first[n_steps] = step.size
    return first[: n_steps + 1].copy()


@njit(cache=True)
def _numbered(list_of: Ints, n_channels: int, scratch: Ints) -> tuple[Ints, Ints, int]:
    """Return the lists of a job numbered without gaps, which they are, and how many channels."""
    found, n_found, n_own = np.empty_like(list_of), 0, 0
    for senders in (False, True):
        for entry in range(list_of.size):
            number = list_of[entry]
            if (number >= n_channels) == senders and scratch[number] < 0:
                scratch[number] = n_found
                found[n_found] = number
                n_found += 1
        if not senders:
            n_own = n_found
    numbered = np.empty_like(list_of)
    for entry in range(list_of.size):
        numbered[entry] = scratch[list_of[entry]]
    for i in range(n_found):
        scratch[found[i]] = -1
    return numbered, found[:n_found].copy(), n_own


@njit(cache=True)
def _crossed(
    indptr: Ints, numbered: Ints, found: Ints, step_first: Ints, n_matter: int
) -> tuple[Ints, Ints, Ints]:
    """Return the lists that each step crosses, and how many flows are on each at most."""
    n_steps = step_first.size - 1
    first, crossed = np.zeros(n_steps + 1, np.int64), np.empty(numbered.size, np.int64)
    seen, count = np.full(found.size, -1), np.zeros(found.size, np.int64)
    most, n_crossed = np.zeros(found.size, np.int64), 0
    for step in range(n_steps):
        for entry in range(indptr[step_first[step]], indptr[step_first[step + 1]]):
            own = numbered[entry]
            if seen[own] != step:
                seen[own], count[own] = step, 0
                if own < n_matter:
                    crossed[n_crossed] = found[own]
                    n_crossed += 1
            count[own] += 1
            most[own] = max(most[own], count[own])
        first[step + 1] = n_crossed
    return first, crossed[:n_crossed].copy(), most


@njit(cache=True)
def _firm_first(indptr: Ints, list_of: Ints, spare: Bools) -> tuple[Ints, Ints]:
    """Return the rows with spare entries before the sender's, and where these begin."""
    ordered, firm_end = np.empty_like(list_of), np.empty(indptr.size - 1, np.int64)
    for flow in range(firm_end.size):
        begin, end = indptr[flow], indptr[flow + 1] - 1
        ordered[end] = list_of[end]
        for entry in range(indptr[flow], indptr[flow + 1] - 1):
            if spare[entry]:
                end -= 1
                ordered[end] = list_of[entry]
            else:
                ordered[begin] = list_of[entry]
                begin += 1
        firm_end[flow] = begin
    return ordered, firm_end


@njit(
    (
        *([_READ_INTS] * 5),
        *([_READ_FLOATS] * 3),
        boolean,
        float64,
        float64,
        _INTS,
    ),
    cache=True,
)
def rehearse(
    step_of: Ints,
    sender: Ints,
    first_hop: Ints,
    links: Ints,
    channel_of: Ints,
    capacity: Floats,
    nbytes: Floats,
    latency_s: Floats,
    per_sender: bool,
    buffer_bytes: float,
    place_bytes: float,
    scratch: Ints,
) -> tuple[Alone, Ints, Ints, Floats, Floats, Ints, Ints, Ints, Ints]:
    """
    Run each step of a job alone.

    Flow f crosses ``links[first_hop[f]:first_hop[f + 1]]``, at least one. `scratch` holds -1 for
    every list. Returns what the job does alone; lists, and how many of its flows are on each at
    once at most; exponents and fill of flows; rows of the C channels that each flow crosses, spare
    ones after the others and C + its sender last: where they begin, the rows, and where in them
    the spare ones begin; the first flow of each step.
    """
    indptr, list_of = _rows(first_hop, links, channel_of, sender)
    step_first = _first_of_steps(step_of)
    numbered, found, n_channels = _numbered(list_of, capacity.size, scratch)
    own_capacity = capacity[found[:n_channels]]
    spare = spare_entries(indptr, numbered, own_capacity, step_first)
    ordered, firm_end = _firm_first(indptr, list_of, spare)
    flows, entries, seats, lists = new_tables(*without(spare, indptr, numbered), own_capacity)
    n_flows, n_steps = nbytes.size, step_first.size - 1
    one = np.ones(1, np.int64)
    plan = Plan(nbytes, latency_s, np.zeros(n_flows, np.int64), step_first, np.zeros(1), one, False)
    senders = new_senders(lists.size, n_channels, per_sender)
    dirty, clock = new_dirty(n_channels), new_heap(n_flows + 1)
    done, ready = np.empty(n_flows, np.int64), np.empty(1, np.int64)
    set_exponents(plan, buffer_bytes, place_bytes, flows, entries, lists)
    jobs = np.zeros(1, JOB)
    step_s, news_first = np.zeros(n_steps + 1), np.zeros(n_steps + 1, np.int64)
    news_s, news_rate = np.empty(2 * n_flows), np.empty(2 * n_flows)
    news_flow, n_news = np.empty(2 * n_flows, np.int64), 0
    told = np.zeros(n_flows)
    for step in range(n_steps):
        jobs[0].n_open, jobs[0].step_end_s = step_first[step + 1] - step_first[step], 0.0
        start_step(step, 0.0, plan, flows, entries, seats, lists, dirty, senders)
        now, n_ready = 0.0, 0
        while n_ready == 0:
            reweigh(senders, flows, entries, seats, lists, dirty)
            n_done = reshare(flows, entries, seats, lists, dirty, done)
            set_rates(now, done, n_done, flows, clock)
            if n_news + n_done > news_s.size:
                room = np.empty(n_news + n_done)
                news_s = np.concatenate((news_s[:n_news], room))
                news_rate = np.concatenate((news_rate[:n_news], room))
                news_flow = np.concatenate((news_flow[:n_news], room.astype(np.int64)))
            for i in range(n_done):
                flow = done[i]
                if flows[flow].rate != told[flow]:
                    told[flow] = flows[flow].rate
                    news_s[n_news], news_flow[n_news], news_rate[n_news] = now, flow, told[flow]
                    n_news += 1
            now = clock.key[clock.items[0]]
            n_ready = end_events(
                now, plan, jobs, flows, entries, seats, lists, dirty, clock, senders, done, ready
            )
        reweigh(senders, flows, entries, seats, lists, dirty)
        reshare(flows, entries, seats, lists, dirty, done)
        step_s[step], news_first[step + 1] = now, n_news
    n_matter = lists.size if per_sender else n_channels
    crossed_first, crossed, most = _crossed(indptr, numbered, found, step_first, n_matter)
    sent_s, exponent, fill = np.empty(n_flows), np.empty(n_flows), np.empty(n_flows)
    for flow in range(n_flows):
        sent_s[flow], exponent[flow] = flows[flow].sent_s, flows[flow].exponent
        fill[flow] = flows[flow].fill
    alone = Alone(
        step_s,
        sent_s,
        crossed_first,
        crossed,
        news_first,
        news_s[:n_news].copy(),
        news_flow[:n_news].copy(),
        news_rate[:n_news].copy(),
    )
    return alone, found, most, exponent, fill, indptr, ordered, firm_end, step_first
