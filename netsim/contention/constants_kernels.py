"""
What one job puts on each channel in each step: the constants of the fixed point, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Floats, Ints

# signatures: lists that are read, lists of integers and tables that are written
_INTS, _FLOATS = "Array(int64, 1, 'C', True)", "Array(float64, 1, 'C', True)"
_RW, _I2, _F2 = "int64[::1]", "int64[:, ::1]", "float64[:, ::1]"


@njit(f"void({_RW}, int64, int64, float64[::1])", cache=True)
def _sort_by_key(order: Ints, first: int, last: int, key: Floats) -> None:
    """Sort order[first:last] by ascending key[order[i]] in place (Shell sort, short lists)."""
    gap = (last - first) // 2
    while gap > 0:
        for i in range(first + gap, last):
            item = order[i]
            value = key[item]
            j = i
            while j >= first + gap and key[order[j - gap]] > value:
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2


@njit(
    f"Tuple(({_I2}, {_F2}, {_RW}, {_F2}, {_F2}))({_INTS}, {_INTS}, {_FLOATS}, {_INTS}, {_INTS},"
    f"{_FLOATS}, boolean, {_FLOATS}, {_INTS}, {_INTS}, {_FLOATS}, float64, {_RW}, {_RW},"
    "float64[::1])",
    cache=True,
    error_model="numpy",
)
def job_constants(
    step: Ints,
    sender: Ints,
    nbytes: Floats,
    indptr: Ints,
    links: Ints,
    latency: Floats,
    per_flow: bool,
    capacity: Floats,
    channel: Ints,
    bundle: Ints,
    bundle_capacity: Floats,
    buffer_bytes: float,
    slot: Ints,
    opened: Ints,
    injected: Floats,
) -> tuple[Ints, Floats, Ints, Floats, Floats]:
    """
    Return records (job, channel), entries (job, channel, step) and steps of one job.

    Parameters
    ----------
    step, sender, nbytes, indptr, links, latency : arrays
        The fields of `Traffic` and its routes.
    per_flow : bool
        Whether each flow counts as a sender of its own.
    capacity : (E,) float array
        Bytes per second of each channel.
    channel : (E,) int array
        Channel of each directed link.
    bundle, bundle_capacity : (E,) arrays
        Of each channel, from `netsim.topology.rails.node_bundles`.
    buffer_bytes : float
        Buffer of a port.
    slot : (E,) int array
        Scratch, all -1 before and after.
    opened : (S,) int array
        Scratch, all 0 before and after; S above every sender, and above F if `per_flow`.
    injected : (E,) float array
        Scratch, all 0 before and after.

    Returns
    -------
    rec_i : (R, 4) int array
        Channel, first entry, number of entries, a directed link of the job on the channel.
    rec_f : (R, 4) float array
        Sum of B, sum of E, least limit/B, largest 1/m, over the entries of the record.
    ent_step : (K,) int array
        Step of each entry; entries are grouped by record.
    ent_f : (K, 8) float array
        B, m, q, G, e, limit, w, E of each entry; see `JobConstants`.
    steps : (A, 3) float array
        Of each step: tau, lam and injection time (lam included) in seconds.
    """
    n_flows = step.size
    nnz = indptr[n_flows]
    n_steps = step[n_flows - 1] + 1 if n_flows else 0
    steps = np.zeros((n_steps, 3))
    raw = np.zeros((nnz, 8))
    raw_step = np.empty(nnz, np.int64)
    raw_channel = np.empty(nnz, np.int64)
    raw_link = np.empty(nnz, np.int64)
    last_sender = np.empty(nnz, np.int64)
    entry_of = np.empty(nnz, np.int64)  # entry of each hop of each flow
    finish = np.empty(n_flows)
    order = np.empty(n_flows, np.int64)
    n_entries = 0
    first = 0
    while first < n_flows:
        last = first
        a = step[first]
        base = n_entries
        lam = 0.0
        injection = 0.0
        while last < n_flows and step[last] == a:
            begin, end = indptr[last], indptr[last + 1]
            lam = max(lam, latency[last])
            if end > begin:
                opened[last - first if per_flow else sender[last]] += 1
            for hop in range(begin, end):
                c = channel[links[hop]]
                entry = slot[c]
                if entry < 0:
                    entry = n_entries
                    n_entries += 1
                    slot[c] = entry
                    raw_step[entry] = a
                    raw_channel[entry] = c
                    raw_link[entry] = links[hop]
                    last_sender[entry] = -1
                entry_of[hop] = entry
                drain = nbytes[last] / capacity[c]
                raw[entry, 0] += drain
                if hop in (begin, end - 1):
                    injected[bundle[c]] += nbytes[last] / bundle_capacity[c]
                    injection = max(injection, injected[bundle[c]])
            last += 1
        tau = 0.0
        for entry in range(base, n_entries):
            tau = max(tau, raw[entry, 0])
        steps[a, 0] = tau
        steps[a, 1] = lam
        steps[a, 2] = injection + lam
        # flows sorted by sender: opened[] turns from counts into the end of each sender's group
        place = first
        for f in range(first, last):
            d = 0.0
            for hop in range(indptr[f], indptr[f + 1]):
                d = max(d, raw[entry_of[hop], 0])
                injected[bundle[channel[links[hop]]]] = 0.0
            finish[f] = d
            if indptr[f + 1] > indptr[f]:
                who = f - first if per_flow else sender[f]
                if opened[who] > 0:
                    count = opened[who]
                    opened[who] = -(place + 1)
                    place += count
                order[-opened[who] - 1] = f
                opened[who] -= 1
        i = first
        while i < place:
            head = order[i]
            who = head - first if per_flow else sender[head]
            group_end = -opened[who] - 1
            opened[who] = 0
            if group_end - i > 1:
                _sort_by_key(order, i, group_end, finish)
            weight = 1.0 / (group_end - i)
            presence = 0.0  # integral of the weight of the flows still open
            before = 0.0
            for k in range(i, group_end):
                f = order[k]
                presence += (finish[f] - before) / (group_end - k)
                before = finish[f]
                own = raw[entry_of[indptr[f]], 0]
                for hop in range(indptr[f], indptr[f + 1]):
                    entry = entry_of[hop]
                    raw[entry, 1] += weight
                    raw[entry, 3] += weight * own
                    raw[entry, 4] = max(raw[entry, 4], finish[f])
                    raw[entry, 7] += presence
                    if last_sender[entry] != i:
                        last_sender[entry] = i
                        raw[entry, 2] += 1.0
            i = group_end
        for entry in range(base, n_entries):
            raw[entry, 3] /= raw[entry, 1]
            raw[entry, 6] = buffer_bytes / capacity[raw_channel[entry]]
            raw[entry, 5] = max(0.0, min(raw[entry, 4], tau - raw[entry, 6]))
            slot[raw_channel[entry]] = -1
        first = last
    n_records = 0
    size = np.zeros(n_entries, np.int64)
    for entry in range(n_entries):
        c = raw_channel[entry]
        if slot[c] < 0:
            slot[c] = n_records
            n_records += 1
        size[slot[c]] += 1
    rec_i = np.empty((n_records, 4), np.int64)
    rec_f = np.zeros((n_records, 4))
    place = 0
    for r in range(n_records):
        rec_i[r, 1] = place
        rec_i[r, 2] = 0
        place += size[r]
        rec_f[r, 2] = np.inf
    ent_step = np.empty(n_entries, np.int64)
    ent_f = np.empty((n_entries, 8))
    for entry in range(n_entries):
        r = slot[raw_channel[entry]]
        rec_i[r, 0] = raw_channel[entry]
        rec_i[r, 3] = raw_link[entry]
        k = rec_i[r, 1] + rec_i[r, 2]
        rec_i[r, 2] += 1
        ent_step[k] = raw_step[entry]
        for column in range(8):
            ent_f[k, column] = raw[entry, column]
        rec_f[r, 0] += raw[entry, 0]
        rec_f[r, 1] += raw[entry, 7]
        rec_f[r, 2] = min(rec_f[r, 2], raw[entry, 5] / raw[entry, 0])
        rec_f[r, 3] = max(rec_f[r, 3], 1.0 / raw[entry, 1])
    for r in range(n_records):
        slot[rec_i[r, 0]] = -1
    return rec_i, rec_f, ent_step, ent_f, steps
