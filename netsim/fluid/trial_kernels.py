"""
What a trial of other jobs has changed in the tables of the model `fluid`, put back.

Apart from the solver's kernels: only rankings need it compiled.
"""

from numba import int64, void

from netsim.common.arrays import Ints
from netsim.common.jit import njit
from netsim.fluid.solver_kernels import _STATE
from netsim.fluid.tables import State


@njit(void(_STATE, _STATE, int64[::1], int64[::1]), cache=True, allocates=False)
def restore(state: State, kept: State, slots: Ints, links: Ints) -> None:
    """
    Put rows back as they were.

    `slots`: jobs that were evaluated, left or came; `links`: of those that left or came, whose
    lists of records have changed. All else that a trial changes is of these jobs or links.
    """
    for slot in slots:
        state.jobs[slot] = kept.jobs[slot]
        job = kept.jobs[slot]
        for a in range(job.first_step, job.first_step + job.n_steps):
            state.steps[a] = kept.steps[a]
        for k in range(job.first_entry, job.first_entry + job.n_entries):
            state.entries[k] = kept.entries[k]
        for r in range(job.first_record, job.first_record + job.n_records):
            state.records[r] = kept.records[r]
            state.marks[r] = kept.marks[r]
            state.loads[r] = kept.loads[r]
            link = kept.records[r].link
            state.links[link] = kept.links[link]
            state.totals[link] = kept.totals[link]
    for link in links:
        state.links[link] = kept.links[link]
        state.totals[link] = kept.totals[link]
        r = kept.links[link].first_record
        while r >= 0:
            state.records[r] = kept.records[r]
            state.marks[r] = kept.marks[r]
            state.loads[r] = kept.loads[r]
            r = kept.records[r].next_record
