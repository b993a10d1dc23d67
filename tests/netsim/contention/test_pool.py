"""The rows of the event model: where records stand and how they are linked, after any history."""

from collections import defaultdict
from itertools import islice

import numpy as np
import pytest
from measured.scenes import Stream

from netsim.contention.events.fast import Fast
from netsim.contention.link_kernels import stays_within
from netsim.topology.fattree import fat_tree_of_radix


def users_of_channels(pool):
    """Return (row, slot, is it active, does it stand among the shared ones) for each channel."""
    users = defaultdict(list)
    for slot in pool.slot_of.values():
        job = pool.jobs[slot]
        first, n_active = job["first_record"], job["n_active"]
        n_shared, n_rows = job["n_shared"], job["n_records"]
        assert 0 <= n_active <= n_shared <= n_rows
        for row in range(first, first + n_rows):
            assert pool.listed["slot"][row] == slot
            where = (row < first + n_active, row < first + n_shared)
            users[int(pool.records["channel"][row])].append((row, slot, *where))
    return users


def linked_rows(pool, channel):
    """Return the rows in the list of a channel, checking its links back."""
    rows, before, row = [], -1, int(pool.channels["first_record"][channel])
    while row >= 0:
        assert pool.listed["previous"][row] == before
        rows.append(row)
        before, row = row, int(pool.listed["following"][row])
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
            assert pool.channels["n_jobs"][channel] == len(found)
            assert sorted(linked_rows(pool, channel)) == sorted(row for row, *_ in found)
            bits = np.unpackbits(pool.active[channel].view(np.uint8), bitorder="little")
            assert set(np.flatnonzero(bits)) == {slot for _, slot, active, _ in found if active}
            assert all(shared == (len(found) > 1) for *_, shared in found)


def passed_over(pool):
    """Yield the rows of shared channels that the model does not evaluate."""
    for slot in pool.slot_of.values():
        job = pool.jobs[slot]
        first, n_active, n_shared = job["first_record"], job["n_active"], job["n_shared"]
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
            record, listed = pool.records[row], pool.listed[row]
            channel, rate = pool.channels[record["channel"]], pool.jobs["rate"][slot]
            n = max(0.0, channel["weight"] - record["weight_s"] * rate)
            u = max(0.0, channel["use"] - record["drain_s"] * rate)
            assert stays_within(listed["slack"], 1.0, 1.0, n * listed["per_weight"], u)
