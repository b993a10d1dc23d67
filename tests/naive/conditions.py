"""Jigsaw's conditions by trying every reading of the roles, on plain sets; legal or not."""

from itertools import product


def is_legal(tree, nodes, links):
    """
    Tell whether some choice of trees, remainder tree and leaves fulfils (1)-(6).

    Two or three levels, one cable between two switches (parallel top cables count as several
    top switches). A job on one leaf owns nothing, or n_L uplinks; one in one pod owns no spines.
    """
    up, whole = uplinks(tree, links)
    if not whole:
        return False
    leaves = {}
    for node in set(nodes):
        leaves.setdefault(node // tree.nodes_per_leaf, set()).add(node)
    count = {leaf: len(held) for leaf, held in leaves.items()}
    at_leaf = {x: ports for (level, x), ports in up.items() if level == 1}
    at_l2 = {x: ports for (level, x), ports in up.items() if level == 2}
    if set(at_leaf) - set(count):
        return False
    if len(count) == 1 and not up:
        return True
    if any(len(at_leaf.get(leaf, ())) != count[leaf] for leaf in count):
        return False
    pods = {}
    for leaf in count:
        pods.setdefault(leaf // tree.leaves_per_pod, []).append(leaf)
    if len(pods) == 1:
        return not at_l2 and any(
            star(at_leaf, [leaf for leaf in count if leaf != rest], rest, count)
            for rest in [None, *count]
        )
    return any(
        many_pods(tree, count, (at_leaf, at_l2), pods, (rest_pod, rest_leaf))
        for rest_pod, rest_leaf in product([None, *pods], [None, *count])
        if rest_leaf is None or (rest_pod is not None and rest_leaf in pods[rest_pod])
    )


def uplinks(tree, links):
    """Return up-ports by (level, switch), and whether every cable is owned both ways."""
    ways = {}
    for link in set(links):
        level = max(k for k in range(tree.levels) if link >= tree.up_base[k])
        x, port = divmod((link - tree.up_base[level]) % per_way(tree, level), tree.ports[level])
        ways.setdefault((level, x, port), set()).add(link)
    up = {}
    for level, x, port in ways:
        up.setdefault((level, x), set()).add(port)
    return up, all(len(both) == 2 for both in ways.values())


def per_way(tree, level):
    return tree.counts[level] * tree.ports[level]


def star(at, full, rest, count):
    """One level of the structure: equal counts and sets, and a remainder below both."""
    if not full or len({count[x] for x in full}) > 1 or len({frozenset(at[x]) for x in full}) > 1:
        return False
    return rest is None or (count[rest] < count[full[0]] and at[rest] <= at[full[0]])


def many_pods(tree, count, at, pods, rest):
    """One reading of the roles in a job of several pods."""
    (at_leaf, at_l2), (rest_pod, rest_leaf) = at, rest
    full_leaves = [leaf for leaf in count if leaf != rest_leaf]
    in_pod = {pod: sum(count[leaf] for leaf in held) for pod, held in pods.items()}
    trees = [pod for pod in pods if pod != rest_pod]
    n_l2 = tree.parents[1]
    return (
        star(at_leaf, full_leaves, rest_leaf, count)
        and len({in_pod[pod] for pod in trees}) == 1
        and (rest_pod is None or in_pod[rest_pod] < in_pod[trees[0]])
        and {x // n_l2 for x in at_l2} <= set(pods)
        and all(
            spines_fit(
                {pod: at_l2.get(pod * n_l2 + i, set()) for pod in pods},
                {pod: sum(i in at_leaf[leaf] for leaf in pods[pod]) for pod in pods},
                rest_pod,
            )
            for i in range(n_l2)
        )
    )


def spines_fit(spines, below, rest_pod):
    """Condition (6) for one L2 index: spines and leaf links of its switch in every pod."""
    trees = [pod for pod in spines if pod != rest_pod]
    return (
        all(len(spines[pod]) == below[pod] for pod in spines)
        and len({frozenset(spines[pod]) for pod in trees}) == 1
        and (rest_pod is None or spines[rest_pod] <= spines[trees[0]])
    )
