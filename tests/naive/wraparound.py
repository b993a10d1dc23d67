"""The wraparound rule by search: candidates found on the graph, one flow at a time."""

from collections import deque


def route(tree, nodes, links, src, dst):
    """
    Return the links of one flow, or None where it has no shortest path on owned links.

    Parallel cables: those up are candidates each; of those down, the one whose up-port a source
    leaf (or L2 switch) with the destination's own links would take, else by the key again.
    """
    owned = set(links) | node_links(tree, nodes)
    distance = distances_to(tree, dst, range(tree.n_links))
    path, at = [], src
    while at != dst:
        ports = [
            link
            for link in out_links(tree, at)
            if link in owned and leads_on(tree, owned, distance, link, dst)
        ]
        if not ports:
            return None
        going_up = int(tree.link_head[ports[0]]) > at
        if going_up:
            path.append(ports[key(tree, nodes, at, dst) % len(ports)])
        else:
            path.append(down(tree, nodes, owned, ports, dst))
        at = int(tree.link_head[path[-1]])
    return path


def down(tree, nodes, owned, ports, dst):
    """Choose among the cables down to one switch."""
    below = int(tree.link_head[ports[0]])
    if below == dst:
        return ports[0]
    into = [
        link
        for link in range(tree.n_links)
        if link in owned and tree.link_head[link] == below and tree.link_tail[link] > below
    ]
    level = tree.position(below)[0]
    into.sort(key=lambda link: (link - tree.down_base[level]) % tree.ports[level])
    k = key(tree, nodes, below, dst)
    mirror = into[k % len(into)]
    ports = sorted(ports)
    return mirror if mirror in ports else ports[k % len(ports)]


def leads_on(tree, owned, distance, link, dst):
    """Tell whether a link is on a shortest path of the whole tree that stays on owned links."""
    tail, head = int(tree.link_tail[link]), int(tree.link_head[link])
    if distance[head] != distance[tail] - 1:
        return False
    return head == dst or any(
        leads_on(tree, owned, distance, onward, dst)
        for onward in out_links(tree, head)
        if onward in owned
    )


def key(tree, nodes, switch, dst):
    """Slot of the destination at a leaf, rank of its leaf in its pod at an L2 switch."""
    per_leaf, per_pod = tree.nodes_per_leaf, tree.leaves_per_pod
    leaf = dst // per_leaf
    if tree.position(switch)[0] < 2:
        return sorted(n for n in set(nodes) if n // per_leaf == leaf).index(dst)
    leaves = sorted({n // per_leaf for n in nodes if n // per_leaf // per_pod == leaf // per_pod})
    return leaves.index(leaf)


def node_links(tree, nodes):
    """Both directions of the links of the job's nodes."""
    mine = set(nodes)
    return {
        link
        for link in range(tree.n_links)
        if int(tree.link_tail[link]) in mine or int(tree.link_head[link]) in mine
    }


def out_links(tree, vertex):
    """Links that leave a vertex, in port order."""
    return [link for link in range(tree.n_links) if int(tree.link_tail[link]) == vertex]


def distances_to(tree, dst, links):
    """Hops from every vertex to a destination."""
    into = {}
    for link in links:
        into.setdefault(int(tree.link_head[link]), []).append(int(tree.link_tail[link]))
    distance, queue = {dst: 0}, deque([dst])
    while queue:
        vertex = queue.popleft()
        for before in into.get(vertex, ()):
            if before not in distance:
                distance[before] = distance[vertex] + 1
                queue.append(before)
    return distance
