"""Result directories to be damaged: what two tiny runs write."""

from pathlib import Path

import tomli_w

from fuzz.documents_seeds import CUBE, PROFILE, TREE

_LOG = {"generator": "synth", "mean_nodes": 3, "n_jobs": 12, "seed": 4}
ONE = {
    "topology": CUBE,
    "workload": _LOG,
    "communication": PROFILE,
    "network": {"routing": "d-mod-k"},
    "compare": {"allocators": ["first-free", "random"]},
}
TWO = {"topology": TREE, "workload": _LOG, "network": {"model": "null"}}


def write_experiments(folder: Path) -> list[tuple[str, ...]]:
    """Write two experiments, and return the commands that make results of them."""
    for name, tables in (("one", ONE), ("two", TWO)):
        (folder / f"{name}.toml").write_text(tomli_w.dumps(tables))
    return [
        ("run", str(folder / f"{name}.toml"), "--out", str(folder / name))
        for name in ("one", "two")
    ]
