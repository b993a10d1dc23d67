"""How much a job sends: demand between ranks, injection bytes, scaling."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from patterns.base import Step


def demand(steps: Iterable[Step], n_ranks: int) -> Step:
    """
    Return all messages of an iteration, summed for each sender and receiver.

    Result: at most one message for each pair, in order of sender, then receiver.
    """
    listed = list(steps)
    key = np.concatenate([step.src * n_ranks + step.dst for step in listed])
    nbytes = np.concatenate([step.nbytes for step in listed])
    pairs, message_of = np.unique(key, return_inverse=True)
    total = np.bincount(message_of, weights=nbytes).astype(np.float64)
    return Step(pairs // n_ranks, pairs % n_ranks, total)


def injection_bytes(steps: Iterable[Step], n_ranks: int) -> float:
    """
    Return the bytes that pass the busiest rank, step by step.

    Divided by the bandwidth of a node link, with one rank on each node, this is the injection
    time of an iteration: what it takes where only the job's own node links limit it.

    Result: sum over the steps of the most bytes that one rank sends or receives.
    """
    total = 0.0
    for step in steps:
        sent = np.bincount(step.src, weights=step.nbytes, minlength=n_ranks)
        received = np.bincount(step.dst, weights=step.nbytes, minlength=n_ranks)
        total += float(max(sent.max(), received.max()))
    return total


def scaled(steps: Sequence[Step], factor: float) -> list[Step]:
    """
    Return steps with all bytes multiplied.

    Result: the same messages with other bytes.
    """
    return replaced(steps, lambda step: Step(step.src, step.dst, step.nbytes * factor))


def replaced(steps: Sequence[Step], replacement: Callable[[Step], Step]) -> list[Step]:
    """Return steps with each one replaced, equal objects by equal objects."""
    new = {id(step): replacement(step) for step in {id(step): step for step in steps}.values()}
    return [new[id(step)] for step in steps]
