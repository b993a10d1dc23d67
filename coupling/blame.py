"""Blame: how much of a job's lost time each other job causes."""

from collections.abc import Mapping

from coupling.predictions import Placed, Predict, Prediction, groups_that_meet, without
from netsim.topology.base import Topology

_PAIR = 2  # of two jobs that meet, each has the other to thank

Shares = dict[int, dict[int, float]]
"""Victim to culprit to share of the victim's lost time; the shares of a victim add up to 1."""


def leave_one_out(
    topology: Topology,
    placed: Placed,
    predict: Predict,
    together: Mapping[int, Prediction],
) -> Shares:
    """
    Share lost time out in proportion to what each other job's absence would save.

    Parameters
    ----------
    topology : Topology
        The fabric.
    placed : mapping of int to PlacedTraffic
        Traffic of the jobs.
    predict : callable
        The model.
    together : mapping of int to Prediction
        What it says about all of them.

    Returns
    -------
    dict of int to dict of int to float
        For every job that is held up. Where no single absence would help, all jobs
        that the victim meets, directly or through others, have equal shares.

    Notes
    -----
    share_k is proportional to max(0, together - together without k). Costs one prediction per
    job that shares a link, of those jobs that meet.
    """
    shares: Shares = {}
    for group in groups_that_meet(topology, placed):
        victims = [job for job in group if together[job].held_up]
        if not victims:
            continue
        saved: Shares = {job: {} for job in victims}
        if len(group) > _PAIR:
            for culprit in group:
                rest = predict(without(placed, group, culprit))
                for victim in victims:
                    if victim != culprit:
                        gain = together[victim].interference - rest[victim].interference
                        saved[victim][culprit] = max(0.0, gain)
        for victim in victims:
            shares[victim] = _normalised(saved[victim], [job for job in group if job != victim])
    return shares


def _normalised(saved: Mapping[int, float], others: list[int]) -> dict[int, float]:
    """Make shares that add up to 1, of those that have one."""
    total = sum(saved.values())
    if total <= 0.0:
        return dict.fromkeys(others, 1.0 / len(others))
    return {job: gain / total for job, gain in saved.items() if gain > 0.0}
