"""The fabrics of experiments that were run, built again for pictures."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from coupling.errors import CouplingError, ExperimentError
from coupling.inputs.experiment import Experiment
from coupling.inputs.fabric import build_topology
from coupling.results.result import Result
from netsim.topology.base import Topology
from netsim.topology.link_names import link_names


def drawable_fabrics(
    runs: Iterable[tuple[Experiment, Sequence[Result]]],
) -> dict[str, Topology]:
    """
    Build the fabrics of runs for pictures, as far as that is still possible.

    Result: by name of the result; without those whose file has gone, or whose links are others now.
    """
    found = dict[str, Topology]()
    for experiment, results in runs:
        try:
            topology = build_topology(experiment.located().topology, Path(), ExperimentError)
        except CouplingError:
            continue
        names = link_names(topology)
        for result in results:
            if result.links["link"].tolist() == names:
                found[result.name] = topology
    return found
