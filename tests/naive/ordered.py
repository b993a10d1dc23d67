"""
The allocators of Stoltzfus13, line by line as its figures print them, over lists of ordinals.

`free` is an ascending list; every function returns the ordinals in the order they were found.
"""

from itertools import pairwise
from math import log


def fifo(free, size, large):
    """Figure 14."""
    available = list(free)
    if size < large:
        available.reverse()
    found = []
    for node in available:
        found.append(node)
        if len(found) >= size:
            break
    return found


def fit_allocate(available, size, gap):
    """Figure 11; `available` is refreshed, as the figure says, before each search."""
    chunk = get_chunk(available, size, gap)
    if chunk is not None:
        return chunk
    half = size // 2
    found = fit_allocate(available, half, gap)
    rest = [node for node in available if node not in found]
    return found + fit_allocate(rest, size - half, gap)


def get_chunk(available, size, gap):
    """Figure 11."""
    found = []
    for node in available:
        if not found:
            found.append(node)
        elif len(found) >= size:
            break
        elif abs(node - found[-1]) <= gap:
            found.append(node)
        else:
            found = [node]
    return found if len(found) >= size else None


def fifo_fit(free, size, large, gap):
    """First Fit on the list that FIFO would use (section 5.2.1)."""
    available = list(free)
    if size < large:
        available.reverse()
    return fit_allocate(available, size, gap)


def varying_fit(free, size):
    """Figure 21."""
    return fit_allocate(list(free), size, int(log(size * 2)))


def largest_fit(free, size, gap, whole_runs=False):
    """Figure 18; `whole_runs` mends its slip."""
    found = []
    available = list(free)
    while len(found) < size:
        chunk = largest_contiguous(available, size - len(found), gap, whole_runs)
        found += chunk
        available = [node for node in available if node not in chunk]
    return found


def largest_contiguous(available, needed, gap, whole_runs):
    """Figure 18."""
    if len(available) == needed:
        return available
    nodes, longest = [], []
    previous = None
    for node in available:
        if not nodes:
            nodes = [node]
        elif len(nodes) >= needed:
            return nodes
        elif node - previous <= gap:
            nodes = [*nodes, node]
        else:
            if len(nodes) > len(longest):
                longest = nodes
            nodes = [node] if whole_runs else []
        if len(nodes) > len(longest):
            longest = nodes
        previous = node
    return longest


def closest_fit(free, size, gap):
    """Figure 23."""
    available = list(free)
    if len(available) == size:
        return available
    least, chosen = 99999, None
    for start in range(len(available) - size + 1):
        if size == 1:
            return available[:1]
        window = available[start : start + size]
        largest = max(there - here for here, there in pairwise(window))
        if largest < least:
            least, chosen = largest, window
        if least <= gap:
            return chosen
    return chosen


def closest_fit_mind(free, size, hops):
    """Figure 23 with the sum of hops over all pairs in the place of the largest gap."""
    least, chosen = float("inf"), None
    for start in range(len(free) - size + 1):
        window = free[start : start + size]
        total = sum(hops(window[i], window[j]) for i in range(size - 1) for j in range(i + 1, size))
        if total < least:
            least, chosen = total, window
    return chosen
