"""The rows of the event model: where records stand and how they are linked, after any history."""

from collections import defaultdict
from itertools import islice

import numpy as np
import pytest

from benchmarks.contention_scenes import Stream
from netsim.contention.events.columns import (
    C_HEAD,
    C_JOBS,
    C_N,
    C_R,
    J_ACTIVE,
    J_NREC,
    J_RATE,
    J_REC,
    J_SHARED,
    L_NEXT,
    L_PREV,
    L_SLOT,
    R_B,
    R_CHANNEL,
    R_INV_M,
    R_SLACK,
    R_W,
)
from netsim.contention.events.fast import Fast
from netsim.contention.link_kernels import stays_within
from netsim.topology.fattree import fat_tree_of_radix


def users_of_channels(pool):
    """Return (row, slot, is it active, does it stand among the shared ones) for each channel."""
    users = defaultdict(list)
    for slot in pool.slot_of.values():
        first, n_active, n_shared, n_rows = pool.job_i[slot, [J_REC, J_ACTIVE, J_SHARED, J_NREC]]
        assert 0 <= n_active <= n_shared <= n_rows
        for row in range(first, first + n_rows):
            assert pool.rec_l[row, L_SLOT] == slot
            where = (row < first + n_active, row < first + n_shared)
            users[int(pool.rec_i[row, R_CHANNEL])].append((row, slot, *where))
    return users


def linked_rows(pool, channel):
    """Return the rows in the list of a channel, checking its links back."""
    rows, before, row = [], -1, int(pool.chan[channel, C_HEAD])
    while row >= 0:
        assert pool.rec_l[row, L_PREV] == before
        rows.append(row)
        before, row = row, int(pool.rec_l[row, L_NEXT])
    return rows


@pytest.mark.parametrize(("radix", "mean_size"), [(6, 4), (8, 10)])
def test_records_stand_where_the_channels_say(radix, mean_size):
    tree = fat_tree_of_radix(radix, 12.5e9)
    model = Fast(tree)
    stream = Stream(tree, 1, mean_size, random_nodes=True)
    pool = model._pool
    for event, (kind, job, traffic) in enumerate(islice(stream.events(), 400)):
        if kind == "start":
            model.start(job, traffic)
        else:
            model.end(job)
        model.solve()
        if event % 10:
            continue
        users = users_of_channels(pool)
        for channel in range(tree.n_links):
            found = users[channel]
            assert pool.chan[channel, C_JOBS] == len(found)
            assert sorted(linked_rows(pool, channel)) == sorted(row for row, *_ in found)
            bits = np.unpackbits(pool.active[channel].view(np.uint8), bitorder="little")
            assert set(np.flatnonzero(bits)) == {slot for _, slot, active, _ in found if active}
            assert all(shared == (len(found) > 1) for *_, shared in found)


def passed_over(pool):
    """Yield the rows of shared channels that the model does not evaluate."""
    for slot in pool.slot_of.values():
        first, n_active, n_shared = pool.job_i[slot, [J_REC, J_ACTIVE, J_SHARED]]
        yield from ((row, slot) for row in range(first + n_active, first + n_shared))


@pytest.mark.parametrize(("radix", "mean_size"), [(6, 4), (8, 10)])
def test_what_is_passed_over_surely_holds_nobody_up(radix, mean_size):
    """Totals may have moved since a record was tested: the margin of the test must cover that."""
    tree = fat_tree_of_radix(radix, 12.5e9)
    model = Fast(tree)
    pool = model._pool
    for kind, job, traffic in islice(Stream(tree, 2, mean_size, random_nodes=True).events(), 300):
        if kind == "start":
            model.start(job, traffic)
        else:
            model.end(job)
        model.solve()
        for row, slot in passed_over(pool):
            channel, rate = pool.rec_i[row, R_CHANNEL], pool.job_f[slot, J_RATE]
            n = max(0.0, pool.chan[channel, C_N] - pool.rec_f[row, R_W] * rate)
            u = max(0.0, pool.chan[channel, C_R] - pool.rec_f[row, R_B] * rate)
            within = n * pool.rec_f[row, R_INV_M]
            assert stays_within(pool.rec_f[row, R_SLACK], 1.0, 1.0, within, u)
