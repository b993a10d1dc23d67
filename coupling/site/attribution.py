"""Blame: how much of a job's lost time each other job causes, given by the model or tried out."""

from collections.abc import Mapping, Sequence

from coupling.inputs.snapshot import Snapshot
from coupling.site.predictions import (
    Placed,
    Predict,
    Prediction,
    blame_of_model,
    groups_that_meet,
    without,
)

_PAIR = 2  # of two jobs that meet, each has the other to thank

Shares = dict[int, dict[int, float]]
"""Victim to culprit to share of the victim's lost time; the shares of a victim add up to 1."""


def lost_time_shares(
    snapshot: Snapshot, placed: Placed, predict: Predict, together: Mapping[int, Prediction]
) -> Shares:
    """Share lost time out as the model says, or, where it does not tell, by leave-one-out."""
    groups = groups_that_meet(snapshot.topology, placed)
    if snapshot.model == "hop-cost":  # looks at switches: jobs may meet without a common link
        groups = [sorted(placed)]
    blame = blame_of_model(predict, placed)
    if not blame:
        return leave_one_out(groups, placed, predict, together)
    shares: Shares = {}
    for group in groups:
        for victim in group:
            if together[victim].held_up:
                shares[victim] = blame.get(victim) or _equal_shares(victim, group)
    return shares


def leave_one_out(
    groups: Sequence[list[int]],
    placed: Placed,
    predict: Predict,
    together: Mapping[int, Prediction],
) -> Shares:
    """Share lost time out in proportion to max(0, together - together without k)."""
    # Where no single absence would help, all jobs that the victim meets, directly or through
    # others, have equal shares. Costs one prediction per job that shares a link.
    shares: Shares = {}
    for group in groups:
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
            shares[victim] = _normalise_shares(saved[victim]) or _equal_shares(victim, group)
    return shares


def _normalise_shares(saved: Mapping[int, float]) -> dict[int, float]:
    """Make shares that add up to 1, of those that have one; none where nothing would be saved."""
    total = sum(saved.values())
    return {job: gain / total for job, gain in saved.items() if gain > 0.0}


def _equal_shares(victim: int, group: Sequence[int]) -> dict[int, float]:
    """Return the same share for all others of a group."""
    others = [job for job in group if job != victim]
    return dict.fromkeys(others, 1.0 / len(others))
