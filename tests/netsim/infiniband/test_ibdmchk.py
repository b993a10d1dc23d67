"""
Credit loops as `ibdmchk` finds them in what OpenSM has loaded, on the fabric simulator ibsim.

Needs the Debian packages `opensm`, `ibsim-utils`, `infiniband-diags` and `ibutils`; run with
``pytest -m heavy tests/netsim/infiniband/test_ibdmchk.py`` (a few seconds).
"""

import shutil
import subprocess

import numpy as np
import pytest
from ib_fabrics import tree_fabric
from ibsim import MISSING, PLACES, Simulation
from partitions import Shape, place

from netsim.infiniband.discover import Device, IbFabric, read_ibnetdiscover
from netsim.infiniband.dump import tables_of
from netsim.infiniband.export import difference_of, tables_in_force
from netsim.infiniband.walk import credit_loop
from netsim.infiniband.wiring import wire_graph
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

LACKING = [*MISSING, *([] if shutil.which("ibdmchk", path=PLACES) else ["ibdmchk"])]
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(bool(LACKING), reason=f"opensm, ibsim-utils, ibutils: {LACKING} not found"),
]


def judged(simulation):
    """Return whether ibdmchk finds a credit loop in the tables that OpenSM dumped last."""
    folder = simulation.folder
    (folder / "empty").write_text("")
    files = ("-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "empty")
    told = subprocess.run(  # noqa: S603 (arguments of this file)
        (shutil.which("ibdmchk", path=PLACES), *files),
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    ).stdout
    assert "credit loops" in told.lower(), told
    return "no credit loops found" not in told.lower()


def graph_fabric(cables, n_switches):
    """Return switches with one host each, and these cables between them."""
    devices, wired, ports = [], {}, [1] * n_switches
    for number in range(2 * n_switches):
        host = number >= n_switches
        guid = 0x2C90000000000 + 16 * (number + 1)
        name = f"h{number - n_switches}" if host else f"s{number}"
        devices.append(Device(guid, name, 1 if host else 8, not host, number + 1, guid + host))
        if host:
            wired[number, 1], wired[number - n_switches, 1] = (number - n_switches, 1), (number, 1)
    for a, b in cables:
        ports[a] += 1
        ports[b] += 1
        wired[a, ports[a]], wired[b, ports[b]] = (b, ports[b]), (a, ports[a])
    return IbFabric(tuple(devices), wired, {})


@pytest.mark.parametrize(
    ("cables", "n_switches", "loops"),
    [
        ([(k, (k + 1) % 5) for k in range(5)], 5, True),
        ([(k, (k + 1) % 6) for k in range(6)], 6, True),
        ([(0, 1), (1, 2), (2, 0)], 3, False),
        ([(0, 1), (1, 2), (2, 3), (1, 4)], 5, False),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (2, 4)], 5, None),
    ],
)
@pytest.mark.parametrize("engine", ["minhop", "sssp"])
def test_loops_of_small_graphs_are_those_of_ibdmchk(tmp_path, cables, n_switches, loops, engine):
    simulation = Simulation(graph_fabric(cables, n_switches), tmp_path)
    try:
        dump = simulation.sweep("-R", engine)
        wired = wire_graph(read_ibnetdiscover(simulation.run("ibnetdiscover")))
        theirs = judged(simulation)
    finally:
        simulation.close()

    assert bool(credit_loop([tables_of(dump, wired)]).size) == theirs
    assert loops in (None, theirs)


@pytest.mark.parametrize("levels", [2, 3])
def test_tables_for_a_job_have_no_loop_before_after_or_when_half_are_loaded(tmp_path, levels):
    if levels == 2:
        tree = build_fat_tree((4, 4), (1, 4), (1, 1), 12.5e9)
        job = place(tree, np.random.default_rng(2), Shape(1, 3, 2, 0, 1))
    else:
        tree = fat_tree_of_radix(6, 12.5e9)
        job = place(tree, np.random.default_rng(3), Shape(2, 2, 2, 0, 1, many_pods=True))
    simulation = Simulation(tree_fabric(tree), tmp_path)
    try:
        base = simulation.sweep("-R", "ftree")
        before = judged(simulation)
        wired = simulation.discover()
        start = tables_in_force(wired, base)
        tables = start.confined_to([(Wraparound.on(wired.topology), job)])
        (tmp_path / "new").write_text(tables.text())
        loaded = simulation.sweep("-R", "file", "-U", str(tmp_path / "new"))
        after = judged(simulation)
        (tmp_path / "back").write_text(start.text())
        back = simulation.sweep("-R", "file", "-U", str(tmp_path / "back"))
    finally:
        simulation.close()
    found = difference_of(tables)

    assert (before, after) == (False, False)
    assert found.safe
    assert not found.loop_before.size
    changed = {(own.guid, own.lid, own.before, own.after) for own in found.entries}
    assert changed == {
        (guid, lid, base.ports[guid][lid], port)
        for guid, ports in loaded.ports.items()
        for lid, port in ports.items()
        if base.ports[guid].get(lid) != port
    }
    assert changed
    assert back.ports == base.ports
