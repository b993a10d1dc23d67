"""
Boxes on a torus by listing the coordinates of every one of them.

A router is a tuple of coordinates; boxes are frozensets of routers, by their shape, which is the
sides in descending order.
"""

from itertools import product
from math import prod


def shapes(volume, dims):
    """Return the shapes of so many routers that fit in some orientation."""
    sides = product(*(range(1, side + 1) for side in dims))
    return {tuple(sorted(box, reverse=True)) for box in sides if prod(box) == volume}


def free_boxes(free, dims, wrap, volume):
    """Return {shape: set of boxes} of so many routers that are all free."""
    found = {}
    for sides in product(*(range(1, side + 1) for side in dims)):
        if prod(sides) != volume:
            continue
        for corner in product(*(range(side) for side in dims)):
            if any(
                not ring and start + side > length
                for start, side, length, ring in zip(corner, sides, dims, wrap, strict=True)
            ):
                continue
            box = frozenset(
                tuple(
                    (start + step) % length
                    for start, step, length in zip(corner, at, dims, strict=True)
                )
                for at in product(*(range(side) for side in sides))
            )
            if box <= free:
                found.setdefault(tuple(sorted(sides, reverse=True)), set()).add(box)
    return found


def is_connected(routers, dims, wrap):
    """Say whether one can walk between any two of some routers over the others."""
    reached, edge = set(), [next(iter(routers))]
    while edge:
        here = edge.pop()
        if here in reached:
            continue
        reached.add(here)
        for axis, step in product(range(len(dims)), (-1, 1)):
            there = list(here)
            there[axis] += step
            if wrap[axis]:
                there[axis] %= dims[axis]
            if tuple(there) in routers:
                edge.append(tuple(there))
    return reached == set(routers)
