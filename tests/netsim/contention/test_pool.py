"""The rows of the event model: where records stand and how they are linked, after any history."""

from collections import defaultdict
from itertools import islice

import numpy as np
import pytest

from benchmarks.contention_scenes import Stream
from netsim.contention.events.columns import (
    C_HEAD,
    C_JOBS,
    J_ACTIVE,
    J_NREC,
    J_REC,
    J_SHARED,
    L_NEXT,
    L_PREV,
    L_SLOT,
    R_CHANNEL,
)
from netsim.contention.events.fast import Fast
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
