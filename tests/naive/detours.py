"""Shortest paths round failures, by breadth-first search over plain lists."""

from collections import deque


def distances(links, n_nodes, source, *, up_down):
    """
    Return the links on a shortest path from a node to every other node it reaches.

    `links` are (tail, head) in service. With `up_down` a path never goes to a higher-numbered
    vertex once it went to a lower one: vertices of a tree are numbered from the bottom.
    """
    after = {}
    for tail, head in links:
        after.setdefault(tail, []).append(head)
    seen = {(source, False): 0}
    queue = deque([(source, False)])
    found = {}
    while queue:
        vertex, came_down = queue.popleft()
        steps = seen[vertex, came_down]
        if vertex < n_nodes and vertex != source:
            found.setdefault(vertex, steps)
            continue
        for head in after.get(vertex, []):
            down = up_down and head < vertex
            if came_down and not down:
                continue
            state = (head, came_down or down)
            if state not in seen:
                seen[state] = steps + 1
                queue.append(state)
    return found
