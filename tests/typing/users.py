"""
What a type checker must see: mypy reads this file, nobody runs it.

Each `type: ignore` stands where a user's mistake must be told; mypy reports any that is not needed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import coupling
import fabricsim as fs

if TYPE_CHECKING:
    experiment = fs.Experiment(topology="synth-1024", workload={"generator": "synth"})
    fs.Experiment(topology="synth-1024", wrkload=4)  # type: ignore[call-arg]
    coupling.Experiment(topology="synth-1024", workload=4)  # type: ignore[arg-type]
    fs.Experiment.read("file.toml", ["run.seed=2"])
    result: fs.Result = fs.run(experiment)
    result.jbs  # type: ignore[attr-defined] # noqa: B018 (an attribute that is not there)
    nodes: int = fs.topology(Path("fabric.txt")).n_nodes
    wrong: str = fs.topology("cab").n_nodes  # type: ignore[assignment]
    estimate: fs.Estimate = fs.estimate("snapshot.json")
