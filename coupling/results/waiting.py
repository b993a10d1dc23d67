"""What all waiting of a run was for, and how much of it is the price of isolation."""

from typing import Any

import numpy as np

from coupling.results.framed import Table, ran
from scheduler.reasons import ISOLATION, REASONS

HOUR_S = 3600.0


def waiting_by_reason(waits: Table, jobs: Table) -> dict[str, Any]:
    """
    Return what a summary says of the waiting of a run.

    `waits`: as in results.md. Result: ``wait_node_hours``, ``wait_job_hours`` by reason, and
    ``price_of_isolation``: of both, what jobs waited since isolation forbade nodes that were free
    (``direct``), what others waited behind jobs that were just held up so (``behind``), and their
    shares of all waiting; None where nobody waited.
    """
    job, hours = np.asarray(waits["id"]), np.asarray(waits["wait_s"]) / HOUR_S
    ran_id, size = map(ran(jobs), ("id", "n_nodes"))
    order = np.argsort(ran_id)
    node_hours = hours * size[order[np.searchsorted(ran_id, job, sorter=order)]]
    reason, root = (np.asarray(waits[name]) for name in ("reason", "root"))
    direct, behind = reason == ISOLATION, root == ISOLATION
    told: dict[str, Any] = {}
    price: dict[str, float | None] = {}
    for unit, spent in (("node", node_hours), ("job", hours)):
        told[f"wait_{unit}_hours"] = {name: float(spent[reason == name].sum()) for name in REASONS}
        total = float(spent.sum())
        for name, rows in (("direct", direct), ("behind", behind)):
            part = float(spent[rows].sum())
            price[f"{name}_{unit}_hours"] = part
            price[f"{name}_share_of_{unit}_hours"] = part / total if total > 0.0 else None
    return told | {"price_of_isolation": price}
