"""Mishra20: its numbers beside ours, as tables and as figures."""

import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.mishra20_reference import (
    DEFAULT,
    LOGS,
    OURS,
    PAPER_BEST,
    PAPER_COST,
    PAPER_HOURS,
    PAPER_INDIVIDUAL,
    PAPER_MIXES,
    PAPER_SHARES,
    PAPER_SHARES_GREEDY,
    PAPER_TURNAROUND,
    SYNTHETIC,
    Marks,
    against,
    either,
    means,
    said_of,
)
from coupling.papers.paper import Claim, Frames, Sheet
from coupling.papers.tables import long, pivot, span
from coupling.report.figures import DrawnFigure

_OF_SHARES = (("turnaround_h", "turnaround"), ("node_hours", "node hours"))
LOAD = "jobs, machine and node counts of the paper are not published in full"
OTHER = "a synthetic load here, with smaller jobs"


def _why(found: Frames) -> str:
    """Return why numbers of continuous runs differ."""
    return OTHER if SYNTHETIC in set(found["continuous"]["log"]) else LOAD


def _percent(ratio: float) -> str:
    """Return how much less something is."""
    return f"{100 * (1 - ratio):.1f}"


def claims(found: Frames) -> list[Claim]:
    """Return the paper's numbers beside ours."""
    keys = ("log", "pattern")
    table = against(found["continuous"], keys, ("execution_h", "wait_h"))
    known, why = table.set_index([*keys, "allocator"]), _why(found)
    rows: list[Claim] = []
    for value, word, place in (("execution_h", "execution time", 0), ("wait_h", "wait", 1)):
        for log in dict.fromkeys(table["log"]):
            for pattern in ("RHVD", "RD"):
                said = [pair[place] for pair in said_of(PAPER_HOURS, log, pattern)]
                paper = [span([100 * (1 - own[1 + at] / own[0]) for own in said], 1)
                         for at in range(len(OURS))]  # fmt: skip
                ours = [_percent(known[f"{value}/"][log, pattern, name]) for name in OURS]
                rows.append(
                    Claim("" if rows else "6.1, Table 3",
                          f"% less {word} than the default, {log}, {pattern}: {', '.join(OURS)}",
                          ", ".join(paper), ", ".join(ours), why)
                )  # fmt: skip
    return rows + _other_claims(found) + _network_claims(found)


def _other_claims(found: Frames) -> list[Claim]:
    """Return the statements about single jobs, costs, mixes and shares."""
    rows, why = list[Claim](), _why(found)
    individual = found["individual"].set_index(["log", "pattern", "allocator"])["time"]
    for log in dict.fromkeys(found["individual"]["log"]):
        for pattern in ("RHVD", "RD"):
            said = said_of(PAPER_INDIVIDUAL, log, pattern)
            paper = [span([own[at] for own in said], 1) for at in range(len(OURS))]
            ours = [f"{individual[log, pattern, name]:.1f}" for name in OURS]
            what = f"% less on the same states, {log}, {pattern}: {', '.join(OURS)}"
            place = "" if rows else "6.3, Table 4"
            rows.append(Claim(place, what, ", ".join(paper), ", ".join(ours), why))
    rows += _best_claims(found)
    for row in _saved(found).to_dict("records"):
        less = span(said_of(PAPER_COST, row["log"], row["pattern"]), 1)
        what = f"% less cost, mean of the three, {row['log']}, {row['pattern']}"
        rows.append(Claim("6.4, Figure 8", what, less, f"{row['saved']:.1f}", why))
    return rows + _mix_claims(found)


def _best_claims(found: Frames) -> list[Claim]:
    """Return the most that a single job gains."""
    best = found["continuous"].groupby("log", sort=False)["best"].max()
    alone = found["individual"].groupby("log", sort=False)["best"].max()
    rows = []
    for log in best.index:
        most = [PAPER_BEST[one] for one in LOGS if log in (one, SYNTHETIC)]
        paper = ", ".join(span([own[at] for own in most], 0, " %") for at in (0, 1))
        what = f"most that a job gains, {log}: continuous, individual"
        ours = f"{best[log]:.0f} %, {alone[log]:.0f} %"
        rows.append(Claim("6.1, 6.3", what, paper, ours, _STATE))
    return rows


_STATE = "continuous runs: against the default's place in the same state, not in another run"


def _saved(found: Frames) -> pd.DataFrame:
    """Return how much less the placements of the three cost in the mean."""
    own = found["continuous"][found["continuous"]["allocator"].isin(OURS)]
    return means(own, ("log", "pattern"), ("saved",))


def _mixes(found: Frames) -> pd.DataFrame:
    """Return how much less jobs run under the three in the mean, in per cent, by mix."""
    table = against(found["mixes"], ("log", "mix"), ("execution_h",))
    table["percent"] = 100 * (1 - table["execution_h/"])
    return means(table[table["allocator"].isin(OURS)], ("log", "mix"), ("percent",))


def _mix_claims(found: Frames) -> list[Claim]:
    """Return the statements of Figures 6 and 9."""
    rows, why = list[Claim](), _why(found)
    mixes = _mixes(found)
    for log, own in mixes.groupby("log", sort=False):
        said = [PAPER_MIXES[one] for one in LOGS if log in (one, SYNTHETIC)]
        paper = ", ".join(span([values[at] for values in said], 1) for at in range(len(own)))
        ours = ", ".join(f"{value:.1f}" for value in own["percent"])
        what = f"% less execution time, mean of the three, {log}: {', '.join(own['mix'])}"
        rows.append(Claim("6.2, Figure 6", what, paper, ours, why))
    table = against(found["shares"], ("log", "share"), ("turnaround_h", "node_hours"))
    table = table.set_index(["share", "allocator"])
    for at, (value, word) in enumerate(_OF_SHARES):
        shares = dict.fromkeys(share for share, _ in PAPER_SHARES)
        paper = ", ".join(f"{PAPER_SHARES[share, 'adaptive'][at]:.1f}" for share in shares)
        ours = ", ".join(_percent(table[f"{value}/"][share, "adaptive"]) for share in shares)
        what = f"% less {word}, adaptive: {', '.join(shares)} communicate"
        rows.append(Claim("6.5, Figure 9", what, paper, ours, why))
    whole = against(found["continuous"], ("log", "pattern"), ("turnaround_h",))
    for log, percent in PAPER_TURNAROUND.items():
        own = whole[(whole["log"] == log) & (whole["pattern"] == "RHVD")]
        own = own[own["allocator"].isin(OURS)]
        if len(own):
            rows.append(Claim("6.5", f"% less turnaround, mean of the three, {log}", f"{percent:g}",
                              _percent(own["turnaround_h/"].mean()), why))  # fmt: skip
    return rows


def _network_claims(found: Frames) -> list[Claim]:
    table = against(found["emergent"], ("log", "uplinks", "pattern", "talk"), ("execution_h",))
    rows = list[Claim]()
    why = "a cost of hops knows neither bandwidth nor what the links can carry"
    for (uplinks, talk), own in table.groupby(["uplinks", "talk"], sort=False):
        by = own.groupby("allocator")["execution_h/"]
        ours = ", ".join(span([100 * (1 - one) for one in by.get_group(name)], 1) for name in OURS)
        rows.append(Claim("" if rows else "our network", "% less execution time, jobs communicate "
                          f"{talk} of their time, {uplinks}: {', '.join(OURS)}", "not in the paper",
                          ours, why))  # fmt: skip
    return rows


def sheets(found: Frames) -> list[Sheet]:
    """Return all numbers as tables."""
    return [
        _table_3(found["continuous"]),
        _table_4(found["individual"]),
        *_by_log(found["mixes"], "mix", "execution_h", "Execution time, h (Figure 6)", 0),
        *_by_log(found["costs"], "sizes", "cost", "Cost of a job, binomial (Figure 8)", 1),
        *_by_log(found["shares"], "share", "turnaround_h", "Mean turnaround, h (Figure 9)", 2),
        *_by_log(found["shares"], "share", "node_hours", "Node hours (Figure 9)", 0),
        _network_sheet(found["emergent"]),
    ]


def _table_3(table: pd.DataFrame) -> Sheet:
    """Return Table 3 with the paper's numbers beside ours."""
    heads = ["log", "pattern", "allocator", "execution h", "paper", "wait h", "paper",
             "cost saved %", "best job %"]  # fmt: skip
    rows = []
    for row in table.to_dict("records"):
        said = PAPER_HOURS.get((row["log"], row["pattern"]))
        at = (DEFAULT, *OURS).index(row["allocator"])
        paper = ["-", "-"] if said is None else [f"{own[at]}" for own in said]
        rows.append(
            [row["log"], row["pattern"], row["allocator"], f"{row['execution_h']:.0f}", paper[0],
             f"{row['wait_h']:.0f}", paper[1], f"{row['saved']:.2f}", f"{row['best']:.0f}"]
        )  # fmt: skip
    return Sheet("continuous", "Continuous runs (Table 3)", heads, rows)


def _table_4(table: pd.DataFrame) -> Sheet:
    """Return Table 4 with the paper's numbers beside ours."""
    heads = ["log", "pattern", "allocator", "less time %", "paper", "less cost %", "best job %"]
    rows = []
    for row in table.to_dict("records"):
        said = PAPER_INDIVIDUAL.get((row["log"], row["pattern"]))
        paper = "-" if said is None else f"{said[OURS.index(row['allocator'])]:.2f}"
        rows.append(
            [row["log"], row["pattern"], row["allocator"], f"{row['time']:.2f}", paper,
             f"{row['cost']:.2f}", f"{row['best']:.0f}"]
        )  # fmt: skip
    return Sheet("individual", "Individual runs, all on the same states (Table 4)", heads, rows)


def _by_log(table: pd.DataFrame, kind: str, value: str, title: str, digits: int) -> list[Sheet]:
    """Return a number by allocator and class, a table for each log."""
    sheets = []
    for log, own in table.groupby("log", sort=False):
        heads = ["allocator", *dict.fromkeys(own[kind])]
        sheets.append(
            Sheet(f"{kind}-{value.removesuffix('_h')}-{log}", f"{title}: {log}", heads,
                  pivot(own, "allocator", kind, value, digits, heads=heads))
        )  # fmt: skip
    return sheets


def _network_sheet(table: pd.DataFrame) -> Sheet:
    heads = ["uplinks", "pattern", "communicate", "allocator", "execution h", "wait h",
             "network_slowdown", "interference"]  # fmt: skip
    rows = [
        [row["uplinks"], row["pattern"], row["talk"], row["allocator"],
         f"{row['execution_h']:.0f}", f"{row['wait_h']:.0f}", f"{row['network_slowdown']:.3f}",
         f"{row['interference']:.3f}"]
        for row in table.to_dict("records")
    ]  # fmt: skip
    note = "Slowdown and interference: means by node time; slowdown against an ideal network."
    return Sheet("network", "The same jobs on our network", heads, rows, note)


def figures(found: Frames) -> list[DrawnFigure]:
    """Return the figures of the paper."""
    table = against(found["continuous"], ("log", "pattern"), ("execution_h", "wait_h"))
    table = table[table["allocator"].isin(OURS)]
    drawn = []
    for pattern in ("RHVD", "RD"):
        own = table[table["pattern"] == pattern]
        for place, word in enumerate(("execution", "wait")):
            title = f"{word.capitalize()}, {pattern} (Table 3)"
            ours = published(
                long(own, "log", f"{word}_h/", "allocator"), _hours(own, pattern, place)
            )
            axis = Axis(f"{word} time / default", line=1.0)
            picture = bars(f"mishra20-{word}-{pattern}", title, ours, axis)
            drawn.append(DrawnFigure(f"{word}-{pattern.lower()}", picture, _MARKS))
        drawn.append(_individual_figure(found["individual"], pattern))
    return [*drawn, *_cost_figures(found), *_share_figures(found), *_network_figures(found)]


def _hours(own: pd.DataFrame, pattern: str, place: int) -> Marks:
    """Return Table 3 over its default: execution (0) or wait (1)."""
    return {
        (log, name): either(
            [row[place][at] / row[place][0] for row in said_of(PAPER_HOURS, log, pattern)]
        )
        for log in own["log"]
        for at, name in enumerate(OURS, start=1)
    }


def _individual_figure(table: pd.DataFrame, pattern: str) -> DrawnFigure:
    own = table[table["pattern"] == pattern]
    said: Marks = {
        (log, name): either([row[at] for row in said_of(PAPER_INDIVIDUAL, log, pattern)])
        for log in own["log"]
        for at, name in enumerate(OURS)
    }
    picture = bars(f"mishra20-individual-{pattern}", f"Individual runs, {pattern} (Table 4)",
                   published(long(own, "log", "time", "allocator"), said),
                   Axis("time saved [%]", line=0.0))  # fmt: skip
    return DrawnFigure(f"individual-{pattern.lower()}", picture, f"On the same states. {_MARKS}")


_MARKS = "Marks: the paper; where the load is synthetic, from its least to its most."


def _cost_figures(found: Frames) -> list[DrawnFigure]:
    mixes, saved = _mixes(found), _saved(found)
    said: Marks = {
        (mix, log): either([PAPER_MIXES[one][at] for one in LOGS if log in (one, SYNTHETIC)])
        for log in mixes["log"]
        for at, mix in enumerate("ABCDE")
    }
    picture = bars("mishra20-mixes", "Mixes of collectives (Fig. 6)",
                   published(long(mixes, "mix", "percent", "log"), said),
                   Axis("time saved [%]", line=0.0))  # fmt: skip
    drawn = [DrawnFigure("mixes", picture, "Mean over greedy, balanced and adaptive.")]
    costs = {
        (row["pattern"], row["log"]): either(said_of(PAPER_COST, row["log"], row["pattern"]))
        for row in saved.to_dict("records")
    }
    picture = bars("mishra20-cost", "Communication cost (section 6.4)",
                   published(long(saved, "pattern", "saved", "log"), costs),
                   Axis("cost saved [%]", line=0.0))  # fmt: skip
    drawn.append(DrawnFigure("cost", picture, "Mean over greedy, balanced and adaptive."))
    for log, own in found["costs"].groupby("log", sort=False):
        picture = bars(f"mishra20-costs-{log}", f"Cost by size, binomial, {log} (Fig. 8)",
                       published(long(own, "sizes", "cost", "allocator"), {}),
                       Axis("cost, equation (6)"))  # fmt: skip
        drawn.append(
            DrawnFigure(f"costs-{log}", picture, "The paper's figure has no readable numbers.")
        )
    return drawn


def _share_figures(found: Frames) -> list[DrawnFigure]:
    table = against(found["shares"], ("log", "share"), ("turnaround_h", "node_hours"))
    table = table[table["allocator"].isin(OURS)]
    drawn = []
    for at, (value, word) in enumerate(_OF_SHARES):
        said: Marks = {key: 1 - pair[at] / 100 for key, pair in PAPER_SHARES.items()}
        least, most = PAPER_SHARES_GREEDY[at]
        said["*", "greedy"] = (1 - most / 100, 1 - least / 100)
        picture = bars(f"mishra20-shares-{value}", f"{word.capitalize()} / default (Fig. 9)",
                       published(long(table, "share", f"{value}/", "allocator"), said),
                       Axis(f"{word} / default", line=1.0))  # fmt: skip
        caption = "By share of jobs that communicate; marks: Intrepid, greedy from least to most."
        drawn.append(DrawnFigure(f"shares-{word.replace(' ', '-')}", picture, caption))
    return drawn


def _network_figures(found: Frames) -> list[DrawnFigure]:
    """Return what the network makes of the same jobs."""
    table = against(found["emergent"], ("log", "uplinks", "pattern", "talk"), ("execution_h",))
    table = table[table["allocator"] != DEFAULT]
    table = table.assign(kind=table["uplinks"] + ", " + table["talk"])
    return [
        DrawnFigure(f"network-{str(pattern).lower()}",
              bars(f"mishra20-network-{pattern}", f"On our network, {pattern}",
                   published(long(own, "kind", "execution_h/", "allocator"), {}),
                   Axis("execution time / default", line=1.0)),
              "By uplinks of a leaf, and share of their time that jobs communicate.")
        for pattern, own in table.groupby("pattern", sort=False)
    ]  # fmt: skip
