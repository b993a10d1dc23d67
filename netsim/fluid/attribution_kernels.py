"""
Which links decide how late the jobs of the model `fluid` are, and which jobs are to blame there.

Apart from the solver's kernels: only what is asked for a run's culprits needs it compiled.
"""

import numpy as np
from numba import float64, int64, void

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit
from netsim.fluid.solver_kernels import _SOME, _STATE
from netsim.fluid.tables import COMMITTED, LATE, STATES, State

_DIFFERENT = np.float32(1.001)  # delays whose ratio is less are equal: the first link is the worst


@njit(void(_STATE, int64[::1], int64[::1]), cache=True, allocates=False)
def find_worst(state: State, slots: Ints, links: Ints) -> None:
    """Find the link that holds each of some jobs up most in a step; `links`: written, -1: none."""
    zero = np.float32(0.0)
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


@njit(error_model="numpy")
def _excess(state: State, slot: int, link_cost: Floats, record_of: Ints) -> int:
    """
    List the records that decide steps of a job, and what they cost in each state.

    `link_cost` (R, STATES), `record_of` (R,): written, R the steps x STATES at most. Result: how
    many. Where nothing is late the record with the greatest weight of others decides.
    """
    job = state.jobs[slot]
    worst = np.full((job.n_steps, STATES), -1, np.int64)
    late_s = np.zeros((job.n_steps, STATES), np.float32)
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
                link_cost[place] = 0.0
                n_found += 1
            rounds = np.float32(state.steps[job.first_step + a].rounds)
            link_cost[place, i] += rounds * job.share[i] * late_s[a, i]
    return n_found


@njit(
    int64(
        _STATE,
        *[int64[::1]] * 4,
        float64[:, ::1],
        int64[:, ::1],
        float64[::1],
    ),
    cache=True,
    error_model="numpy",
)
def attribute(
    state: State,
    victims: Ints,
    kinds: Ints,
    job_of: Ints,
    culprits: Ints,
    lost: Floats,
    rows: Ints,
    shares: Floats,
) -> int:
    """
    Share out what the steps of some jobs take longer than alone.

    In each state the link that takes longest decides a step; what it costs is shared among the
    other jobs in proportion to their weight on it in this state.

    `victims` (V,): slots. `kinds` (E,): class of each link, 0..K-1. `job_of` (jobs,): identity by
    slot. `culprits` (jobs,), and `lost` (jobs, K), all 0 before and after: scratch. `rows` (3, Z)
    and `shares` (Z,): written: victim, culprit, class of link and share; those of a victim add up
    to 1. Result: rows there are; those beyond Z are not written.
    """
    n_rows = 0
    for v in range(victims.size):
        slot = victims[v]
        job = state.jobs[slot]
        cost = np.empty((min(job.n_records, job.n_steps * STATES), STATES))
        record_of = np.empty(cost.shape[0], np.int64)
        n_found = _excess(state, slot, cost, record_of)
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
