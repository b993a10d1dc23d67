"""The co-simulation: jobs that come and go while it goes on, by exact fractions and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iterating import machines, make_fabric, talks, traffic_of
from naive.exact import NaiveJob
from naive.exact import simulate as naive_simulate

from netsim.common.errors import ContentionError
from netsim.flowsim.cosimulation import CoSimulation, Ranges
from netsim.flowsim.snapshot import simulate_jobs

BUFFER = 1e6  # bytes: larger than any message, so only short packets weigh less


def co_simulated(machine, fairness, quits=None, packet=0.0):
    """Return when jobs end that start when they do; those in `quits` are taken away then."""
    jobs, capacity, channel = machine
    links = make_fabric(capacity, channel, buffer_bytes=BUFFER, packet_bytes=packet)
    simulation = CoSimulation(links, fairness=fairness)
    ends, quits = {}, quits or {}
    moments = [(job[2], "start", i) for i, job in enumerate(jobs) if talks(job[0])]
    moments += [(at_s, "quit", i) for i, at_s in quits.items()]
    for at_s, what, i in [*sorted(moments, key=lambda moment: moment[0]), (np.inf, "", -1)]:
        while simulation.advance(at_s) < at_s or simulation.over:
            for job in simulation.over:
                ends[job] = simulation.now_s
                simulation.end(job)
        if what == "start":
            steps, compute_s, _, iterations = jobs[i]
            traffic = traffic_of(steps, len(capacity), compute_s)
            simulation.start(i, simulation.solo_run(traffic), iterations)
        elif i in simulation:
            simulation.end(i)
    return ends


def naive_ends(machine, *, per_sender, quits=None, packet=0.0):
    """Return the same as fractions, rates solved anew at each event."""
    jobs, capacity, channel = machine
    twins = {i: NaiveJob(job[0], job[1], job[2]) for i, job in enumerate(jobs) if talks(job[0])}
    alarms = {i: NaiveJob([], at_s, 0) for i, at_s in (quits or {}).items()}

    def all_done(running):
        for i, alarm in alarms.items():
            alarm.gone = bool(alarm.ends)
            twins[i].gone = twins[i].gone or alarm.gone
        for i, twin in twins.items():
            twin.gone = twin.gone or len(twin.ends) >= jobs[i][3]
        return all(twin.gone for twin in running)

    naive_simulate(
        [*twins.values(), *alarms.values()],
        capacity,
        channel,
        per_sender=per_sender,
        until=all_done,
        buffer=BUFFER,
        packet=packet,
    )
    return {i: float(t.ends[jobs[i][3] - 1]) for i, t in twins.items() if len(t.ends) >= jobs[i][3]}


@settings(deadline=None, max_examples=60)
@given(machines(), st.booleans(), st.sampled_from([0.0, 3.0]))
def test_jobs_that_come_while_others_run_end_as_by_exact_fractions(machine, per_sender, packet):
    """Compute, empty steps, latency, shared channels and senders included."""
    fairness = "per-sender" if per_sender else "per-flow"

    assert co_simulated(machine, fairness, packet=packet) == pytest.approx(
        naive_ends(machine, per_sender=per_sender, packet=packet), rel=1e-9
    )


@settings(deadline=None, max_examples=100)
@given(machines(), st.booleans(), st.data())
def test_jobs_that_are_taken_away_leave_the_others_what_they_had(machine, per_sender, data):
    """A job is taken away at a time at which no other event is likely."""
    jobs = [i for i, job in enumerate(machine[0]) if talks(job[0])]
    quits = {}
    if jobs:
        job = data.draw(st.sampled_from(jobs))
        quits[job] = machine[0][job][2] + data.draw(st.sampled_from([0.3125, 1.4375, 5.8125]))

    found = co_simulated(machine, "per-sender" if per_sender else "per-flow", quits)

    assert found == pytest.approx(naive_ends(machine, per_sender=per_sender, quits=quits), rel=1e-9)


def test_two_jobs_on_one_link_by_hand():
    """
    LONG sends 20 B from 1 s on at 10 B/s; SHORT comes at 1 s, and sends 10 B from 2 s on.

    At 2 s LONG has 10 B left; both get 5 B/s and end at 4 s. LONG alone: 3 s, SHORT 2 s.
    """
    simulation = CoSimulation(make_fabric([10.0]), fairness="per-flow")
    long = simulation.solo_run(traffic_of([[(0, [0], 20.0, 0.0)]], 1, 1.0))
    short = simulation.solo_run(traffic_of([[(1, [0], 10.0, 0.0)]], 1, 1.0))

    simulation.start(7, long, 1)
    assert simulation.advance(1.0) == 1.0
    simulation.start(3, short, 1)
    assert simulation.made(7) == pytest.approx(1 / 3)
    assert simulation.advance(np.inf) == 4.0
    assert simulation.over == (3, 7)
    assert (simulation.interference_delay_s(7), simulation.interference_delay_s(3)) == (1.0, 1.0)
    assert simulation.news() == {7: 4 / 3, 3: 1.5}


def test_a_job_that_meets_nobody_loses_nothing_exactly():
    """Lost time is 0 and rate is 1, whatever the rounding of its iterations."""
    simulation = CoSimulation(make_fabric([10.0, 3.0]), fairness="per-flow")
    for job in (0, 1):
        alone = traffic_of([[(job, [job], 0.7, 0.1)]], 2, 0.1)
        simulation.start(job, simulation.solo_run(alone), 7)

    while len(simulation.over) == 0:
        simulation.advance(np.inf)

    assert simulation.interference_delay_s(0) == 0.0
    assert set(simulation.news().values()) == {1.0}


def test_longer_iterations_take_as_many_times_as_long():
    """Twice the bytes, the compute time and the latency, among others too."""
    pair = [traffic_of([[(job, [0], 6.0 + job, 0.25)]], 1, 1.0 + job) for job in range(2)]
    ends = []
    for scale in (1.0, 2.0):
        simulation = CoSimulation(make_fabric([1.0]), fairness="per-sender")
        for job, traffic in enumerate(pair):
            simulation.start(job, simulation.solo_run(traffic), 3, scale)
        ends.append(simulation.advance(np.inf))

    assert ends[1] == pytest.approx(2.0 * ends[0])


def test_many_jobs_in_rows_that_are_used_again_end_as_when_all_are_known_before():
    """300 jobs, up to 90 at once, so that slots, rows and seats are taken, given back and grown."""
    rng = np.random.default_rng(5)
    capacity = np.full(12, 4.0)
    starts = np.sort(rng.integers(0, 400, 300) / 4.0)
    traffic = {}
    for job in range(starts.size):
        two = [rng.choice(12, 2, replace=False).tolist() for _ in range(10)]
        flows = [(10 * job + f, two[f], 1.0 + f, 0.0) for f in range(10)]
        steps = [flows[: rng.integers(1, 6)], flows[5 : rng.integers(6, 11)]]
        traffic[job] = traffic_of(steps, 12, float(rng.integers(1, 4)))
    expected = simulate_jobs(
        traffic,
        capacity,
        fairness="per-flow",
        start_s=dict(enumerate(starts.tolist())),
        iterations=dict.fromkeys(traffic, 3),
    )
    simulation, ends = CoSimulation(make_fabric(capacity, n_nodes=4096), fairness="per-flow"), {}

    for job, start_s in [*enumerate(starts.tolist()), (None, np.inf)]:
        while simulation.advance(start_s) < start_s:
            for over in simulation.over:
                ends[over] = simulation.now_s
                simulation.end(over)
        if job is not None:
            simulation.start(job, simulation.solo_run(traffic[job]), 3)

    assert ends == pytest.approx({job: times.end_s for job, times in expected.items()}, rel=1e-9)


def test_jobs_that_nobody_knows_are_refused():
    simulation = CoSimulation(make_fabric([1.0]), fairness="per-flow")
    solo = simulation.solo_run(traffic_of([[(0, [0], 1.0, 0.0)]], 1))
    simulation.start(1, solo, 1)

    with pytest.raises(ContentionError, match="job 1 has been started already"):
        simulation.start(1, solo, 1)
    with pytest.raises(ContentionError, match="job 2 has not been started"):
        simulation.end(2)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=40))
def test_ranges_that_are_taken_never_meet(calls):
    """Against a set of taken rows."""
    ranges, held, taken = Ranges(), [], set()
    for gives, count in calls:
        if gives and held:
            begin, own = held.pop(count % len(held))
            ranges.give(begin, own)
            taken -= set(range(begin, begin + own))
            continue
        begin = ranges.take(count)
        rows = set(range(begin, begin + count))
        assert not rows & taken
        assert max(rows) < ranges.size
        held.append((begin, count))
        taken |= rows
