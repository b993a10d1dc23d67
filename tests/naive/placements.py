"""
Which sizes have a legal placement, by enumeration of every node count per leaf and every link.

Conditions (1)-(6) of Smith21 as they are written, with one-pod jobs as a case of their own. A
machine is a list of pods; a pod has leaves (free nodes, set of free up-ports) and, for each L2
index, a set of free spine ports.
"""

from itertools import combinations, product
from typing import NamedTuple


class Pod(NamedTuple):
    """What is free in a pod."""

    leaves: list
    spines: list


class Placeable(NamedTuple):
    """Sets of sizes."""

    one_pod: set
    over_pods: set
    over_pods_whole_leaves: set


def placeable(pods, nodes_per_leaf):
    """Return the sets of sizes that fit in one pod, over pods, and over pods on whole leaves."""
    found = Placeable(set(), set(), set())
    limits = [range(free + 1) for pod in pods for free, _ in pod.leaves]
    per_pod = len(pods[0].leaves)
    for counts in product(*limits):
        split = [counts[first : first + per_pod] for first in range(0, len(counts), per_pod)]
        used = [(pod, leaves) for pod, leaves in zip(pods, split, strict=True) if any(leaves)]
        size = sum(counts)
        if len(used) == 1:
            if size not in found.one_pod and _fits_one_pod(*used[0]):
                found.one_pod.add(size)
        elif used:
            whole = max(counts) == nodes_per_leaf
            known = size in found.over_pods_whole_leaves if whole else size in found.over_pods
            if not known and _fits_over_pods(used):
                found.over_pods.add(size)
                if whole:
                    found.over_pods_whole_leaves.add(size)
    return found


def _fits_one_pod(pod, counts):
    """One leaf needs no links; else full leaves share S, the remainder leaf has S^r in S."""
    sizes = sorted((count for count in counts if count), reverse=True)
    if len(sizes) == 1:
        return True
    n_l = sizes[0]
    if any(count < n_l for count in sizes[:-1]):
        return False
    common = set.intersection(*_ups(pod, counts, n_l))
    for s in combinations(sorted(common), n_l):
        rest = [(n, up) for n, (_, up) in zip(counts, pod.leaves, strict=True) if 0 < n < n_l]
        if all(len(up & set(s)) >= n for n, up in rest):
            return True
    return False


def _ups(pod, counts, n_l):
    """Free up-ports of the leaves with n_L nodes."""
    return [up for n, (_, up) in zip(counts, pod.leaves, strict=True) if n == n_l]


def _fits_over_pods(used):
    """Full trees alike, one smaller remainder tree at most, in it one smaller leaf at most."""
    n_t = max(sum(counts) for _, counts in used)
    n_l = max(max(counts) for _, counts in used)
    full = [(pod, counts) for pod, counts in used if sum(counts) == n_t]
    rest = [(pod, counts) for pod, counts in used if sum(counts) < n_t]
    if len(rest) > 1 or any(n not in {0, n_l} for _, counts in full for n in counts):
        return False
    small = [n for _, counts in rest for n in counts if 0 < n < n_l]
    if len(small) > 1:
        return False
    common = set.intersection(*(up for pod, counts in used for up in _ups(pod, counts, n_l)))
    spines = [set.intersection(*(pod.spines[i] for pod, _ in full)) for i in _indices(used)]
    l_t = n_t // n_l
    for s in combinations(sorted(common), n_l):
        if any(len(spines[i]) < l_t for i in s):
            continue
        if not rest or _fits_remainder(*rest[0], s, spines, n_l):
            return True
    return False


def _indices(used):
    """L2 indices of a pod."""
    return range(len(used[0][0].spines))


def _fits_remainder(pod, counts, s, spines, n_l):
    """S^r in S; each index has enough spines in common with the full trees."""
    leaves = sum(n == n_l for n in counts)
    small = [(n, up) for n, (_, up) in zip(counts, pod.leaves, strict=True) if 0 < n < n_l]
    shared = {i: len(spines[i] & pod.spines[i]) for i in s}
    if not small:
        return all(shared[i] >= leaves for i in s)
    ((n, up),) = small
    return any(
        set(s_rest) <= up and all(shared[i] >= leaves + (i in s_rest) for i in s)
        for s_rest in combinations(s, n)
    )
