"""Valid files that are no documents of ours: wiring, tables of routes, job logs, matrices."""

import io
import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from ib_fabrics import tree_fabric, write_ibnetdiscover

from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.export import export
from netsim.infiniband.wiring import wire_fat_tree
from netsim.topology.fattree import build_fat_tree

DATA = Path(__file__).parents[1] / "data"
WIRING = {
    "topology.conf": "slurm-conf",
    "topology-blocks.conf": "slurm-conf",
    "topology.yaml": "slurm-yaml",
    "ibnetdiscover.txt": "ibnetdiscover",
    "ports.txt": "ibnetdiscover",
    "ibsim.net": "ibnetdiscover",
    "scontrol.txt": "slurm-conf",
    "aries.txt": "aries-links",
    "nodemap.txt": "node-map",
    "nodes.csv": "node-csv",
    "ring.graphml": "graphml",
    "edges.csv": "edge-csv",
    "accasim.config": "accasim",
    "platform.xml": "simgrid-xml",
}
# switches of one level are joined, which topology.conf, a tree of switches, cannot hold
NO_TREES = {"aries.txt", "nodemap.txt", "ring.graphml", "ports.txt", "ibsim.net"}
LOGS = {
    "swf": "log.swf",
    "alea-swf": "log.swf",
    "sacct": "log.txt",
    "squeue-json": "log.json",
    "csv": "log.csv",
    "parquet": "log.parquet",
    "batsim-json": "log.json",
    "flux-json": "log.json",
    "placement-log": "log.txt",
}
FORM_OF_LOG = {
    "swf": "columns",
    "alea-swf": "columns",
    "sacct": "bars",
    "squeue-json": "foreign-json",
    "csv": "csv",
    "parquet": "parquet",
    "batsim-json": "foreign-json",
    "flux-json": "foreign-json",
    "placement-log": "columns",
}


def wiring(name: str) -> bytes:
    """Return a file of the folder of topology files."""
    return (DATA / "topo" / name).read_bytes()


@cache
def fabric() -> dict[str, bytes]:
    """Return wiring, forwarding tables and better names of a tree of four leaves."""
    text = write_ibnetdiscover(tree_fabric(build_fat_tree([4, 4], [1, 2], [1, 1], 12.5e9)))
    wired = read_ibnetdiscover(text)
    names = [
        f'0x{device.guid:016x} "cn{number:03d} HCA-1"'
        for number, device in enumerate(wired.devices)
        if not device.is_switch
    ]
    return {
        "fabric.txt": text.encode(),
        "tables.lft": export(wire_fat_tree(wired), []).text().encode(),
        "names.txt": "\n".join(["# names", *names, ""]).encode(),
    }


def log(form: str) -> bytes:
    """Return a job log."""
    if form == "swf":
        return _swf()
    if form == "csv":
        return _frame().to_csv(index=False).encode()
    if form == "parquet":
        packed = io.BytesIO()
        _frame().to_parquet(packed, index=False)
        return packed.getvalue()
    name = {
        "alea-swf": "alea.swf",
        "sacct": "sacct.txt",
        "squeue-json": "squeue.json",
        "batsim-json": "batsim.json",
        "flux-json": "flux.json",
        "placement-log": "placement.log",
    }[form]
    return (DATA / name).read_bytes()


def _swf() -> bytes:
    """Return a log of the Parallel Workloads Archive."""
    lines = ["; Version: 2.2", "; MaxProcs: 16"]
    lines += [
        f"{n} {40 * n} -1 {60 + 3 * n} {1 + n % 6} -1 -1 {1 + n % 6} {70 + 3 * n} -1 "
        f"{1 if n % 5 else 5} {n % 9} 1 1 1 -1 -1 -1"
        for n in range(1, 11)
    ]
    return "\n".join([*lines, ""]).encode()


def _frame() -> pd.DataFrame:
    """Return a log as a table."""
    number = np.arange(1, 9)
    return pd.DataFrame(
        {
            "id": number,
            "submit_s": 5.0 * number,
            "runtime_s": 20.5 + number,
            "nodes": 1 + number % 5,
            "requested_s": 60.0,
            "user": number % 3,
            "name": [f"job{n}" for n in number],
            "switches": "1@0:30",
            "share": 10.0 * (number % 4),
        }
    )


def system() -> bytes:
    """Return a system configuration of AccaSim."""
    group = {"core": 8, "gpu": 1, "mem": 4194304}
    found = {"equivalence": {"processor": {"core": 2}}, "groups": {"g0": group}}
    return json.dumps({**found, "resources": {"g0": 9}}).encode()


@cache
def matrices() -> dict[str, bytes]:
    """Return communication matrices of four ranks."""
    packed = io.BytesIO()
    np.savez(packed, np.array([[0, 5, 0, 1], [2, 0, 0, 0], [0, 0, 0, 9.5], [1, 0, 0, 0]]))
    head = "%%MatrixMarket matrix coordinate real general\n% made here\n4 4 3\n"
    return {
        "m.csv": b"src,dst,bytes\n0,1,1000\n1,2,2000\n3,0,5.5\n",
        "m.mtx": (head + "1 2 7.5\n2 3 1\n4 1 1e3\n").encode(),
        "open.mtx": (head + "1 2 7.5\n2 3 1\n4 1 5 ").encode(),  # the last line does not end
        "lower.mtx": b"%%MatrixMarket matrix array integer symmetric\n4 4\n"
        b"0\n3\n0\n0\n0\n0\n2\n0\n1\n0\n",
        "m.npz": packed.getvalue(),
    }
