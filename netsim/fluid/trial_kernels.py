"""
What a trial of other jobs has changed in the tables of the model `fluid`, put back.

Apart from the solver's kernels: only rankings need it compiled.
"""

import numpy as np
from numba import float32, int64, types, uint8, void

from netsim.common.arrays import Ints
from netsim.common.jit import njit
from netsim.fluid.solver_kernels import _STATE, _TABLES
from netsim.fluid.tables import (
    ENTRY,
    JOB,
    LINK,
    RECORD,
    STEP,
    UNCHANGED,
    Float32s,
    KeptRows,
    State,
)

_VALUES = float32[:, ::1]
_KEPT = types.NamedTuple(
    (
        *(_TABLES[kind] for kind in (JOB, STEP, RECORD)),
        uint8[::1],
        *(_TABLES[kind] for kind in (ENTRY, LINK)),
        *(int64[::1], _VALUES) * 2,
    ),
    KeptRows,
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
