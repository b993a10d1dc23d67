"""Yang (Deja Vu): Reckless and Cautious against contiguous and scattered nodes."""

from collections.abc import Mapping

import pandas as pd

from coupling.papers.claims import differences, summarise
from coupling.papers.paper import BLUE, INTREPID, Axis, Chart, Claim, Frames, Paper
from coupling.papers.runs import Runs
from coupling.papers.yang_shapes import NC, SHAPES, shape_frames

CC = "CC"
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
OURS = ("Reckless", "Cautious")
NETWORKS = {"fluid": "network", "null": "infinite network"}
VALUES = (
    *("utilization_makespan", "loss_of_capacity", "mean_network_slowdown", "mean_hops_per_byte"),
    *("mean_wait_s", "mean_turnaround_s"),
)
TIMES = ("mean_wait_s", "mean_turnaround_s")
SYNTHETIC = "synthetic"
LOGS = {"policies": "SDSC-BLUE", "intrepid": "Intrepid"}  # by experiment file
TALK = "communication.rule.*.comm_fraction"


def study(runs: Runs) -> Frames:
    """Find the means of every policy in every sample."""
    cells = runs.cells("policies", "intrepid")
    pairs = zip(cells["scheduler.allocator"], cells["scheduler.queue"], strict=True)
    cells = cells.assign(
        policy=[POLICIES[str(allocator), str(queue)] for allocator, queue in pairs],
        network=cells["network.model"].map(NETWORKS),
        log=_log_names(cells, quick=runs.quick),
        sample=cells["run.seed"],
    )
    return {
        "policies": cells[["log", "network", "policy", "sample", *VALUES]],
        **shape_frames(runs),
    }


def _log_names(cells: pd.DataFrame, *, quick: bool) -> list[str]:
    """Return whose jobs the cells run, and how much they communicate where that varies."""
    talk = cells.get(TALK, pd.Series(index=cells.index, dtype=object)).fillna("")
    names = [SYNTHETIC if quick else LOGS[str(file)] for file in cells["file"]]
    return [f"{name}, {own}" if own else name for name, own in zip(names, talk, strict=True)]


def derive(found: Frames) -> Frames:
    """Return times over those of CC, NC and Cautious, and what scattered nodes and chunks cost."""
    keys = ["log", "network", "policy"]
    samples = found["policies"]
    tables = {f"over {base}": summarise(samples, keys, TIMES, over={"policy": base})
              for base in (CC, NC, "Cautious")}  # fmt: skip
    means = summarise(samples, keys, VALUES)
    scattered = found["full_machine"].melt("pattern", ["alone", "full_machine"], "machine", "ratio")
    return {
        "policies": means,
        **tables,
        "capacity": differences(samples, keys[:2], "loss_of_capacity", "policy", [("chunks", NC)]),
        "slowdown": differences(samples, keys[:2], "mean_network_slowdown", "policy", [(NC, CC)]),
        "scattered": scattered.replace({"machine": {"full_machine": "full machine"}}),
    }


def _below_claim(
    where: str, sentence: str, base: str, value: str, why: str, *, quick: bool
) -> Claim:
    """Return the claim that Reckless and Cautious are better than another policy."""
    rows = {"network": (NETWORKS["fluid"],), "policy": OURS}
    return Claim(where, sentence, f"over {base}", value, ("log", "policy"), rows=rows, most=1.0,
                 quick=quick, why=why)  # fmt: skip


def _shape_claim(where: str, sentence: str, pattern: str, why: str = "", *, alike: bool) -> Claim:
    """Return a claim about the time of 64 nodes on boxes that are no cube, over the cube's."""
    rows = {"pattern": (pattern,), "shape": SHAPES[1:4], "message": ("2 MB",), "nodes": (64,)}
    least, most = (0.95, 1.05) if alike else (1.05, None)
    return Claim(where, sentence, "shapes", "mean", ("shape",), rows=rows, least=least, most=most,
                 why=why)  # fmt: skip


def _ratio_chart(word: str, base: str) -> Chart:
    """Return the figure of a time over that of CC or NC."""
    at_most = {("*", "*", name): 1.0 for name in OURS}
    others = tuple(name for name in POLICIES.values() if name != base)
    return Chart(f"{word}-{base}-{{log}}", f"Mean {word} / {base}, {{log}}", f"over {base}",
                 f"mean_{word}_s", "network", "policy", Axis(f"{word} / {base}", line=1.0),
                 "Marks: below 1, says the draft; it has no values.", each=("log",),
                 rows={"policy": others}, paper=at_most)  # fmt: skip


_LENT = "an empty machine lends a job its links"
CLAIMS = (
    _below_claim("X", "Reckless and Cautious turn jobs around sooner than NC.", NC, TIMES[1],
           "contiguity alone does it: see CC in `table-over NC.csv`", quick=True),
    _below_claim("X", "Jobs wait less under Reckless and Cautious than under NC.", NC, TIMES[0],
           "contiguity alone does it", quick=False),
    _below_claim("X", "Reckless and Cautious turn jobs around sooner than CC.", CC, TIMES[1],
           "chunks that know no pattern do as well", quick=True),
    Claim(
        "VIII", "Reckless and Cautious have comparable turnaround (within 10 %).", "over Cautious",
        TIMES[1], ("log", "policy"), rows={"network": (NETWORKS["fluid"],), "policy": OURS[:1]},
        least=0.9, most=1.1,
    ),
    Claim(
        "VIII-B", "Shapes cost capacity: chunks lose more of it than NC.", "capacity", "more",
        ("log",), "of the node time", {"network": (NETWORKS["null"],)}, least=0.0, quick=False,
    ),
    Claim(
        "VI", "Scattered jobs are slowed down more than contiguous ones.", "slowdown", "more",
        ("log",), rows={"network": (NETWORKS["fluid"],)}, least=0.0,
    ),
    _shape_claim("VI", "A2A needs a compact allocation: other boxes are slower.", "A2A",
            alike=False),
    _shape_claim("VI", "NN runs as well on any box.", "NN", alike=True),
    _shape_claim("IV", "O2A needs a node near to all others: other boxes are slower.", "O2A",
            "the root's own link takes the time, whatever the shape", alike=False),
    Claim(
        "IV", "A2A is slower on scattered nodes.", "scattered", "ratio", ("machine",),
        rows={"pattern": ("A2A",)}, least=1.05, why=_LENT,
    ),
)  # fmt: skip
CHARTS = (
    *(_ratio_chart(word, base) for word in ("turnaround", "wait") for base in (CC, NC)),
    Chart(
        "shapes", "64 nodes, 2 MB a message, by shape", "shapes", "mean", "shape", "pattern",
        Axis("time / cube", line=1.0),
        "Marks: the only values of the draft's table. NC: random nodes of an idle machine.",
        rows={"message": ("2 MB",), "nodes": (64,)}, paper={("3D-B", "*"): 1.0},
    ),
)  # fmt: skip
YANG = Paper(
    "yang",
    "Yang",
    "Reckless and Cautious on a torus (Yang et al., Deja Vu)",
    (BLUE, INTREPID),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("policies", "intrepid"),),
)
