"""
Compiled search for channels that cannot hold anybody up; import through `netsim.kernelcache`.

A channel is *spare* in a step of a job if all flows that cross it in that step cross another
channel too, one that carries no more: that one is full before it. On a full tree with D-mod-k
these are the links down to a node, as the node's own link has all their flows. This holds as
flows end, but only while no other job crosses the channel.
"""

import numpy as np

from netsim.arrays import Bools, Floats, Ints
from netsim.jit import njit


@njit(cache=True)
def spare_entries(indptr: Ints, list_of: Ints, capacity: Floats, step_first: Ints) -> Bools:
    """
    Return the entries of flows whose channels are spare in the steps of the flows.

    Rows are as of `simulate`. Of channels with the same flows and capacity one is not spare. None
    is in a step of which a flow crosses a channel twice.
    """
    spare = np.zeros(list_of.size, dtype=np.bool_)
    n_channels = capacity.size
    count, first = np.zeros(n_channels, np.int64), np.zeros(n_channels, np.int64)
    hits, last = np.zeros(n_channels, np.int64), np.full(n_channels, -1)
    needless = np.zeros(n_channels, dtype=np.bool_)
    used, members = np.empty(n_channels, np.int64), np.empty(list_of.size, np.int64)
    for step in range(step_first.size - 1):
        n_used, twice = 0, False
        for flow in range(step_first[step], step_first[step + 1]):
            for entry in range(indptr[flow], indptr[flow + 1] - 1):
                channel = list_of[entry]
                twice |= last[channel] == flow
                last[channel] = flow
                if count[channel] == 0:
                    used[n_used] = channel
                    n_used += 1
                count[channel] += 1
        begin = 0
        for i in range(n_used):
            first[used[i]] = begin
            begin += count[used[i]]
        for flow in range(step_first[step], step_first[step + 1]):
            for entry in range(indptr[flow], indptr[flow + 1] - 1):
                members[first[list_of[entry]]] = flow
                first[list_of[entry]] += 1
        for i in range(0 if twice else n_used):
            channel = used[i]
            end = first[channel]
            begin = end - count[channel]
            for j in range(begin, end):
                for entry in range(indptr[members[j]], indptr[members[j] + 1] - 1):
                    hits[list_of[entry]] += 1
            for entry in range(indptr[members[begin]], indptr[members[begin] + 1] - 1):
                other = list_of[entry]
                if hits[other] < count[channel] or capacity[other] > capacity[channel]:
                    continue
                more = count[other] > count[channel] or capacity[other] < capacity[channel]
                needless[channel] |= more or other < channel
            for j in range(begin, end):
                for entry in range(indptr[members[j]], indptr[members[j] + 1] - 1):
                    hits[list_of[entry]] = 0
        for flow in range(step_first[step], step_first[step + 1]):
            for entry in range(indptr[flow], indptr[flow + 1] - 1):
                spare[entry] = needless[list_of[entry]]
        for i in range(n_used):
            count[used[i]], needless[used[i]] = 0, False
    return spare


@njit(cache=True)
def lists_of_one_job(indptr: Ints, list_of: Ints, job_of: Ints) -> Bools:
    """Return which lists only flows of one job are on."""
    user, single = np.full(list_of.max() + 1, -1), np.ones(list_of.max() + 1, dtype=np.bool_)
    for flow in range(indptr.size - 1):
        for entry in range(indptr[flow], indptr[flow + 1]):
            number = list_of[entry]
            if user[number] < 0:
                user[number] = job_of[flow]
            single[number] &= user[number] == job_of[flow]
    return single


@njit(cache=True)
def without(spare: Bools, indptr: Ints, list_of: Ints) -> tuple[Ints, Ints]:
    """Return rows without the spare entries."""
    first, kept, n_kept = np.zeros_like(indptr), np.empty_like(list_of), 0
    for flow in range(indptr.size - 1):
        for entry in range(indptr[flow], indptr[flow + 1]):
            if not spare[entry]:
                kept[n_kept] = list_of[entry]
                n_kept += 1
        first[flow + 1] = n_kept
    return first, kept[:n_kept].copy()
