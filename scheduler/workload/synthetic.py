"""Synthetic workloads: Smith21, Stoltzfus13 (HECToR), and the model of Lublin and Feitelson."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from fabricsim.checking import number, whole
from netsim.common.arrays import Floats, Ints
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import Workload

_SHORTEST_S, _LONGEST_S = 20, 3000

HECTOR_NODES = 2816
"""Nodes of HECToR that run jobs: 15 x 6 x 16 x 2 less 64 login nodes (Stoltzfus13, section 2.5)."""

HECTOR_SIZES = {
    1: 0.270,
    2: 0.135,
    4: 0.135,
    8: 0.12845,
    16: 0.240,
    32: 0.060,
    64: 0.020,
    128: 0.0075,
    256: 0.0027,
    512: 0.0010,
    1024: 0.0003,
    2048: 0.00005,
}
"""Share of jobs by size class, named by the largest size: 1, 2, 3-4, 5-8, 9-16, ..."""

_POWER_OF_TWO = 0.5  # share of a class that takes its largest size
_BRIEFEST_S, _FULL_S = 60.0, 43_200.0

MOST_JOBS = 5_000_000
"""Jobs that a generator samples: they take 1.5 GB."""

_MEAN_NODES = 1e-3, 1e9  # so that every size is a whole number
_LOADS = 1e-6, 1e6

check_range = partial(whole, error=WorkloadError)
_check_number = partial(number, error=WorkloadError)


def synth(mean_nodes: float, n_jobs: int = 10_000, seed: int = 1) -> Workload:
    """
    Sample a workload such as Synth-16, Synth-22 and Synth-28.

    Parameters
    ----------
    mean_nodes : float
        Mean of the exponential distribution of sizes, 0.001 to 1e9; sizes are rounded up.
    n_jobs : int, default 10000
        Number of jobs, 1 to `MOST_JOBS`.
    seed : int, default 1
        Of the random numbers; equal seeds give equal jobs.

    Returns
    -------
    Workload
        Jobs 1..n, all submitted at 0, run times known exactly (20..3000 whole seconds).

    Raises
    ------
    WorkloadError
        If an argument is out of range.

    Notes
    -----
    Smith21, section 5.1 and Table 1, after Zahavi's LaaS: sizes modelled on the JUROPA
    machine (exponential), run times uniform.

    Examples
    --------
    >>> workload = synth(16, n_jobs=3, seed=1)
    >>> [(job.n_nodes, job.runtime_s) for job in workload.jobs]
    [(18, 762.0), (5, 949.0), (87, 2610.0)]
    """
    _check_number("mean_nodes", mean_nodes, *_MEAN_NODES)
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    generator = np.random.default_rng(seed)
    sizes = np.maximum(1, np.ceil(generator.exponential(mean_nodes, n_jobs)).astype(np.int64))
    times = generator.integers(_SHORTEST_S, _LONGEST_S, n_jobs, endpoint=True).astype(np.float64)
    source = f"synth(mean_nodes={mean_nodes:g}, n_jobs={n_jobs}, seed={seed})"
    return drawn(source, np.zeros(n_jobs), sizes, times)


def laas(mean_nodes: float = 8.0, n_jobs: int = 10_000, seed: int = 1) -> Workload:
    """
    Sample a workload like the example of LaaS: all submitted at 0.

    Zahavi et al., *Links as a Service (LaaS)*, ANCS 2016. The rule for sizes is read off the
    example that ships with LaaS 1.0 (exponential, mean 8; 10,000 tenants): sizes are rounded down,
    and those that would be 0 have the mean instead, so 16 % of the tenants have 8 nodes. Durations
    there are uniform in 20..2999.
    """
    _check_number("mean_nodes", mean_nodes, *_MEAN_NODES)
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    generator = np.random.default_rng(seed)
    sizes = np.floor(generator.exponential(mean_nodes, n_jobs)).astype(np.int64)
    sizes[sizes == 0] = max(1, round(mean_nodes))
    times = generator.integers(_SHORTEST_S, _LONGEST_S, n_jobs).astype(np.float64)
    source = f"laas(mean_nodes={mean_nodes:g}, n_jobs={n_jobs}, seed={seed})"
    return drawn(source, np.zeros(n_jobs), sizes, times)


def hector_like(n_jobs: int = 50_000, seed: int = 1, load: float = 0.8) -> Workload:
    """
    Sample jobs with the sizes of HECToR, a Cray XE6; Poisson arrivals.

    `load`: node-seconds asked for / node-seconds of `HECTOR_NODES` nodes, on average. Stoltzfus13,
    section 4.1 and 6.2: jobs of one node are most frequent, those of 9-16 nodes nearly as many,
    both sides have long, small tails up to 2048 nodes, and the mean is just over 10 (10.6 here).
    Its Figure 8 is a picture without numbers, so the shares (`HECTOR_SIZES`) are ours; within a
    class half of the jobs take the power of two and the rest spread evenly. It states no run times:
    they are log-uniform between a minute and twelve hours, independent of size.
    """
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    _check_number("load", load, *_LOADS)
    generator = np.random.default_rng(seed)
    largest = np.array(list(HECTOR_SIZES))
    shares = np.array(list(HECTOR_SIZES.values()))
    tops = generator.choice(largest, n_jobs, p=shares / shares.sum())
    spread = generator.integers(tops // 2 + 1, tops, endpoint=True)
    sizes = np.where(generator.random(n_jobs) < _POWER_OF_TWO, tops, spread)
    times = _BRIEFEST_S * (_FULL_S / _BRIEFEST_S) ** generator.random(n_jobs)
    gap_s = float(np.mean(sizes * times)) / (load * HECTOR_NODES)
    arrivals = np.cumsum(generator.exponential(gap_s, n_jobs))
    source = f"hector-like(n_jobs={n_jobs}, seed={seed}, load={load:g})"
    return drawn(source, arrivals - arrivals[0], sizes.astype(np.int64), np.ceil(times))


KALOS_MEAN_S, KALOS_MEDIAN_S = 1259.689, 124.0
"""Run times of GPU jobs on Kalos, a cluster of Acme (AcmeTrace, cluster_summary.csv)."""

_KALOS_GPUS, _KALOS_LARGEST = 26.77, 1024  # mean and largest; the median is 1
_ONE_GPU = 0.55  # share of jobs of one GPU: the median says no more than half
_HOST_GPUS = 8


def kalos_like(
    n_jobs: int = 5_000, seed: int = 1, load: float = 0.7, n_nodes: int = 256
) -> Workload:
    """
    Sample GPU jobs with the sizes and times of Kalos; Poisson arrivals.

    `n_nodes`: hosts of 8 GPUs; `load`: GPU-seconds asked for over those of the hosts. Published
    are the mean, median and largest number of GPUs and the mean and median run time (AcmeTrace,
    NSDI 2024). Ours is what lies between: powers of two whose shares fall geometrically, log-normal
    run times independent of size.
    """
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    check_range("n_nodes", n_nodes, _KALOS_LARGEST // _HOST_GPUS, _LARGEST)
    _check_number("load", load, *_LOADS)
    generator = np.random.default_rng(seed)
    sizes = 2 ** np.arange(int(math.log2(_KALOS_LARGEST)) + 1)
    gpus = generator.choice(sizes, n_jobs, p=_kalos_shares(sizes))
    spread = math.sqrt(2 * math.log(KALOS_MEAN_S / KALOS_MEDIAN_S))
    times = np.ceil(generator.lognormal(math.log(KALOS_MEDIAN_S), spread, n_jobs))
    gap_s = float(np.mean(gpus * times)) / (load * n_nodes * _HOST_GPUS)
    arrivals = np.cumsum(generator.exponential(gap_s, n_jobs))
    source = f"kalos-like(n_jobs={n_jobs}, seed={seed}, load={load:g}, n_nodes={n_nodes})"
    nodes = -(-gpus // _HOST_GPUS)
    found = drawn(source, arrivals - arrivals[0], nodes.astype(np.int64), times)
    jobs = zip(found.jobs, gpus.tolist(), strict=True)
    return replace(found, jobs=tuple(replace(job, gpus=count) for job, count in jobs))


def _kalos_shares(sizes: Ints) -> Floats:
    """Return shares of sizes with the published mean; beyond one GPU they fall by a ratio."""
    low, high = 0.0, 2.0
    shares = np.empty(sizes.size)
    for _ in range(60):
        ratio = (low + high) / 2
        falling = ratio ** np.arange(sizes.size - 1)
        shares = np.concatenate([[_ONE_GPU], (1 - _ONE_GPU) * falling / falling.sum()])
        low, high = (ratio, high) if shares @ sizes < _KALOS_GPUS else (low, ratio)
    return shares


def drawn(source: str, submit_s: Floats, sizes: Ints, runtime_s: Floats) -> Workload:
    """Make a workload from columns that were drawn; users know the run times."""
    times = runtime_s.tolist()
    n_jobs = len(times)
    return Workload(
        jobs=tuple(map(Job, range(1, n_jobs + 1), submit_s.tolist(), sizes.tolist(), times, times)),
        source=source,
    )


_SERIAL, _POWERS_OF_TWO = 0.244, 0.576  # shares of all jobs
_LOG_LOW, _LOG_GAP, _FIRST_STAGE = 0.8, 2.5, 0.86  # log2 of sizes; gap from middle to top
_SHORT, _LONG = (4.2, 0.94), (312.0, 0.03)  # gammas (shape, scale) of the log of run times
_SLOPE, _INTERCEPT = -0.0054, 0.78  # share of the short gamma = slope x nodes + intercept
_ARRIVALS = (10.2303 * 1.0225, 0.4871)  # gamma of the log of gaps, all hours
_CYCLE = (8.1737, 3.9631)  # gamma of the arrivals over the half-hours of a day
_DAY_START = 11  # half-hour at which the day of the model begins
_LONGEST_LOG_S, _LONGEST_LOG_GAP = 12.0, 13.0  # larger samples are drawn again
_SLOTS, _SLOT_S = 48, 1800
_SMALLEST, _LARGEST = 16, 10**9


def lublin(n_nodes: int, n_jobs: int = 10_000, seed: int = 1) -> Workload:
    """
    Sample a workload from the model of Lublin and Feitelson.

    `n_nodes`: nodes of the machine, 16 to 10^9; the largest job takes them all. `n_jobs`: number of
    jobs, 1 to `MOST_JOBS` of `scheduler.workload.synthetic`. Result: jobs 1..n with a daily cycle
    of arrivals from midnight on; whole seconds.

    Lublin and Feitelson, *The workload on parallel supercomputers: modeling the characteristics
    of rigid jobs*, J. Parallel Distrib. Comput. 63 (2003), with the parameters that do
    not separate batch from interactive jobs:

    - size: 1 (24.4 %), else 2^x with x two-stage uniform between 0.8, log2(N) - 2.5 and
      log2(N), 86 % in the first stage; 57.6 % of all jobs round x to a whole number;
    - log of the run time: a mix of two gammas, the shorter with share 0.78 - 0.0054 nodes;
    - log of the gap between arrivals: gamma, stretched by the hour of the day.

    The run times were fitted on machines of 128 to 512 nodes; above 144 nodes the model
    samples only from the longer gamma. Arrivals do not depend on N: scale them to the load
    that is wanted.
    """
    check_range("n_nodes", n_nodes, _SMALLEST, _LARGEST)
    check_range("n_jobs", n_jobs, 1, MOST_JOBS)
    check_range("seed", seed, 0)
    random = np.random.default_rng(seed)
    sizes = _draw_sizes(random, n_nodes, n_jobs)
    times = np.maximum(1.0, np.floor(np.exp(_log_times(random, sizes))))
    source = f"lublin(n_nodes={n_nodes}, n_jobs={n_jobs}, seed={seed})"
    return drawn(source, _draw_arrivals(random, n_jobs), sizes, times)


def _draw_sizes(random: "np.random.Generator", n_nodes: int, n_jobs: int) -> Ints:
    """Draw the sizes: serial, powers of two, others."""
    top = math.log2(n_nodes)
    middle = top - _LOG_GAP
    kind, stage, place = random.random((3, n_jobs))
    first = stage <= _FIRST_STAGE
    low, high = np.where(first, _LOG_LOW, middle), np.where(first, middle, top)
    log_size = low + (high - low) * place
    log_size = np.where(kind <= _SERIAL + _POWERS_OF_TWO, np.floor(log_size + 0.5), log_size)
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


def _draw_arrivals(random: "np.random.Generator", n_jobs: int) -> Floats:
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
