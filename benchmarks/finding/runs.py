"""The runs of the finding: four sweeps over parts of each log, three if synthetic."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.sweep.spec import Spec
from coupling.sweep.sweep import run_sweep
from fabricsim.checking.documents import parse_toml

HERE = Path(__file__).parent
LOGS = {"Thunder": "LLNL-Thunder-2007-1.1-cln", "Atlas": "LLNL-Atlas-2006-2.1-cln"}
SYNTHETIC = {"Synth-16": 16, "Synth-22": 22, "Synth-28": 28}  # mean nodes, and radix of the tree
ALLOCATOR, MODEL, MEANS = "scheduler.allocator", "network.model", "run.runtime_means"
FRACTION, MIX, SEED = "communication.rule.*.comm_fraction", "communication", "run.seed"
BASELINE, SCATTERED, SHARING = "first-free", "random", "lc+s"
ISOLATING = ("ta", "laas", "jigsaw")
SCENARIOS = ("5%", "10%", "20%", "V1", "V2")
NO_NETWORK = "null"
PLACED_FRACTIONS = (0.3, 1.0)
HOUR_S = 3600.0
Progress = Callable[[str], None]
"""Called with a line about what is done."""


def designs(log: str, most: int | None = None) -> dict[str, dict[str, Any]]:
    """
    Return what each sweep of a log varies, over the first draws of its file or all.

    ``simulated``: jobs share links, as the file says. ``assumed``: no job slows another, and the
    papers' assumptions; isolated jobs run there as if alone, so Baseline alone has runs of its own.
    ``sharing``: LC+S. ``placed``: as ``simulated``, and the own placement costs what it does; of
    real logs alone.
    """
    own = parse_toml(_file(log).read_text(), log, ValueError)["sweep"]
    (zipped,) = own.pop("zip")
    draws = {name: values[:most] for name, values in zipped.items()}
    simulated = {**own, "zip": [draws]}
    scenarios = [{"name": "assumed", "scenario": one, "label": one} for one in SCENARIOS]
    without = [BASELINE, SCATTERED, *ISOLATING, SHARING]
    assumed = {
        ALLOCATOR: [*without, *[BASELINE] * len(SCENARIOS)],
        MODEL: [*[NO_NETWORK] * len(without), *scenarios],
    }
    sharing = {ALLOCATOR: [SHARING], FRACTION: own[FRACTION]}
    placed = {
        ALLOCATOR: [BASELINE, SCATTERED, *ISOLATING],
        MEANS: ["isolated"],
        FRACTION: list(PLACED_FRACTIONS),
    }
    parts: dict[str, dict[str, Any]] = {
        "assumed": {"jobs": False, "zip": [assumed, draws]},
        "simulated": simulated,
        "placed": {"jobs": False, **placed, "zip": [draws]},
        "sharing": {"jobs": False, **sharing, "zip": [draws]},
    }
    return {part: one for part, one in parts.items() if log in LOGS or part != "placed"}


def sources(logs: Path | None, synthetic: bool) -> dict[str, list[str]]:
    """Return what to set in the file of each log that is asked for; `logs`: folder of the real."""
    found: dict[str, list[str]] = {}
    if logs is not None:
        for log, name in LOGS.items():
            found[log] = [f"workload.path={(logs / f'{name}.swf.gz').resolve()}"]
    if synthetic:
        for log, size in SYNTHETIC.items():
            found[log] = [f"topology.radix={size}", f"workload.mean_nodes={size}"]
    return found


def run_all(
    settings: Mapping[str, list[str]], folder: Path, progress: Progress, most: int | None = None
) -> dict[tuple[str, str], pd.DataFrame]:
    """Compute what is missing; return the cells by log and sweep. `settings`: see `sources`."""
    found = {}
    for log, own in settings.items():
        for part, varied in designs(log, most).items():
            spec = Spec.read(_file(log), own, varied)
            own_progress = _progress(f"{log}, {part}", progress)
            sweep = run_sweep(spec, folder / log.lower() / part, progress=own_progress)
            found[log, part] = sweep.to_frame()
    return found


def rows(found: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """Return a row per cell: which run it is, and its results."""
    tables = []
    for (log, part), cells in found.items():
        defaults: Mapping[str, Any] = {FRACTION: 0.0, MIX: "mixed", MODEL: "fluid"}
        own = cells.assign(**{key: one for key, one in defaults.items() if key not in cells})
        neighbours = own["node_seconds_lost_to_interference"] / HOUR_S
        placement = own["node_seconds_lost_to_placement"] / HOUR_S
        work = own["node_hours"] - neighbours - placement
        table = {
            "log": log,
            "part": part,
            "allocator": own[ALLOCATOR],
            "model": own[MODEL],
            "fraction": own[FRACTION],
            "mix": own[MIX],
            "draw": own[SEED],
            "jobs": own["jobs"],
            "makespan_h": (own["makespan_s"] / HOUR_S).round(4),
            "turnaround_h": (own["mean_turnaround_s"] / HOUR_S).round(4),
            "utilization": own["utilization_steady"].round(5),
            "neighbours": (neighbours / work).round(6),
            "placement": (placement / work).round(6),
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def _file(log: str) -> Path:
    """Return the experiment file of a log; the synthetic ones share one."""
    return HERE / f"{log.lower().split('-', maxsplit=1)[0]}.toml"


def _progress(what: str, progress: Progress) -> Callable[[str, int, int], None]:
    """Report every tenth cell."""

    def report(phase: str, done: int, total: int) -> None:
        if phase == "computed" and (done == total or done % 10 == 0):
            progress(f"{what}: {done} of {total} cells")

    return report
