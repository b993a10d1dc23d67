"""OpenSM on fabrics simulated by ibsim, for tests and for what is recorded of them."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from damage import SHAPES, damaged_tree, damages, roots_of, tree_of
from ib_fabrics import read_ca_order, write_ibnetdiscover

from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump
from netsim.infiniband.wiring import wire_fat_tree

PROGRAMS = ("opensm", "ibsim", "ibnetdiscover", "ibtracert")
PLACES = os.environ["PATH"] + ":/usr/sbin:/sbin"
LIBRARY = next(Path("/usr/lib").glob("**/umad2sim/libumad2sim.so"), None)
MISSING = [name for name in PROGRAMS if shutil.which(name, path=PLACES) is None]
MISSING += [] if LIBRARY else ["libumad2sim.so"]
RECORDED = Path(__file__).parent / "data" / "opensm-damaged.json"
SECONDS = 60


class Simulation:
    """A fabric simulated by ibsim, on which the InfiniBand programs run."""

    def __init__(self, fabric, folder):
        self.folder = folder
        network = folder / "fabric.net"
        network.write_text(write_ibnetdiscover(fabric))
        self.environment = os.environ | {
            "IBSIM_SOCKNAME": f"fabricsim-{os.getpid()}-{folder.name}",
            "OSM_TMP_DIR": str(folder),
            "OSM_CACHE_DIR": str(folder),
            "SIM_HOST": next(device.name for device in fabric.devices if not device.is_switch),
            "PATH": PLACES,
        }
        self.output = (folder / "ibsim.log").open("w+")
        self.process = subprocess.Popen(  # noqa: S603 (arguments of this file)
            ["ibsim", "-s", "-n", str(network)],  # noqa: S607 (wherever the package put it)
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + SECONDS
        while "Network simulator ready" not in (folder / "ibsim.log").read_text():
            assert time.monotonic() < end, "ibsim does not start"
            assert self.process.poll() is None, (folder / "ibsim.log").read_text()
            time.sleep(0.05)

    def run(self, *command):
        """Run a program on the simulated fabric and return what it prints."""
        return subprocess.run(  # noqa: S603 (arguments of this file)
            command,
            env=self.environment | {"LD_PRELOAD": str(LIBRARY)},
            capture_output=True,
            check=True,
            text=True,
            timeout=SECONDS,
        ).stdout

    def sweep(self, *engine):
        """Let OpenSM configure the fabric once; return the tables it then dumps."""
        self.run(
            *("opensm", "-o", "-D", "0x43", "-f", str(self.folder / "osm.log")),
            *("--dump_files_dir", f"{self.folder}/", *engine),
        )
        return read_lft_dump((self.folder / "opensm-lfts.dump").read_text())

    def discover(self):
        return wire_fat_tree(read_ibnetdiscover(self.run("ibnetdiscover")))

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=SECONDS)
        self.output.close()


def fabric_of(tree, lost, seed):
    """Return a damaged fabric by the names of its tree and of what it lost."""
    whole = tree_of(tree)
    return damaged_tree(whole, *damages(whole)[lost], seed)


def dumped(tree, fabric, folder):
    """Let ftree route a tree whose roots are named; return all entries, and the nodes' order."""
    simulation = Simulation(fabric, folder)
    try:
        found = read_ibnetdiscover(simulation.run("ibnetdiscover"))
        guids = [found.devices[i].guid for i in roots_of(found, tree)]
        (folder / "roots").write_text("".join(f"0x{guid:016x}\n" for guid in guids))
        tables = simulation.sweep("-R", "ftree", "-a", str(folder / "roots"))
        found = read_ibnetdiscover(simulation.run("ibnetdiscover"))
    finally:
        simulation.close()
    assert "ftree tables configured on all switches" in (folder / "osm.log").read_text()
    by_guid = {device.guid: device.name for device in found.devices}
    by_lid = {device.lid: device.name for device in found.devices}
    lines = [
        f"{by_guid[guid]} {by_lid[lid]} {port}"
        for guid, ports in tables.ports.items()
        for lid, port in ports.items()
    ]
    order = read_ca_order((folder / "opensm-ftree-ca-order.dump").read_text())
    return lines, [by_lid.get(lid, "-") for lid in order]


DAMAGED = [
    (tree, lost, seed) for tree in SHAPES for lost in damages(tree_of(tree)) for seed in (None, 1)
]
