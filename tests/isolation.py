"""
Checks of what allocators hand out, made from node numbers and link ends alone.

Nothing here looks at masks of a cluster or calls an allocator: links are known by the switches
and the cable that the topology's arrays give them.
"""

from collections import Counter, defaultdict

from coupling.checks import allocators
from coupling.checks.allocators import held_nodes, links_of


class Ends:
    """Ends of the directed links between switches of a fat-tree of two or three levels."""

    def __init__(self, tree):
        self.tree = tree
        first_switch = tree.n_nodes
        counts = tree.counts
        self.first = [0, first_switch, first_switch + counts[1]]
        self.first.append(self.first[2] + counts[2])
        self.tail, self.head = tree.link_tail.tolist(), tree.link_head.tolist()
        self.cable = tree.link_cable.tolist()

    def up_and_down(self, links):
        """Return {(level, lower switch, upper switch, cable)} of upward and of downward links."""
        up, down = set(), set()
        for link in links:
            tail, head = self.tail[link], self.head[link]
            low, high, side = (tail, head, up) if tail < head else (head, tail, down)
            level = 1 if low < self.first[2] else 2
            assert low >= self.first[1], "a node's own link is listed"
            side.add(
                (level, low - self.first[level], high - self.first[level + 1], self.cable[link])
            )
        return up, down


class Ledger(allocators.OwnershipLedger):
    """Refuses anything held twice and unequal returns."""

    def place(self, allocation):
        """Write an allocation down."""
        broken = super().place(allocation)
        assert not broken, broken


class Meter(allocators.Meter):
    """Refuses more units of a link than there are."""

    def change(self, allocation, tree, sign):
        """Add (+1) or subtract (-1) what a job takes."""
        broken = super().change(allocation, tree, sign)
        assert not broken, broken


def minimal_links(tree, nodes):
    """
    Return every link between switches on any minimal path between nodes.

    Ends of those links, as (level, lower switch, up-port): minimal paths go up only as far as
    they must, so the leaves' uplinks count once nodes lie on two leaves of the job, and the
    L2 switches' once they lie in two pods.
    """
    leaves = {node // tree.nodes_per_leaf for node in nodes}
    pods = {leaf // tree.leaves_per_pod for leaf in leaves}
    used = set()
    if len(leaves) > 1:
        used |= {(1, leaf, port) for leaf in leaves for port in range(tree.ports[1])}
    if len(pods) > 1:
        width = tree.parents[1]
        used |= {
            (2, pod * width + i, port)
            for pod in pods
            for i in range(width)
            for port in range(tree.ports[2])
        }
    return used


def broken_conditions(tree, ends, allocation, *, whole_leaves=False):
    """
    Return what conditions (1)-(6) of Smith21 an allocation breaks, as a list of sentences.

    A job on one leaf may own no links, or as many uplinks as nodes. With `whole_leaves`, jobs
    over pods must also fill every leaf but the remainder leaf (Jigsaw, LaaS); a leaf with fewer
    uplinks than nodes is full when all of these serve.
    """
    nodes = held_nodes(allocation)
    up, down = ends.up_and_down(links_of(allocation))
    broken = [] if up == down else ["links are not owned in both directions"]
    leaf_links, l2_links = defaultdict(set), defaultdict(set)
    for level, low, high, cable in up:
        (leaf_links if level == 1 else l2_links)[low].add((high, cable))
    size = Counter(node // tree.nodes_per_leaf for node in nodes)
    broken += ["links of a foreign leaf"] * (not leaf_links.keys() <= size.keys())
    pods = defaultdict(dict)
    for leaf, count in size.items():
        pods[leaf // tree.leaves_per_pod][leaf] = count
    if len(size) == 1:
        (leaf, count), *_ = size.items()
        balanced = len(leaf_links[leaf]) in {0, count} and not l2_links
        return broken + ["a leaf is not balanced"] * (not balanced)
    broken += _two_levels(tree, size, leaf_links)
    if len(pods) == 1:
        return broken + ["spine links for a job in one pod"] * bool(l2_links)
    if whole_leaves and max(size.values()) != min(tree.nodes_per_leaf, tree.ports[1]):
        broken.append("leaves are not used whole over pods")
    return broken + _trees(size, pods) + _three_levels(tree, pods, leaf_links, l2_links)


def _index(tree, l2):
    """Index of an L2 switch in its pod; a virtual one where leaves have parallel cables."""
    high, cable = l2
    return high % tree.parents[1], cable


def _two_levels(tree, size, leaf_links):
    """Conditions (2), (4) and (5): leaves, and the L2 indices that they use."""
    n_l = max(size.values())
    rest = [leaf for leaf, count in size.items() if count < n_l]
    sets = {leaf: frozenset(_index(tree, l2) for l2 in leaf_links[leaf]) for leaf in size}
    full = {sets[leaf] for leaf in size if leaf not in rest}
    broken = ["(2) more than one remainder leaf"] * (len(rest) > 1)
    if any(
        len(leaf_links[leaf]) != count or len(sets[leaf]) != count for leaf, count in size.items()
    ):
        broken.append("a leaf is not balanced")
    if len(full) != 1:
        broken.append("(4), (5) leaves differ in S")
    if any(not sets[leaf] <= s for leaf in rest for s in full):
        broken.append("(4) S^r is no subset of S")
    return broken


def _trees(size, pods):
    """Conditions (1) and (3): pods."""
    n_l = max(size.values())
    totals = {pod: sum(leaves.values()) for pod, leaves in pods.items()}
    n_t = max(totals.values())
    rest = [pod for pod, total in totals.items() if total < n_t]
    broken = ["(1) more than one remainder tree"] * (len(rest) > 1)
    for pod, leaves in pods.items():
        if pod not in rest and any(count < n_l for count in leaves.values()):
            broken.append("(3) a remainder leaf outside the remainder tree")
    return broken


def _three_levels(tree, pods, leaf_links, l2_links):
    """Condition (6): spines of the L2 switches of each index."""
    totals = {pod: sum(leaves.values()) for pod, leaves in pods.items()}
    n_t = max(totals.values())
    width = tree.parents[1]
    down = Counter(
        high for leaves in pods.values() for leaf in leaves for high, _ in leaf_links[leaf]
    )
    broken = ["an L2 switch is not balanced"] * any(
        len(l2_links.get(l2, ())) != down.get(l2, 0) for l2 in down.keys() | l2_links.keys()
    )
    for index in range(width):
        spines = {pod: frozenset(l2_links.get(pod * width + index, ())) for pod in pods}
        full = {spines[pod] for pod in pods if totals[pod] == n_t}
        if len(full) != 1:
            broken.append(f"(6) full trees differ in S_{index}^*")
        elif any(not spines[pod] <= s for pod in pods if totals[pod] < n_t for s in full):
            broken.append(f"(6) S_{index}^*r is no subset of S_{index}^*")
    return broken
