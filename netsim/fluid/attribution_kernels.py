"""
Which links decide how late the jobs of the model `fluid` are, and which jobs are to blame there.

Apart from the solver's kernels: only what is asked for a run's culprits needs it compiled.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, float64, int64, types, void

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit
from netsim.fluid.solver_kernels import _SOME, _STATE
from netsim.fluid.tables import COMMITTED, LATE, STATES, Float32s, State

_INTS, _TABLE = int64[::1], int64[:, ::1]


class Scratch(NamedTuple):
    """Scratch of `attribute`, A the most steps of a victim."""

    culprits: Ints  # (jobs,)
    lost: Floats  # (jobs, K), by class of link; all 0 before and after
    record_of: Ints  # (A STATES,), records that decide
    cost: Floats  # (A STATES, STATES), of each
    worst: Ints  # (A, STATES), record that decides
    late_s: Float32s  # (A, STATES), its delay


_SCRATCH = types.Tuple((_INTS, float64[:, ::1], _INTS, float64[:, ::1], _TABLE, float32[:, ::1]))
_DIFFERENT = np.float32(1.001)  # delays whose ratio is less are equal: the first link is the worst


@njit(void(_STATE, _INTS, _INTS), cache=True, allocates=False)
def find_worst(state: State, slots: Ints, links: Ints) -> None:
    """Find the link that holds each of some jobs up most in a step; `links`: written, -1: none."""
    state, zero = State(*state), np.float32(0.0)
    for place in range(slots.size):
        job, longest_s = state.jobs[slots[place]], zero
        links[place] = -1
        for r in range(job.first_record, job.first_record + job.n_records):
            if not state.marks[r] & LATE:
                continue
            first = job.first_entry + state.records[r].first_entry
            for k in range(first, first + state.records[r].n_entries):
                entry, delay_s = state.entries[k], zero
                rounds = np.float32(state.steps[job.first_step + entry.step].rounds)
                for i in range(STATES):
                    delay_s += rounds * max(zero, entry.delay_s[i])
                if delay_s > longest_s * _DIFFERENT:
                    links[place], longest_s = state.records[r].link, delay_s


@njit(error_model="numpy", allocates=False)
def _excess(state: State, slot: int, scratch: Scratch) -> int:
    """
    List the records that decide steps of a job, and what they cost in each state.

    Records and costs are written to the scratch. Result: how many. Where nothing is late the record
    with the greatest weight of others decides.
    """
    job = state.jobs[slot]
    record_of, cost, worst, late_s = scratch[2:]
    for a in range(job.n_steps):
        for i in range(STATES):
            worst[a, i], late_s[a, i] = -1, 0.0
    for r in range(job.first_record, job.first_record + job.n_records):
        if not state.marks[r] & LATE:
            continue
        first = job.first_entry + state.records[r].first_entry
        for k in range(first, first + state.records[r].n_entries):
            a = state.entries[k].step
            for i in range(STATES):
                if state.entries[k].delay_s[i] > late_s[a, i]:
                    late_s[a, i], worst[a, i] = state.entries[k].delay_s[i], r
    n_found = 0
    for a in range(job.n_steps):
        for i in range(STATES):
            if worst[a, i] < 0:
                continue
            place = 0
            while place < n_found and record_of[place] != worst[a, i]:
                place += 1
            if place == n_found:
                record_of[place] = worst[a, i]
                for other in range(STATES):
                    cost[place, other] = 0.0
                n_found += 1
            rounds = np.float32(state.steps[job.first_step + a].rounds)
            cost[place, i] += rounds * job.share[i] * late_s[a, i]
    return n_found


@njit(
    int64(_STATE, _INTS, _INTS, _INTS, _SCRATCH, _TABLE, float64[::1]),
    cache=True,
    error_model="numpy",
    allocates=False,
)
def attribute(
    state: State,
    victims: Ints,
    kinds: Ints,
    job_of: Ints,
    scratch: Scratch,
    rows: Ints,
    shares: Floats,
) -> int:
    """
    Share out what the steps of some jobs take longer than alone.

    In each state the link that takes longest decides a step; what it costs is shared among the
    other jobs in proportion to their weight on it in this state.

    `victims` (V,): slots. `kinds` (E,): class of each link, 0..K-1. `job_of` (jobs,): identity by
    slot. `rows` (3, Z) and `shares` (Z,): written: victim, culprit, class of link and share; those
    of a victim add up to 1. Result: rows there are; those beyond Z are not written.
    """
    state, scratch = State(*state), Scratch(*scratch)
    culprits, lost, record_of, cost = scratch[:4]
    n_rows = 0
    for v in range(victims.size):
        slot = victims[v]
        n_found = _excess(state, slot, scratch)
        total, n_culprits = 0.0, 0
        for place in range(n_found):
            r = record_of[place]
            link = state.records[r].link
            kind = kinds[link]
            other = state.links[link].first_record
            while other >= 0:
                if other != r and state.marks[other] & COMMITTED:
                    part = 0.0
                    for i in range(STATES):
                        weight = state.totals[link].weight[i] - state.loads[r].weight[i]
                        if weight > _SOME and cost[place, i] > 0.0:
                            part += cost[place, i] * state.loads[other].weight[i] / weight
                    if part > 0.0:
                        by = state.records[other].job
                        is_new = True
                        for other_kind in range(lost.shape[1]):
                            is_new = is_new and lost[by, other_kind] == 0.0
                        if is_new:
                            culprits[n_culprits] = by
                            n_culprits += 1
                        lost[by, kind] += part
                        total += part
                other = state.records[other].next_record
        for by in culprits[:n_culprits]:
            for kind in range(lost.shape[1]):
                if lost[by, kind] > 0.0:
                    if n_rows < shares.size:
                        rows[0, n_rows], rows[1, n_rows] = job_of[slot], job_of[by]
                        rows[2, n_rows], shares[n_rows] = kind, lost[by, kind] / total
                    n_rows += 1
                    lost[by, kind] = 0.0
    return n_rows
