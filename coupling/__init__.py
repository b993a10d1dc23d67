"""
The coupling: the network slows jobs, and jobs load the network.

Names are loaded on first use, so that the command answers ``--help`` at once.

* `Experiment` -- everything a run depends on, from TOML or from Python
* `run_campaign` -- run all that an experiment compares, into a directory
* `estimate`, `Estimate` -- what jobs placed on a fabric do to each other
* `verify`, `Verification` -- whether they are isolated, and their partitions non-blocking
* `Snapshot`, `read_snapshot` -- jobs on a fabric at one moment, from JSON
* `Result`, `Campaign` -- what came out
* `NetworkRateModel`, `NetworkLedger` -- the rate model that asks the network, for simulations of
  one's own, and the observer that records link loads and which job delayed which
* `Sweep`, `Comparison` -- an experiment over lists of values, and what it says
* `speedup`, `summarize` -- emergent speed-up against a baseline, summary of a job table
* `write_report` -- the HTML report
* `CouplingError`, `ExperimentError`, `ResultError`, `SnapshotError` -- what goes wrong
"""

from typing import TYPE_CHECKING, Any

from fabricsim.checking.onuse import on_use
from fabricsim.checking.siblings import check_siblings

if TYPE_CHECKING:
    from coupling.api import estimate, verify, write_report
    from coupling.errors import CouplingError, ExperimentError, ResultError, SnapshotError
    from coupling.inputs.experiment import Experiment
    from coupling.inputs.snapshot import Snapshot, read_snapshot
    from coupling.rates.ledgers import NetworkLedger
    from coupling.rates.network import NetworkRateModel
    from coupling.results.result import Result
    from coupling.results.summary import speedup, summarize
    from coupling.runs.campaign import Campaign, run_campaign
    from coupling.site.estimate import Estimate
    from coupling.site.verify import Verification
    from coupling.sweep.sweep import Comparison, Sweep

__all__ = [
    "Campaign",
    "Comparison",
    "CouplingError",
    "Estimate",
    "Experiment",
    "ExperimentError",
    "NetworkLedger",
    "NetworkRateModel",
    "Result",
    "ResultError",
    "Snapshot",
    "SnapshotError",
    "Sweep",
    "Verification",
    "estimate",
    "read_snapshot",
    "run_campaign",
    "speedup",
    "summarize",
    "verify",
    "write_report",
]

_named, __dir__ = on_use(__name__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
    """Load a public name, after a check that all packages are ours."""
    if name in __all__:
        check_siblings()
    return _named(name)
