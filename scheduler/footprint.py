"""Footprint: what allocations take, as masks over the whole machine that are quickly united."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scheduler.allocation import Allocation


@dataclass(frozen=True, slots=True)
class Footprint:
    """Nodes and links of one or more allocations."""

    nodes: int = 0  # nodes, group by group; see `join_masks`
    # leaf_ports, l2_ports: up-ports owned of leaves and of L2 switches, switch by switch
    leaf_ports: int = 0
    l2_ports: int = 0
    # those that take units of links instead of owning them (LC+S)
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
        """Say whether both want the same node or link, or share links and may want too much."""
        return bool(
            self.nodes & other.nodes
            or self.leaf_ports & other.leaf_ports
            or self.l2_ports & other.l2_ports
            or (self.sharers and other.sharers)
        )


@lru_cache(maxsize=64)
def _mask_stride(width: int) -> int:
    """Return the bits that a mask of some width gets: a power of two of bytes."""
    return max(8, 1 << (width - 1).bit_length())


def join_masks(width: int, masks: Iterable[tuple[int, int]]) -> int:
    """
    Put the masks of groups or switches into one.

    Group i begins at bit i x the next power of two of the width, at least 8.
    """
    stride = _mask_stride(width)
    return sum(mask << number * stride for number, mask in masks)


def split_masks(joined: int, count: int, width: int) -> list[int]:
    """Take the masks of groups or switches apart again."""
    size = _mask_stride(width) // 8
    raw = joined.to_bytes(count * size, "little")
    if size <= 8:  # noqa: PLR2004 (the largest integer of numpy)
        masks: list[int] = np.frombuffer(raw, dtype=f"<u{size}").tolist()
        return masks
    return [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]


def join_all(width: int, masks: Sequence[int]) -> int:
    """Do as `join_masks` does with a mask for each group or switch."""
    size = _mask_stride(width) // 8
    if size <= 8:  # noqa: PLR2004 (the largest integer of numpy)
        return int.from_bytes(np.array(masks, dtype=f"<u{size}").tobytes(), "little")
    return int.from_bytes(b"".join([mask.to_bytes(size, "little") for mask in masks]), "little")


def mask_parts(joined: int, count: int, each: int, width: int) -> list[bytes]:
    """Cut joined masks into `count` parts of `each` groups or switches, to compare them."""
    size = each * _mask_stride(width) // 8
    raw = joined.to_bytes(count * size, "little")
    return [raw[at * size : (at + 1) * size] for at in range(count)]


@lru_cache(maxsize=256)
def links_of(joined: int, count: int, each: int, width: int) -> tuple[list[int], list[bytes]]:
    """Return what `split_masks` and `mask_parts` do; links rarely change."""
    return split_masks(joined, count * each, width), mask_parts(joined, count, each, width)


def any_part_with(n_nodes: int, joined: int, count: int, each: int, width: int) -> bool:
    """Say whether a part, as of `mask_parts`, has so many nodes."""
    size = each * _mask_stride(width)
    part = (1 << size) - 1
    return any(
        (joined >> shift & part).bit_count() >= n_nodes for shift in range(0, count * size, size)
    )


def most_full(joined: int, count: int, width: int) -> int:
    """Return how many masks have all bits set, or a few more."""
    size = _mask_stride(width) // 8
    full = ((1 << width) - 1).to_bytes(size, "little")
    # counts as many as lie apart, so no fewer than there are; some may be found across two
    return joined.to_bytes(count * size, "little").count(full)
