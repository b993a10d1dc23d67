"""
The fixed point solved from scratch, averaged or sampled neighbours, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Floats, Ints
from netsim.contention.link_kernels import link_time, queue_wait, stays_within

B, M, Q, G, END, LIMIT, WAIT, E = range(8)  # columns of entries
TAU, LAM = range(2)  # columns of steps
OMEGA_START, OMEGA_FLOOR, OMEGA_GROWTH = 0.5, 0.1, 1.05
# sampled steps jump, so states can cycle: omega is halved after so many sweeps without progress
PATIENCE, PROGRESS = 100, 0.7
_I1, _F1, _F2 = "int64[::1]", "float64[::1]", "float64[:, ::1]"


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def covered(until: float, length: float, period: float) -> float:
    """
    Return how much of [0, until) is covered by [0, length), repeated every period.

    Parameters
    ----------
    until : float
        End of the range; negative counts what [until, 0) holds, with a minus sign.
    length, period : float
        The interval and its period; 0 <= length <= period.

    Returns
    -------
    float
        In the unit of the arguments.
    """
    whole = np.floor(until / period)
    return float(whole * length + min(until - whole * period, length))


@njit(
    f"Tuple(({_F1}, {_F1}, {_F1}, {_F1}, int64, float64))"
    f"({_F2}, {_I1}, {_I1}, {_I1}, {_F2}, {_I1}, {_F1}, {_F2},"
    "boolean, float64, float64, int64)",
    cache=True,
    error_model="numpy",
)
def solve_cold(
    ent: Floats,
    ent_step: Ints,
    ent_channel: Ints,
    first_entry: Ints,
    steps: Floats,
    first_step: Ints,
    period: Floats,
    phases: Floats,
    linger: bool,
    start: float,
    tolerance: float,
    cap: int,
) -> tuple[Floats, Floats, Floats, Floats, int, float]:
    """
    Return the slowdowns of jobs that run together, by damped sweeps over all of them.

    Parameters
    ----------
    ent : (K, 8) float array
        B, m, q, G, e, limit, w, E of each entry (job, step, channel), sorted by step.
    ent_step, ent_channel : (K,) int array
        Step, and channel numbered 0..C-1, of each entry.
    first_entry : (S + 1,) int array
        Entries of step a are ``first_entry[a]:first_entry[a + 1]``.
    steps : (S, 2) float array
        tau and lam of each step of each job, sorted by job.
    first_step : (J + 1,) int array
        Steps of each job.
    period : (J,) float array
        T, time of an iteration alone, in seconds.
    phases : (J, M) float array
        Sampled phases as fractions of the period; M = 0 takes neighbours as averaged.
    linger : bool
        False takes a flow's weight as constant while its step runs (for comparison).
    start : float
        Stretch g of all steps before the first sweep.
    tolerance : float
        Ends when no slowdown, and no weight W / (T s), moves by more in a full sweep.
    cap : int
        Sweeps at most.

    Returns
    -------
    slowdown : (J,) float array
        Slowdown of each job.
    held : (K,) float array
        Mean time that the link takes, wait for its queue included, of each entry, in seconds.
    duration : (S,) float array
        Time D g of each step, in seconds.
    late : (K,) float array
        Mean time y that the link takes, of each entry, in seconds.
    sweeps : int
        Sweeps done.
    change : float
        Largest change of the last sweep, as compared with the tolerance.
    """
    n_jobs, n_steps, n_ent = period.size, steps.shape[0], ent.shape[0]
    samples = max(1, phases.shape[1])
    averaged = phases.shape[1] == 0
    job_of = np.empty(n_steps, np.int64)
    duration = np.empty(n_steps)
    for j in range(n_jobs):
        for a in range(first_step[j], first_step[j + 1]):
            job_of[a] = j
            duration[a] = (steps[a, TAU] + steps[a, LAM]) * start
    # entries on channels of several jobs, by step; the others change nothing
    n_channels = 0
    for k in range(n_ent):
        n_channels = max(n_channels, ent_channel[k] + 1)
    owner = np.full(n_channels, -1, np.int64)
    shared = np.zeros(n_channels, np.bool_)
    for k in range(n_ent):
        c, j = ent_channel[k], job_of[ent_step[k]]
        shared[c] |= owner[c] not in (-1, j)
        owner[c] = j
    kept = np.empty(n_ent, np.int64)
    first_kept = np.zeros(n_steps + 1, np.int64)
    n_kept = 0
    for a in range(n_steps):
        for k in range(first_entry[a], first_entry[a + 1]):
            if shared[ent_channel[k]]:
                kept[n_kept] = k
                n_kept += 1
        first_kept[a + 1] = n_kept
    # the same, by channel
    first_on = np.zeros(n_channels + 1, np.int64)
    for k in kept[:n_kept]:
        first_on[ent_channel[k] + 1] += 1
    for c in range(n_channels):
        first_on[c + 1] += first_on[c]
    place = first_on[:-1].copy()
    spot = np.empty(n_ent, np.int64)  # of each entry among those sorted by channel
    step_at, job_at = np.empty(n_kept, np.int64), np.empty(n_kept, np.int64)  # by spot
    for k in kept[:n_kept]:
        i = place[ent_channel[k]]
        place[ent_channel[k]] += 1
        spot[k], step_at[i], job_at[i] = i, ent_step[k], job_of[ent_step[k]]
    # steps of other jobs that each step meets on a link
    met_by = np.full(n_steps, -1, np.int64)
    first_met = np.zeros(n_steps + 1, np.int64)
    for turn in range(2):
        if turn == 1:
            for a in range(n_steps):
                first_met[a + 1] += first_met[a]
            met = np.empty(first_met[n_steps], np.int64)
            met_by[:] = -1
        for a in range(n_steps):
            count = 0
            for k in kept[first_kept[a] : first_kept[a + 1]]:
                c = ent_channel[k]
                for i in range(first_on[c], first_on[c + 1]):
                    b = step_at[i]
                    if job_at[i] != job_of[a] and met_by[b] != a:
                        met_by[b] = a
                        if turn == 1:
                            met[first_met[a] + count] = b
                        count += 1
            if turn == 0:
                first_met[a + 1] = count
    slow = np.ones(n_jobs)
    late = np.zeros(n_ent)  # y
    fresh_late = ent[:, B].copy()
    held = np.zeros(n_ent)
    fresh = np.empty(n_steps)
    begin, before = np.zeros((n_steps, samples)), np.zeros((n_steps, samples))
    share = np.zeros((n_steps, samples))
    weight = np.zeros(n_kept)  # by spot
    all_weight, all_use = np.zeros(n_channels), np.zeros(n_channels)
    use = np.zeros(n_kept)  # by spot
    n, r, late_by = np.zeros(samples), np.zeros(samples), np.zeros(samples)
    over, waits = np.zeros(samples), np.zeros(samples)
    omega = np.full(n_jobs, OMEGA_START)
    residual_before = np.zeros(n_jobs)
    sweeps = 0
    change = np.inf
    best, since, sink = np.inf, 0, 1.0
    while sweeps < cap and change > tolerance:
        sweeps += 1
        if change < PROGRESS * best:
            best, since = change, 0
        since += 1
        if since > PATIENCE:
            best, since, sink = change, 0, 0.5 * sink
        change = 0.0
        for j in range(n_jobs):
            excess = 0.0
            for a in range(first_step[j], first_step[j + 1]):
                excess += duration[a] - (steps[a, TAU] + steps[a, LAM])
            slow[j] = 1.0 + (excess / period[j] if excess > 0.0 else 0.0)
            for i in range(phases.shape[1]):
                at = phases[j, i] * period[j] * slow[j]
                for a in range(first_step[j], first_step[j + 1]):
                    begin[a, i] = at
                    before[a, i] = covered(-at, duration[a], period[j] * slow[j])
                    at += duration[a]
        all_weight[:] = 0.0
        all_use[:] = 0.0
        for k in kept[:n_kept]:
            rate = 1.0 / duration[ent_step[k]]
            w = ent[k, E] + max(0.0, late[k] - ent[k, END]) * ent[k, Q]
            i = spot[k]
            weight[i] = w * rate if linger else ent[k, M]
            use[i] = ent[k, B] * rate
            all_weight[ent_channel[k]] += weight[i]
            all_use[ent_channel[k]] += use[i]
        for a in range(n_steps):
            j, rate = job_of[a], 1.0 / duration[a]
            for i in range(first_met[a], first_met[a + 1]):
                b = met[i]
                cycle = period[job_of[b]] * slow[job_of[b]]
                if averaged:
                    share[b, 0] = duration[b] / cycle
                else:
                    for i_s in range(samples):
                        inside = covered(duration[a] - begin[b, i_s], duration[b], cycle)
                        share[b, i_s] = (inside - before[b, i_s]) * rate
            late_by[:] = 0.0  # against tau, so that a sum of nothings is nothing
            for k in kept[first_kept[a] : first_kept[a + 1]]:
                c = ent_channel[k]
                b_k, m_k, limit = ent[k, B], ent[k, M], ent[k, LIMIT]
                fresh_late[k] = held[k] = b_k
                own = spot[k]
                most = all_weight[c] - weight[own]  # were all neighbours there all the time
                if stays_within(limit, b_k, m_k, most, all_use[c] - use[own]):
                    continue
                n[:] = 0.0
                r[:] = 0.0
                for i in range(first_on[c], first_on[c + 1]):
                    if job_at[i] == j:
                        continue
                    b, w, u = step_at[i], weight[i], use[i]
                    for i_s in range(samples):
                        n[i_s] += share[b, i_s] * w
                        r[i_s] += share[b, i_s] * u
                g = ent[k, G] if linger else np.inf
                q_k, wait_k, tau = ent[k, Q], ent[k, WAIT], steps[a, TAU]
                for i_s in range(samples):  # apart from the sums, so that it runs in vectors
                    y = link_time(b_k, m_k, q_k, g, n[i_s], r[i_s])
                    wait = queue_wait(wait_k, n[i_s])
                    over[i_s], waits[i_s] = y - b_k, wait
                    late_by[i_s] = max(late_by[i_s], y + wait - tau)
                total = over.sum()
                fresh_late[k] = b_k + total / samples
                held[k] = fresh_late[k] + waits.sum() / samples
            fresh[a] = (steps[a, TAU] + steps[a, LAM]) + late_by.sum() / samples
        for j in range(n_jobs):
            if period[j] <= 0.0:
                continue
            residual = 0.0
            for a in range(first_step[j], first_step[j + 1]):
                residual += fresh[a] - duration[a]
            residual /= period[j]
            last = residual_before[j]
            if residual * last < 0.0:
                slower = omega[j] / (1.0 + min(1.0, abs(residual / last)))
                omega[j] = max(OMEGA_FLOOR * sink, slower)
            else:
                omega[j] = min(OMEGA_START * sink, OMEGA_GROWTH * omega[j])
            residual_before[j] = residual
            change = max(change, abs(residual))
            for a in range(first_step[j], first_step[j + 1]):
                duration[a] += omega[j] * (fresh[a] - duration[a])
                for k in kept[first_kept[a] : first_kept[a + 1]]:
                    old = max(0.0, late[k] - ent[k, END])
                    step = fresh_late[k] - late[k]
                    moved = (max(0.0, fresh_late[k] - ent[k, END]) - old) * ent[k, Q] / period[j]
                    late[k] += omega[j] * step
                    change = max(change, abs(moved) / slow[j])
    for j in range(n_jobs):
        excess = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            excess += duration[a] - (steps[a, TAU] + steps[a, LAM])
        slow[j] = 1.0 + (excess / period[j] if excess > 0.0 else 0.0)
    return slow, held, duration, late, sweeps, change
