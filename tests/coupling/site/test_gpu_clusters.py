"""Jobs on GPU clusters: times by hand, byte by byte of the busiest link."""

import pytest
from estimatescenes import scene
from ib_fabrics import tree_fabric, write_ibnetdiscover

from coupling import SnapshotError, estimate
from netsim.infiniband.export import export
from netsim.infiniband.wiring import wire_fat_tree
from netsim.registries.topologies import make_topology

MS, LINK = 1e-3, 50e9  # seconds; bytes per second of an adapter
CLUSTER = {"kind": "gpu-cluster", "hosts": 32, "bandwidth": "400 Gb/s", "latency": "none"}
CLOS = {"fabric": "clos", "hosts_per_unit": 4}  # 32 adapters on each of 8 leaves
RINGS = {"name": "training", "tp": 8, "nbytes": "1 GB", "activation_bytes": "1 B"}


ALL_TO_ALL = {"name": "all-to-all", "nbytes": "1 MB"}


def alone(pattern, cluster=None, nodes=32, ranks=8, model="fluid", **fields):
    """Return the seconds of an iteration of one job of GPUs."""
    job = {"id": "a", "nodes": list(range(nodes)), "ranks_per_node": ranks, "compute_s": 0}
    (found,) = estimate(
        scene(
            job | {"pattern": pattern},
            topology=CLUSTER | (cluster or {}),
            model=model,
            **fields,
        )
    ).jobs
    return found.alone_s


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
@pytest.mark.parametrize(
    "cluster", [{}, {"fabric": "rail-only"}, CLOS, {"fabric": "dual-plane", "bandwidth": LINK / 2}]
)
def test_eight_rings_take_as_long_on_every_fabric(cluster, model):
    """2 x 31/32 x 1 GB by an adapter of 50 GB/s each."""
    assert alone(RINGS, cluster, model=model) == pytest.approx(38.75 * MS)


@pytest.mark.parametrize(
    ("lost", "rule", "expected"),
    [
        (1, "respread", 44.29),  # 38.75 x 8 / 7
        (1, "double", 77.50),
        (2, "respread", 51.67),
        (2, "double", 77.50),
    ],
)
@pytest.mark.parametrize("fabric", ["rail", "rail-only"])
def test_a_lost_rail_costs_what_its_messages_take_elsewhere(lost, rule, expected, fabric):
    failed = {"failed_switches": [f"s1.{rail}" for rail in range(lost)], "on_failure": rule}

    assert alone(RINGS, failed | {"fabric": fabric}) == pytest.approx(expected * MS, abs=5e-6)


def test_in_two_planes_the_other_port_carries_twice_as_much():
    lost = {"fabric": "dual-plane", "bandwidth": LINK / 2, "failed_switches": ["s1.0"]}

    assert alone(RINGS, lost | {"on_failure": "plane"}) == pytest.approx(77.50 * MS)


@pytest.mark.parametrize(
    ("failed", "rule", "longer"),
    [
        pytest.param({"failed_switches": ["s1.0"]}, "respread", 8 / 7, marks=pytest.mark.heavy),
        ({"failed_switches": ["s1.0", "s1.3"]}, "respread", 8 / 6),
        pytest.param({"failed_switches": ["s1.0"]}, "double", 2, marks=pytest.mark.heavy),
        ({"failed_links": ["n5>s1.3"]}, "respread", 8 / 7),  # of one host: what it sends and gets
        ({"failed_links": ["n5>s1.3"]}, "double", 2),
    ],
)
@pytest.mark.parametrize("pxn", [True, False])
def test_with_and_without_pxn_the_adapters_left_carry_the_rest(failed, rule, longer, pxn):
    """248 MB leave each adapter of 32 hosts in an all-to-all of 1 MB: 4.96 ms."""
    cluster = failed | {"on_failure": rule, "pxn": pxn}

    found = alone(ALL_TO_ALL, cluster, routing="spray")

    assert found == pytest.approx(4.96 * MS * longer)


def test_without_pxn_abort_names_the_lost_rail():
    lost = {"failed_switches": ["s1.2"], "pxn": False, "on_failure": "abort"}

    with pytest.raises(SnapshotError, match="rail 2 is lost between n0 and n1; the job stops"):
        alone(ALL_TO_ALL, lost)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_where_gpus_have_two_adapters_all_that_are_left_take_the_lost_share(lost):
    """Eight rings on 16 adapters of 50 GB/s, 19.375 ms; one of them lost: x 16/15."""
    cluster = {"nics": 16, "failed_switches": [f"s1.{rail}" for rail in range(lost)]}

    assert alone(RINGS, cluster) == pytest.approx(19.375 * MS * 16 / (16 - lost))


def test_a_message_of_a_whole_host_stays_on_the_adapter_that_lost_a_port():
    """16 GB by 8 adapters of 2 x 25 GB/s: 2 GB each, all by one port where the other is lost."""
    lost = {"fabric": "dual-plane", "bandwidth": LINK / 2, "failed_switches": ["s1.0"]}
    job = {"id": "a", "nodes": [0, 1], "steps": [[[0, 1, 16e9]]], "compute_s": 0}

    (found,) = estimate(scene(job, topology=CLUSTER | lost)).jobs

    assert found.alone_s == pytest.approx(2e9 / (LINK / 2))


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"on_failure": "abort"}, "job a: rail 0 is lost between n0 and n1; the job stops"),
        (
            {"on_failure": "plane", "fabric": "dual-plane", "failed_switches": ["s1.0", "s1.1"]},
            "rail 0 of plane 0 is lost between n0 and n1; the job stops",
        ),
    ],
)
def test_a_job_that_a_lost_rail_stops_is_refused_by_name(cluster, words):
    with pytest.raises(SnapshotError, match=words):
        alone(RINGS, {"failed_switches": ["s1.0"]} | cluster)


@pytest.mark.parametrize("fabric", ["rail", "clos"])
def test_tables_of_the_tree_between_adapters_are_loaded(tmp_path, fabric):
    """Tables of D-mod-k: 38.75 ms as by D-mod-k; of another fabric they are refused."""
    units = {"hosts_per_unit": 4 if fabric == "clos" else 16, "fabric": fabric}
    tree = make_topology(CLUSTER | units).endpoint_tree
    wired = tree_fabric(tree)
    (tmp_path / "fabric.txt").write_text(write_ibnetdiscover(wired))
    (tmp_path / "tables.lft").write_text(export(wire_fat_tree(wired), []).text())
    tables = {"lft": str(tmp_path / "tables.lft"), "fabric": str(tmp_path / "fabric.txt")}

    assert alone(RINGS, units, routing=tables) == pytest.approx(38.75 * MS)
    with pytest.raises(SnapshotError, match=r"fabric.txt: expected the fabric"):
        alone(RINGS, units | {"fabric": "rail-only"}, routing=tables)


def test_without_owned_links_jigsaw_is_d_mod_k():
    assert alone(RINGS, routing="jigsaw") == alone(RINGS) == pytest.approx(38.75 * MS)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ({}, 4.96),  # 248 of 256 MB leave by each adapter
        ({"hosts_per_unit": 16, "oversubscription": 2}, 5.12),  # 2,048 MB by 8 uplinks
        # 8 x 31 MB by the adapter, 7 x 32 MB by the GPU's link of 10 GB/s
        ({"gpu_link": "10 GB/s"}, 22.4),
    ],
)
def test_an_all_to_all_is_as_long_as_its_busiest_link(cluster, expected):
    assert alone(ALL_TO_ALL, cluster) == pytest.approx(expected * MS)


def test_an_all_to_all_over_seven_to_one_is_as_long_as_the_uplinks_of_a_pod():
    """448 hosts of one GPU, 56 a pod: 392 of 447 messages cross a seventh of the links, 6.1387."""
    pods = {"hosts": 448, "gpus": 1, "hosts_per_unit": 28, "units_per_pod": 2, "spines": 4}
    above = {"oversubscription": [1, 7], "fabric": "clos"}
    args = {"nodes": 448, "ranks": 1, "routing": "spray"}
    free = alone(ALL_TO_ALL, pods, **args)

    assert free == pytest.approx(447e6 / LINK)
    assert alone(ALL_TO_ALL, pods | above, **args) / free == pytest.approx(392 * 7 / 447)
    ring = {"name": "allreduce", "algorithm": "ring", "nbytes": "1 GB"}
    ratio = alone(ring, pods | above, **args) / alone(ring, pods, **args)
    assert ratio == pytest.approx(1.0)


def collective(operation, algorithm="ring", nbytes="1 GB"):
    """Return a collective of all GPUs of a job as a pattern."""
    spec = {"operation": operation, "algorithm": algorithm, "nbytes": nbytes}
    return {"name": "gpu-collective"} | spec


@pytest.mark.parametrize("cluster", [{}, {"fabric": "rail-only"}, CLOS])
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (collective("allreduce"), 4.9219),  # 2 x 63/64 x 1 GB / 8 by each adapter
        (collective("allreduce", "hierarchical"), 4.375),  # 2 x 7/8
        (collective("allreduce", "tree"), 5.0),  # 2: to a parent, and to one of two children
        (collective("allreduce", "in-network"), 2.5),  # S / 8 by each adapter, once
        (collective("allgather"), 2.4609),  # 63/64
        (collective("reduce-scatter"), 2.4609),
        (collective("broadcast"), 2.5),
        (collective("all-to-all", "direct", "1 MB"), 1.12),  # 56 MB
    ],
)
def test_a_collective_uses_all_adapters(cluster, pattern, expected):
    fabric = {"gpu_link": "nvlink5"} | cluster

    assert alone(pattern, fabric, nodes=8) == pytest.approx(expected * MS, rel=1e-4)


@pytest.mark.parametrize(
    ("hosts", "algorithm", "expected"),
    [
        (2, "tree", 2.50),  # S/k
        (2, "auto", 2.50),
        (2, "ring", 4.6875),  # 2 x 15/16
        (3, "tree", 3.75),  # 1.5 S/k
        (4, "tree", 5.0),
        (8, "tree", 5.0),
        (16, "tree", 5.0),
    ],
)
def test_a_double_tree_sends_least_between_two_hosts(hosts, algorithm, expected):
    pattern = collective("allreduce", algorithm)

    found = alone(pattern, {"gpu_link": "nvlink5"}, nodes=hosts)

    assert found == pytest.approx(expected * MS, rel=1e-4)


def test_where_links_inside_hosts_are_slower_they_decide():
    """1.75 GB out of each GPU at 450 GB/s."""
    assert alone(collective("allreduce", "tree"), nodes=2) == pytest.approx(1.75 / 450)


@pytest.mark.parametrize(
    ("algorithm", "hosts", "ranks", "expected"),
    [
        ("nvls", 1, 8, 1.125 / 450),  # each array, and an eighth of the sums
        ("nvls", 1, 4, 1.25 / 450),
        ("in-network", 4, 8, 1.125 / 450),  # 2.5 ms, as 1/8 by each adapter
        ("in-network", 4, 2, 1.5 / 450),  # beside a half by each of two adapters
        ("in-network", 4, 1, 1 / 400),  # whole hosts have no part inside
    ],
)
def test_sums_in_switches_send_each_array_once(algorithm, hosts, ranks, expected):
    """1 GB by hand; between hosts 1/k GB by each adapter of 50 GB/s."""
    adapters = 8 if ranks == 1 else ranks
    by_nic = 1 / adapters / 50 if hosts > 1 else 0

    found = alone(collective("allreduce", algorithm), nodes=hosts, ranks=ranks)

    assert found == pytest.approx(max(expected, by_nic))


def test_a_sum_in_switches_crosses_each_leaf_once():
    """32 hosts on two leaves a rail: each of 16 uplinks in use carries 1/8 GB, one way and back."""
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "compute_s": 0}
    topology = CLUSTER | {"hosts_per_unit": 16}

    (found,) = estimate(
        scene(job | {"pattern": collective("allreduce", "in-network")}, topology=topology)
    ).jobs

    sent = {own.links: own.nbytes for own in found.bytes_by_class}
    assert sent["leaf to spine"] == pytest.approx(16 * 1e9 / 8)


@pytest.mark.parametrize(
    ("algorithm", "fabric", "nodes", "ranks", "words"),
    [
        ("nvls", {}, 2, 8, "'nvls' needs a group within the 8 GPUs of a host, it is on 2 hosts"),
        ("nvls", {"gpus": 1}, 2, 1, "'nvls' needs hosts of several GPUs, they have one"),
        ("tree", {"gpus": 1}, 2, 1, "job a: algorithm: 'tree' needs hosts of several GPUs"),
    ],
)
def test_algorithms_that_hosts_cannot_run_are_refused(algorithm, fabric, nodes, ranks, words):
    with pytest.raises(SnapshotError, match=words):
        alone(collective("allreduce", algorithm), fabric, nodes=nodes, ranks=ranks)


@pytest.mark.parametrize(
    ("algorithm", "nodes", "busbw"),
    [
        ("ring", 32, 8 * 48),  # 192 of 200, 96 of 100 GB/s: nccl 812, nccl-tests 119
        ("ring", 1, 370),  # nccl-tests 212
        ("nvls", 1, 476),  # nccl-tests 290
    ],
)
def test_with_the_efficiency_of_nccl_peaks_are_those_measured(algorithm, nodes, busbw):
    """64 GB, so that latency is below 1 %; within 3 %."""
    pattern, n = collective("allreduce", algorithm, "64 GB"), 8 * nodes

    found = alone(pattern, {"efficiency": "nccl"}, nodes=nodes)

    assert 2 * (n - 1) / n * 64 / found == pytest.approx(busbw, rel=0.03)


@pytest.mark.parametrize(
    ("algorithm", "expected_us"),
    [
        ("ring", 8.4 + 56 * 3.4 + 6 * 14),  # 62 steps on 4 hosts of 8, of which 6 between hosts
        ("tree", 8.4 + 2 * (7 * 4 + 2 * 14)),
        ("hierarchical", 8.4 + 14 * 3.4 + 6 * 14),
        ("in-network", 8.4 + 25 + 18),
    ],
)
def test_latencies_of_the_tuner_are_added_to_the_time(algorithm, expected_us):
    """At 8 bytes nothing else is left."""
    pattern = collective("allreduce", algorithm, "8 B")

    found = alone(pattern, {"efficiency": "nccl"}, nodes=4)

    assert found == pytest.approx(expected_us * 1e-6, rel=1e-3)


@pytest.mark.parametrize("hosts", [2, 3, 4, 16])
def test_auto_takes_what_the_tuner_has_as_faster(hosts):
    """NCCL's formulas written out: base 8.4 us, steps of 3.4 or 4 us inside and 14 us between."""
    n, rate = 8 * hosts, 8 * LINK
    chosen = set()
    for nbytes in (1e4, 1e6, 1e7, 1e8, 1e9, 1e10):
        steps_us = (2 * (n - 1) - 2 * (hosts - 1)) * 3.4 + 2 * (hosts - 1) * 14
        ring_s = (8.4 + steps_us) * 1e-6 + 2 * (n - 1) / n * nbytes / rate
        log2 = hosts.bit_length() - 1
        share = {2: 1.0, 3: 1.5}.get(hosts, 2.0) / 0.92
        tree_s = (8.4 + 2 * (7 * 4 + log2 * 14)) * 1e-6 + share * nbytes / rate
        fabric = {"gpu_link": "nvlink5"}
        expected = "tree" if tree_s < ring_s else "ring"
        chosen.add(expected)
        auto, own = (
            alone(collective("allreduce", name, nbytes), fabric, nodes=hosts)
            for name in ("auto", expected)
        )
        assert auto == own

    assert chosen == ({"tree"} if hosts < 4 else {"tree", "ring"})


@pytest.mark.parametrize(
    ("efficiency", "words"), [("none", "efficiency 1 of all links"), ("nccl", "0.96 of adapters")]
)
def test_results_state_the_efficiency_of_links(efficiency, words):
    job = {"id": "a", "nodes": [0, 1], "ranks_per_node": 8, "pattern": RINGS, "compute_s": 0}

    found = estimate(scene(job, topology=CLUSTER | {"efficiency": efficiency}))

    assert any(words in line for line in found.assumed)


@pytest.mark.parametrize(("lost", "left"), [(1, 7), (2, 6)])
def test_a_ring_on_fewer_adapters_is_slower_by_their_share(lost, left):
    failed = {"failed_switches": [f"s1.{rail}" for rail in range(lost)]}

    whole, found = (alone(collective("allreduce"), cluster) for cluster in ({}, failed))

    assert found / whole == pytest.approx(8 / left)


def phased(phases, **fields):
    """Return a job of all 256 GPUs."""
    return {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "phases": phases} | fields


def times(*jobs, topology=CLUSTER, model="fluid", **fields):
    """Return seconds of iterations alone and together, by job."""
    found = estimate(scene(*jobs, topology=topology, model=model, **fields)).jobs
    return {job.id: (job.alone_s, job.together_s) for job in found}


RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
GATHER, SCATTER = (
    {"operation": operation, "nbytes": "1 GB"} for operation in ("allgather", "reduce-scatter")
)


@pytest.mark.parametrize("fabric", [{}, CLOS])
@pytest.mark.parametrize(
    ("collectives", "parallel", "expected"),
    [
        ([RING], {"tp": 8}, 38.75),
        ([RING], {"tp": 4}, 19.6875),  # two GPUs of a host in a ring, and two adapters
        ([RING], {"tp": 2}, 9.921875),  # 2 x 127/128 / 4
        ([RING], {"tp": 4, "pp": 2, "order": ["pp", "tp", "cp", "dp"]}, 38.75),
        ([GATHER, GATHER, SCATTER], {}, 7.4707),  # 3 x 255/256 / 8
    ],
)
def test_groups_use_the_adapters_of_their_gpus(fabric, collectives, parallel, expected):
    job = phased([{"collectives": collectives}], parallel=parallel)

    found, _ = times(job, topology=CLUSTER | fabric)["a"]

    assert found == pytest.approx(expected * MS, rel=1e-4)


BACKWARD = [
    {"compute_s": "70 ms"},
    {"compute_s": "30 ms", "hidden": True, "collectives": [RING]},
]


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
@pytest.mark.parametrize(("hidden_s", "expected"), [(0.030, 108.75), (0.060, 130), (0, 108.75)])
def test_computation_beside_a_ring_exposes_the_rest(model, hidden_s, expected):
    """Backward 30 ms beside a ring of 38.75: 8.75 are exposed; beside 60 ms none."""
    phases = [
        {"compute_s": 0.070},
        {"compute_s": hidden_s, "hidden": True, "collectives": [RING]},
    ]

    found, _ = times(phased(phases, parallel={"tp": 8}), model=model)["a"]

    assert found == pytest.approx(expected * MS)


def test_beside_a_job_that_always_sends_less_is_hidden():
    """
    Another ring on the same adapters doubles it: 77.5 - 30 = 47.5 exposed, 147.5 in all.

    Interference 147.5 / 108.75 = 1.356, without overlap 177.5 / 138.75 = 1.279.
    """
    other = phased([{"collectives": [RING]}], parallel={"tp": 8}, id="b", iterations=40)
    serial = [{"compute_s": "100 ms", "collectives": [RING]}]
    for phases, together in ((BACKWARD, 147.5), (serial, 177.5)):
        job = phased(phases, parallel={"tp": 8}, iterations=8)

        found = times(job, other, shared=True, model="flow-level", fairness="per-flow")

        assert found["a"][1] == pytest.approx(together * MS, rel=1e-6)


def test_the_contention_model_knows_slack():
    """A ring of 38.75 beside 80 ms of computation, even if doubled, costs nothing."""
    other = phased([{"collectives": [RING]}], parallel={"tp": 8}, id="b")
    phases = [{"compute_s": "80 ms", "hidden": True, "collectives": [RING]}]

    alone_s, together_s = times(phased(phases, parallel={"tp": 8}), other, shared=True)["a"]

    assert alone_s == pytest.approx(0.080)
    assert together_s == pytest.approx(0.080)


@pytest.mark.parametrize("model", ["packets", "hop-cost"])
def test_models_without_hidden_computation_say_so(model):
    with pytest.raises(SnapshotError, match=f"model '{model}': computation beside communication"):
        times(phased(BACKWARD, parallel={"tp": 8}), model=model)


def test_packets_refuse_latencies_of_collectives_that_they_would_leave_out():
    job = phased([{"collectives": [RING]}], parallel={"tp": 8})

    with pytest.raises(SnapshotError, match="packets know no latencies of collectives"):
        times(job, topology=CLUSTER | {"efficiency": "nccl"}, model="packets")


MODEL = {"params": "70e9", "layers": 80, "hidden": 8192, "seq": 4096, "compute_s": 1.0}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # tensor parts: 4 rings of 8 GPUs for each of 80 layers, 7/4 x 67.1 MB at 450 GB/s;
        # gradients of 70e9 / 8 numbers of two bytes, 2 x 31/32, by an adapter, beside 2/3 s
        (
            {"tp": 8},
            1.0 - 2 / 3 + 320 * 1.75 * 4096 * 8192 * 2 / 450e9 + 1.9375 * 17.5e9 / LINK,
        ),
        # bubble of a pipeline: 7/32 of the computation; all else fits beside it
        ({"pp": 8, "micro_batches": 32, "params": "1e3", "hidden": 1}, 1.0 + 7 / 32),
        (
            {"pp": 8, "micro_batches": 32, "interleave": 4, "params": "1e3", "hidden": 1},
            1 + 7 / 128,
        ),
        # shards: 140 GB once beside 1/3 s of computation, twice beside 2/3
        ({"fsdp": True}, 3 * 255 / 256 * 140e9 / 8 / LINK),
    ],
)
def test_a_model_takes_what_its_parts_take_by_hand(fields, expected):
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "model": MODEL | fields}

    assert times(job)["a"][0] == pytest.approx(expected, rel=1e-4)


def test_exposed_collectives_inside_hosts_may_cost_nothing_beside_hidden_ones_outside():
    """By hand: tp stays inside hosts; the ring over dp, 2 x 31/32 x 1 GB, is hidden for 30 ms."""
    phases = [
        {"compute_s": "70 ms", "collectives": [RING | {"over": ["tp"]}]},
        {"compute_s": "30 ms", "hidden": True, "collectives": [RING | {"over": ["dp"]}]},
    ]
    fabric = CLUSTER | {"gpu_link": "none"}

    ((alone_s, _),) = times(phased(phases, parallel={"tp": 8}), topology=fabric).values()

    assert alone_s == pytest.approx(0.07 + 2 * 31 / 32 * 1e9 / LINK)
    phases[0]["hidden"] = True
    with pytest.raises(SnapshotError, match="hidden phases: a collective stays inside hosts"):
        times(phased(phases, parallel={"tp": 8}), topology=fabric)


def test_a_hot_expert_stretches_the_exchange():
    """8 experts over the 8 hosts of a group: with hot = 2 the first gets twice the mean."""
    exchange = {"operation": "all-to-all", "nbytes": "1 MB", "over": ["ep"]}
    parallel = {"tp": 8, "ep": 8}
    even, hot = (
        times(phased([{"collectives": [exchange | {"hot": hot}]}], parallel=parallel))["a"][0]
        for hot in (1.0, 2.0)
    )

    assert even == pytest.approx(7e6 / LINK)
    assert hot == pytest.approx(2 * even)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"model": MODEL | {"tp": 7}},
            "model: tp x cp x pp = 7 must divide the ranks, such as 252",
        ),
        ({"model": MODEL | {"pp": 3}}, "model: pp = 3 must divide the layers, such as 78 or 81"),
        ({"model": MODEL | {"dp": 5}}, "model: dp: expected 256, or left out"),
        ({"model": MODEL | {"hot": 2}}, "model: hot: expected ep above 1 beside it"),
        ({"model": MODEL | {"ep": 3}}, r"ep = 3 must divide the replicas \(dp\)"),
        ({"model": MODEL | {"x": 3}}, "model: x: unknown key"),
        ({"model": MODEL, "compute_s": 1}, "compute_s: expected none beside a model or phases"),
        ({"model": MODEL, "phases": []}, "model: expected one of model, phases"),
        ({"parallel": {"tp": 8}}, "parallel: expected phases beside it"),
        ({"phases": []}, "phases: expected a list of phases"),
        ({"phases": [{"hidden": True, "compute_s": 1}]}, r"phases\[0\]: hidden: expected coll"),
        (
            {"phases": [{"collectives": [RING | {"over": ["tp"]}]}]},
            "allreduce over tp: a group has one rank of 256",
        ),
        ({"phases": [{"collectives": [RING | {"algorithm": "star"}]}]}, "algorithm: expected one"),
        (
            {"phases": [{"collectives": [RING | {"operation": "x"}]}]},
            "operation: .*, send, got 'x'",
        ),
        ({"phases": [{"collectives": [RING | {"hot": 2}]}]}, "hot: expected it of an all-to-all"),
        ({"phases": [{"collectives": [RING | {"over": ["xp"]}]}]}, "over: expected a list of tp"),
        (
            {"pattern": collective("allreduce"), "ranks_per_node": 16, "compute_s": 0},
            "expected at most 8 ranks on a host, one for each GPU, got 16 on n0",
        ),
    ],
)
def test_what_no_job_can_be_is_refused_by_place(fields, words):
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8}

    with pytest.raises(SnapshotError, match=words):
        times(job | fields)


@pytest.mark.parametrize(
    "what", [{"pattern": collective("allreduce"), "compute_s": 0}, {"model": MODEL}]
)
def test_a_job_of_more_gpus_on_one_host_than_on_another_is_refused(what):
    job = {"id": "a", "nodes": [0] * 8 + [1] * 4}

    with pytest.raises(SnapshotError, match="as many GPUs on each host, got 8 on n0 and 4 on n1"):
        times(job | what)
    even, other = job | {"nodes": [0] * 6 + [1] * 6}, {"job": "a", "nodes": job["nodes"]}
    with pytest.raises(SnapshotError, match=r"candidates\[0\] nodes: expected as many GPUs"):
        times(even | what, candidates=[other])


def test_owned_links_of_a_host_with_a_lost_endpoint_are_refused():
    tree = {"kind": "fat-tree", "children": [4, 2], "parents": [8, 4], "parallel": [1, 1]}
    tree["failed_links"] = ["n0>s1.2"]
    job = {"id": "a", "nodes": [0, 1], "steps": [[[0, 1, 1e6]]], "compute_s": 0, "links": []}

    with pytest.raises(SnapshotError, match=r"links: expected hosts .* n0 lacks n0>s1\.2"):
        times(job, topology=tree)


def test_collectives_of_gpus_need_a_gpu_cluster():
    tree = {"kind": "fat-tree", "radix": 4}
    job = {"id": "a", "nodes": [0, 1], "pattern": collective("allreduce"), "compute_s": 0}

    with pytest.raises(SnapshotError, match="expected a fabric of kind 'gpu-cluster'"):
        times(job, topology=tree)


def test_links_of_failed_rails_are_named_among_what_is_assumed():
    topology = CLUSTER | {"failed_switches": ["s1.3"]}
    job = {"id": "a", "nodes": [0, 1], "ranks_per_node": 8, "pattern": RINGS, "compute_s": 0}

    found = estimate(scene(job, topology=topology))

    assert "rail out of service: 3 on 32 hosts; on_failure = respread" in found.assumed
