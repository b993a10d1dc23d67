"""Yang, sections VI to VIII: the record, Reckless (Algorithm 1), Cautious (2), Evaluate (3)."""

from dataclasses import replace

import pytest

from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.machine import Machine
from scheduler.queues.dejavu import ANY, Cautious, Reckless, Record, TorusShapes
from scheduler.rates import JobRate
from scheduler.simulator import simulate

TORUS = build_torus((4, 4, 4), "1 B/s")
CUBE = 8  # nodes of {2, 2, 2}


def job(number, n_nodes, runtime_s=100.0, pattern="stencil", submit_s=0.0, *, user=1):
    talk = Communication(pattern, None, 0.5) if pattern else None
    return Job(
        number, submit_s, n_nodes, runtime_s, runtime_s, user=user, executable=7, communication=talk
    )


class SlowElsewhere:
    """Jobs on anything but a cube of 8 take longer by a factor."""

    def __init__(self, factor):
        self.factor = factor

    def change(self, ended, started, now_s):
        del ended, now_s
        return {a.job.id: JobRate(1.0, 1.0 if is_cube(a) else self.factor) for a in started}


def is_cube(allocation):
    nodes = allocation.nodes()
    sides = sorted(len(set(row.tolist())) for row in TORUS.coordinates(nodes))
    return sides == [2, 2, 2]


def run(jobs, policy, rates=None):
    records = simulate(
        jobs, Cluster(TORUS), make_allocator("non-contiguous", {}, 1), policy, rates=rates
    ).records
    return {record.job.id: record for record in records}


def scene(pattern, *, until_s=50.0):
    """
    Jobs that leave 16 nodes without a free cube until `until_s`; then job 9 of 8 nodes.

    Three planes of 16 nodes are taken for long; of the fourth, whose boxes are flat, all is free.
    """
    long = [job(number, 16, 1000.0, "", user=5) for number in (1, 2)]
    return [*long, job(3, 16, until_s, "", user=5), job(9, CUBE, 100.0, pattern, 1.0)]


def planes(policy_class, **options):
    """Make a policy under which the jobs of user 5 take planes z = 0, 1, 2 in turn."""

    class Planes(policy_class):
        """The background starts where the allocator puts it: plane by plane."""

        def _start_or_reserve(self, job, machine, shapes, plan):
            if job.user != 5:
                super()._start_or_reserve(job, machine, shapes, plan)
                return
            machine.start(machine.try_to_place(job))
            self._line.remove(job)

    return Planes(**options)


def remember(record, on_cube, elsewhere):
    """Enter a run of the job on a cube, and one on every other shape."""
    record.add(job(0, CUBE), "3d-balanced", on_cube)
    for shape in ("3d-unbalanced", "2d-balanced", "2d-unbalanced", "1d-balanced", ANY):
        record.add(job(0, CUBE), shape, elsewhere)


@pytest.mark.heavy
def test_table_1_gives_the_shapes_of_the_sizes():
    """64 nodes: 3D-B, 3D-UB, 2D-B, 2D-UB, as on the paper's torus of 32 per axis; and the list."""
    fabric = build_torus((32, 32, 32), "1 B/s")
    machine = Machine(Cluster(fabric), make_allocator("non-contiguous", {}, 1), float)
    shapes = TorusShapes(machine, fabric)

    assert shapes.possible(job(1, 64)) == (
        "3d-balanced",
        "3d-unbalanced",
        "2d-balanced",
        "2d-unbalanced",
        ANY,
    )
    assert shapes.possible(job(1, 512)) == ("3d-balanced", "3d-unbalanced", "2d-unbalanced", ANY)
    assert shapes.possible(job(1, 1024)) == ("3d-unbalanced", "2d-balanced", ANY)
    assert shapes.possible(job(1, 31)) == ("1d-balanced", ANY)


def test_record_is_kept_by_user_executable_size_and_pattern():
    """The same job again is found, another user's or size's is not; means are by shape."""
    record = Record()
    record.add(job(1, 8), "3d-balanced", 1.0)
    record.add(job(2, 8), "3d-balanced", 1.2)
    record.add(job(3, 8), "2d-balanced", 1.6)

    assert record.stretch(job(4, 8), "3d-balanced") == pytest.approx(1.1)
    assert record.stretch(job(4, 8), "2d-balanced") == pytest.approx(1.6)
    assert record.stretch(job(4, 8), "1d-balanced") == pytest.approx(3.8 / 3)  # never seen there
    for other in (job(5, 16), job(5, 8, user=2), job(5, 8, pattern="all-to-all")):
        assert record.stretch(other, "3d-balanced") == 1.0
    assert len(record) == 1


@pytest.mark.parametrize("policy", [Reckless, Cautious])
def test_a_job_whose_preferred_shape_is_free_gets_it(policy):
    """Nothing is known of it: the most compact shape, whatever the pattern."""
    found = run([job(1, CUBE), job(2, CUBE, pattern="all-to-all")], policy())

    assert all(record.start_s == 0.0 and is_cube(record.allocation) for record in found.values())


def test_reckless_lets_only_all_to_all_jobs_wait_for_their_shape():
    """Algorithm 1: one plane is free now, a cube at 50 s when a second plane is."""
    waiting = run(scene("all-to-all"), planes(Reckless))[9]
    running = run(scene("stencil"), planes(Reckless))[9]

    assert waiting.start_s == 50.0
    assert is_cube(waiting.allocation)
    assert running.start_s == 1.0
    assert not is_cube(running.allocation)


def test_a_reserved_shape_is_not_taken_by_others():
    """A job of 16 for 500 s comes at 2 s: on the free plane it would break the cube at 50 s."""
    jobs = [*scene("all-to-all"), job(10, 16, 500.0, "stencil", 2.0)]

    found = run(jobs, planes(Reckless))

    assert found[9].start_s == 50.0
    assert found[10].start_s == 50.0  # on what the cube leaves of two planes


def test_a_short_job_fills_the_time_before_a_reservation():
    """Algorithm 2's "Choose from {J} - j do Backfilling": 16 nodes for 40 s are done by 50 s."""
    jobs = [*scene("all-to-all"), job(10, 16, 40.0, "stencil", 2.0)]

    found = run(jobs, planes(Reckless))

    assert (found[9].start_s, found[10].start_s) == (50.0, 2.0)


@pytest.mark.parametrize(
    ("slow", "best", "waits"), [(1.48, 1.0, False), (1.49, 1.0, True), (2.0, 1.52, False)]
)
def test_cautious_waits_if_waiting_and_running_well_end_no_later(slow, best, waits):
    """Algorithm 3: 49 s until 50 s plus 100 s x best <= 100 s x slow; equal times wait."""
    policy = planes(Cautious)
    remember(policy.record, best, slow)

    assert (run(scene("stencil"), policy)[9].start_s == 50.0) == waits


def test_cautious_learns_from_what_it_has_seen():
    """
    The job runs once on a cube (100 s), once on a plane (300 s), and the third time it waits.

    Without the second run it knows nothing of planes and takes one.
    """
    first = [job(20, CUBE, 100.0, submit_s=0.0)]
    rates = SlowElsewhere(3.0)

    again = [
        replace(one, id=one.id + number, submit_s=one.submit_s + later_s)
        for number, later_s in ((100, 1000.0), (200, 9000.0))
        for one in scene("stencil")
    ]

    found = run([*first, *again], planes(Cautious), rates)

    assert is_cube(found[20].allocation)
    assert found[109].start_s == 1001.0
    assert not is_cube(found[109].allocation)
    assert is_cube(found[209].allocation)
    assert found[209].start_s > 9001.0


def test_capacity_weighs_idle_nodes_against_a_longer_run():
    """
    Nobody else waits, so waiting leaves 8 nodes idle for 49 s: 392 node-seconds.

    On the plane the job would hold its 8 nodes 100 s longer, 800: it waits; or 10 s, 80: it starts.
    """
    for slow, waits in ((2.0, True), (1.1, False)):
        policy = planes(Cautious, evaluate="capacity")
        remember(policy.record, 1.0, slow)

        assert (run(scene("stencil"), policy)[9].start_s == 50.0) == waits


def test_the_first_job_without_a_place_is_not_starved():
    """64 nodes wanted: jobs of one node that would run past 100 s do not overtake for ever."""
    jobs = [job(1, 60, 100.0, ""), job(2, 64, 10.0, "")]
    jobs += [job(10 + n, 1, 150.0, "stencil", float(n)) for n in range(5)]

    for policy in (Reckless(), Cautious()):
        assert run(jobs, policy)[2].start_s == 100.0


def test_a_shape_that_never_becomes_free_is_not_waited_for():
    """A job of 31 is no box of the torus but a list, which 4 per axis do not have."""
    assert run([job(1, 31, pattern="all-to-all")], Reckless())[1].start_s == 0.0


@pytest.mark.parametrize("policy", [Reckless, Cautious])
def test_a_job_of_which_no_time_was_expected_teaches_nothing(policy):
    """It has no stretch; in a trace of zeros each job runs all the same."""
    jobs = [job(1, CUBE, 0.0), job(2, CUBE, 0.0, submit_s=10.0)]

    records = run(jobs, policy())

    assert [records[number].start_s for number in (1, 2)] == [0.0, 10.0]
