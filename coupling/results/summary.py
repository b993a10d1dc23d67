"""Metrics of a run: from the job table to the numbers people compare, also by size."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from coupling.errors import ResultError
from coupling.results.columns import finished
from coupling.results.framed import NODES_USED, Table, nodes_used, ran
from coupling.results.over_time import lost_capacity
from fabricsim.checking import whole, wrong
from fabricsim.checking.errors import public
from netsim.common.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

    from coupling.results.result import Result


BOUNDED_SLOWDOWN_TAU_S = 10.0  # Feitelson & Rudolph 1998: jobs shorter than this count as so long
_NEEDED = {"id", "dropped", "start_s", "end_s", "n_nodes", "pattern"}  # columns of a speed-up
SIZE_CLASSES = ((1, 1), (2, 4), (5, 16), (17, 64), (65, 256), (257, None))


@public
def summarize(jobs: Table, n_nodes: int) -> dict[str, float | int | None]:
    """
    Return the summary of a run.

    Parameters
    ----------
    jobs : DataFrame
        The job table of a result; dropped jobs have a reason in ``dropped``.
    n_nodes : int
        Nodes of the machine.

    Returns
    -------
    dict
        Fractions, seconds and counts by name; None where a number does not exist (no job
        ran, all started at time 0, or none counts as part of a node). Utilisation counts
        the nodes asked for: ``utilization_steady`` from time 0 to the last start,
        ``utilization_makespan`` to the last end; of shared nodes the parts (column
        ``node_part``). Bounded slowdown: max(1, turnaround / max(run time, 10 s)).
        Node-hours: nodes asked for x run time. Fragmentation and loss of capacity: `lost_capacity`.

    Notes
    -----
    Steady utilisation is Smith21, section 5, without the drain at the end of the trace.
    """
    n_nodes = whole("n_nodes", n_nodes, 1, error=ResultError)
    done = ran(jobs)
    start, end, size = map(done, ("start_s", "end_s", NODES_USED))
    counts: dict[str, float | int | None] = {
        "jobs": len(start),
        "dropped": len(jobs) - len(start),
        "killed": int(done("killed").sum()),
        "nodes": n_nodes,
    }
    if not len(start):
        return counts
    run = end - start
    wait, turnaround = done("wait_s"), done("turnaround_s")
    times = times_of_queue((start, end), size, wait, turnaround, n_nodes)
    makespan = float(end.max())
    bounded = np.maximum(1.0, turnaround / np.maximum(run, BOUNDED_SLOWDOWN_TAU_S))
    interference, network_slowdown = done("interference"), done("network_slowdown")
    placement, cost = done("placement_factor"), done("communication_cost")
    return counts | {
        "utilization_steady": times["utilization_steady"],
        "utilization_makespan": float(np.sum(size * run)) / (n_nodes * makespan),
        "makespan_s": times["makespan_s"],
        "throughput_jobs_per_hour": len(start) / makespan * 3600.0,
        "node_hours": float(np.sum(size * run)) / 3600.0,
        **lost_capacity(jobs, n_nodes),
        "mean_wait_s": times["mean_wait_s"],
        "median_wait_s": float(np.median(wait)),
        "mean_turnaround_s": times["mean_turnaround_s"],
        "mean_bounded_slowdown": float(bounded.mean()),
        "mean_interference": float(interference.mean()),
        "max_interference": float(interference.max()),
        "mean_interference_by_node_seconds": _mean_of(interference, size * run),
        "mean_network_slowdown": float(network_slowdown.mean()),
        "mean_network_slowdown_by_node_seconds": _mean_of(network_slowdown, size * run),
        "mean_placement_factor": float(placement.mean()),
        "mean_placement_factor_by_node_seconds": _mean_of(placement, size * run),
        **node_seconds_lost(jobs),
        "mean_aph": float(done("aph").mean()),
        "mean_communication_cost": float(cost[cost > 0].mean()) if (cost > 0).any() else None,
    }


def _mean_of(values: Floats, weights: Floats) -> float | None:
    """Return a weighted mean; None where all weights are zero."""
    return float(np.average(values, weights=weights)) if weights.any() else None


def times_of_queue(
    spans: tuple[Floats, Floats],
    size: Ints | Floats,
    wait: Floats,
    turnaround: Floats,
    n_nodes: int,
) -> dict[str, float | None]:
    """Return what a schedule without the network is known by, in the words of `summarize`."""
    start, end = spans
    last_start = float(start.max())
    steady = float(np.sum(size * np.clip(np.minimum(end, last_start) - start, 0.0, None)))
    return {
        "utilization_steady": steady / (n_nodes * last_start) if last_start > 0 else None,
        "makespan_s": float(end.max()),
        "mean_wait_s": float(wait.mean()),
        "mean_turnaround_s": float(turnaround.mean()),
    }


def node_seconds_lost(jobs: Table) -> dict[str, float]:
    """Return node-seconds lost to interference and to placement."""
    # Together nodes times (run time - run time / slowdown).
    done = ran(jobs)
    size, interference_delay_s = done(NODES_USED), done("interference_delay_s")
    alone_s = done("end_s") - done("start_s") - interference_delay_s
    stretched_s = alone_s * (1.0 - 1.0 / done("placement_factor"))
    return {
        "node_seconds_lost_to_interference": float(np.sum(size * interference_delay_s)),
        "node_seconds_lost_to_placement": float(np.sum(size * stretched_s)),
    }


def size_class(n_nodes: "pd.Series") -> "pd.Series":
    """Return the size class of each job: ``"1"``, ``"2-4"``, ..., ``"257+"``."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    edges = [0, *(last if last is not None else np.inf for _, last in SIZE_CLASSES)]
    return pd.cut(n_nodes, edges, labels=size_class_names())


def size_class_names() -> list[str]:
    """Return the names of the size classes, smallest first. Result: as `size_class` uses them."""
    return [
        f"{first}+" if last is None else (str(first) if first == last else f"{first}-{last}")
        for first, last in SIZE_CLASSES
    ]


@public
def speedup(jobs: "pd.DataFrame | Result", baseline: "pd.DataFrame | Result") -> "pd.DataFrame":
    """
    Return the emergent speed-up of each job that ran in both results.

    Parameters
    ----------
    jobs, baseline : Result or DataFrame
        The result and the baseline, or their job tables.

    Returns
    -------
    DataFrame
        Indexed by job id: ``speedup`` = run time under Baseline / run time here,
        ``node_seconds`` under Baseline (the weight of the weighted mean), ``n_nodes`` and
        ``pattern``.
    """
    import pandas as pd  # noqa: PLC0415 (slow to import)

    tables = []
    for name, one in (("jobs", jobs), ("baseline", baseline)):
        table = one if isinstance(one, pd.DataFrame) else getattr(one, "jobs", one)
        if not isinstance(table, pd.DataFrame) or not _NEEDED.issubset(table.columns):
            raise wrong(name, "a result or its job table", one, ResultError)
        tables.append(finished(table).set_index("id"))
    here, there = tables
    both = there.index.intersection(here.index)
    run_here = (here["end_s"] - here["start_s"]).loc[both]
    run_there = (there["end_s"] - there["start_s"]).loc[both]
    return pd.DataFrame(
        {
            "speedup": run_there / run_here,
            "node_seconds": run_there * pd.Series(nodes_used(there), there.index).loc[both],
            "n_nodes": there["n_nodes"].loc[both],
            "pattern": there["pattern"].loc[both],
        }
    )


def compare(
    summary: Mapping[str, float | int | None],
    baseline: Mapping[str, float | int | None],
    speedups: "pd.DataFrame",
) -> dict[str, float]:
    """Return speed-ups (plain, by node-seconds) and ratios relative to Baseline."""
    if speedups.empty:
        return {}
    return {
        "speedup_mean": float(speedups["speedup"].mean()),
        "speedup_weighted": float(
            np.average(speedups["speedup"], weights=speedups["node_seconds"])
        ),
        "makespan_ratio": _summary_ratio(summary, baseline, "makespan_s"),
        "turnaround_ratio": _summary_ratio(summary, baseline, "mean_turnaround_s"),
    }


def _summary_ratio(
    here: Mapping[str, float | int | None], there: Mapping[str, float | int | None], key: str
) -> float:
    """Return the ratio of a number of two summaries; NaN where one does not have it."""
    above, below = here.get(key), there.get(key)
    return float("nan") if above is None or not below else above / below


def wait_by_size(jobs: "pd.DataFrame") -> "pd.DataFrame":
    """Return jobs, and mean, median, 95 % and longest wait in seconds, by size class."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    done = finished(jobs)
    wait = done["wait_s"].groupby(size_class(done["n_nodes"]), observed=False)
    return pd.DataFrame(
        {
            "jobs": wait.size(),
            "mean_s": wait.mean(),
            "median_s": wait.median(),
            "p95_s": wait.quantile(0.95),
            "max_s": wait.max(),
        }
    ).rename_axis("n_nodes")


def hops_by_size(jobs: "pd.DataFrame") -> "pd.DataFrame":
    """Return jobs, and mean and node-time-weighted mean of their APH, by size class."""
    # APH: Pollard18, eq. (1), the same number as MIND of Stoltzfus13, section 2.4.
    import pandas as pd  # noqa: PLC0415 (slow to import)

    done = finished(jobs)
    weight = nodes_used(done) * (done["end_s"] - done["start_s"])
    table = pd.DataFrame({"aph": done["aph"], "far": done["aph"] * weight, "weight": weight})
    groups = table.groupby(size_class(done["n_nodes"]), observed=False)
    total = groups.sum()
    return pd.DataFrame(
        {
            "jobs": groups.size(),
            "mean_aph": groups["aph"].mean(),
            "weighted_aph": total["far"] / total["weight"].replace(0.0, np.nan),
        }
    ).rename_axis("n_nodes")


def network_volume(links: Table | None) -> dict[str, float | None]:
    """Return bytes sent, hop-bytes and mean hops per byte; None where jobs were not routed."""
    # Hop-bytes as in Yang, section IV (M x D), with the distance travelled for D.
    if links is None:
        return dict.fromkeys(("bytes_sent", "hop_bytes", "mean_hops_per_byte"))
    nbytes, kind = np.asarray(links["bytes"]), np.asarray(links["class"], dtype=object)
    sent = float(nbytes[kind == "injection"].sum())
    far = float(nbytes[(kind != "injection") & (kind != "ejection")].sum())
    return {
        "bytes_sent": sent,
        "hop_bytes": far,
        "mean_hops_per_byte": far / sent if sent > 0 else None,
    }


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


def mind_gain_of(jobs: "pd.DataFrame", reference: "pd.DataFrame") -> MindGain:
    """Compare the MIND of the jobs of two results."""
    here, there = (finished(table).set_index("id").sort_index() for table in (jobs, reference))
    both = there.index.intersection(here.index)
    here, there = here.loc[both], there.loc[both]
    sizes = there["n_nodes"].to_numpy()
    node_s = sizes * (there["end_s"] - there["start_s"]).to_numpy()
    return mind_gain(sizes, node_s, there["aph"].to_numpy(), here["aph"].to_numpy())
