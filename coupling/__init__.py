"""
The coupling: the network slows jobs, and jobs load the network.

Names are loaded on first use, so that the command answers ``--help`` at once.

* `Experiment` -- everything a run depends on, from TOML or from Python
* `run`, `run_campaign` -- run one experiment, or all it compares into a directory
* `estimate`, `Estimate` -- what jobs placed on a fabric do to each other
* `verify`, `Verification` -- whether they are isolated, and their partitions non-blocking
* `Snapshot`, `read_snapshot` -- jobs on a fabric at one moment, from JSON
* `Result`, `Campaign` -- what came out
* `NetworkPace` -- the rate model that asks the network, for simulations of one's own
* `speedup`, `summarize` -- emergent speed-up against a baseline, summary of a job table
* `write_report` -- the HTML report
* `CouplingError`, `ExperimentError`, `ResultError`, `SnapshotError` -- what goes wrong
"""

from importlib import import_module
from typing import Any

from coupling.siblings import check_siblings

_HOME = {
    "Campaign": "coupling.campaign",
    "CouplingError": "coupling.errors",
    "Estimate": "coupling.estimation",
    "Experiment": "coupling.experiment",
    "ExperimentError": "coupling.errors",
    "NetworkPace": "coupling.pace",
    "Result": "coupling.result",
    "ResultError": "coupling.errors",
    "Snapshot": "coupling.snapshot",
    "SnapshotError": "coupling.errors",
    "Verification": "coupling.verification",
    "estimate": "coupling.estimation",
    "read_snapshot": "coupling.snapshot",
    "run": "coupling.engine",
    "run_campaign": "coupling.campaign",
    "speedup": "coupling.metrics",
    "summarize": "coupling.metrics",
    "verify": "coupling.verification",
    "write_report": "coupling.report",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
    """Load a public name from the module that defines it."""
    if name not in _HOME:
        raise AttributeError(f"module 'coupling' has no attribute {name!r}")
    check_siblings()
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
