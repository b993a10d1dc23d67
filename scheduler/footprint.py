"""Footprint: what allocations take, as masks over the whole machine that are quickly united."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scheduler.allocation import Allocation


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    Nodes and links of one or more allocations.

    Parameters
    ----------
    nodes : int
        Nodes, group by group; see `join`.
    leaf_ports, l2_ports : int
        Up-ports owned of leaves and of L2 switches, switch by switch.
    sharers : tuple of Allocation
        Those that take units of links instead of owning them (LC+S).
    """

    nodes: int = 0
    leaf_ports: int = 0
    l2_ports: int = 0
    sharers: tuple[Allocation, ...] = ()

    def __or__(self, other: "Footprint") -> "Footprint":
        """Return what both take."""
        return Footprint(
            self.nodes | other.nodes,
            self.leaf_ports | other.leaf_ports,
            self.l2_ports | other.l2_ports,
            self.sharers + other.sharers,
        )

    def is_within(self, other: "Footprint") -> bool:
        """Say whether the other one has all nodes and links of this one; sharers do not count."""
        return not (
            self.nodes & ~other.nodes
            or self.leaf_ports & ~other.leaf_ports
            or self.l2_ports & ~other.l2_ports
        )

    def clashes(self, other: "Footprint") -> bool:
        """
        Say whether both want the same node or link.

        Result: True when they do, or when both take units of links, which may be too many.
        """
        return bool(
            self.nodes & other.nodes
            or self.leaf_ports & other.leaf_ports
            or self.l2_ports & other.l2_ports
            or (self.sharers and other.sharers)
        )


@lru_cache(maxsize=64)
def _stride(width: int) -> int:
    """Return the bits that a mask of some width gets: a power of two of bytes."""
    return max(8, 1 << (width - 1).bit_length())


def join(width: int, masks: Iterable[tuple[int, int]]) -> int:
    """
    Put the masks of groups or switches into one.

    `width`: bits that a mask may have. Result: group i begins at bit i x the next power of two of
    the width, at least 8.

    Examples
    --------
    >>> bin(join(4, [(0, 0b0110), (1, 0b1001)]))
    '0b100100000110'
    """
    stride = _stride(width)
    return sum(mask << number * stride for number, mask in masks)


def split(joined: int, count: int, width: int) -> list[int]:
    """
    Take the masks of groups or switches apart again.

    `joined`: as `join` makes it. `width`: bits that a mask may have.

    Examples
    --------
    >>> split(join(4, [(0, 0b0110), (2, 0b1001)]), 3, 4)
    [6, 0, 9]
    """
    size = _stride(width) // 8
    raw = joined.to_bytes(count * size, "little")
    if size <= 8:  # noqa: PLR2004 (the largest integer of numpy)
        masks: list[int] = np.frombuffer(raw, dtype=f"<u{size}").tolist()
        return masks
    return [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]


def join_all(width: int, masks: Sequence[int]) -> int:
    """
    Do as `join` does with a mask for each group or switch.

    Examples
    --------
    >>> bin(join_all(4, [0b0110, 0b1001]))
    '0b100100000110'
    """
    size = _stride(width) // 8
    if size <= 8:  # noqa: PLR2004 (the largest integer of numpy)
        return int.from_bytes(np.array(masks, dtype=f"<u{size}").tobytes(), "little")
    return int.from_bytes(b"".join([mask.to_bytes(size, "little") for mask in masks]), "little")


def parts(joined: int, count: int, each: int, width: int) -> list[bytes]:
    """
    Cut joined masks into parts of so many groups or switches, to compare them.

    `count`: parts. `each`: groups or switches of a part. `width`: bits that a mask may have.
    """
    size = each * _stride(width) // 8
    raw = joined.to_bytes(count * size, "little")
    return [raw[at * size : (at + 1) * size] for at in range(count)]


@lru_cache(maxsize=256)
def links_of(joined: int, count: int, each: int, width: int) -> tuple[list[int], list[bytes]]:
    """
    Return what `split` and `parts` do; links stay as they are more often than nodes.

    `joined`, `count`, `each`, `width`: as for `parts`. Result: not to be changed.
    """
    return split(joined, count * each, width), parts(joined, count, each, width)


def any_part_with(n_nodes: int, joined: int, count: int, each: int, width: int) -> bool:
    """
    Say whether a part has so many nodes.

    `joined`, `count`, `each`, `width`: as for `parts`.
    """
    size = each * _stride(width)
    part = (1 << size) - 1
    return any(
        (joined >> shift & part).bit_count() >= n_nodes for shift in range(0, count * size, size)
    )


def most_full(joined: int, count: int, width: int) -> int:
    """
    Return how many masks have all bits set, or a few more.

    `joined`, `count`, `width`: as for `split`.

    Examples
    --------
    >>> most_full(join(4, [(0, 0b1111), (2, 0b1001), (3, 0b1111)]), 4, 4)
    2
    """
    size = _stride(width) // 8
    full = ((1 << width) - 1).to_bytes(size, "little")
    # counts as many as lie apart, so no fewer than there are; some may be found across two
    return joined.to_bytes(count * size, "little").count(full)
