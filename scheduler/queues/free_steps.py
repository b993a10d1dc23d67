"""Free nodes and links over time, and the windows in which enough nodes are free."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, nan
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Ints
from netsim.common.jit import load_kernels
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join_all
from scheduler.job import Job
from scheduler.machine import Machine

if TYPE_CHECKING:
    from scheduler.queues.windows_kernels import Bookings, Timeline

UNKNOWN_END_S = 1e15
"""When nodes that are down are expected back, in seconds: after everything else."""

_WORD = 64  # bits
_ROOM = 64  # steps, and bookings, to begin with

Words = NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Booking:
    """A waiting job's time and place."""

    placement: Allocation  # the job and what it will hold
    # start_s, end_s: from when to when it is expected to hold it, in seconds
    start_s: float
    end_s: float
    taken: Footprint  # the same as masks


class _HeldUntil(NamedTuple):
    """What a running job holds, and until when, as it has been entered."""

    allocation: Allocation
    end_s: float
    row: Words
    n_nodes: int


class FreeSteps:
    """
    Free nodes and links over time: they show where asking an allocator may help.

    They follow the machine: only what has changed since the last instant is entered.
    """

    __slots__ = (
        "_booked",
        "_bookings",
        "_closed_s",
        "_empty",
        "_held",
        "_inside",
        "_kernels",
        "_links",
        "_nothing",
        "_order",
        "_scratch",
        "_timeline",
        "_widths",
        "machine",
    )

    def __init__(self, machine: Machine) -> None:
        self._kernels = load_kernels(
            "scheduler.queues.windows_kernels", "kernels that look for windows", 3
        )
        self.machine, cluster = machine, machine.cluster
        inside = cluster.leaf_nodes if cluster.inside is None else cluster.inside
        self._inside = join_all(cluster.nodes_per_leaf, inside)  # nodes that jobs may have
        whole = (
            self._inside,
            join_all(cluster.leaf_width, cluster.leaf_links),
            join_all(cluster.l2_width, cluster.l2_links),
        )
        self._widths = [-(-mask.bit_length() // _WORD) for mask in whole]
        # of the links; None as soon as a job takes some: rows have them then
        self._links: tuple[int, int] | None = whole[1:]
        free = np.zeros((_ROOM, self._widths[0]), dtype=np.uint64)
        free[0] = _mask_words(whole[0], self._widths[0])
        steps = np.zeros(_ROOM, dtype=self._kernels.STEP)
        steps["n_free"][0] = self._inside.bit_count()
        self._timeline: Timeline = self._kernels.Timeline(
            np.array([1]), np.full(_ROOM, machine.now_s), np.arange(_ROOM), steps, free
        )
        self._bookings: Bookings = self._kernels.Bookings(
            np.zeros(_ROOM, dtype=self._kernels.BOOKING), np.zeros_like(free)
        )
        self._empty = list(range(_ROOM))  # rows of the line
        self._booked: dict[int, tuple[Booking, int]] = {}  # by job id, with the row
        self._held: dict[int, _HeldUntil] = {}
        self._order: Ints = np.empty(0, dtype=np.int64)  # rows of the line, as they are looked at
        self._nothing = np.zeros(self._widths[0], dtype=np.uint64)
        self._scratch = np.empty((3, self._widths[0]), dtype=np.uint64)
        self._closed_s: float | None = None  # when closed nodes were entered, if there were any

    def is_stale(self, *, closed: bool) -> bool:
        """Say whether steps have to be made anew, at each instant while nodes are closed."""
        return self._closed_s != self.machine.now_s if closed else self._closed_s is not None

    def close(self) -> None:
        """Enter nodes that take no jobs for a while, each once its running job has left."""
        spans = self._closed_spans()
        edges = sorted({edge for span in spans for edge in span[:2]})
        footprint = self.machine.cluster.footprint
        held = [(own.end_s, footprint(own.allocation).nodes) for own in self._held.values()]
        for from_s, until_s in pairwise(edges):
            nodes = 0
            for begin_s, end_s, taken in spans:
                if begin_s <= from_s and end_s >= until_s:
                    nodes |= taken.nodes
            for end_s, own in held:
                if end_s > from_s and nodes & own:
                    self._close(min(end_s, until_s), until_s, nodes & own)
                    nodes &= ~own
            self._close(from_s, until_s, nodes)

    def _closed_spans(self) -> list[tuple[float, float, Footprint]]:
        """Return from when to when which nodes take no jobs of any user."""
        machine, down = self.machine, self.machine.cluster.down
        spans = []
        for own in machine.windows:
            self._closed_s = machine.now_s
            if own.users:  # whether its nodes are free depends on the job: the allocator is asked
                self.mark(own.until_s, 1)
            else:
                spans.append((max(own.from_s, machine.now_s), own.until_s, own.taken))
        if down is not None:
            self._closed_s = machine.now_s
            spans.append((machine.now_s, UNKNOWN_END_S, down))
            links = Footprint(0, down.leaf_ports, down.l2_ports)
            if links != Footprint():  # no job owns one
                self._enter_span(machine.now_s, UNKNOWN_END_S, self._mask_row(links), 0, 1)
        return spans

    def _close(self, from_s: float, until_s: float, nodes: int) -> None:
        """Enter a span in which nodes take no jobs."""
        nodes &= self._inside
        if nodes and from_s < until_s:
            row = self._mask_row(Footprint(nodes))
            self._enter_span(from_s, until_s, row, nodes.bit_count(), 1)

    def follow(self, bookings: Mapping[int, Booking]) -> None:
        """Enter what has changed on the machine, and in the bookings by job id."""
        machine = self.machine
        running, ends_s, held = machine.cluster.running, machine.expected_end_s, self._held
        self._kernels.begin(tuple(self._timeline), machine.now_s)
        for job_id, (booking, row) in list(self._booked.items()):
            if bookings.get(job_id) is not booking:
                if running.get(job_id) is booking.placement:
                    self._note_start(booking, row)
                else:
                    self.replace(booking, None)
        for job_id in [number for number in held if number not in ends_s]:
            self._end(held.pop(job_id))
        for job_id, end_s in ends_s.items():
            known, allocation = held.get(job_id), running[job_id]
            if known is None or known.end_s != end_s or known.allocation is not allocation:
                self._hold_running(known, allocation, end_s)
        for job_id, booking in bookings.items():
            if job_id not in self._booked:
                row = self._enter_booking(booking)
                self._search_all(row)

    def _note_start(self, booking: Booking, row: int) -> None:
        """Take note that a job was started as booked."""
        number, taken = booking.placement.job.id, self._bookings.taken[row].copy()
        n_nodes = booking.taken.nodes.bit_count()
        self._held[number] = _HeldUntil(booking.placement, booking.end_s, taken, n_nodes)
        del self._booked[number]
        self._empty.append(row)

    def _end(self, held: _HeldUntil) -> None:
        """Take out what a job would have held from now on."""
        self._kernels.freed(tuple(self._bookings), -inf, held.end_s)
        self._enter_span(-inf, held.end_s, held.row, held.n_nodes, -1)

    def _hold_running(self, known: _HeldUntil | None, allocation: Allocation, end_s: float) -> None:
        """Enter what a running job holds, in the place of what was known of it."""
        if known is not None:
            self._end(known)
        if known is None or known.allocation is not allocation:
            taken = self.machine.cluster.footprint(allocation)
            if taken.nodes & ~self._inside:
                taken = replace(taken, nodes=taken.nodes & self._inside)
            known = _HeldUntil(allocation, end_s, self._mask_row(taken), taken.nodes.bit_count())
        known = self._held[allocation.job.id] = known._replace(end_s=end_s)
        self._enter_span(-inf, end_s, known.row, known.n_nodes, 1)

    def replace(self, old: Booking | None, new: Booking | None) -> None:
        """Take a booking out, and enter another one of the same job."""
        if old is not None:
            _, row = self._booked.pop(old.placement.job.id)
            taken = self._bookings.taken[row]
            self._enter_span(old.start_s, old.end_s, taken, old.taken.nodes.bit_count(), -1)
            self._empty.append(row)
            self._kernels.freed(tuple(self._bookings), old.start_s, old.end_s)
        if new is not None:
            self._enter_booking(new)

    def mark(self, time_s: float, change: int) -> None:
        """Let windows begin at a time, too (`change` 1), or no longer (-1)."""
        self._enter_span(-inf, time_s, self._nothing, 0, change)

    def _enter_booking(self, booking: Booking) -> int:
        """Enter a booking that cannot begin sooner; return its row, the last one left."""
        taken, job = self._mask_row(booking.taken), booking.placement.job
        if not self._empty:
            room = len(self._bookings.booking)
            self._empty = list(range(room, 2 * room))
            booked, held = self._bookings
            self._bookings = self._bookings._replace(
                booking=_doubled_rows(booked), taken=_doubled_rows(held)
            )
        row = self._empty.pop()
        length_s = self.machine.estimate_s(job)
        self._bookings.booking[row] = job.n_nodes, length_s, booking.start_s, inf, -inf
        self._bookings.taken[row] = taken
        self._booked[job.id] = booking, row
        self._enter_span(booking.start_s, booking.end_s, taken, booking.taken.nodes.bit_count(), 1)
        return row

    def _enter_span(
        self, from_s: float, until_s: float, row: Words, n_nodes: int, change: int
    ) -> None:
        """Enter a span in which nodes and links are taken, or take it out."""
        size, times, place, steps, free = self._timeline
        room = len(times)
        if size[0] + 2 > room:
            places = np.concatenate((place, place + room))
            self._timeline = self._timeline._replace(
                times=_doubled_rows(times),
                place=places,
                step=_doubled_rows(steps),
                free=_doubled_rows(free),
            )
        if self._links is None and row.size < self._nothing.size:  # from before there were links
            row = np.concatenate((row, self._nothing[row.size :]))
        self._kernels.span(tuple(self._timeline), from_s, until_s, row, n_nodes, change)

    def _mask_row(self, taken: Footprint) -> Words:
        """Return nodes and links as words."""
        if self._links is not None:
            if not (taken.leaf_ports or taken.l2_ports):
                return _mask_words(taken.nodes, self._widths[0])
            self._add_links(self._links)
        masks = (taken.nodes, taken.leaf_ports, taken.l2_ports)
        return np.concatenate(
            [_mask_words(mask, width) for mask, width in zip(masks, self._widths, strict=True)]
        )

    def _add_links(self, links: tuple[int, int]) -> None:
        """Put links into the rows, of which none was taken so far."""
        free = [
            _mask_words(mask, width) for mask, width in zip(links, self._widths[1:], strict=True)
        ]
        timeline, bookings = self._timeline, self._bookings
        self._timeline = timeline._replace(free=_widened_rows(timeline.free, np.concatenate(free)))
        nothing = np.zeros(sum(self._widths[1:]), dtype=np.uint64)
        self._bookings = bookings._replace(taken=_widened_rows(bookings.taken, nothing))
        self._nothing = np.zeros(sum(self._widths), dtype=np.uint64)
        self._links = None

    def line_up(self, jobs: Sequence[Job]) -> None:
        """
        Look at the bookings of some jobs in this order from now on.

        Where an allocator that is monotone in what is free has refused them places they are looked
        at again only for what has become free since.
        """
        machine = self.machine
        self._order = np.array([self._booked[job.id][1] for job in jobs], dtype=np.int64)
        if not refusals_hold(machine):
            self._search_all(slice(None))

    def _search_all(self, rows: int | slice) -> None:
        """Let the whole time be searched for some bookings, whatever was found there before."""
        bookings = self._bookings.booking
        bookings["freed_from_s"][rows], bookings["freed_until_s"][rows] = -inf, inf

    def next(self, first: int, most: int, after_s: float = -1.0) -> tuple[int, float, int]:
        """
        Find the next booking for which enough nodes are free sooner.

        After the last booking comes the first; at most `most` are looked at, the first one only
        after `after_s`. Returns how many before it there is none for; from when on, and which nodes
        are free.
        """
        done, step = self._kernels.first_window(
            tuple(self._timeline),
            tuple(self._bookings),
            self._order,
            first,
            most,
            after_s,
            self._scratch,
        )
        return (done, *self._found_window(step)) if step >= 0 else (most, 0.0, 0)

    def _found_window(self, step: int) -> tuple[float, int]:
        """Return when a step begins to which a search has come, and the nodes that it left."""
        return float(self._timeline.times[step]), int.from_bytes(
            self._scratch[0].tobytes(), "little"
        )

    def windows(
        self, n_nodes: int, length_s: float, moved: Booking | None = None
    ) -> Iterator[tuple[float, int]]:
        """
        Iterate over the instants from which so many nodes are free for so long, and the nodes.

        `moved`: a booking that is to begin sooner, and is thought away.
        """
        first = 0
        before_s, own = self._of(moved)
        window = n_nodes, length_s, before_s, own, self._scratch
        while True:
            first = self._kernels.window(tuple(self._timeline), first, inf, *window)
            if first < 0:
                return
            yield self._found_window(first)
            first += 1

    def _of(self, moved: Booking | None) -> tuple[float, Words]:
        """Return when a booking begins that is thought away, and its row."""
        if moved is None:
            return nan, self._nothing
        return moved.start_s, self._bookings.taken[self._booked[moved.placement.job.id][1]]

    def during(self, from_s: float, until_s: float, nodes: int, moved: Booking | None) -> Footprint:
        """Return what is free in a window all the time; `nodes` as `windows` yields them."""
        if self._links is not None:
            return Footprint(nodes, *self._links)
        left = np.empty(sum(self._widths[1:]), dtype=np.uint64)
        times = self._timeline.times[: self._timeline.size[0]]
        first = int(times.searchsorted(from_s))
        window = first, until_s, *self._of(moved)
        self._kernels.common(tuple(self._timeline), *window, self._widths[0], left)
        split = self._widths[1]
        return Footprint(
            nodes,
            int.from_bytes(left[:split].tobytes(), "little"),
            int.from_bytes(left[split:].tobytes(), "little"),
        )

    def cluster(self, time_s: float, free: Footprint) -> Cluster:
        """Return the machine as it is expected to be at a time, with just so much free."""
        ends_s = self.machine.expected_end_s.items()
        ended = [job_id for job_id, end_s in ends_s if end_s <= time_s]
        return self.machine.cluster.expected(free, ended)


def refusals_hold(machine: Machine) -> bool:
    """Say whether a job that is refused a place is refused it where no more is free."""
    kept_for_users = any(own.users for own in machine.windows)
    return (
        not kept_for_users and machine.switch_limit is None and machine.allocator.monotone_in_free
    )


def _mask_words(mask: int, width: int) -> Words:
    """Return a mask as so many words."""
    raw = np.frombuffer(mask.to_bytes(width * _WORD // 8, "little"), dtype="<u8")
    return raw.astype(np.uint64)


def _widened_rows(rows: Words, more: Words) -> Words:
    """Return rows with the same words behind each of them."""
    width = rows.shape[1]
    wider = np.empty((len(rows), width + more.size), dtype=np.uint64)
    wider[:, :width], wider[:, width:] = rows, more
    return wider


def _doubled_rows(rows: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return rows with room for as many again."""
    return np.concatenate((rows, rows))
