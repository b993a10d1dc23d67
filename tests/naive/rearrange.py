"""Exhaustive routing of a permutation on vertices and links; small partitions only."""


def can_route(tree, owned, src, dst):
    """
    Tell whether flows have minimal paths on owned links of which no link is in two.

    Tries all paths of the first flow, then of the second, and so on.
    """
    owned = set(owned)
    out = {}
    for link, (tail, head) in enumerate(
        zip(tree.link_tail.tolist(), tree.link_head.tolist(), strict=True)
    ):
        at_node = min(tail, head) < tree.n_nodes
        if at_node or link in owned:
            out.setdefault(tail, []).append((link, head))
    paths = [list(minimal_paths(tree, out, s, d)) for s, d in zip(src, dst, strict=True)]
    paths.sort(key=len)
    return place(paths, 0, set())


def place(paths, flow, used):
    if flow == len(paths):
        return True
    return any(
        place(paths, flow + 1, used | set(path)) for path in paths[flow] if not used & set(path)
    )


def minimal_paths(tree, out, src, dst):
    """Iterate over the paths of the length that the whole tree allows."""
    per_leaf, per_pod = tree.nodes_per_leaf, tree.nodes_per_leaf * tree.leaves_per_pod
    length = 6
    if src == dst:
        length = 0
    elif src // per_leaf == dst // per_leaf:
        length = 2
    elif src // per_pod == dst // per_pod:
        length = 4
    yield from extend(out, src, dst, length)


def extend(out, at, dst, length):
    if length == 0:
        if at == dst:
            yield []
        return
    for link, head in out.get(at, ()):
        for rest in extend(out, head, dst, length - 1):
            yield [link, *rest]
