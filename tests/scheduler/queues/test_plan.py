"""Plan: the instants at which enough nodes are free for long enough."""

from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import FirstFree
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.plan import Booking, FreeNodes

spans = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 6), st.integers(1, 2**16 - 1)), max_size=8
)


@given(spans, st.integers(1, 16), st.integers(1, 12), st.integers(1, 20))
def test_starts_are_the_instants_at_which_a_machine_looked_at_second_by_second_has_room(
    spans, n_nodes, length_s, before_s
):
    """Bookings of 16 nodes: an instant counts where somebody leaves, or now."""
    machine = Machine(Cluster(fat_tree_of_radix(4, "1 B/s")), FirstFree(), attrgetter("runtime_s"))
    placement = FirstFree().allocate(Job(1, 0.0, 1, 1.0, 1.0), machine.cluster)
    bookings, taken = [], [0] * 60
    for begin, length, nodes in spans:
        own = nodes
        for second in range(begin, begin + length):
            own &= ~taken[second]  # two never hold one node
        for second in range(begin, begin + length):
            taken[second] |= own
        held = join(2, ((leaf, own >> 2 * leaf & 3) for leaf in range(8)))
        bookings.append(Booking(placement, float(begin), float(begin + length), Footprint(held)))

    found = list(FreeNodes(machine, bookings).starts(n_nodes, float(length_s), float(before_s)))

    instants = sorted({0.0, *(booking.end_s for booking in bookings)})
    room = []
    for instant in instants:
        left = 2**16 - 1
        for second in range(int(instant), int(instant) + length_s):
            left &= ~taken[second]
        if instant < before_s and left.bit_count() >= n_nodes:
            room.append(instant)
    assert found == room
