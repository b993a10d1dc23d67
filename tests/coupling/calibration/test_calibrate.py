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
    counted_site,
    guessed,
    profile_of,
    write_counters,
    write_fabric,
    write_queue,
)

import fabricsim as fs

SLOW = "s1.5>s2.2"


def calibrated(site, **options):
    options = {"seconds": SECONDS, "profile": guessed(), "samples": 50} | options
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
        assert group.identifiable
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

    told = fs.now(str(noisy.fabric), noisy.queue, profile=profile, samples=20)

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
        own = [noisy.network_slowdown[job["job_id"]] for job in jobs if job["name"] == group.group]
        assert group.network_slowdown == pytest.approx(np.mean(own), rel=0.02)
    assert not any("bytes alone determine no other share" in what for what in found.assumed)


def test_bytes_alone_are_said_to_tell_the_fraction_at_full_speed_only(exact):
    assert any("bytes alone determine no other share" in what for what in calibrated(exact).assumed)


@pytest.mark.parametrize("link", [SLOW, "s2.0>s1.1"])
def test_a_slow_cable_is_named_with_its_speed_and_the_jobs_on_it(tmp_path, link):
    site = counted_site(tmp_path, noise=0.02, offset_s=1.0, waits=True, slow=link)

    found = calibrated(site)

    (cable,) = (cable for cable in found.slow if cable.link == link)
    assert cable.speed == pytest.approx(0.25, abs=0.05)
    assert cable.jobs
    # all others are named as one of several cables that could be the slow one
    assert all("or another of" in cable.why for cable in found.slow if cable.link != link)


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
        samples=20,
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
    assert not told["cfd"].identifiable
    assert not told["twin"].identifiable
    assert told["twin"].why == "not distinguished from cfd: one fraction for all"
    assert told["cfd"].fraction == told["twin"].fraction
    assert told["train"].why.startswith("no pattern of the profile fits")  # it is no stencil
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
        samples=5,
    )

    unseen = [group for group in found.groups if group.why == "sends over no measured link"]
    assert unseen
    assert all(not group.identifiable and group.fraction == 0.0 for group in unseen)


def test_the_written_profile_gives_back_the_measured_loads(exact, tmp_path):
    profile = tmp_path / "told.toml"
    profile.write_text(tomli_w.dumps(dict(calibrated(exact).profile)))

    told = fs.now(str(exact.fabric), exact.queue, profile=profile, samples=4)

    topology = fs.topology({"kind": "file", "path": str(exact.fabric)})
    for link in told.links[:10]:
        true = exact.rate[topology.link_number(link.link)] / RATE
        assert link.busy == pytest.approx(true, abs=0.02)
