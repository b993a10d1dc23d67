"""
What packets wait that come to a lane while another job keeps it closed, compiled.

`netsim.contention.lane_kernels` says what a lane is, `lane_filling_kernels` for how long one is
closed. Import through `netsim.kernelcache`.
"""

from netsim.jit import njit


@njit("float64(float64, float64, float64)", cache=True, error_model="numpy")
def mean_stall(ahead_s: float, full_s: float, crossing: float) -> float:
    """
    Return how long a packet waits in the mean that comes to a lane while it is closed.

    Parameters
    ----------
    ahead_s : float
        Time W that what is ahead takes.
    full_s : float
        Time D for which the lane is closed.
    crossing : float
        How many steps of a job come to it in that time, at least 1.

    Notes
    -----
    At the end of D less is ahead than W. And all the steps that come in one D lose no more of it
    than is left at a random moment, half.
    """
    all_s = crossing * ahead_s
    if all_s >= full_s:
        return 0.5 * full_s / crossing
    return ahead_s * (1.0 - 0.5 * all_s / full_s)


@njit("float64(float64, float64, float64, float64, float64)", cache=True)
def stall_wait(stall_s: float, shut: float, taken_s: float, free_s: float, end_s: float) -> float:
    """
    Return by how much the last packet of a step is later for lanes that are closed.

    Parameters
    ----------
    stall_s : float
        From `mean_stall`.
    shut : float
        Share of the time for which lanes of the step are closed.
    taken_s, free_s : float
        Time y that the link takes for the step, and would if nobody waited for links ahead.
    end_s : float
        e, when it is done alone.

    Notes
    -----
    What the step is late as its flows go no faster than those who wait is part of that.
    """
    slower_s = max(0.0, taken_s - max(free_s, end_s))
    spare_s = max(0.0, end_s - taken_s)
    return max(0.0, stall_s * min(1.0, shut) - slower_s - spare_s)
