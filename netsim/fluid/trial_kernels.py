"""
Trials of other jobs in the model `fluid`: what they have changed is put back, or all jobs are new.

Apart from the solver's kernels: only rankings and drawn traffic need them compiled.
"""

import numpy as np
from numba import float32, float64, int8, int64, types, uint8, void

from netsim.common.arrays import Floats, Ints
from netsim.common.jit import njit
from netsim.fluid.solver_kernels import _DEMAND, _STATE, _TABLES, Phases, _enter_job
from netsim.fluid.tables import (
    ENTRY,
    JOB,
    LINK,
    RECORD,
    STEP,
    UNCHANGED,
    Demand,
    Float32s,
    KeptRows,
    State,
)

_VALUES = float32[:, ::1]
_KEPT = types.Tuple(
    (
        *(_TABLES[kind] for kind in (JOB, STEP, RECORD)),
        uint8[::1],
        *(_TABLES[kind] for kind in (ENTRY, LINK)),
        *(int64[::1], _VALUES) * 2,
    )
)


@njit(allocates=False)
def _put_back(values: Float32s, at: int, kept: Float32s, row: int) -> None:
    """Put a row of values back, 0 where none is kept."""
    for value in range(values.shape[1]):
        values[at, value] = kept[row, value] if row >= 0 else np.float32(0.0)


@njit(void(_STATE, _KEPT, int64[::1], int64[::1]), cache=True, allocates=False)
def restore(state: State, kept: KeptRows, slots: Ints, links: Ints) -> None:
    """
    Put rows back as they were.

    `slots`: jobs that were evaluated, left or came; `links`: of those that left or came, whose
    lists of records have changed. All else that a trial changes is of these jobs or links.
    """
    state, kept = State(*state), KeptRows(*kept)
    for slot in slots:
        job, now = kept.jobs[slot], state.jobs[slot]
        away = now.first_record != job.first_record or now.n_records != job.n_records
        state.jobs[slot] = job
        for a in range(job.first_step, job.first_step + job.n_steps):
            state.steps[a] = kept.steps[a]
        for r in range(job.first_record, job.first_record + job.n_records):
            record, unchanged = kept.records[r], state.marks[r] & UNCHANGED and not away
            state.records[r], state.marks[r] = record, kept.marks[r]
            if unchanged:
                continue
            _put_back(state.load_values, r, kept.load_values, kept.load_row[r])
            first = job.first_entry + record.first_entry
            for k in range(first, first + record.n_entries):
                state.entries[k] = kept.entries[k]
            link = record.link
            state.links[link] = kept.links[link]
            _put_back(state.total_values, link, kept.total_values, kept.total_row[link])
    for link in links:
        state.links[link] = kept.links[link]
        _put_back(state.total_values, link, kept.total_values, kept.total_row[link])
        r = kept.links[link].first_record
        while r >= 0:
            state.records[r], state.marks[r] = kept.records[r], kept.marks[r]
            _put_back(state.load_values, r, kept.load_values, kept.load_row[r])
            r = kept.records[r].next_record


@njit(
    void(_STATE, int64[::1], _DEMAND, int64[:, :, ::1], float64[:, ::1], int8[:, ::1]),
    cache=True,
    allocates=False,
)
def enter_all(
    state: State, slots: Ints, demand: Demand, rows: Ints, times_s: Floats, phases: Phases
) -> None:
    """
    Let jobs in, one after the other.

    `rows` (3, 3, jobs): first record, entry and step of each, the same in `demand`, and how many
    these are. `times_s` (2, jobs), `phases` (jobs, STATES): as for `enter`.
    """
    state, demand = State(*state), Demand(*demand)
    for at in range(slots.size):
        own = (
            (rows[0, 0, at], rows[0, 1, at], rows[0, 2, at]),
            (rows[1, 0, at], rows[1, 1, at], rows[1, 2, at]),
            (rows[2, 0, at], rows[2, 1, at], rows[2, 2, at]),
        )
        _enter_job(state, slots[at], demand, own, (times_s[0, at], times_s[1, at]), phases[at])
