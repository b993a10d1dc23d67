"""
Collective algorithms told rank by rank and block by block, and played.

A `Play` knows what every rank holds: for each part of the data, whose contributions are in it.
Each algorithm starts a play and carries messages that name their parts; they are checked against
what the sender holds, and change what the receiver holds. So a play shows both that the ranks end
with what MPI promises and which messages, of how many parts, that takes.
"""


class Play:
    """Ranks that hold parts; a part is the set of ranks whose contributions it sums."""

    def __init__(self, holdings):
        """Start with a dictionary from parts to contributors for each rank."""
        self.held = [{part: frozenset(of) for part, of in parts.items()} for parts in holdings]
        self.steps = []

    def copy(self, messages):
        """Carry messages (sender, receiver, parts) at once; a copy replaces a lesser sum."""
        for dst, part, sum_of in self._payloads(messages):
            assert self.held[dst].get(part, frozenset()) < sum_of, "sent what was there"
            self.held[dst][part] = sum_of

    def add(self, messages, *, keep=False):
        """Carry partial sums at once; the receiver adds, the sender gives them away or not."""
        messages = [(src, dst, list(parts)) for src, dst, parts in messages]
        arrivals = self._payloads(messages)
        for src, _, parts in messages:
            for part in parts if not keep else ():
                del self.held[src][part]
        for dst, part, sum_of in arrivals:
            had = self.held[dst].get(part, frozenset())
            assert not had & sum_of, "a contribution counted twice"
            self.held[dst][part] = had | sum_of

    def move(self, messages):
        """Carry whole parts at once; the sender keeps none."""
        messages = [(src, dst, list(parts)) for src, dst, parts in messages]
        self.copy(messages)
        for src, _, parts in messages:
            for part in parts:
                del self.held[src][part]

    def _payloads(self, messages):
        """Note the messages and return what arrives, taken before anything does."""
        messages = [(src, dst, list(parts)) for src, dst, parts in messages]
        assert all(src != dst for src, dst, _ in messages)
        sent = sorted((src, dst, len(parts)) for src, dst, parts in messages if parts)
        if sent:
            self.steps.append(sent)
        return [(dst, part, self.held[src][part]) for src, dst, parts in messages for part in parts]


def vectors(n, n_parts):
    """Return a play in which each rank has a vector of its own, in so many parts."""
    return Play([{part: {rank} for part in range(n_parts)} for rank in range(n)])


def blocks(n):
    """Return a play in which each rank has a block of its own."""
    return Play([{rank: {rank}} for rank in range(n)])


def letters(n):
    """Return a play in which each rank has a block (from, to) for each other."""
    return Play([{(r, to): {r} for to in range(n) if to != r} for r in range(n)])


def root_has(n, n_parts):
    """Return a play in which rank 0 has everything."""
    return Play([{part: {0} for part in range(n_parts)}] + [{} for _ in range(n - 1)])


def fold(n):
    """Return the ranks that take part, a power of two, and the host of each other rank."""
    power = 1
    while 2 * power <= n:
        power *= 2
    excess = n - power
    host = {rank: rank + 1 for rank in range(2 * excess) if rank % 2 == 0}
    return [rank for rank in range(n) if rank not in host], host


def doubling(n_members):
    """Return 1, 2, 4, ... below the number of members."""
    distance, found = 1, []
    while distance < n_members:
        found.append(distance)
        distance *= 2
    return found


# Allreduce: everybody holds the sum of all contributions to every part.


def allreduce_recursive_doubling(n):
    """Exchange whole vectors at doubling distances."""
    play = vectors(n, 1)
    members, host = fold(n)
    play.add([(lender, to, [0]) for lender, to in host.items()])
    for d in doubling(len(members)):
        play.add([(r, members[i ^ d], [0]) for i, r in enumerate(members)], keep=True)
    play.copy([(to, lender, [0]) for lender, to in host.items()])
    return play


def _allreduce_halving(n, order):
    """Halve windows over the vector with partners at these distances, then go back."""
    members, host = fold(n)
    p = len(members)
    play = vectors(n, p)
    play.add([(lender, to, range(p)) for lender, to in host.items()])
    window = {i: list(range(p)) for i in range(p)}
    for d in order(doubling(p)):
        messages, kept = [], {}
        for i, rank in enumerate(members):
            lower, upper = window[i][: len(window[i]) // 2], window[i][len(window[i]) // 2 :]
            kept[i], given = (lower, upper) if i < i ^ d else (upper, lower)
            messages.append((rank, members[i ^ d], given))
        play.add(messages)
        window = kept
    for d in reversed(order(doubling(p))):
        play.copy(
            [(r, members[i ^ d], list(play.held[r])) for i, r in enumerate(members)],
        )
    play.copy([(to, lender, range(p)) for lender, to in host.items()])
    return play


def allreduce_rabenseifner(n):
    """Meet near partners first, with half the vector."""
    return _allreduce_halving(n, order=list)


def allreduce_rhvd(n):
    """Meet far partners first, with half the vector."""
    return _allreduce_halving(n, order=lambda found: found[::-1])


def allreduce_ring(n):
    """Send each part round to gather its sum, and once more to spread it."""
    play = vectors(n, n)
    for k in range(n - 1):
        play.add([(r, (r + 1) % n, [(r - 1 - k) % n]) for r in range(n)])
    for k in range(n - 1):
        play.copy([(r, (r + 1) % n, [(r - k) % n]) for r in range(n)])
    return play


def allreduce_binomial(n):
    """Send sums up the tree and the result down."""
    play = vectors(n, 1)
    for hop in doubling(n):
        play.add([(c, c - hop, [0]) for c in range(hop, n, 2 * hop)])
    for hop in reversed(doubling(n)):
        play.copy([(c - hop, c, [0]) for c in range(hop, n, 2 * hop)])
    return play


# Allgather: everybody holds everybody's block.


def _gather_by_doubling(play, n):
    """Let everybody who takes part send all that is held."""
    members, host = fold(n)
    play.copy([(lender, to, list(play.held[lender])) for lender, to in host.items()])
    for d in doubling(len(members)):
        play.copy([(r, members[i ^ d], list(play.held[r])) for i, r in enumerate(members)])
    for lender, to in host.items():
        assert set(play.held[lender]) < set(play.held[to])
    play.copy(
        [(to, len_, set(play.held[to]) - set(play.held[len_])) for len_, to in host.items()],
    )
    return play


def allgather_recursive_doubling(n):
    """Double what is known with partners at doubling distances."""
    return _gather_by_doubling(blocks(n), n)


def allgather_bruck(n):
    """Keep a list that starts with the own block; send its front backwards round the ring."""
    play = blocks(n)
    known = [[rank] for rank in range(n)]
    for hop in doubling(n):
        front = [lst[: n - hop] for lst in known]
        play.copy([(r, (r - hop) % n, front[r]) for r in range(n)])
        known = [lst + front[(r + hop) % n] for r, lst in enumerate(known)]
    return play


def allgather_ring(n):
    """Pass on what came last."""
    play = blocks(n)
    for k in range(n - 1):
        play.copy([(r, (r + 1) % n, [(r - k) % n]) for r in range(n)])
    return play


# Reduce-scatter: rank r holds part r, with all contributions.


def reduce_scatter_recursive_halving(n):
    """Give away what the other half of the ranks will own."""
    play = vectors(n, n)
    members, host = fold(n)
    owner = {part: members.index(host.get(part, part)) for part in range(n)}
    play.add([(lender, to, range(n)) for lender, to in host.items()])
    for d in reversed(doubling(len(members))):
        play.add(
            [
                (r, members[i ^ d], [p for p in play.held[r] if (owner[p] ^ i) & d])
                for i, r in enumerate(members)
            ]
        )
    play.move([(to, lender, [lender]) for lender, to in host.items()])
    return play


def reduce_scatter_pairwise(n):
    """Send each part straight to its owner."""
    play = vectors(n, n)
    for k in range(1, n):
        play.add([(r, (r + k) % n, [(r + k) % n]) for r in range(n)])
    return play


def reduce_scatter_ring(n):
    """Let each part travel round the ring to its owner and grow on the way."""
    play = vectors(n, n)
    for k in range(n - 1):
        play.add([(r, (r + 1) % n, [(r - 1 - k) % n]) for r in range(n)])
    return play


# All-to-all: every block (from, to) is at its receiver.


def alltoall_direct(n):
    """Send all at once."""
    play = letters(n)
    play.move([(r, to, [(r, to)]) for r in range(n) for to in range(n) if to != r])
    return play


def alltoall_pairwise(n):
    """Talk to one other at a time."""
    play = letters(n)
    for k in range(1, n):
        partner = [r ^ k if n & (n - 1) == 0 else (r + k) % n for r in range(n)]
        play.move([(r, partner[r], [(r, partner[r])]) for r in range(n)])
    return play


def alltoall_bruck(n):
    """Let each block hop along the binary digits of its distance."""
    play = letters(n)
    for hop in doubling(n):
        play.move(
            [
                (r, (r + hop) % n, [(a, b) for a, b in play.held[r] if (b - a) % n & hop])
                for r in range(n)
            ]
        )
    return play


# Rooted collectives on rank 0.


def subtree(low, high):
    """Return the messages of a tree over ranks low..high-1: (hop, parent, child, end)."""
    if high - low < 2:
        return []
    hop = doubling(high - low)[-1]
    middle = low + hop
    return [(hop, low, middle, high), *subtree(low, middle), *subtree(middle, high)]


def by_hop(n, *, up):
    """Return the messages of the tree, one step for each hop."""
    hops = doubling(n) if up else doubling(n)[::-1]
    return [[edge[1:] for edge in subtree(0, n) if edge[0] == hop] for hop in hops]


def broadcast_binomial(n):
    """Send the message down the tree."""
    play = root_has(n, 1)
    for edges in by_hop(n, up=False):
        play.copy([(parent, child, [0]) for parent, child, _ in edges])
    return play


def _scatter(n):
    """Send down the tree what each subtree needs."""
    play = root_has(n, n)
    for edges in by_hop(n, up=False):
        play.move([(parent, child, range(child, end)) for parent, child, end in edges])
    return play


def scatter_binomial(n):
    """Send down the tree what each subtree needs."""
    return _scatter(n)


def scatter_linear(n):
    """Send to each at once."""
    play = root_has(n, n)
    play.move([(0, r, [r]) for r in range(1, n)])
    return play


def gather_binomial(n):
    """Send up the tree what each subtree has."""
    play = blocks(n)
    for edges in by_hop(n, up=True):
        play.move([(child, parent, list(play.held[child])) for parent, child, _ in edges])
    return play


def gather_linear(n):
    """Send to the root at once."""
    play = blocks(n)
    play.move([(r, 0, [r]) for r in range(1, n)])
    return play


def broadcast_scatter_ring(n):
    """Scatter, then pass on what came last."""
    play = _scatter(n)
    for k in range(n - 1):
        play.copy([(r, (r + 1) % n, [(r - k) % n]) for r in range(n)])
    return play


def broadcast_scatter_recursive_doubling(n):
    """Scatter, then double what is known."""
    return _gather_by_doubling(_scatter(n), n)


# Process grids, with coordinates as tuples, x first.


def near_cubic(n, dims):
    """Return the least sums of extents that any grid of n ranks has, by trying all."""
    if dims == 1:
        return [[n]]
    grids = [
        [first, *rest]
        for first in range(1, n + 1)
        if n % first == 0
        for rest in near_cubic(n // first, dims - 1)
    ]
    least = min(sum(grid) for grid in grids)
    return [grid for grid in grids if sum(grid) == least]


def cells(grid):
    """Return the coordinates of rank 0, 1, 2, ...; x runs fastest."""
    found = [()]
    for extent in reversed(grid):
        found = [(x, *rest) for rest in found for x in range(extent)]
    return found


def stencil(grid, periodic, furthest):
    """Return the pairs of ranks that touch, with the fewest coordinates they differ in."""
    ranks = {cell: rank for rank, cell in enumerate(cells(grid))}
    pairs = {}
    for cell, rank in ranks.items():
        moves = [()]
        for _ in grid:
            moves = [(*move, step) for move in moves for step in (-1, 0, 1)]
        for move in moves:
            differ = sum(step != 0 for step in move)
            if not 1 <= differ <= furthest:
                continue
            there = []
            for x, step, extent, wraps in zip(cell, move, grid, periodic, strict=True):
                there.append((x + step) % extent if wraps else x + step)
            other = ranks.get(tuple(there))
            if other is not None and other != rank:
                pair = (rank, other)
                pairs[pair] = min(differ, pairs.get(pair, differ))
    return pairs


def line_pairs(grid, dimension):
    """Return the pairs of ranks that differ in one coordinate only."""
    found = set()
    for a, here in enumerate(cells(grid)):
        for b, there in enumerate(cells(grid)):
            different = [k for k in range(len(grid)) if here[k] != there[k]]
            if different == [dimension]:
                found.add((a, b))
    return found
