"""
The coupling: the network slows jobs, and jobs load the network.

Names are loaded on first use, so that the command answers ``--help`` at once.

* `Experiment` -- everything a run depends on, from TOML or from Python
* `run`, `run_campaign` -- run one experiment, or all it compares into a directory
* `estimate`, `Estimate` -- what jobs placed on a fabric do to each other
* `verify`, `Verification` -- whether they are isolated, and their partitions non-blocking
* `Snapshot`, `read_snapshot` -- jobs on a fabric at one moment, from JSON
* `Result`, `Campaign` -- what came out
* `NetworkPace`, `NetworkLedger` -- the rate model that asks the network, for simulations of one's
  own, and the observer that notes what links carried and who made whom lose time
* `Sweep`, `Spec`, `run_sweep` -- an experiment over lists of values, in cells
* `Comparison`, `compare_policies` -- what a sweep says: paired differences with intervals
* `speedup`, `summarize` -- emergent speed-up against a baseline, summary of a job table
* `write_report` -- the HTML report
* `CouplingError`, `ExperimentError`, `ResultError`, `SnapshotError` -- what goes wrong
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coupling.siblings import check_siblings

if TYPE_CHECKING:
    from coupling.errors import CouplingError, ExperimentError, ResultError, SnapshotError
    from coupling.experiments.campaign import Campaign, run_campaign
    from coupling.experiments.engine import run
    from coupling.experiments.experiment import Experiment
    from coupling.pace.ledgers import NetworkLedger
    from coupling.pace.network import NetworkPace
    from coupling.report.report import write_report
    from coupling.results.result import Result
    from coupling.results.summary import speedup, summarize
    from coupling.snapshots.estimate import Estimate, estimate
    from coupling.snapshots.snapshot import Snapshot, read_snapshot
    from coupling.snapshots.verify import Verification, verify
    from coupling.sweeps.comparison import Comparison, compare_policies
    from coupling.sweeps.spec import Spec
    from coupling.sweeps.sweep import Sweep, run_sweep

__all__ = [
    "Campaign",
    "Comparison",
    "CouplingError",
    "Estimate",
    "Experiment",
    "ExperimentError",
    "NetworkLedger",
    "NetworkPace",
    "Result",
    "ResultError",
    "Snapshot",
    "SnapshotError",
    "Spec",
    "Sweep",
    "Verification",
    "compare_policies",
    "estimate",
    "read_snapshot",
    "run",
    "run_campaign",
    "run_sweep",
    "speedup",
    "summarize",
    "verify",
    "write_report",
]

_HOME = {
    "Campaign": "coupling.experiments.campaign",
    "CouplingError": "coupling.errors",
    "Estimate": "coupling.snapshots.estimate",
    "Experiment": "coupling.experiments.experiment",
    "ExperimentError": "coupling.errors",
    "NetworkLedger": "coupling.pace.ledgers",
    "NetworkPace": "coupling.pace.network",
    "Result": "coupling.results.result",
    "ResultError": "coupling.errors",
    "Snapshot": "coupling.snapshots.snapshot",
    "SnapshotError": "coupling.errors",
    "Verification": "coupling.snapshots.verify",
    "estimate": "coupling.snapshots.estimate",
    "read_snapshot": "coupling.snapshots.snapshot",
    "run": "coupling.experiments.engine",
    "run_campaign": "coupling.experiments.campaign",
    "speedup": "coupling.results.summary",
    "summarize": "coupling.results.summary",
    "verify": "coupling.snapshots.verify",
    "write_report": "coupling.report.report",
    "Comparison": "coupling.sweeps.comparison",
    "Spec": "coupling.sweeps.spec",
    "Sweep": "coupling.sweeps.sweep",
    "compare_policies": "coupling.sweeps.comparison",
    "run_sweep": "coupling.sweeps.sweep",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
    """Load a public name from the module that defines it."""
    if name not in _HOME:
        raise AttributeError(f"module 'coupling' has no attribute {name!r}")
    check_siblings()
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
