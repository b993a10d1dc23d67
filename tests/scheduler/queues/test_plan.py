"""Plan: the instants at which enough nodes are free for long enough."""

from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import FirstFree
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join_masks
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.free_steps import Booking, FreeSteps

spans = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 6), st.integers(1, 2**16 - 1)), max_size=8
)


def spread(nodes):
    """Return a mask of nodes as footprints have it."""
    return join_masks(2, ((leaf, nodes >> 2 * leaf & 3) for leaf in range(8)))


@given(spans, st.integers(1, 16), st.integers(1, 12), st.booleans())
def test_windows_are_those_that_a_machine_looked_at_second_by_second_has(
    spans, n_nodes, length_s, moves
):
    """Bookings of 16 nodes: an instant counts where somebody leaves, or now."""
    machine = Machine(Cluster(fat_tree_of_radix(4, "1 B/s")), FirstFree(), attrgetter("runtime_s"))
    bookings, taken, before_s, moved = [], [0] * 60, 60, None
    away = [0] * 60  # what the moved booking holds, free for it alone
    for number, (begin, length, nodes) in enumerate(spans):
        placement = FirstFree().allocate(Job(number, 0.0, 1, 1.0, 1.0), machine.cluster)
        own = nodes
        for second in range(begin, begin + length):
            own &= ~taken[second] & ~away[second]  # two never hold one node
        booking = Booking(placement, float(begin), float(begin + length), Footprint(spread(own)))
        bookings.append(booking)
        if moves and moved is None:
            moved, before_s, length_s, n_nodes = booking, begin, length, max(1, own.bit_count())
        for second in range(begin, begin + length):
            (away if booking is moved else taken)[second] |= own

    free = FreeSteps(machine)
    free.follow({booking.placement.job.id: booking for booking in bookings})
    found = list(free.windows(n_nodes, float(length_s), moved))

    instants = sorted({0, *(int(booking.end_s) for booking in bookings)})
    room = []
    for instant in instants:
        left = 2**16 - 1
        for second in range(instant, instant + length_s):
            left &= ~taken[second]
        if instant < before_s and left.bit_count() >= n_nodes:
            room.append((float(instant), spread(left)))
    assert found == room
