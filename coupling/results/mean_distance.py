"""How much closer than another a run places its jobs: MIND, as Stoltzfus13 compares it."""

from dataclasses import asdict, dataclass
from math import isfinite, nan

import numpy as np
import pandas as pd

from coupling.results.columns import finished
from netsim.common.arrays import Bools, Floats, Ints

LARGEST_SMALL = 10  # nodes of a small job
FEWEST = 31  # jobs of a size that is looked at: more than thirty


@dataclass(frozen=True, slots=True)
class MindGain:
    """
    What a run changes in the distance of jobs' nodes against a reference; fractions.

    Stoltzfus13, sections 2.5.2, 4 and 6.4. MIND of jobs is the column ``aph``. Reference is FIFO-0
    there, which is first-free.
    """

    jobs: int  # Jobs of at least two nodes in both runs
    # overall, small, large: 1 - mean MIND here / there of each job size with more than thirty
    # jobs, the plain mean over these sizes: all, those of 2-10 nodes, those above. Sizes whose
    # jobs the reference places at no distance are left out; NaN without any.
    overall: float
    small: float
    large: float
    by_node_time: float  # 1 - the sum of MIND here, weighted by node time / that there
    hops: float  # By how many hops the mean MIND of a size is lower, mean over sizes
    # t, p: paired t-test over the jobs: the statistic, and the probability of as much or more if
    # nothing improved; NaN where all differences are equal
    t: float
    p: float

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers for JSON. Result: by name; None for NaN."""
        return {name: value if isfinite(value) else None for name, value in asdict(self).items()}


def mind_gain(sizes: Ints, node_s: Floats, before: Floats, after: Floats) -> MindGain:
    """Compare the MIND (n,) of the same jobs in a reference and another run."""
    from scipy.stats import ttest_rel  # noqa: PLC0415 (slow to import)

    several = sizes > 1
    names, count = np.unique(sizes[several], return_counts=True)
    names = names[count >= FEWEST]
    means = np.array([[mind[sizes == size].mean() for size in names] for mind in (before, after)])
    apart = means[0] > 0
    improved = 1.0 - means[1] / np.where(apart, means[0], nan)

    def mean(chosen: Bools) -> float:
        return float(improved[chosen & apart].mean()) if (chosen & apart).any() else nan

    far = float(node_s @ before)
    differences = before[several] - after[several]
    t = p = nan
    if differences.size > 1 and np.ptp(differences) > 0:
        test = ttest_rel(before[several], after[several], alternative="greater")
        t, p = float(test.statistic), float(test.pvalue)
    return MindGain(
        jobs=int(several.sum()),
        overall=mean(names > 0),
        small=mean(names <= LARGEST_SMALL),
        large=mean(names > LARGEST_SMALL),
        by_node_time=1.0 - float(node_s @ after) / far if far > 0 else nan,
        hops=float((means[0] - means[1]).mean()) if names.size else nan,
        t=t,
        p=p,
    )


def mind_gain_of(jobs: pd.DataFrame, reference: pd.DataFrame) -> MindGain:
    """Compare the MIND of the jobs of two results."""
    here, there = (finished(table).set_index("id").sort_index() for table in (jobs, reference))
    both = there.index.intersection(here.index)
    here, there = here.loc[both], there.loc[both]
    sizes = there["n_nodes"].to_numpy()
    node_s = sizes * (there["end_s"] - there["start_s"]).to_numpy()
    return mind_gain(sizes, node_s, there["aph"].to_numpy(), here["aph"].to_numpy())
