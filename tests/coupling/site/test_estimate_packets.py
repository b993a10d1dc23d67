"""Estimates by the packet simulation: what can be said by hand, and what is refused."""

import pytest
from estimatescenes import GB, TAPERED, by_id, one_flow, scene

from coupling import estimate
from coupling.errors import SnapshotError

MB = {"steps": [[[0, 1, "4 MiB"]]]}
HUGE = {"steps": [[[0, 1, "8 TB"]]]}
PAIR = (one_flow("a", 0, 4, **MB), one_flow("b", 1, 9, **MB))  # odd nodes go up port 1
SHARING = (one_flow("a", 0, 4, **MB), one_flow("b", 2, 12, **MB))


def packets(*jobs, **fields):
    """Return a snapshot on a tapered tree that packets go over."""
    return scene(*jobs, model="packets", **fields)


def test_two_flows_on_one_uplink_take_twice_as_long():
    found = by_id(estimate(packets(*SHARING)))

    for name in "ab":
        assert found[name].interference == pytest.approx(2.0, rel=0.01)
        assert found[name].worst_link == "s1.0>s2.0"


def test_flows_that_share_no_link_have_exactly_1():
    found = estimate(packets(*PAIR))

    assert [job.interference for job in found.jobs] == [1.0, 1.0]
    assert [job.worst_link for job in found.jobs] == [None, None]


def test_a_lone_message_takes_its_bytes_and_a_packet_for_every_further_switch():
    """4 MiB at 1 GB/s, then 4 KiB and 90 ns for each of three links; random delays add 0.1 %."""
    seconds = 2**22 / GB + 3 * (4096 / GB + 90e-9)

    assert estimate(packets(PAIR[0])).jobs[0].alone_s == pytest.approx(seconds, rel=1e-3)


def test_jobs_leave_after_their_iterations():
    """The first does 1 iteration in 2 times, the second half of its 2 beside it, then is alone."""
    jobs = (SHARING[0] | {"iterations": 1}, SHARING[1] | {"iterations": 2})
    found = by_id(estimate(packets(*jobs)))
    alone_s = found["a"].alone_s

    assert found["a"].end_s == pytest.approx(2 * alone_s, rel=0.01)
    assert found["b"].end_s == pytest.approx(3 * alone_s, rel=0.01)


def test_queues_tell_how_busy_links_are_and_how_long_packets_wait():
    """The shared uplink always sends; behind it everything is half idle and nobody waits."""
    document = estimate(packets(*SHARING)).to_dict()
    queues = {row["link"]: row for row in document["queues"]}

    assert queues["s1.0>s2.0"]["utilization"] == pytest.approx(1.0, abs=0.01)
    assert queues["s1.1>n4"]["utilization"] == pytest.approx(0.5, abs=0.01)
    # 16 places in turn among packets of 4.096 us, of which one is being sent
    assert 14 < queues["s1.0>s2.0"]["waited_s"] / 4.096e-6 < 48
    assert queues["s1.1>n4"]["waited_s"] < 1e-8
    assert "queues" not in estimate(scene(*SHARING, model="fluid")).to_dict()


def test_loads_of_few_iterations_fill_no_link_more_than_once():
    """One job leaves after its only iteration; the other is faster from then on."""
    jobs = (SHARING[0] | {"iterations": 1}, SHARING[1] | {"iterations": 2})
    document = estimate(packets(*jobs)).to_dict()

    shares = [row["utilization"] for row in document["links"] if row["link"] == "s1.0>s2.0"]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1] / shares[0] == pytest.approx(4 / 3, rel=0.01)  # 2 and 1.5 times alone


def test_packets_attribute_only_when_asked_as_each_neighbour_is_another_simulation():
    assert [job.blame for job in estimate(packets(*SHARING)).jobs] == [(), ()]


def test_software_prepares_each_message_before_its_first_packet():
    """Three messages of a packet: the last is ready after 3 x 20 us and then takes its way."""
    many = {"steps": [[[0, 1, 4096], [0, 1, 4096], [0, 1, 4096]]]}
    seconds = 3 * 20e-6 + 4 * 4096 / GB + 3 * 90e-9

    found = estimate(packets(one_flow("a", 0, 4, **many), switch={"overhead": "20 us"}))

    assert found.jobs[0].alone_s == pytest.approx(seconds, rel=1e-3)


def test_blame_goes_to_who_shares_the_link():
    found = estimate(packets(*SHARING, one_flow("c", 5, 9, **MB)), blame=True)

    assert [job.blame for job in found.jobs] == [(("b", 1.0),), (("a", 1.0),), ()]


def test_the_switch_decides():
    """With a place for one packet, the delay of 90 ns is not hidden behind the next packet."""
    small = estimate(packets(PAIR[0], switch={"buffer": "4 KiB"})).jobs[0].alone_s
    usual = estimate(packets(PAIR[0], switch="codes")).jobs[0].alone_s

    assert small / usual == pytest.approx((4.096 + 0.09) / 4.096, abs=2e-3)
    assert estimate(packets(PAIR[0])).jobs[0].alone_s == usual


def test_samples_are_averaged_and_the_seed_decides():
    one, other = (
        estimate(packets(*SHARING, model_options={"seed": seed})).jobs[0].alone_s for seed in (3, 4)
    )
    both = estimate(packets(*SHARING, model_options={"seed": 3, "samples": 2})).jobs[0].alone_s

    assert one != other
    assert both == pytest.approx((one + other) / 2, rel=1e-12)


def test_ranks_that_go_on_by_themselves_wait_for_their_own_messages_alone():
    """Two pairs in two steps: with barriers each step lasts as long as the larger message."""
    steps = [[[0, 1, "4 MiB"], [2, 3, "1 MiB"]], [[0, 1, "1 MiB"], [2, 3, "4 MiB"]]]
    job = {"id": "a", "nodes": [0, 4, 1, 9], "steps": steps, "compute_s": 0}

    alone_s = {
        stepping: estimate(packets(job, model_options={"stepping": stepping})).jobs[0].alone_s
        for stepping in ("barrier", "rank")
    }

    assert alone_s["rank"] / alone_s["barrier"] == pytest.approx(5 / 8, rel=0.01)


REFUSED = {
    "packet": ({"packet": "1 B"}, "switch: packet: expected from 64 to 16777216 bytes, got 1"),
    "buffer": ({"buffer": "2 KiB"}, "switch: buffer: expected room for a packet of 4096 bytes"),
    "header": ({"header": "64 B"}, "switch: header: only the switching 'cut-through' looks at"),
    "long header": (
        {"header": "1 MB", "switching": "cut-through"},
        "switch: header: expected from 1 byte to a packet of 4096, got 1000000",
    ),
    "delay": ({"delay": "2 s"}, "switch: delay: expected a time up to 0.001 s"),
    "word": ({"nic": "fair"}, "switch: nic: expected one of round-robin, first-come, got 'fair'"),
    "key": ({"colour": 1}, "switch: colour: unknown key; choose from arbitration, buffer"),
    "channels": ({"virtual_channels": 0}, "switch: virtual_channels: expected a whole number from"),
    "preset": ("cray", "switch: expected one of codes"),
    "no table": (7, "switch: expected a table, got 7"),
}


@pytest.mark.parametrize("model", ["packets", "fluid"])
@pytest.mark.parametrize(("switch", "words"), REFUSED.values(), ids=list(REFUSED))
def test_a_wrong_switch_is_refused_by_its_field_whatever_the_model(model, switch, words):
    with pytest.raises(SnapshotError, match=words):
        estimate(packets(*PAIR, switch=switch) | {"model": model})


def test_a_switch_that_contradicts_the_fabric_is_refused():
    fabric = TAPERED | {"buffer": "32 KiB"}

    with pytest.raises(SnapshotError, match=r"switch: buffer: expected the fabric's own 32768"):
        estimate(packets(*PAIR, topology=fabric, switch={"buffer": "64 KiB"}))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"jobs": [one_flow("a", 0, 4, **HUGE), one_flow("b", 2, 12, **HUGE)]},
            r"would move 3\.9e\+11 packets over links, about \d+ \w+ of CPU time",
        ),
        (
            {"jobs": [one_flow("a", 0, 4, compute_s=1e9), SHARING[1]]},
            r"would follow 2\.\d+e\+10 s of jobs",
        ),
        (
            {"jobs": [SHARING[0] | {"start_s": 9e5}, SHARING[1]]},
            "the packet simulation would move .* at most a day",
        ),
        ({"fairness": "per-flow"}, "fairness: expected per-sender, got 'per-flow'"),
        (
            {"model_options": {"stepping": "free"}},
            "stepping: expected one of barrier, rank, got 'free'",
        ),
        ({"model_options": {"samples": 0}}, "samples: expected a whole number from 1"),
        (
            {"model_options": {"switch": "codes"}, "switch": "codes"},
            "switch: expected it here or in",
        ),
        ({"topology": TAPERED | {"duplex": "half"}}, "packets need full-duplex cables"),
    ],
)
def test_what_cannot_be_simulated_is_refused(fields, words):
    with pytest.raises(SnapshotError, match=words):
        estimate(packets(*SHARING) | fields)


def test_a_job_that_meets_nobody_costs_no_more_than_itself():
    """Beside one that computes for an hour, a short one would do 1e9 iterations if they met."""
    slow, quick = PAIR[0] | {"compute_s": 3600.0}, PAIR[1] | {"steps": [[[0, 1, "1 KiB"]]]}

    found = estimate(packets(slow, quick | {"compute_s": 1e-6}))

    assert [job.interference for job in found.jobs] == [1.0, 1.0]


def test_other_models_ask_nothing_of_a_switch_that_is_not_told():
    """A packet that no preset has room for matters to the model of packets alone."""
    roomy = {**TAPERED, "packet": "128 KiB"}

    assert estimate(scene(*PAIR, model="fluid", topology=roomy)).jobs[0].interference == 1.0
    with pytest.raises(SnapshotError, match="buffer: expected room for a packet of 131072 bytes"):
        estimate(packets(*PAIR, topology=roomy))
