"""How the contention models are made that are more than a class of their own."""

from functools import partial

from netsim.baselines.null import Null
from netsim.contention.base import ContentionModel
from netsim.contention.cold import fixedpoint
from netsim.contention.cold.recomputed import Recomputed
from netsim.contention.constants import ConstantsOf
from netsim.topology.base import Topology


def null(topology: Topology, *, fairness: str) -> ContentionModel:
    """Build the model `null`."""
    del topology, fairness
    return Null()


def accurate(
    topology: Topology,
    *,
    fairness: str,
    samples: int = 8,
    seed: int = 0,
    tolerance: float = 1e-4,
) -> ContentionModel:
    """Build the model `accurate`."""
    solve = partial(fixedpoint.accurate, samples=samples, seed=seed, tolerance=tolerance)
    solve({})  # refuses bad options before the first job
    return Recomputed(ConstantsOf(topology, fairness), solve)
