"""Make steps from messages, change and sum them: the parts that patterns are built of."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from patterns.base import Floats, Ints, Step


def message_step(src: Ints, dst: Ints, nbytes: float | Floats) -> Step:
    """Return a step of messages, those of a rank to itself left out."""
    size = np.broadcast_to(np.asarray(nbytes, dtype=np.float64), src.shape)
    apart = src != dst
    if apart.all():
        return Step(src.astype(np.int64), dst.astype(np.int64), size.copy())
    return Step(src[apart].astype(np.int64), dst[apart].astype(np.int64), size[apart])


def exchange_step(a: Ints, b: Ints, nbytes: float) -> Step:
    """Return a step of pairs that send to each other, in order of sender, then receiver."""
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((dst, src))
    return message_step(src[order], dst[order], nbytes)


def seeded(seed: int, n_ranks: int) -> "np.random.Generator":
    """Return the random generator of a pattern for a job of so many ranks."""
    return np.random.default_rng([seed, n_ranks])


def first_of_each_pair(src: Ints, dst: Ints, n_ranks: int) -> Ints:
    """Return the positions of the first message of each sender and receiver, in order."""
    first: Ints = np.unique(src * n_ranks + dst, return_index=True)[1]
    return first


def within_groups(groups: Ints, steps: Sequence[Step]) -> list[Step]:
    """Return steps that every group (G, m) of ranks does at the same time, of one group's steps."""

    def everywhere(step: Step) -> Step:
        channel = None if step.channel is None else np.tile(step.channel, len(groups))
        src, dst = groups[:, step.src].ravel(), groups[:, step.dst].ravel()
        nbytes = np.tile(step.nbytes, len(groups))
        return replace(step, src=src, dst=dst, nbytes=nbytes, channel=channel)

    return replaced(steps, everywhere)


def total_messages(steps: Iterable[Step], n_ranks: int) -> Step:
    """Return all messages of an iteration, summed for each sender and receiver, in order."""
    listed = list(steps)
    key = np.concatenate([step.src * n_ranks + step.dst for step in listed])
    nbytes = np.concatenate([step.nbytes for step in listed])
    pairs, message_of = np.unique(key, return_inverse=True)
    total = np.bincount(message_of, weights=nbytes).astype(np.float64)
    return Step(pairs // n_ranks, pairs % n_ranks, total)


def injection_bytes(steps: Iterable[Step], n_ranks: int) -> float:
    """
    Return the bytes that pass the busiest rank, step by step.

    Divided by the bandwidth of a node link, with one rank on each node, this is the injection time
    of an iteration: what it takes where only the job's own node links limit it.
    """
    total = 0.0
    for step in steps:
        sent = np.bincount(step.src, weights=step.nbytes, minlength=n_ranks)
        received = np.bincount(step.dst, weights=step.nbytes, minlength=n_ranks)
        total += float(max(sent.max(), received.max()))
    return total


def scaled_steps(steps: Sequence[Step], factor: float) -> list[Step]:
    """Return steps with all bytes multiplied."""
    return replaced(steps, lambda step: replace(step, nbytes=step.nbytes * factor))


def repeated(step: Step, rounds: int) -> Step:
    """Return a step that is done so many times over, as one step of equal rounds."""
    return replace(
        step,
        nbytes=step.nbytes * rounds,
        rounds=step.rounds * rounds,
        latency_s=step.latency_s * rounds,
    )


def replaced(steps: Sequence[Step], replacement: Callable[[Step], Step]) -> list[Step]:
    """Return steps with each one replaced, equal objects by equal objects."""
    new = {id(step): replacement(step) for step in {id(step): step for step in steps}.values()}
    return [new[id(step)] for step in steps]
