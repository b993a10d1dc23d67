"""
Who holds a job up, from the state of a fixed point solved from scratch, compiled.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import njit

from netsim.arrays import Floats, Ints
from netsim.contention.cold.cold_kernels import END, LIMIT, TAU, WAIT, B, E, G, M, Q, covered
from netsim.contention.link_kernels import link_time, queue_wait

_I1, _F1, _F2 = "int64[::1]", "float64[::1]", "float64[:, ::1]"
_STATE = f"{_F2}, {_I1}, {_I1}, {_I1}, {_I1}, {_F2}, {_I1}, {_F1}, {_F2}, {_F1}, {_F1}, {_F1}"


@njit(f"float64(int64, int64, int64, float64, {_F1}, {_F1}, {_F2})", cache=True)
def _presence(
    a: int, b: int, sample: int, cycle: float, begin: Floats, duration: Floats, phase: Floats
) -> float:
    """Return the share of step a's duration in which step b of another job runs."""
    if phase.shape[1] == 0:
        return float(duration[b] / cycle)
    at = phase[b, sample] * cycle + begin[b]
    inside = covered(duration[a] - at, duration[b], cycle)
    return float((inside - covered(-at, duration[b], cycle)) / duration[a])


@njit(
    f"void(int64, {_STATE}, {_I1}, {_F2})",
    cache=True,
    error_model="numpy",
)
def blame_one(
    victim: int,
    ent: Floats,
    ent_step: Ints,
    ent_channel: Ints,
    on: Ints,
    first_on: Ints,
    steps: Floats,
    first_step: Ints,
    period: Floats,
    phases: Floats,
    duration: Floats,
    late: Floats,
    slow: Floats,
    kinds: Ints,
    blame: Floats,
) -> None:
    """
    Share out what each step of a job takes longer than alone.

    Parameters
    ----------
    victim : int
        The job.
    ent, ent_step, ent_channel : arrays
        As for `solve_cold`.
    on, first_on : arrays
        Entries ``on[first_on[c]:first_on[c + 1]]`` lie on channel c.
    steps, first_step, period, phases : arrays
        As for `solve_cold`.
    duration, late, slow : arrays
        The solution: D g of each step, y of each entry, s of each job.
    kinds : (K,) int array
        Class of the link of each entry.
    blame : (J, Z) float array
        Seconds, added to, by culprit and class of link.

    Notes
    -----
    As in fast mode, per sample: the excess of the link that takes longest, in proportion to
    use where the bound 1/(1 - R) decides, else to weight.
    """
    samples = max(1, phases.shape[1])
    job_of = np.empty(steps.shape[0], np.int64)
    begin = np.empty(steps.shape[0])  # of each step, from the start of the iteration
    cycle = np.empty(steps.shape[0])
    phase = np.empty((steps.shape[0], phases.shape[1]))
    for j in range(period.size):
        since = 0.0
        for a in range(first_step[j], first_step[j + 1]):
            job_of[a], begin[a], cycle[a] = j, since, period[j] * slow[j]
            phase[a] = phases[j]
            since += duration[a]
    n_steps = first_step[victim + 1] - first_step[victim]
    time = np.zeros((n_steps, samples))
    use_late, where = np.zeros((n_steps, samples)), np.full((n_steps, samples), -1, np.int64)
    weigh, use = np.zeros((n_steps, samples)), np.zeros((n_steps, samples))
    for a in range(n_steps):
        time[a, :] = steps[first_step[victim] + a, TAU]
    for k in range(ent_step.size):
        step = ent_step[k]
        if job_of[step] != victim:
            continue
        a = step - first_step[victim]
        c = ent_channel[k]
        for sample in range(samples):
            n, r = 0.0, 0.0
            for i in range(first_on[c], first_on[c + 1]):
                b = ent_step[on[i]]
                if job_of[b] == victim:
                    continue
                x = _presence(step, b, sample, cycle[b], begin, duration, phase)
                w = ent[on[i], E] + max(0.0, late[on[i]] - ent[on[i], END]) * ent[on[i], Q]
                n += x * w / duration[b]
                r += x * ent[on[i], B] / duration[b]
            if n <= 0.0 or ent[k, B] * (ent[k, M] + n) <= ent[k, LIMIT] * ent[k, M]:
                continue
            y = link_time(ent[k, B], ent[k, M], ent[k, Q], ent[k, G], n, r)
            total = y + queue_wait(ent[k, WAIT], n)
            if total > time[a, sample]:
                time[a, sample], where[a, sample] = total, k
                weigh[a, sample], use[a, sample] = n, r
                bound = link_time(ent[k, B], ent[k, M], ent[k, Q], ent[k, G], n, 1.0)
                tau = steps[step, TAU]
                use_late[a, sample] = max(0.0, y - tau) if y < bound else 0.0
    for a in range(n_steps):
        step = first_step[victim] + a
        for sample in range(samples):
            k = where[a, sample]
            if k < 0:
                continue
            c = ent_channel[k]
            by_use = use_late[a, sample]
            by_weight = time[a, sample] - steps[step, TAU] - by_use
            for i in range(first_on[c], first_on[c + 1]):
                b = ent_step[on[i]]
                if job_of[b] == victim:
                    continue
                x = _presence(step, b, sample, cycle[b], begin, duration, phase)
                w = ent[on[i], E] + max(0.0, late[on[i]] - ent[on[i], END]) * ent[on[i], Q]
                part = by_weight * x * w / duration[b] / weigh[a, sample]
                if by_use > 0.0:
                    part += by_use * x * ent[on[i], B] / duration[b] / use[a, sample]
                blame[job_of[b], kinds[k]] += part / samples
