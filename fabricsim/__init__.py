"""
Fabricsim: what jobs do to each other on a network, and what another placement would do.

A thin front to the packages `netsim`, `patterns`, `scheduler` and `coupling`. Paths may be texts or
`Path`; whatever has a name in an experiment file may be given here by that name.

* `estimate`, `Estimate` -- how much placed jobs slow each other down, and which jobs cause it
* `verify`, `Verification` -- whether they are isolated, and their partitions non-blocking
* `now`, `Now` -- what the jobs that run on a machine do to each other, from its own files
* `whatif`, `WhatIf` -- jobs before and after a failure or another change
* `place`, `Placing` -- the best nodes for one more job on a machine as it is
* `calibrate`, `Calibration` -- how jobs communicate, from what ports counted
* `calibrate_runs` -- the same from repeated runs
* `replay`, `Replay` -- what ran as it was, and what another scheduler would have done
* `Snapshot`, `read_snapshot` -- jobs on a fabric at one moment
* `Experiment`, `run`, `Result` -- a job log on a fabric, with interference that emerges
* `sweep`, `Sweep`, `Comparison` -- an experiment over lists of values, with intervals
* `run_campaign`, `Campaign` -- an experiment with all it compares, into a directory
* `read_log`, `Workload` -- a job log, in any known format
* `topology`, `Topology`, `from_networkx` -- a fabric by name, by its fields, from a file or a graph
* `routing`, `Routing` -- how flows find their way through a fabric
* `pattern`, `Pattern` -- the messages between the ranks of a job
* `flows`, `Flows` -- rates and finish times of given flows
* `ebb`, `EffectiveBisection` -- what random pairs of hosts get that exchange data at once
* `ecmp_audit`, `EcmpAudit` -- iterations of jobs over seeds of ECMP's hash
* `stagger`, `Stagger` -- shifts of start that keep jobs from communicating at once
* `allocators`, `queues`, `patterns`, `topologies`, `routings`, `models` -- what can be named, with
  a line about each
* `speedup`, `summarize`, `write_report` -- what results say
* `plot` -- pictures of results, fabrics and moments as Matplotlib axes
* `FabricsimError` -- the base of all errors that say what is wrong with an input
"""

from typing import TYPE_CHECKING, Any

from fabricsim.checking.onuse import on_use
from fabricsim.checking.siblings import check_siblings

if TYPE_CHECKING:
    from coupling.api import (
        allocators,
        calibrate,
        calibrate_runs,
        ebb,
        estimate,
        flows,
        models,
        now,
        pattern,
        patterns,
        place,
        queues,
        read_log,
        replay,
        routing,
        routings,
        run,
        sweep,
        topologies,
        topology,
        verify,
        whatif,
        write_report,
    )
    from coupling.calibration.answers import Calibration
    from coupling.inputs.experiment import Experiment
    from coupling.inputs.snapshot import Snapshot, read_snapshot
    from coupling.plot import plot
    from coupling.replay.answers import Replay
    from coupling.results.result import Result
    from coupling.results.summary import speedup, summarize
    from coupling.runs.campaign import Campaign, run_campaign
    from coupling.site.answers import Now
    from coupling.site.comparison import WhatIf
    from coupling.site.ebb import EffectiveBisection
    from coupling.site.ecmp_audit import EcmpAudit, ecmp_audit
    from coupling.site.estimate import Estimate
    from coupling.site.flows import Flows
    from coupling.site.placement_options import Placing
    from coupling.site.stagger import Stagger, stagger
    from coupling.site.verify import Verification
    from coupling.sweep.sweep import Comparison, Sweep
    from fabricsim.checking.errors import FabricsimError
    from netsim.formats.importers.graphs import from_networkx
    from netsim.routing.base import Routing
    from netsim.topology.base import Topology
    from patterns.base import Pattern
    from scheduler.workload.base import Workload

__all__ = [
    "Calibration",
    "Campaign",
    "Comparison",
    "EcmpAudit",
    "EffectiveBisection",
    "Estimate",
    "Experiment",
    "FabricsimError",
    "Flows",
    "Now",
    "Pattern",
    "Placing",
    "Replay",
    "Result",
    "Routing",
    "Snapshot",
    "Stagger",
    "Sweep",
    "Topology",
    "Verification",
    "WhatIf",
    "Workload",
    "allocators",
    "calibrate",
    "calibrate_runs",
    "ebb",
    "ecmp_audit",
    "estimate",
    "flows",
    "from_networkx",
    "models",
    "now",
    "pattern",
    "patterns",
    "place",
    "plot",
    "queues",
    "read_log",
    "read_snapshot",
    "replay",
    "routing",
    "routings",
    "run",
    "run_campaign",
    "speedup",
    "stagger",
    "summarize",
    "sweep",
    "topologies",
    "topology",
    "verify",
    "whatif",
    "write_report",
]

_named, __dir__ = on_use(__name__)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for)
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 (slow, and rarely asked for)

        return version("fabricsim")
    if name in __all__:
        check_siblings()
    return _named(name)
