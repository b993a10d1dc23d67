"""Yang (Deja Vu): Reckless and Cautious against contiguous and scattered nodes."""

from collections.abc import Mapping

import pandas as pd

from coupling.papers.charts import Axis, bars, beside
from coupling.papers.logs import BLUE
from coupling.papers.paper import Claim, Frames, Paper, Sheet
from coupling.papers.runs import Runs
from coupling.papers.tables import long, span
from coupling.report.figures import Drawn

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
NETWORKS = {"fast": "network", "null": "infinite network"}
VALUES = {
    "utilization_makespan": "utilisation",
    "loss_of_capacity": "loss of capacity",
    "mean_slowdown": "slowdown",
    "mean_hops_per_byte": "hops per byte",
    "mean_wait_s": "mean wait, h",
    "mean_turnaround_s": "mean turnaround, h",
}
_HOUR_S = 3600.0


def study(runs: Runs) -> Frames:
    """Find the means of every policy over the draws."""
    cells = runs.cells("policies")
    pairs = zip(cells["scheduler.allocator"], cells["scheduler.queue"], strict=True)
    cells = cells.assign(
        policy=[POLICIES[str(allocator), str(queue)] for allocator, queue in pairs],
        network=cells["network.model"].map(NETWORKS),
    )
    keys = ["network", "policy"]
    means = cells.groupby(keys, sort=False, as_index=False)[list(VALUES)].mean()
    for base in (CC, NC):
        own = means[means["policy"] == base].set_index("network")
        for value in ("mean_wait_s", "mean_turnaround_s"):
            below = means["network"].map(own[value])
            means[f"{value}/{base}"] = means[value] / below.where(below > 0)
    return {"policies": means}


def claims(found: Frames) -> list[Claim]:
    """Return the draft's statements beside ours."""
    table = found["policies"].set_index(["network", "policy"])
    real, free = NETWORKS["fast"], NETWORKS["null"]

    def both(value: str) -> str:
        own = (table[value][real, name] for name in ("Reckless", "Cautious"))
        return ", ".join("-" if pd.isna(one) else f"{one:.2f}" for one in own)

    capacity = table["loss_of_capacity"]
    alike = table["mean_turnaround_s"]
    ratio = alike[real, "Reckless"] / alike[real, "Cautious"]
    contiguous = f"{table[f'mean_turnaround_s/{NC}'][real, CC]:.2f}"
    return [
        Claim("X", "turnaround / NC of Reckless, Cautious", "below 1",
              both(f"mean_turnaround_s/{NC}"), f"contiguity alone does it: CC has {contiguous}"),
        Claim("X", "wait / NC of Reckless, Cautious", "below 1", both(f"mean_wait_s/{NC}"),
              "the same, and few wait"),
        Claim("X", "turnaround / CC of Reckless, Cautious", "below 1",
              both(f"mean_turnaround_s/{CC}"),
              f"chunks that know no pattern, R3: "
              f"{table[f'mean_turnaround_s/{CC}'][real, 'chunks, R3']:.2f}"),
        Claim("VIII", "turnaround of Reckless / Cautious", "comparable", f"{ratio:.2f}"),
        Claim("VIII-B", "capacity lost for shapes, infinite network: chunks, NC", "shapes cost",
              f"{capacity[free, 'chunks']:.1%}, {capacity[free, NC]:.1%}"),
        Claim("table of results", "all values", "empty", "below",
              f"filled: slowdown of NC {span([table['mean_slowdown'][real, NC]], 3)}, "
              f"of CC {span([table['mean_slowdown'][real, CC]], 3)}"),
    ]  # fmt: skip


def sheets(found: Frames) -> list[Sheet]:
    """Return the table that the draft leaves empty."""
    ratios = [name for name in found["policies"].columns if "/" in name]
    heads = ["policy", *VALUES.values()]
    heads += [name.replace("mean_", "").replace("_s/", " / ") for name in ratios]
    result = []
    for network in NETWORKS.values():
        own = found["policies"][found["policies"]["network"] == network]
        rows = []
        for row in own.to_dict("records"):
            shares = [f"{row[name]:.1%}" for name in list(VALUES)[:2]]
            plain = [f"{row[name]:.3f}" for name in list(VALUES)[2:4]]
            hours = [f"{row[name] / _HOUR_S:.2f}" for name in list(VALUES)[4:]]
            rest = ["-" if pd.isna(row[name]) else f"{row[name]:.2f}" for name in ratios]
            rows.append([str(row["policy"]), *shares, *plain, *hours, *rest])
        result.append(Sheet(network.replace(" ", "-"), f"Policies, {network}", heads, rows))
    return result


def figures(found: Frames) -> list[Drawn]:
    """Return turnaround and wait against CC and NC."""
    table = found["policies"]
    names = ("Reckless", "Cautious")
    at_most = {(network, name): 1.0 for network in NETWORKS.values() for name in names}
    drawn = []
    for value, word in (("mean_turnaround_s", "turnaround"), ("mean_wait_s", "wait")):
        for base in (CC, NC):
            own = table[table["policy"] != base]
            said = beside(long(own, "network", f"{value}/{base}"), at_most)
            picture = bars(f"yang-{word}-{base}", f"Mean {word} / {base}", said,
                           Axis(f"{word} / {base}", line=1.0))  # fmt: skip
            caption = "Marks: below 1, says the draft; it has no values."
            drawn.append(Drawn(f"{word}-{base.lower()}", picture, caption))
    return drawn


YANG = Paper(
    "yang",
    "Yang",
    "Reckless and Cautious on a torus (Yang et al., Deja Vu)",
    (BLUE,),
    study,
    claims,
    sheets,
    figures,
)
