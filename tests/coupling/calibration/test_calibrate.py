"""`calibrate`: what ports counted tells how jobs communicate, and what it cannot tell is said."""

import json
import re

import numpy as np
import pytest
import tomli_w
from measured.ports import (
    KINDS,
    RATE,
    SECONDS,
    WORD,
    counted_site,
    guessed,
    profile_of,
    write_counters,
    write_fabric,
    write_queue,
)

import fabricsim as fs
from coupling.errors import SnapshotError

SLOW = "s1.5>s2.2"


def calibrated(site, **options):
    options = {"seconds": SECONDS, "profile": guessed(), "draws": 50} | options
    return fs.calibrate(
        str(site.fabric), site.queue, before=site.before, after=site.after, **options
    )


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    return counted_site(tmp_path_factory.mktemp("exact"))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    return counted_site(
        tmp_path_factory.mktemp("noisy"), noise=0.02, offset_s=2.0, missing=0.2, waits=True
    )


def test_exact_counters_tell_pattern_and_fraction_of_every_group(exact):
    """The truth is the fixed point of the model, which counters show but for whole words."""
    found = calibrated(exact)

    assert {group.group: group.pattern for group in found.groups} == {
        "cfd": "stencil",
        "fft": "all-to-all",
        "train": "allreduce",
        "graph": "sub-all-to-all",
    }
    for group in found.groups:
        assert group.fraction == pytest.approx(KINDS[group.group][1], abs=0.003)
        assert group.told
    assert (found.rank, found.columns, found.slow) == (4, 4, ())
    assert found.explained > 0.999


def test_noise_offset_and_missing_ports_leave_fractions_near_the_truth(noisy):
    found = calibrated(noisy, profile=profile_of({k: (p, 0.3) for k, (p, _) in KINDS.items()}))

    for group in found.groups:
        assert group.low <= group.fraction <= group.high
        assert group.fraction == pytest.approx(KINDS[group.group][1], rel=0.03)
    assert any("without counters: 20" in line for line in found.remarks)


def test_links_whose_ports_were_not_read_carry_what_the_profile_says(noisy, tmp_path):
    """Held-out links: `now` with the profile that was written predicts their true load."""
    profile = tmp_path / "told.toml"
    profile.write_text(tomli_w.dumps(dict(calibrated(noisy).profile)))

    told = fs.now(str(noisy.fabric), noisy.queue, profile=profile, draws=20)

    topology = fs.topology({"kind": "file", "path": str(noisy.fabric)})
    busy = {link.link: link.busy for link in told.links}
    held = [link for link in noisy.missing.tolist() if topology.link_name(link) in busy]
    true = noisy.rate[held] / RATE
    off = np.abs(np.array([busy[topology.link_name(link)] for link in held]) - true)
    assert len(held) > 8
    assert off.mean() < 0.03


def test_waiting_ports_of_nodes_tell_the_slowdown_without_the_model(noisy):
    found = calibrated(noisy)

    jobs = json.loads(noisy.queue.read_text())["jobs"]
    for group in found.groups:
        own = [noisy.slowdown[job["job_id"]] for job in jobs if job["name"] == group.group]
        assert group.slowdown == pytest.approx(np.mean(own), rel=0.02)
    assert not any("bytes alone tell no other share" in what for what in found.assumed)


def test_bytes_alone_are_said_to_tell_the_fraction_at_full_speed_only(exact):
    assert any("bytes alone tell no other share" in what for what in calibrated(exact).assumed)


@pytest.mark.parametrize("link", [SLOW, "s2.0>s1.1"])
def test_a_slow_cable_is_named_with_its_speed_and_the_jobs_on_it(tmp_path, link):
    site = counted_site(tmp_path, noise=0.02, offset_s=1.0, waits=True, slow=link)

    found = calibrated(site)

    (cable,) = found.slow
    assert cable.link == link
    assert cable.speed == pytest.approx(0.25, abs=0.05)
    assert cable.jobs


def test_a_healthy_fabric_has_no_slow_cable(noisy):
    assert calibrated(noisy).slow == ()


def test_a_link_that_carries_less_than_its_job_sends_elsewhere_is_named(tmp_path):
    """One cable of a ring over two leaves counts half of what the job sends everywhere else."""
    fabric = write_fabric(tmp_path / "f.txt", 2, 4, 1)
    hosts = [device.name for device in fabric.devices if not device.is_switch]
    write_queue(tmp_path / "q.json", [(1, "ring", hosts)])
    spine = next(i for i, d in enumerate(fabric.devices) if d.name == "s2.0")
    # ranks in order: every node sends to the next, so each cable carries one flow each way
    rate = dict.fromkeys(fabric.cables, 0.4 * RATE)
    rate[spine, 1] = 0.2 * RATE
    before, after = write_counters(tmp_path, fabric, rate)
    profile = {"version": 1, "rule": [{"pattern": {"name": "ring"}, "comm_fraction": 0.1,
                                       "bytes_per_flow": "1 MB"}]}  # fmt: skip

    found = fs.calibrate(
        str(tmp_path / "f.txt"),
        tmp_path / "q.json",
        before=before,
        after=after,
        seconds=SECONDS,
        profile=profile,
        draws=20,
    )

    (cable,) = found.slow
    assert cable.link == "s2.0>s1.0"
    assert cable.speed == pytest.approx(0.5, rel=0.01)
    assert found.groups[0].fraction == pytest.approx(0.4, rel=0.01)


def test_groups_that_always_send_over_the_same_links_share_one_fraction(tmp_path):
    """Two jobs on the same nodes with the same pattern: only their sum can be seen."""
    site = counted_site(tmp_path)
    jobs = json.loads(site.queue.read_text())["jobs"]
    twin = {**jobs[0], "job_id": 900, "name": "twin"}
    site.queue.write_text(json.dumps({"jobs": [*jobs[:1], twin, *jobs[2:4]]}))
    kinds = {name: ({"name": "stencil", "dims": 3}, 0.3) for name in (*KINDS, "twin")}

    found = calibrated(site, profile=profile_of(kinds))

    told = {group.group: group for group in found.groups}
    assert not told["cfd"].told
    assert not told["twin"].told
    assert told["twin"].why == "not told apart from cfd: one fraction for all"
    assert told["cfd"].fraction == told["twin"].fraction
    assert told["train"].told
    assert (found.rank, found.columns) == (3, 4)
    rules = [rule["match"] for rule in found.profile["rule"]]
    assert rules.count({"name": "twin"}) == 1  # as it was


def test_a_group_that_no_measured_port_sees_is_said_so(tmp_path, exact):
    queue = tmp_path / "q.json"
    jobs = json.loads(exact.queue.read_text())["jobs"]
    queue.write_text(json.dumps({"jobs": jobs}))
    lines = exact.before.read_text(), exact.after.read_text()
    wanted = {job["nodes"] for job in jobs if job["name"] == "graph"}
    assert wanted
    # only the ports of one node that the others have: of lid 1 up to that of its neighbour
    names = [block for block in re.split(r"(?=# Port)", lines[0]) if block]
    some = names[0].split(" port")[0]
    for path, text in zip(("b.txt", "a.txt"), lines, strict=True):
        kept = [block for block in re.split(r"(?=# Port)", text) if block.startswith(f"{some} ")]
        (tmp_path / path).write_text("".join(kept))

    found = fs.calibrate(
        str(exact.fabric),
        queue,
        before=tmp_path / "b.txt",
        after=tmp_path / "a.txt",
        seconds=SECONDS,
        profile=profile_of(),
        draws=5,
    )

    unseen = [group for group in found.groups if group.why == "sends over no measured link"]
    assert unseen
    assert all(not group.told and group.fraction == 0.0 for group in unseen)


def test_the_written_profile_gives_back_the_measured_loads(exact, tmp_path):
    profile = tmp_path / "told.toml"
    profile.write_text(tomli_w.dumps(dict(calibrated(exact).profile)))

    told = fs.now(str(exact.fabric), exact.queue, profile=profile, draws=4)

    topology = fs.topology({"kind": "file", "path": str(exact.fabric)})
    for link in told.links[:10]:
        true = exact.rate[topology.link_number(link.link)] / RATE
        assert link.busy == pytest.approx(true, abs=0.02)


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
    options = {"seconds": 1.0, "profile": {"version": 1, "rule": [rule]}, "draws": 5} | options
    return fs.calibrate(
        str(folder / "f.txt"), folder / "q.json", before=before, after=after, **options
    )


def ends(fabric):
    """Return GUID and port of each node, in order."""
    return [(device.guid, 1) for device in fabric.devices if not device.is_switch]


def test_counters_that_went_back_are_full_or_impossible_are_counted_and_left_out(pair):
    """
    Node 0 tells half of its speed; node 1 went back; 2 is full; 3 counts more than its cable has.

    The job's f is 0.5 by the one port that is left (nobody else is on the switch).
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

    assert found.groups[0].fraction == pytest.approx(0.5, rel=1e-3)
    told = " ".join(found.remarks)
    assert "Ports whose counters went back: reset, or wrapped at 32 bits: 1." in told
    assert "Ports whose 32-bit counter is full (read perfquery -x): 1." in told
    assert (
        "Ports that count more than their cable carries: reset, or another time apart: 1." in told
    )
    assert "Ports that the fabric has not: 1." in told


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

    assert found.groups[0].fraction == pytest.approx(0.25, rel=1e-3)
    assert "Ports without counters whose other end tells what it received: 1." in found.remarks


def test_times_of_the_readings_count_where_the_files_tell_them(pair):
    folder, fabric = pair
    (guid, _), *_ = ends(fabric)
    words = int(RATE / WORD)
    head = "timestamp,node_guid,port_num,PortXmitDataExtended"
    before = counters(folder / "b.csv", f"1717120960000000,0x{guid:x},1,0", header=head)
    after = counters(folder / "a.csv", f"1717120970000000,0x{guid:x},1,{words}", header=head)

    assert of_pair(pair, before, after, seconds=None).groups[0].fraction == pytest.approx(
        0.1, rel=1e-3
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
        draws=5,
    )

    assert found.groups[0].fraction == pytest.approx(0.75, rel=1e-3)


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
        draws=5,
    )

    assert found.groups[0].fraction == pytest.approx(0.8, rel=1e-3)


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
