"""Steps and iterations of jobs, or of their ranks where each goes on by itself. Compiled."""

import numpy as np

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.columns import BUSY, IDLE, NONE, Ints32
from netsim.packetsim.wheel_kernels import draw, idle_delay, schedule


@njit()
def queue_flow(nics: Table, flows: Table, number: int, flow: int) -> None:
    """Give a message the last turn at its NIC."""
    nic = nics[number]
    flows[flow]["next"] = NONE
    if nic["first"] == NONE:
        nic["first"] = flow
    else:
        flows[nic["last"]]["next"] = flow
    nic["last"] = flow


@njit()
def begin_step(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    number: int,
    now: float,
) -> bool:
    """Give the flows of a step to their NICs, in their order; say whether any is to come."""
    first, end = steps[number]["flow"], steps[number + 1]["flow"]
    n_open = end - first
    if clock[0]["by_rank"] == 1:
        count = jobs[steps[number]["job"]]["count"]
        for i in range(steps[number]["receives"], steps[number + 1]["receives"]):
            if flows[order[i]]["done"] <= count:
                n_open += 1
    steps[number]["open"] = n_open
    for i in range(end - 1, first - 1, -1):
        if clock[0]["shuffles"] == 1:
            other = first + int(draw(clock) * (i + 1 - first))
            at = order[other]
            order[other] = order[i]
            order[i] = at
        else:
            at = order[first + end - 1 - i]
        flow = flows[at]
        flow["unsent"] = flow["packets"]
        nic = nics[flow["nic"]]
        queue_flow(nics, flows, flow["nic"], at)
        if nic["state"] == IDLE:
            time = now + idle_delay(clock)
            nic["fresh"] = 1 if nic["free_at"] <= time else 0
            nic["state"] = BUSY
            schedule(
                clock, wheel, events, clock[0]["links"] + flow["nic"], max(time, nic["free_at"])
            )
    return bool(n_open > 0)


@njit()
def _end_iteration(clock: Table, jobs: Table, number: int, now: float) -> bool:
    """Count an iteration; say whether the job communicates on at once."""
    job = jobs[number]
    job["step"] = job["first"]
    job["count"] += 1
    job["last_end"] = now
    if job["count"] == job["dropped"]:
        job["first_end"] = now
    if job["count"] == 1:
        job["comm_first"] = now - job["began"]
    else:
        job["comm_sum"] += now - job["began"]
    if job["count"] == job["need"]:
        job["need_end"] = now
        clock[0]["unfinished"] -= 1
        if job["leaves"] == 1:
            return False
    if job["compute"] > 0.0:
        part = 1.0 - job["spread"]
        if job["spread"] > 0.0:
            part += 2.0 * job["spread"] * draw(clock)
        job["wake"] = now + job["compute"] * part
        clock[0]["wake"] = min(clock[0]["wake"], job["wake"])
        return False
    job["began"] = now
    return True


@njit()
def end_step(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    number: int,
    now: float,
) -> None:
    """Go on to a job's next step, or to its next iteration, until something is to come."""
    job = jobs[number]
    while True:
        job["step"] += 1
        if job["step"] == jobs[number + 1]["first"] and not _end_iteration(
            clock, jobs, number, now
        ):
            return
        if begin_step(clock, wheel, events, nics, flows, steps, jobs, order, job["step"], now):
            return


@njit()
def sent(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    flow: int,
    now: float,
) -> None:
    """Note that the last packet of a message has left its NIC."""
    step = steps[flows[flow]["step"]]
    step["open"] -= 1
    if step["open"] == 0:
        end_step(clock, wheel, events, nics, flows, steps, jobs, order, step["job"], now)


@njit()
def arrived(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    at: int,
    now: float,
) -> None:
    """Count a packet of a message that has arrived; the last one is news to who waits for it."""
    flow = flows[at]
    flow["unarrived"] -= 1
    if flow["unarrived"] > 0:
        return
    flow["unarrived"] = flow["packets"]
    flow["done"] += 1
    step = steps[flow["into"]]
    if clock[0]["by_rank"] == 1 and (
        step["open"] == 0 or jobs[step["job"]]["count"] + 1 != flow["done"]
    ):
        return  # too early: counted when its step begins
    step["open"] -= 1
    if step["open"] == 0:
        end_step(clock, wheel, events, nics, flows, steps, jobs, order, step["job"], now)


@njit()
def wake_job(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
) -> float:
    """Start the job whose compute phase ends first; return when that is."""
    now = clock[0]["wake"]
    which, following = NONE, np.inf
    for number in range(jobs.size - 1):
        wake = jobs[number]["wake"]
        if which == NONE and wake == now:
            which = number
        else:
            following = min(following, wake)
    clock[0]["wake"] = following
    jobs[which]["wake"] = np.inf
    jobs[which]["began"] = now
    clock[0]["tick"] = int(now * clock[0]["per_ns"])
    first = jobs[which]["first"]
    if not begin_step(clock, wheel, events, nics, flows, steps, jobs, order, first, now):
        end_step(clock, wheel, events, nics, flows, steps, jobs, order, which, now)
    return float(now)
