"""Readings of counters: what they lost, when and of what they were made; others are refused."""

import pytest
from measured.ports import RATE, WORD, write_fabric, write_queue

import fabricsim as fs
from coupling.errors import SnapshotError

# a message of 1 MB takes 80 us, and crosses one switch: 90 ns, and a packet of 4 KiB sent on whole
WHILE_COMMUNICATING = 1.0 + (90e-9 + 4096 / RATE) / (1e6 / RATE)


def counters(path, *rows, header="node_guid,port_num,PortXmitDataExtended"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.fixture
def pair(tmp_path):
    """Four nodes on one switch, and a job on two of them."""
    fabric = write_fabric(tmp_path / "f.txt", 1, 4, 1)
    hosts = [device.name for device in fabric.devices if not device.is_switch]
    write_queue(tmp_path / "q.json", [(1, "pair", hosts[:2])])
    return tmp_path, fabric


def of_pair(pair, before, after, **options):
    folder, _ = pair
    rule = {"pattern": {"name": "ring"}, "comm_fraction": 0.1, "bytes_per_flow": "1 MB"}
    options = {"seconds": 1.0, "profile": {"version": 1, "rule": [rule]}, "samples": 5} | options
    return fs.calibrate(
        str(folder / "f.txt"), folder / "q.json", before=before, after=after, **options
    )


def ends(fabric):
    """Return GUID and port of each node, in order."""
    return [(device.guid, 1) for device in fabric.devices if not device.is_switch]


def test_counters_that_went_back_are_full_or_impossible_are_counted_and_left_out(pair):
    """
    Node 0 tells half of its speed; node 1 went back; 2 is full; 3 counts more than its cable has.

    The job's f is 0.5 by the one port that is left, and the latency on top (no other job runs).
    """
    folder, fabric = pair
    guids = [guid for guid, _ in ends(fabric)]
    words = int(RATE / WORD)
    head = "node_guid,port_num,PortXmitData,PortXmitDataExtended"
    before = counters(
        folder / "b.csv",
        f"0x{guids[0]:x},1,0,100",
        f"0x{guids[1]:x},1,0,100",
        f"0x{guids[2]:x},1,4294967295,",
        f"0x{guids[3]:x},1,0,100",
        header=head,
    )
    after = counters(
        folder / "a.csv",
        f"0x{guids[0]:x},1,0,{100 + words // 2}",
        f"0x{guids[1]:x},1,0,99",
        f"0x{guids[2]:x},1,4294967295,",
        f"0x{guids[3]:x},1,0,{100 + 2 * words}",
        "0xdead,1,0,5",
        header=head,
    )

    found = of_pair(pair, before, after)

    assert found.groups[0].fraction == pytest.approx(0.5 * WHILE_COMMUNICATING, rel=1e-3)
    told = " ".join(found.remarks)
    assert "Ports whose counters went back: reset, or wrapped at 32 bits: 1." in told
    assert "Ports whose 32-bit counter is full (read perfquery -x): 1." in told
    assert (
        "Ports that count more than their cable carries: reset, or another time apart: 1." in told
    )
    assert "Ports that the fabric has not: 1." in told


@pytest.mark.parametrize(
    ("after", "seconds", "why"),
    [(50, 1.0, "went back"), (10**6, 1e-9, "count more than their cable carries")],
)
def test_ports_that_carried_nothing_do_not_tell_that_the_others_did_not(pair, after, seconds, why):
    """The two files the wrong way round, or a time in other units: idle ports alone are left."""
    folder, fabric = pair
    (one, _), (other, _), *_ = ends(fabric)
    before = counters(folder / "b.csv", f"0x{one:x},1,100", f"0x{other:x},1,0")
    later = counters(folder / "a.csv", f"0x{one:x},1,{after}", f"0x{other:x},1,0")

    with pytest.raises(SnapshotError, match=rf"got none but of idle links \(1 ports .*{why}"):
        of_pair(pair, before, later, seconds=seconds)


def test_a_counter_of_32_bits_that_may_have_gone_round_is_left_out(pair):
    """At 12.5 GB/s it goes round in 1.4 s."""
    folder, fabric = pair
    (guid, _), *_ = ends(fabric)
    head = "node_guid,port_num,PortXmitData"
    before = counters(folder / "b.csv", f"0x{guid:x},1,10", header=head)
    after = counters(folder / "a.csv", f"0x{guid:x},1,1000000", header=head)

    found = of_pair(pair, before, after, seconds=1.3)
    with pytest.raises(SnapshotError, match="1 ports whose 32-bit counter may have gone round"):
        of_pair(pair, before, after, seconds=1.5)

    assert found.groups[0].fraction > 0.0


def test_what_the_other_end_received_tells_of_a_port_without_counters(pair):
    folder, fabric = pair
    switch = next(device for device in fabric.devices if device.is_switch)
    words = int(RATE / WORD)
    head = "node_guid,port_num,PortXmitDataExtended,PortRcvDataExtended"
    before = counters(folder / "b.csv", f"0x{switch.guid:x},1,0,0", header=head)
    after = counters(
        folder / "a.csv", f"0x{switch.guid:x},1,{words // 4},{words // 4}", header=head
    )

    found = of_pair(pair, before, after)

    assert found.groups[0].fraction == pytest.approx(0.25 * WHILE_COMMUNICATING, rel=1e-3)
    assert "Ports without counters, read at their other ends: 1." in found.remarks


def test_readings_of_received_words_alone_tell_their_time(pair):
    folder, fabric = pair
    switch = next(device for device in fabric.devices if device.is_switch)
    head = "node_guid,port_num,PortRcvDataExtended"
    before = counters(folder / "b.csv", f"0x{switch.guid:x},1,0", header=head)
    after = counters(folder / "a.csv", f"0x{switch.guid:x},1,1000", header=head)

    assert of_pair(pair, before, after, seconds=2.0).seconds == 2.0


def test_the_same_reading_twice_is_refused(pair):
    folder, fabric = pair
    (guid, _), *_ = ends(fabric)
    file = counters(folder / "b.csv", f"0x{guid:x},1,100")

    with pytest.raises(SnapshotError, match=r"b.csv: expected counters of a later reading, got"):
        of_pair(pair, file, file)


def test_times_of_the_readings_count_where_the_files_tell_them(pair):
    folder, fabric = pair
    (guid, _), *_ = ends(fabric)
    words = int(RATE / WORD)
    head = "timestamp,node_guid,port_num,PortXmitDataExtended"
    before = counters(folder / "b.csv", f"1717120960000000,0x{guid:x},1,0", header=head)
    after = counters(folder / "a.csv", f"1717120970000000,0x{guid:x},1,{words}", header=head)

    assert of_pair(pair, before, after, seconds=None).groups[0].fraction == pytest.approx(
        0.1 * WHILE_COMMUNICATING, rel=1e-3
    )
    with pytest.raises(SnapshotError, match="expected a reading after that of"):
        of_pair(pair, after, before, seconds=None)


def test_links_may_be_named_on_fabrics_without_ports(tmp_path):
    path = tmp_path / "q.json"
    write_queue(path, [(1, "pair", ["n0", "n1"])])
    head = "link,PortXmitDataExtended"
    before = counters(tmp_path / "b.csv", "n0>s1.0,0", header=head)
    after = counters(tmp_path / "a.csv", f"n0>s1.0,{int(RATE / WORD) * 3 // 4}", header=head)
    rule = {"pattern": {"name": "ring"}, "comm_fraction": 0.1, "bytes_per_flow": "1 MB"}

    found = fs.calibrate(
        {"kind": "fat-tree", "radix": 4, "levels": 2},
        path,
        before=before,
        after=after,
        seconds=1.0,
        profile={"version": 1, "rule": [rule]},
        samples=5,
    )

    assert found.groups[0].fraction == pytest.approx(0.75 * WHILE_COMMUNICATING, rel=1e-3)


def test_a_job_that_ran_for_part_of_the_time_sent_for_that_part(pair):
    """It ended a quarter through the minute: at f = 0.8 a fifth of the bytes of the minute."""
    folder, fabric = pair
    hosts = [device.name for device in fabric.devices if not device.is_switch]
    log = folder / "records.txt"
    log.write_text(
        "JobID|JobName|State|Submit|Start|End|ElapsedRaw|NNodes|NodeList\n"
        "1|pair|COMPLETED|2024-05-30T08:00:00|2024-05-30T08:00:00|2024-05-30T09:00:15|3615|2|"
        f"{hosts[0]},{hosts[1]}\n"
    )
    (guid, _), *_ = ends(fabric)
    words = int(RATE / WORD * 60.0 * 0.2)
    before = counters(folder / "b.csv", f"0x{guid:x},1,0")
    after = counters(folder / "a.csv", f"0x{guid:x},1,{words}")
    rule = {"pattern": {"name": "ring"}, "comm_fraction": 0.1, "bytes_per_flow": "1 MB"}

    found = fs.calibrate(
        str(folder / "f.txt"),
        sacct=log,
        at="2024-05-30T09:00:00",
        before=before,
        after=after,
        seconds=60.0,
        profile={"version": 1, "rule": [rule]},
        samples=5,
    )

    assert found.groups[0].fraction == pytest.approx(0.8 * WHILE_COMMUNICATING, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"seconds": None}, "a.csv: expected --seconds, the time between the two readings"),
        ({"seconds": -1.0}, "seconds: expected"),
        ({"by": "colour"}, "by: expected one of"),
        ({"noise": 0.0}, "noise: expected"),
        ({"tick_s": "x"}, "tick: expected"),
        ({"routing": "adaptive"}, "calibration needs a routing that fixes the path"),
        ({"lft": "x", "routing": "d-mod-k"}, "expected lft or routing, got both"),
        ({"lft": "nowhere.lft"}, "nowhere.lft: cannot be read"),
    ],
)
def test_wrong_options_are_refused_by_name(pair, options, fault):
    folder, fabric = pair
    (guid, _), *_ = ends(fabric)
    before = counters(folder / "b.csv", f"0x{guid:x},1,0")
    after = counters(folder / "a.csv", f"0x{guid:x},1,1000")

    with pytest.raises(fs.FabricsimError, match=fault):
        of_pair(pair, before, after, **options)


def test_counters_of_another_fabric_are_refused(pair):
    folder, _ = pair
    before = counters(folder / "b.csv", "0xdead,1,0")

    with pytest.raises(SnapshotError, match=r"b.csv: expected ports of .*, got none that it has"):
        of_pair(pair, before, before)


def test_counters_of_ports_need_a_fabric_with_ports(tmp_path):
    write_queue(tmp_path / "q.json", [(1, "pair", ["n0", "n1"])])
    before = counters(tmp_path / "b.csv", "0x1,1,0")

    with pytest.raises(SnapshotError, match="has no InfiniBand ports"):
        fs.calibrate(
            {"kind": "fat-tree", "radix": 4, "levels": 2},
            tmp_path / "q.json",
            before=before,
            after=before,
            seconds=1.0,
        )
