"""Metrics by size of the jobs, and of what the network carries."""

from typing import TYPE_CHECKING

import numpy as np

from coupling.results.columns import finished
from coupling.results.framed import Table, nodes_used
from coupling.results.summary import size_class

if TYPE_CHECKING:
    import pandas as pd


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
