"""
Round trips of `fabricsim calibrate`: known communication, counters or run times, and back.

Run: ``python -m benchmarks.calibrate``. Exit status 1 if a bar is missed.
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from measured.ports import (
    KINDS,
    RATE,
    SECONDS,
    Counted,
    counted_site,
    guessed,
    profile_of,
    true_rates,
)
from measured.repeated import FABRIC, repeated_runs

import fabricsim as fs
from benchmarks import asking
from benchmarks.evidence import record, verdict
from coupling.calibration.answers import Calibration
from coupling.site.estimate import estimate
from coupling.site.site import Site, read_site

COMMAND = "python -m benchmarks.calibrate"
SEEDS = range(1, 13)
FEW_SEEDS = range(1, 5)
_BYTES = {"cfd": "256 KiB", "fft": "128 KiB", "train": "4 MiB", "graph": "256 KiB"}
SLOW = ("s1.5>s2.2", "s2.0>s1.1", "s1.2>s2.1")
KNOWN = profile_of({name: (pattern, 0.3) for name, (pattern, _) in KINDS.items()})
BAR, BAR_SLOW = 0.05, 0.8  # mean error of fractions with noise; slow cables that are named
COLUMNS = ("case", "sites", "pattern found", "f off, mean", "f off, worst", "in 90 %", "held out")

READ = (
    "64 nodes on 8 leaves and 4 spines, 8 jobs of four programs at random places; the fit knows",
    "four patterns that each may have, unless they are known. f off: of the fraction, relative.",
    "Held out: mean error of the load of links that were not read, in points of their capacity,",
    "as `now` predicts it with the profile.",
)


@dataclass
class Row:
    """What came out over all sites of a case."""

    patterns: list[bool] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)
    held: list[float] = field(default_factory=list)

    def text(self, name: str, sites: int) -> str:
        """Return a row of the table."""
        found = f"{np.mean(self.patterns):.0%}" if self.patterns else "given"
        held = f"{100 * np.mean(self.held):.1f} %" if self.held else "-"
        worst = f"{np.max(self.errors):.1%}"
        cells = (f"{np.mean(self.errors):.1%}", worst, f"{np.mean(self.inside):.0%}", held)
        return f"| {name} | {sites} | {found} | {' | '.join(cells)} |"


def fitted(site: Counted, profile: Mapping[str, Any], samples: int = 200) -> Calibration:
    """Calibrate a site."""
    return fs.calibrate(
        str(site.fabric),
        site.queue,
        before=site.before,
        after=site.after,
        seconds=SECONDS,
        profile=profile,
        samples=samples,
    )


def held_out(site: Counted, found: Calibration, folder: Path) -> float:
    """Return how far links whose ports were not read are from what the profile says, mean."""
    if not site.missing.size:
        return float("nan")
    path = folder / "told.toml"
    path.write_text(tomli_w.dumps(dict(found.profile)))
    predicted, _ = true_rates(read_site(str(site.fabric), site.queue, profile=path, samples=20))
    return float(np.abs(predicted - site.rate)[site.missing].mean() / RATE)


def packet_slowdowns(site: Site) -> dict[int, float]:
    """Return how slow jobs are in the packet simulation."""
    jobs = [
        {
            "id": job.number,
            "nodes": [site.scene.topology.vertex_name(node) for node in job.nodes.tolist()],
            "pattern": {**KINDS[job.name][0], "nbytes": _BYTES[job.name]},
            "comm_fraction": KINDS[job.name][1],
        }
        for job in site.scene.jobs
    ]
    told = estimate(
        {"topology": site.scene.topology, "routing": "d-mod-k", "model": "packets", "jobs": jobs},
        blame=False,
    )
    return {int(job.id): job.network_slowdown for job in told.jobs}


CASES: tuple[tuple[str, Mapping[str, Any], bool, range], ...] = (
    ("exact", {}, False, FEW_SEEDS),
    ("2 % noise", {"noise": 0.02}, False, SEEDS),
    ("5 % noise", {"noise": 0.05}, False, SEEDS),
    ("readings up to 3 of 60 s late", {"offset_s": 3.0}, False, SEEDS),
    ("20 % of the inner links unread", {"missing": 0.2}, False, SEEDS),
    (
        "all three, 2 % noise",
        {"noise": 0.02, "offset_s": 3.0, "missing": 0.2},
        False,
        SEEDS,
    ),
    (
        "all three, ports of nodes count waiting",
        {"noise": 0.02, "offset_s": 3.0, "missing": 0.2, "waits": True},
        False,
        SEEDS,
    ),
    (
        "all three, patterns known",
        {"noise": 0.02, "offset_s": 3.0, "missing": 0.2},
        True,
        SEEDS,
    ),
    (
        "packet simulation, 2 % noise",
        {"noise": 0.02, "judge": packet_slowdowns},
        True,
        FEW_SEEDS,
    ),
    (
        "packet simulation, 2 % noise, waiting counted",
        {"noise": 0.02, "judge": packet_slowdowns, "waits": True},
        True,
        FEW_SEEDS,
    ),
)


def counters(folder: Path) -> tuple[list[str], bool]:
    """Return the table of round trips by counters, and whether bars are met."""
    lines = [f"| {' | '.join(COLUMNS)} |", "| --- " * len(COLUMNS) + "|"]
    good = True
    for name, options, known, seeds in CASES:
        row = Row()
        for seed in seeds:
            site = counted_site(folder / f"{name}{seed}", seed=seed, **options)
            found = fitted(site, KNOWN if known else guessed())
            for group in found.groups:
                pattern, true = KINDS[group.group]
                if not known:
                    row.patterns.append(group.pattern == pattern["name"])
                row.errors.append(abs(group.fraction / true - 1.0))
                row.inside.append(group.low <= true <= group.high)
            if site.missing.size:
                row.held.append(held_out(site, found, site.fabric.parent))
        good &= float(np.mean(row.errors)) < BAR
        lines.append(row.text(name, len(seeds)))
        print(lines[-1], flush=True)
    return lines, good


def slow_cables(folder: Path) -> tuple[str, bool]:
    """Return how often a slow cable is named, and how often a healthy one is."""
    named = wrong = count = false = used = 0
    for seed in FEW_SEEDS:
        for link in ("", *SLOW):
            place = folder / f"slow{seed}{link}"
            site = counted_site(place, noise=0.02, offset_s=1.0, waits=True, slow=link, seed=seed)
            found = [cable.link for cable in fitted(site, guessed(), 20).slow]
            if not link:
                false += len(found)
                continue
            topology = fs.topology({"kind": "file", "path": str(site.fabric)})
            count += 1
            if site.rate[topology.link_number(link)] < 0.1 * RATE / 4.0:
                continue
            used += 1
            named += link in found
            wrong += len([own for own in found if own != link])
    line = (
        f"Slow cables (a quarter of the speed, {used} of {count} with load to tell): {named} "
        f"named, {wrong} others beside them; {false} named on {len(FEW_SEEDS)} healthy fabrics."
    )
    return line, used > 0 and named / used >= BAR_SLOW and not false


def runs(folder: Path) -> list[str]:
    """Return the table of round trips by run times."""
    lines = ["", "| repeated runs | f off, mean | f off, worst | in 90 % | not told |"]
    lines.append("| --- " * 5 + "|")
    for noise in (0.0, 0.02, 0.05):
        errors, inside, dark = list[float](), list[bool](), 0
        for seed in FEW_SEEDS:
            path = repeated_runs(folder / f"runs{noise}{seed}", jobs=200, noise=noise, seed=seed)
            for group in fs.calibrate_runs(path, FABRIC, profile=KNOWN).groups:
                true = KINDS[group.group][1]
                dark += not group.identifiable
                if group.identifiable:
                    errors.append(abs(group.fraction / true - 1.0))
                    inside.append(group.low <= true <= group.high)
        lines.append(
            f"| 200 runs, work differs by {noise:.0%} | {np.mean(errors):.1%} | "
            f"{np.max(errors):.1%} | {np.mean(inside):.0%} | {dark} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> int:
    """Measure and record; return the exit status."""
    asking.nothing(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, good = counters(folder)
        line, found = slow_cables(folder)
        print(line, flush=True)
        rows = runs(folder)
    lines += [
        "",
        *READ,
        "",
        f"Fractions within {BAR:.0%} in the mean: {verdict(good)}.",
        f"{line} At least {BAR_SLOW:.0%} named, none on healthy fabrics: {verdict(found)}.",
        *rows,
    ]
    record("Calibration from counters and run times", COMMAND, lines)
    return int(not (good and found))


if __name__ == "__main__":
    sys.exit(main())
