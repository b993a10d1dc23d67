"""
Contention models against packets on every kind of machine, under static and adaptive routings.

Run: ``python -m benchmarks.contention.matrix [MINUTES]``. Scenes are drawn by number; what
packets say of each is kept in `benchmarks/contention/matrix.json`, and the command goes on
where it stopped, scene by scene on all machines, for so many minutes of CPU time (20; 0 judges
the models anew on what is kept). Then it writes the tables, and the rows that results quote.
Twenty scenes of each machine and routing are for design, other 40 are reported.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from measured.matrix import (
    CELLS,
    ITERATIONS,
    MACHINES,
    PER_NODE,
    Job,
    Scene,
    Truth,
    scene,
    truth,
)
from measured.packets import CONTENDED, errors

from benchmarks import asking
from benchmarks.accuracy import comparison_of, record_comparisons
from benchmarks.evidence import record
from netsim.common.arrays import Floats
from netsim.fluid.demand import DemandOf
from netsim.registries.accuracy import (
    ANY,
    FEWEST_JOBS,
    TRAFFIC_CLASSES,
    Comparison,
    machine_kind,
    routing_kind,
)
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.topology.multipath import as_built
from scheduler.traffic import pattern_class

COMMAND = "python -m benchmarks.contention.matrix"
KEPT = Path(__file__).with_name("matrix.json")
DESIGN, REPORTED = range(0, 40, 2), range(1, 80, 2)  # numbers of scenes of a machine and routing
NUMBERS = sorted((*DESIGN, *REPORTED))
MINUTES = 20  # of CPU time
MODELS = ("null", "fluid")
_SHARES = (0.0, 0.3, 0.5, 0.7, 0.95, 1.01)  # bounds of classes of f


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A scene, what packets say of it, and what each model does: with buffers and without."""

    scene: Scene
    truth: Truth
    alone_s: Floats
    wet: Mapping[str, Floats]
    dry: Mapping[str, Floats]


def read_kept(path: Path = KEPT) -> dict[str, Truth]:
    """Return what packets said so far, by digest of the scene."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {
        row["scene"]: Truth(np.array(row["interference"]), np.array(row["alone_s"])) for row in rows
    }


def write_kept(kept: Mapping[str, Truth], path: Path = KEPT) -> None:
    """Write what packets said, to the digits that a comparison can use."""
    rows = [
        {
            "scene": digest,
            "interference": [float(f"{value:.6g}") for value in found.interference],
            "alone_s": [float(f"{value:.6g}") for value in found.alone_s],
        }
        for digest, found in sorted(kept.items())
    ]
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def gather(minutes: float) -> list[Scene]:
    """Simulate scenes until the time is over; return all whose truth is known."""
    kept, found = read_kept(), []
    end_s = time.process_time() + 60.0 * minutes
    fresh = 0
    for number in NUMBERS:
        for machine, routing in CELLS:
            one = scene(machine, routing, number)
            if one.digest not in kept:
                if time.process_time() > end_s:
                    continue
                kept[one.digest] = truth(one)
                fresh += 1
                if fresh % 20 == 0:
                    write_kept(kept)
                    print(f"{number} {machine} {routing}", file=sys.stderr, flush=True)
            found.append(one)
    write_kept(kept)
    return found


def predicted(name: str, one: Scene, *, dry: bool = False) -> Floats:
    """Return the interference that a model predicts."""
    fabric = replace(one.topology, buffer_bytes=0.0) if dry else one.topology
    model = make_contention_model(name, fabric)
    for job, own in one.traffic.items():
        model.start(job, own)
    values = model.solve()
    return np.array([values[job] for job in one.traffic])


def measure(scenes: Sequence[Scene]) -> list[Measured]:
    """Ask the models."""
    kept, found = read_kept(), []
    for one in scenes:
        wet, dry = (
            {name: predicted(name, one, dry=dry) for name in MODELS} for dry in (False, True)
        )
        demand_of = DemandOf(one.topology)
        alone = np.array([demand_of(own).iteration_s for own in one.traffic.values()])
        found.append(Measured(one, kept[one.digest], alone, wet, dry))
    return found


Choose = Callable[[Job], bool]


def joined(
    found: Sequence[Measured], name: str, chosen: Choose = lambda _: True, *, dry: bool = False
) -> tuple[Floats, Floats]:
    """Return true and predicted interference of all jobs that are chosen."""
    keep = [np.array([chosen(job) for job in one.scene.jobs], dtype=bool) for one in found]
    true = [one.truth.interference[own] for one, own in zip(found, keep, strict=True)]
    said = [(one.dry if dry else one.wet)[name][own] for one, own in zip(found, keep, strict=True)]
    return np.concatenate([*true, np.empty(0)]), np.concatenate([*said, np.empty(0)])


def short(found: Sequence[Measured], chosen: Choose = lambda _: True) -> str:
    """Write mean, contended, bias, rank and worst of `fluid`."""
    if not found:
        return "-"
    true, said = joined(found, "fluid", chosen)
    if not np.any(true > CONTENDED):
        return f"{100 * np.mean(np.abs(said - true) / true):.1f}" if true.size else "-"
    e = errors(true, said)
    return f"{e.mean:.1f} / {e.contended:.1f} / {e.bias:.2f} / {e.rank:.2f} / {e.worst:.0f}"


def table(found: Sequence[Measured], numbers: range) -> list[str]:
    """Return a row for each machine and routing, of the scenes of such numbers, and for all."""
    lines = [
        "| machine | routing | scenes | jobs | true mean / worst | null | fluid | alone |",
        "| --- | --- | ---: | ---: | --- | ---: | --- | --- |",
    ]
    part = [one for one in found if one.scene.number in numbers]
    for machine, routing in CELLS:
        cell = [one for one in part if (one.scene.machine, one.scene.routing) == (machine, routing)]
        lines += _table_row(f"{machine} | {routing}", cell)
    for free, title in enumerate(("static", "adaptive and spray")):
        lines += _table_row(
            f"all | {title}",
            [one for one in part if bool(one.scene.topology.multipath) == bool(free)],
        )
    return lines


def _table_row(title: str, part: Sequence[Measured]) -> list[str]:
    """Return the row of some scenes; none where there are no scenes."""
    if not part:
        return []
    true = joined(part, "null")[0]
    off = np.concatenate([one.alone_s / one.truth.alone_s - 1.0 for one in part])
    cells = (
        title,
        str(len(part)),
        str(true.size),
        f"{true.mean():.2f} / {true.max():.1f}",
        f"{100 * np.mean(1.0 - 1.0 / true):.1f}",
        short(part),
        f"{100 * np.abs(off).mean():.1f} ({100 * off.mean():+.1f}) / {100 * off.min():+.0f}",
    )
    return [f"| {' | '.join(cells)} |"]


def classes(found: Sequence[Measured]) -> Iterator[tuple[str, Choose]]:
    """Yield the classes of jobs by pattern, f and ranks."""
    for name in sorted({job.name for one in found for job in one.scene.jobs}):
        yield name, lambda job, name=name: job.name == name  # type: ignore[misc]
    for low, high in pairwise(_SHARES):
        yield (
            f"f from {low:g}",
            lambda job, low=low, high=high: low <= job.fraction < high,  # type: ignore[misc]
        )
    for traffic_class in TRAFFIC_CLASSES[:-1]:
        yield f"talk: {traffic_class}", _Like(min(PER_NODE), max(PER_NODE), traffic_class)
    for ranks in (1, 2, 4, 8):
        yield f"{ranks} ranks a node", lambda job, ranks=ranks: job.per_node == ranks  # type: ignore[misc]


def by_class(found: Sequence[Measured]) -> list[str]:
    """Return a row for each class of jobs, for static routings and for those that choose."""
    lines = [
        "| jobs | static: number | fluid | adaptive and spray: number | fluid |",
        "| --- | ---: | --- | ---: | --- |",
    ]
    reported = [one for one in found if one.scene.number in REPORTED]
    kinds = [
        [one for one in reported if bool(one.scene.topology.multipath) == free]
        for free in (False, True)
    ]
    for title, chosen in classes(found):
        cells = [
            f"{sum(chosen(job) for one in part for job in one.scene.jobs)} | {short(part, chosen)}"
            for part in kinds
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def excess_left(found: Sequence[Measured]) -> list[str]:
    """Return what a routing leaves of the interference of the first one of its machine."""
    known = {(one.scene.machine, one.scene.routing, one.scene.number): one for one in found}
    lines = [
        (
            "| machine | routing | scenes with an incast | jobs | interference | excess left "
            "| iteration alone | slower by 2 % |"
        ),
        "| --- | --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for machine, (ways, _) in MACHINES.items():
        for way in ways[1:]:
            for incast in (False, True):
                pairs = [
                    (known[machine, ways[0], one.scene.number].truth, one.truth)
                    for key, one in known.items()
                    if key[:2] == (machine, way)
                    and one.scene.has_incast == incast
                    and (machine, ways[0], one.scene.number) in known
                ]
                pairs = [(a, b) for a, b in pairs if a.alone_s.size == b.alone_s.size]
                if pairs:
                    title = f"| {machine} | {way} | {'yes' if incast else 'no'} |"
                    lines.append(f"{title} {_left(pairs)} |")
    return lines


def _left(pairs: Sequence[tuple[Truth, Truth]]) -> str:
    """Compare the truth of the same jobs under two routings."""
    before, after = (np.concatenate([pair[i].interference for pair in pairs]) for i in range(2))
    longer = np.concatenate([pair[1].alone_s / pair[0].alone_s for pair in pairs])
    left = (after - 1.0).sum() / (before - 1.0).sum()
    slower = 100.0 * np.mean(after * longer > 1.02 * before)
    return (
        f"{after.size} | {before.mean():.3f} to {after.mean():.3f} | {left:.2f} | "
        f"x {longer.mean():.2f} | {slower:.0f} %"
    )


def comparisons(found: Sequence[Measured]) -> list[Comparison]:
    """Return the rows that results quote: of the scenes that are reported."""
    cells: dict[tuple[str, str], list[Measured]] = {}
    for one in found:
        if one.scene.number in REPORTED:
            built = as_built(one.scene.topology)
            way = routing_kind(make_routing(one.scene.routing, built))
            cells.setdefault((machine_kind(built), way), []).append(one)
    return [
        made
        for (machine, way), part in cells.items()
        for name in part[0].wet
        for dry in (False, True)
        for like in _LIKE
        if (made := _row((machine, way, name), part, like, dry=dry)) is not None
    ]


@dataclass(frozen=True, slots=True)
class _Like:
    """Jobs that a row is of: ranks on a node from least to most, and how they talk."""

    least: int
    most: int | None
    traffic_class: str = ANY

    def __call__(self, job: Job) -> bool:
        """Tell whether a job is one of them."""
        ranks = self.least <= job.per_node <= (self.most or self.least)
        return ranks and self.traffic_class in (
            ANY,
            pattern_class(job.pattern, job.nodes.size),
        )


_LIKE = (
    *(_Like(ranks, None) for ranks in sorted(set(PER_NODE))),
    *(_Like(min(PER_NODE), max(PER_NODE), traffic_class) for traffic_class in TRAFFIC_CLASSES),
)


def _row(
    names: tuple[str, str, str], part: Sequence[Measured], like: _Like, *, dry: bool
) -> Comparison | None:
    """Return a row of the table that results quote; None where there are too few jobs."""
    machine, way, name = names
    true, said = joined(part, name, like, dry=dry)
    if true.size < FEWEST_JOBS or not np.any(true > CONTENDED):
        return None
    sizes = [one.scene.topology.n_nodes for one in part]
    e = errors(true, said)
    return comparison_of(
        e,
        COMMAND,
        machine=machine,
        routing=way,
        ranks_per_node=like.least,
        fairness="per-sender",
        buffer_bytes=0.0 if dry else part[0].scene.topology.buffer_bytes,
        load="drawn patterns, f from 0.1 to 1",
        model=name,
        nodes=min(sizes),
        most_nodes=max(sizes),
        cases=sum(any(like(job) for job in one.scene.jobs) for one in part),
        most_ranks=like.most,
        traffic_class=like.traffic_class,
    )


def main() -> int:
    """Go on with the scenes, print and record the tables."""
    found = measure(gather(asking.count(__doc__, "MINUTES", MINUTES, least=0)))
    per_cell = len(found) // len(CELLS)
    lines = [
        (
            f"{len(found)} of {len(NUMBERS) * len(CELLS)} scenes ({per_cell} a machine and "
            "routing), "
            f"{len(MACHINES)} machines of 128 to 1088 nodes; 3 to 8 jobs of all patterns, f 0.1 to "
            "1, 1 to 8 ranks a node, drawn by number; the same jobs on the same nodes under all "
            "routings of a machine. Truth: model `packets`, switch `codes`, "
            f"{ITERATIONS} iterations of the slowest job. Fluid, in per cent: mean error / that of "
            "jobs above 1.05 / bias / rank / worst; null: mean error of 1. Alone: mean error of "
            "the time of an iteration alone (with its sign) / the most that it is too short, for "
            "messages of a job that block one another. Part that is reported:"
        ),
        "",
        *table(found, REPORTED),
        "",
        "Part for design:",
        "",
        *table(found, DESIGN),
        "",
        (
            "What routings leave of the interference of the machine's first routing, in packets "
            "(incast: a node gets messages of 4 others and more at once, and none sends as many):"
        ),
        "",
        *excess_left(found),
        "",
        "By pattern, f and ranks, part that is reported:",
        "",
        *by_class(found),
    ]
    print("\n".join(lines))
    record("Validation matrix: models against packets on every machine", COMMAND, lines)
    record_comparisons(COMMAND, comparisons(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
