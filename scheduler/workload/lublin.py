"""The workload model of Lublin and Feitelson for rigid jobs."""

import math

import numpy as np

from netsim.common.arrays import Floats, Ints
from scheduler.workload.base import Workload
from scheduler.workload.synthetic import MOST_JOBS, check_range, drawn

_SERIAL, _POWER_OF_TWO = 0.244, 0.576  # shares of all jobs
_LOG_LOW, _LOG_GAP, _FIRST_STAGE = 0.8, 2.5, 0.86  # log2 of sizes; gap from middle to top
_SHORT, _LONG = (4.2, 0.94), (312.0, 0.03)  # gammas (shape, scale) of the log of run times
_SLOPE, _INTERCEPT = -0.0054, 0.78  # share of the short gamma = slope x nodes + intercept
_ARRIVALS = (10.2303 * 1.0225, 0.4871)  # gamma of the log of gaps, all hours
_CYCLE = (8.1737, 3.9631)  # gamma of the arrivals over the half-hours of a day
_DAY_START = 11  # half-hour at which the day of the model begins
_LONGEST_LOG_S, _LONGEST_LOG_GAP = 12.0, 13.0  # larger draws are drawn again
_SLOTS, _SLOT_S = 48, 1800
_SMALLEST, _LARGEST = 16, 10**9


def lublin(n_nodes: int, n_jobs: int = 10_000, seed: int = 1) -> Workload:
    """
    Draw a workload from the model of Lublin and Feitelson.

    `n_nodes`: nodes of the machine, 16 to 10^9; the largest job takes them all. `n_jobs`: number of
    jobs, 1 to `MOST_JOBS` of `scheduler.workload.synthetic`. Result: jobs 1..n with a daily cycle
    of arrivals from midnight on; whole seconds.

    Lublin and Feitelson, *The workload on parallel supercomputers: modeling the characteristics
    of rigid jobs*, J. Parallel Distrib. Comput. 63 (2003), with the parameters that do
    not tell batch from interactive jobs:

    - size: 1 (24.4 %), else 2^x with x two-stage uniform between 0.8, log2(N) - 2.5 and
      log2(N), 86 % in the first stage; 57.6 % of all jobs round x to a whole number;
    - log of the run time: a mix of two gammas, the shorter with share 0.78 - 0.0054 nodes;
    - log of the gap between arrivals: gamma, stretched by the hour of the day.

    The run times were fitted on machines of 128 to 512 nodes; above 144 nodes the model
    draws only from the longer gamma. Arrivals do not depend on N: scale them to the load
    that is wanted.
    """
    check_range("n_nodes", n_nodes, _SMALLEST, _LARGEST)
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    random = np.random.default_rng(seed)
    sizes = _sizes(random, n_nodes, n_jobs)
    times = np.maximum(1.0, np.floor(np.exp(_log_times(random, sizes))))
    source = f"lublin(n_nodes={n_nodes}, n_jobs={n_jobs}, seed={seed})"
    return drawn(source, _arrivals(random, n_jobs), sizes, times)


def _sizes(random: "np.random.Generator", n_nodes: int, n_jobs: int) -> Ints:
    """Draw the sizes: serial, powers of two, others."""
    top = math.log2(n_nodes)
    middle = top - _LOG_GAP
    kind, stage, place = random.random((3, n_jobs))
    first = stage <= _FIRST_STAGE
    low, high = np.where(first, _LOG_LOW, middle), np.where(first, middle, top)
    log_size = low + (high - low) * place
    log_size = np.where(kind <= _SERIAL + _POWER_OF_TWO, np.floor(log_size + 0.5), log_size)
    sizes = np.where(kind <= _SERIAL, 1.0, np.floor(2.0**log_size + 0.5))
    return np.minimum(sizes, n_nodes).astype(np.int64)


def _log_times(random: "np.random.Generator", sizes: Ints) -> Floats:
    """Draw the logarithm of run times, again where it is too long."""
    share = np.clip(_SLOPE * sizes + _INTERCEPT, 0.0, 1.0)
    logs = np.full(len(sizes), np.inf)
    while (left := np.flatnonzero(logs > _LONGEST_LOG_S)).size:
        short = random.random(left.size) <= share[left]
        shape, scale = np.where(short, np.array([_SHORT]).T, np.array([_LONG]).T)
        logs[left] = random.gamma(shape, scale)
    return logs


def _arrivals(random: "np.random.Generator", n_jobs: int) -> Floats:
    """Draw arrivals in a time that runs with the load of the hour, and map it to the clock."""
    from scipy.special import gammainc  # noqa: PLC0415 (takes a second to import)

    logs = np.full(n_jobs, np.inf)
    while (left := np.flatnonzero(logs > _LONGEST_LOG_GAP)).size:
        logs[left] = random.gamma(*_ARRIVALS, left.size)
    days, within = np.divmod(np.cumsum(np.exp(logs)), _SLOTS * _SLOT_S)
    slots = np.arange(_DAY_START, _SLOTS + _DAY_START)
    shape, scale = _CYCLE
    until, since = (gammainc(shape, (slots + half) / scale) for half in (0.5, -0.5))  # the cdf
    weights = np.roll(until - since, _DAY_START - 1)  # the first slot of the day is number 1
    passed = np.concatenate(([0.0], np.cumsum(weights) / weights.sum())) * _SLOTS * _SLOT_S
    clock = np.interp(within, passed, np.arange(_SLOTS + 1) * _SLOT_S)
    return np.floor(days * _SLOTS * _SLOT_S + clock)
