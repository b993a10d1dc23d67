"""By what bars are coloured, and cells of bars as points of a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coupling.explorer.raster_kernels import Cells
from coupling.report.plots.style import COLOURS, palette
from netsim.common.arrays import Floats, Ints

Points = NDArray[np.uint32]
"""Red, green, blue and opacity of each point, the red in the lowest byte."""
_NONE = "#9aa4ae"  # of what has no class: jobs without traffic, classes past the key
_FAINTEST = 0.35  # opacity of a cell that is hardly filled
_KEYED = 10  # classes that have a colour of their own
_STEPS = 256


@dataclass(frozen=True, slots=True, eq=False)
class JobColours:
    """Colours of jobs."""

    key: Mapping[str, str]  # Colour of each class; empty where colours stand for a number
    place: Ints  # (J,): place of each job's colour in `table`
    table: Points  # (K,): colours
    missing: str = ""  # Text where the result lacks it; else empty


def shades_of(
    jobs: pd.DataFrame, by: str, run: str, ramp: Sequence[str], scale: float
) -> JobColours:
    """Return colours of jobs by one of `BY`; grey where it is not recorded."""
    if by == "slowdown":
        share = (jobs["network_slowdown"].to_numpy(dtype=float) - 1.0) / (scale - 1.0)
        place = np.rint(np.clip(share, 0.0, 1.0) * (len(ramp) - 1)).astype(np.int64)
        return JobColours({}, place, points_of(ramp))
    if by == "job":
        place = (jobs["id"].to_numpy(dtype=np.int64) % len(COLOURS)).astype(np.int64)
        return JobColours({}, place, points_of(COLOURS))
    if by == "user" and by not in jobs:
        none = np.zeros(len(jobs), dtype=np.int64)
        return JobColours({}, none, points_of([_NONE]), "Users are not recorded in this result.")
    classes = _job_classes(jobs, by, run)
    counts = classes.value_counts()
    names = [str(name) for name in counts.index if name][:_KEYED]
    own = palette(names) if by == "allocator" else dict(zip(names, COLOURS, strict=False))
    rest = set(counts.index) - set(names)
    key = own | ({"" if rest == {""} else "others": _NONE} if rest else {})
    number = {name: place for place, name in enumerate(names)}
    place = classes.map(lambda name: number.get(name, len(names))).to_numpy(dtype=np.int64)
    return JobColours(key, place, points_of([*own.values(), _NONE]))


def _job_classes(jobs: pd.DataFrame, by: str, run: str) -> pd.Series:
    """Return the class of each job as text."""
    if by in jobs:
        return jobs[by].astype(str).str.slice(0, 60)
    return pd.Series(run, index=jobs.index, dtype=str)  # one allocator placed them all


def points_of(colours: Sequence[str]) -> Points:
    """Return colours such as ``#0072b2`` as opaque points."""
    rgb = [int(colour[1:], 16) for colour in colours]
    return np.array(
        [0xFF000000 | (c & 0xFF) << 16 | c & 0xFF00 | c >> 16 for c in rgb], dtype=np.uint32
    )


def picture_of(cells: Cells, shades: JobColours, *, mean: bool) -> Points:
    """Colour cells by the mean place of their jobs on a ramp, or by the job that fills most."""
    there = cells.top >= 0
    if mean:
        value = np.zeros(cells.busy.shape)
        np.divide(cells.weight, cells.busy, out=value, where=there)
        place = np.rint(value).astype(np.int64)
    else:
        place = shades.place[np.maximum(cells.top, 0)]
    share = np.clip(cells.busy, 0.0, 1.0)
    opacity = np.rint((_FAINTEST + (1 - _FAINTEST) * share) * (_STEPS - 1)).astype(np.uint32)
    colour: Points = (shades.table[place] & np.uint32(0xFFFFFF)) | opacity << np.uint32(24)
    return np.where(there, colour, np.uint32(0))


def communicating_nodes(shades: JobColours) -> Floats:
    """Return the weight of each job, of which a cell's mean is taken."""
    return shades.place.astype(np.float64)
