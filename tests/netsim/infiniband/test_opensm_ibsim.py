"""
Exported tables in OpenSM itself, on the fabric simulator ibsim.

Needs the Debian packages `opensm`, `ibsim-utils` and `infiniband-diags`; run with
``pytest -m heavy tests/netsim/infiniband/test_opensm_ibsim.py`` (a few seconds). No InfiniBand
hardware and no root rights are touched: all programs talk to ibsim through its preloaded library.
"""

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from damage import damaged_tree, hosts_of, print_of, roots_of, tree_of
from ib_fabrics import read_ca_order, tree_fabric
from ibsim import DAMAGED, MISSING, RECORDED, Simulation, dumped, fabric_of
from opensm_reference import described
from partitions import Shape, cables, place

from netsim.flows.partition import Partition
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump, tables_of
from netsim.infiniband.export import base_dump, export
from netsim.infiniband.lft import d_mod_k_tables
from netsim.infiniband.wiring import wire_damaged_tree
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import depopulate

BW = 12.5e9

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        bool(MISSING), reason=f"opensm, ibsim-utils, infiniband-diags: {MISSING} not found"
    ),
]


@pytest.fixture(params=["two levels", "three levels"])
def case(request, tmp_path):
    """Return a simulation, its tree, and two jobs on links of their own that share leaves."""
    if request.param == "two levels":
        tree = build_fat_tree((4, 4), (1, 4), (1, 1), BW)
        first = place(tree, np.random.default_rng(2), Shape(1, 3, 2, 0, 1))
    else:
        tree = fat_tree_of_radix(6, BW)
        first = place(tree, np.random.default_rng(3), Shape(2, 2, 2, 0, 1, many_pods=True))
    simulation = Simulation(tree_fabric(tree), tmp_path)
    yield simulation, tree, [first, second_job(tree, first)]
    simulation.close()


def second_job(tree, first):
    """Two nodes on leaves of the first job, with a link each that it does not own."""
    leaves = np.unique(first.nodes // tree.nodes_per_leaf)
    pod = leaves // tree.leaves_per_pod
    a, b = leaves[np.flatnonzero(pod == pod[0])[:2]].tolist()
    port = next(
        q
        for q in range(tree.ports[1])
        if not set(cables(tree, 1, a, [q]) + cables(tree, 1, b, [q])) & set(first.links.tolist())
    )
    nodes = [
        int(
            np.setdiff1d(np.arange(tree.nodes_per_leaf) + leaf * tree.nodes_per_leaf, first.nodes)[
                0
            ]
        )
        for leaf in (a, b)
    ]
    links = cables(tree, 1, a, [port]) + cables(tree, 1, b, [port])
    return Partition(np.array(nodes), np.array(links))


def traced_links(simulation, wired, job):
    """Follow every pair of a job's nodes with ibtracert; return the links between switches."""
    tree, devices = wired.topology, wired.fabric.devices
    vertex = described(wired)
    ends = zip(tree.link_tail.tolist(), tree.link_head.tolist(), strict=True)
    number = {pair: link for link, pair in enumerate(ends)}
    links = set()
    for src in job.nodes.tolist():
        for dst in job.nodes.tolist():
            if src == dst:
                continue
            lids = [str(devices[int(wired.device[node])].lid) for node in (src, dst)]
            printed = simulation.run("ibtracert", *lids)
            visited = [vertex[name] for name in re.findall(r'lid \d+-\d+ "([^"]*)"', printed)][:-1]
            assert (visited[0], visited[-1]) == (src, dst)
            links |= {number[pair] for pair in pairwise(visited)}
    return {link for link in links if link >= tree.up_base[1]}


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("missing", [(), ("n1", "n6", "n7")])
def test_ftree_in_opensm_is_d_mod_k_here_whatever_the_guids(tmp_path, seed, missing):
    tree = depopulate(fat_tree_of_radix(6, BW), missing)
    simulation = Simulation(damaged_tree(tree, seed=seed), tmp_path)
    try:
        tables = simulation.sweep("-R", "ftree")
        wired = simulation.discover()
    finally:
        simulation.close()
    theirs = tables_of(tables, wired)
    order = read_ca_order((tmp_path / "opensm-ftree-ca-order.dump").read_text())

    nodes = wired.topology.usable_nodes
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    ours = d_mod_k_tables(wired.topology).routes(src, dst)
    np.testing.assert_array_equal(theirs.routes(src, dst).links, ours.links)
    numbers = wired.topology.order
    numbers = np.arange(tree.n_nodes) if numbers is None else numbers
    lids = [wired.fabric.devices[int(wired.device[node])].lid for node in nodes]
    assert [order[d] for d in numbers[nodes]] == lids


@pytest.mark.parametrize(("tree", "lost", "seed"), DAMAGED)
def test_what_is_recorded_of_damaged_trees_is_what_opensm_dumps(tree, lost, seed, tmp_path):
    """The default suite compares the tables computed here with the record."""
    (recorded,) = [
        case
        for case in json.loads(RECORDED.read_text("utf-8"))
        if (case["tree"], case["lost"], case["seed"]) == (tree, lost, seed)
    ]

    found = print_of(*dumped(tree_of(tree), fabric_of(tree, lost, seed), tmp_path))

    assert recorded == {"tree": tree, "lost": lost, "seed": seed} | found


@pytest.mark.parametrize("with_base", [True, False])
def test_loaded_tables_carry_the_traffic_of_each_job_on_its_own_cables_only(case, with_base):
    simulation, _, jobs = case
    base = simulation.sweep("-R", "ftree")
    wired = simulation.discover()
    strayed = [traced_links(simulation, wired, job) - set(job.links.tolist()) for job in jobs]
    routing = Wraparound.on(wired.topology)
    table = simulation.folder / "jobs.lfts"
    table.write_text(
        export(wired, [(routing, job) for job in jobs], base if with_base else None).text()
    )

    loaded = simulation.sweep("-R", "file", "-U", str(table))

    assert loaded.ports == read_lft_dump(table.read_text()).ports
    assert strayed[0], "ftree alone would not have left the partition: the test shows nothing"
    for job in jobs:
        assert traced_links(simulation, wired, job) == set(job.links.tolist())


@pytest.mark.parametrize("with_base", [True, False])
def test_on_a_fabric_that_lost_parts_elsewhere_jobs_keep_to_their_cables_too(tmp_path, with_base):
    """A root, a cable of an L2 switch and the nodes of a leaf are gone, none of them the jobs'."""
    tree = fat_tree_of_radix(6, BW)
    first = place(tree, np.random.default_rng(3), Shape(2, 2, 2, 0, 1, many_pods=True))
    jobs = [first, second_job(tree, first)]
    taken = {tree.vertex_name(v) for job in jobs for v in tree.link_head[job.links].tolist()}
    used = {node // tree.nodes_per_leaf for job in jobs for node in job.nodes.tolist()}
    root = next(f"s3.{x}" for x in range(9) if f"s3.{x}" not in taken)
    leaf = next(x for x in range(tree.n_leaves) if x not in used)
    switch = next(f"s2.{x}" for x in range(18) if f"s2.{x}" not in taken)
    fabric = damaged_tree(tree, (root, *hosts_of(tree, leaf)), [(switch, 5)])
    simulation = Simulation(fabric, tmp_path)
    try:
        found = read_ibnetdiscover(simulation.run("ibnetdiscover"))
        guids = [found.devices[i].guid for i in roots_of(found, tree)]
        (tmp_path / "roots").write_text("".join(f"0x{guid:016x}\n" for guid in guids))
        base = simulation.sweep("-R", "ftree", "-a", str(tmp_path / "roots"))
        wired = wire_damaged_tree(read_ibnetdiscover(simulation.run("ibnetdiscover")))
        assert base_dump(wired).ports == base.ports
        routing, table = Wraparound.on(wired.topology), tmp_path / "jobs.lfts"
        table.write_text(
            export(wired, [(routing, job) for job in jobs], base if with_base else None).text()
        )

        loaded = simulation.sweep("-R", "file", "-U", str(table))

        assert loaded.ports == read_lft_dump(table.read_text()).ports
        for job in jobs:
            assert traced_links(simulation, wired, job) == set(job.links.tolist())
    finally:
        simulation.close()
