"""Random legal partitions of full fat-trees, made from Jigsaw's conditions as they are written."""

from dataclasses import dataclass

import numpy as np

from netsim.flows.partition import Partition

KINDS = ("leaf", "pod", "pods")


@dataclass(frozen=True)
class Shape:
    """Node counts of a partition in the words of the conditions."""

    trees: int  # T
    leaves: int  # L_T
    per_leaf: int  # n_L
    rest_leaves: int = 0  # L_T^r
    rest_nodes: int = 0  # n_L^r
    many_pods: bool = False  # else one pod: L_T leaves and the remainder leaf beside them

    @property
    def has_rest(self):
        return self.rest_leaves + self.rest_nodes > 0


def random_shape(tree, rng, kind):
    """Draw counts that fulfil (1)-(3); a one-pod job is L_T leaves and a remainder leaf."""
    most_per_leaf = min(tree.nodes_per_leaf, tree.ports[1])
    if kind == "leaf":
        return Shape(1, 1, int(rng.integers(1, tree.nodes_per_leaf + 1)))
    per_leaf = int(rng.integers(1, most_per_leaf + 1))
    rest_nodes = int(rng.integers(0, per_leaf))
    if kind == "pod":
        most = tree.leaves_per_pod - (rest_nodes > 0)
        least = 1 if rest_nodes else 2
        return Shape(1, int(rng.integers(least, most + 1)), per_leaf, 0, rest_nodes)
    leaves = int(rng.integers(1, min(tree.leaves_per_pod, tree.ports[2]) + 1))
    rest_leaves = int(rng.integers(0, leaves))
    has_rest = rest_leaves + rest_nodes > 0
    least = 1 if has_rest else 2
    trees = int(rng.integers(least, tree.n_pods - has_rest + 1))
    return Shape(trees, leaves, per_leaf, rest_leaves, rest_nodes, many_pods=True)


def subset(rng, items, count, core=()):
    """Draw `count` of the items that contain the core."""
    others = [item for item in items if item not in set(core)]
    drawn = rng.choice(len(others), count - len(core), replace=False) if count > len(core) else []
    return sorted([*core, *(others[i] for i in drawn)])


def place(tree, rng, shape):
    """Choose pods, leaves, nodes, S, S^r, S_i^* and S_i^*r at random; return the partition."""
    pods = rng.permutation(tree.n_pods)
    s = subset(rng, range(tree.ports[1]), min(shape.per_leaf, tree.ports[1]))  # one leaf needs none
    s_rest = subset(rng, s, shape.rest_nodes)
    plan = [(int(pods[0]), shape.leaves, shape.rest_nodes)]
    if shape.many_pods:
        plan = [(int(pod), shape.leaves, 0) for pod in pods[: shape.trees]]
        if shape.has_rest:
            plan.append((int(pods[shape.trees]), shape.rest_leaves, shape.rest_nodes))
    nodes, links = [], []
    multi_leaf = sum(full + (rest > 0) for _, full, rest in plan) > 1
    for pod, full, rest in plan:
        count = full + (rest > 0)
        leaves = pod * tree.leaves_per_pod + rng.permutation(tree.leaves_per_pod)[:count]
        for number, leaf in enumerate(leaves.tolist()):
            here, ports = (shape.per_leaf, s) if number < full else (rest, s_rest)
            slots = rng.permutation(tree.nodes_per_leaf)[:here]
            nodes += (leaf * tree.nodes_per_leaf + slots).tolist()
            links += cables(tree, 1, leaf, ports) if multi_leaf else []
    if shape.many_pods:
        links += spine_cables(tree, rng, shape, plan, (s, s_rest))
    return Partition(rng.permutation(nodes), np.array(links, dtype=np.int64))


def spine_cables(tree, rng, shape, plan, indices):
    """Own the same spines S_i^* in all trees, and a subset in the remainder tree."""
    s, s_rest = indices
    links = []
    for i in s:
        used_by_rest = shape.rest_leaves + (i in s_rest)
        spines = subset(rng, range(tree.ports[2]), shape.leaves)
        rest_spines = subset(rng, spines, used_by_rest)
        for number, (pod, _, _) in enumerate(plan):
            ports = spines if number < shape.trees else rest_spines
            links += cables(tree, 2, pod * tree.parents[1] + i, ports)
    return links


def cable(*ends):
    """Return the names of both directions of the cable between two ends."""
    return [f"{a}>{b}" for a, b in (ends, ends[::-1])]


def cables(tree, level, switch, ports):
    """Return both directions of the cables at these up-ports of a switch."""
    up = [tree.up_base[level] + switch * tree.ports[level] + port for port in ports]
    return up + [link - tree.up_base[level] + tree.down_base[level] for link in up]


def random_partition(tree, rng, kind=None):
    """Draw a legal partition of the kind, or of any kind that the tree has."""
    kinds = KINDS if tree.levels > 2 else KINDS[:2]
    return place(tree, rng, random_shape(tree, rng, kind or str(rng.choice(kinds))))
