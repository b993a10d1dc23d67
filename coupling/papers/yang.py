"""Yang (Deja Vu): Reckless and Cautious against contiguous and scattered nodes."""

from collections.abc import Mapping

import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.paper import BLUE, INTREPID, Claim, Frames, Paper, Sheet
from coupling.papers.runs import Runs
from coupling.papers.tables import long, span
from coupling.papers.yang_shapes import (
    shape_claims,
    shape_figures,
    shape_frames,
    shape_sheets,
)
from coupling.report.figures import DrawnFigure

CC, NC = "CC", "NC"
POLICIES: Mapping[tuple[str, str], str] = {  # by allocator and queue
    ("compact-contiguous", "easy"): CC,
    ("non-contiguous", "easy"): NC,
    ("torus-chunk", "easy"): "chunks",
    ("torus-chunk", "R3"): "chunks, R3",
    ("torus-chunk", "reckless"): "Reckless",
    ("torus-chunk", "cautious"): "Cautious",
    ("non-contiguous", "reckless"): "Reckless or NC",
    ("non-contiguous", "cautious"): "Cautious or NC",
}
NETWORKS = {"fluid": "network", "null": "infinite network"}
VALUES = {
    "utilization_makespan": "utilisation",
    "loss_of_capacity": "loss of capacity",
    "mean_network_slowdown": "slowdown",
    "mean_hops_per_byte": "hops per byte",
    "mean_wait_s": "mean wait, h",
    "mean_turnaround_s": "mean turnaround, h",
}
_HOUR_S = 3600.0


SYNTHETIC = "synthetic"
LOGS = {"policies": "SDSC-BLUE", "intrepid": "Intrepid"}  # by experiment file
TALK = "communication.rule.*.comm_fraction"


def study(runs: Runs) -> Frames:
    """Find the means of every policy over the draws."""
    cells = runs.cells("policies", "intrepid")
    pairs = zip(cells["scheduler.allocator"], cells["scheduler.queue"], strict=True)
    cells = cells.assign(
        policy=[POLICIES[str(allocator), str(queue)] for allocator, queue in pairs],
        network=cells["network.model"].map(NETWORKS),
        log=_logs(cells, quick=runs.quick),
    )
    keys = ["log", "network", "policy"]
    means = cells.groupby(keys, sort=False, as_index=False)[list(VALUES)].mean()
    for base in (CC, NC):
        own = means[means["policy"] == base].set_index(keys[:2])
        for value in ("mean_wait_s", "mean_turnaround_s"):
            below = means.join(own[value].rename("below"), on=keys[:2])["below"]
            means[f"{value}/{base}"] = means[value] / below.where(below > 0)
    return {"policies": means, **shape_frames(runs)}


def _logs(cells: pd.DataFrame, *, quick: bool) -> list[str]:
    """Return whose jobs the cells run, and how much they communicate where that varies."""
    talk = cells.get(TALK, pd.Series(index=cells.index, dtype=object)).fillna("")
    names = [SYNTHETIC if quick else LOGS[str(file)] for file in cells["file"]]
    return [f"{name}, {own}" if own else name for name, own in zip(names, talk, strict=True)]


def claims(found: Frames) -> list[Claim]:
    """Return the draft's statements beside ours."""
    rows = [one for log in _of_logs(found) for one in _policy_claims(found, log)]
    table = found["policies"].set_index(["network", "policy"])["mean_network_slowdown"]
    real = NETWORKS["fluid"]
    filled = f"filled: slowdown of NC {_all(table, real, NC)}, of CC {_all(table, real, CC)}"
    rows.append(Claim("table of results", "all values", "empty", "below", filled))
    return rows + shape_claims(found)


def _all(table: pd.Series, network: str, policy: str) -> str:
    """Return from where to where a number goes over the logs."""
    return span(table.loc[[(network, policy)]], 3)


def _of_logs(found: Frames) -> list[str]:
    """Return the logs, in their order."""
    return list(dict.fromkeys(map(str, found["policies"]["log"])))


def _policy_claims(found: Frames, log: str) -> list[Claim]:
    """Return what the draft says of policies beside ours on a log."""
    own = found["policies"][found["policies"]["log"] == log]
    table = own.set_index(["network", "policy"])
    real, free = NETWORKS["fluid"], NETWORKS["null"]

    def both(value: str) -> str:
        pair = (table[value][real, name] for name in ("Reckless", "Cautious"))
        return ", ".join("-" if pd.isna(one) else f"{one:.2f}" for one in pair)

    alike = table["mean_turnaround_s"]
    ratio = alike[real, "Reckless"] / alike[real, "Cautious"]
    contiguous = f"{table[f'mean_turnaround_s/{NC}'][real, CC]:.2f}"
    chunks = f"{table[f'mean_turnaround_s/{CC}'][real, 'chunks, R3']:.2f}"
    rows = [
        Claim("X", f"turnaround / NC of Reckless, Cautious, {log}", "below 1",
              both(f"mean_turnaround_s/{NC}"), f"contiguity alone does it: CC has {contiguous}"),
        Claim("X", f"wait / NC of Reckless, Cautious, {log}", "below 1", both(f"mean_wait_s/{NC}"),
              "the same"),
        Claim("X", f"turnaround / CC of Reckless, Cautious, {log}", "below 1",
              both(f"mean_turnaround_s/{CC}"), f"chunks that know no pattern, R3: {chunks}"),
        Claim("VIII", f"turnaround of Reckless / Cautious, {log}", "comparable", f"{ratio:.2f}"),
    ]  # fmt: skip
    if (free, NC) in table.index:
        lost = ", ".join(f"{table['loss_of_capacity'][free, name]:.1%}" for name in ("chunks", NC))
        what = f"capacity lost for shapes, infinite network: chunks, NC, {log}"
        rows.append(Claim("VIII-B", what, "shapes cost", lost))
    return rows


def sheets(found: Frames) -> list[Sheet]:
    """Return the tables that the draft leaves empty."""
    ratios = [name for name in found["policies"].columns if "/" in name]
    heads = ["policy", *VALUES.values()]
    heads += [name.replace("mean_", "").replace("_s/", " / ") for name in ratios]
    result = []
    for (log, network), own in found["policies"].groupby(["log", "network"], sort=False):
        rows = []
        for row in own.to_dict("records"):
            shares = [f"{row[name]:.1%}" for name in list(VALUES)[:2]]
            plain = [f"{row[name]:.3f}" for name in list(VALUES)[2:4]]
            hours = [f"{row[name] / _HOUR_S:.2f}" for name in list(VALUES)[4:]]
            rest = ["-" if pd.isna(row[name]) else f"{row[name]:.2f}" for name in ratios]
            rows.append([str(row["policy"]), *shares, *plain, *hours, *rest])
        name = f"{_file(str(log))}-{_file(str(network))}"
        result.append(Sheet(name, f"Policies, {log}, {network}", heads, rows))
    return [*result, *shape_sheets(found)]


def _file(name: str) -> str:
    """Return a part of the name of a file."""
    return name.lower().replace(", ", "-").replace(" %", "").replace(" ", "-")


def figures(found: Frames) -> list[DrawnFigure]:
    """Return turnaround and wait against CC and NC."""
    table = found["policies"]
    drawn = []
    for log in _of_logs(found):
        mine = table[table["log"] == log]
        at_most = {
            (network, name): 1.0
            for network in dict.fromkeys(map(str, mine["network"]))
            for name in ("Reckless", "Cautious")
        }
        for value, word in (("mean_turnaround_s", "turnaround"), ("mean_wait_s", "wait")):
            for base in (CC, NC):
                own = mine[mine["policy"] != base]
                said = published(long(own, "network", f"{value}/{base}"), at_most)
                picture = bars(f"yang-{word}-{base}-{log}", f"Mean {word} / {base}, {log}", said,
                               Axis(f"{word} / {base}", line=1.0))  # fmt: skip
                caption = "Marks: below 1, says the draft; it has no values."
                drawn.append(DrawnFigure(f"{word}-{base.lower()}-{_file(log)}", picture, caption))
    return drawn + shape_figures(found)


YANG = Paper(
    "yang",
    "Yang",
    "Reckless and Cautious on a torus (Yang et al., Deja Vu)",
    (BLUE, INTREPID),
    study,
    claims,
    sheets,
    figures,
    (("policies", "intrepid"),),
)
