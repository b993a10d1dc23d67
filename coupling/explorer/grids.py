"""Matrices as HTML: traffic between ranks, and delays between jobs."""

from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pandas as pd
from bokeh.palettes import Cividis256
from PIL import Image

from coupling.explorer.colours import points_of
from coupling.report.plots.blame import named_most
from coupling.results.formatting import number
from netsim.common.arrays import Floats, Ints
from scheduler.traffic import RankFlows

_MOST = 128  # rows of a matrix of ranks; more are put together
_LIGHT = 140  # place in the ramp from which letters are dark
_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table."""

    text: str  # What it says
    href: str = ""  # Where it leads; may be empty
    colour: str = ""  # Behind the text; may be empty
    dark: bool = False  # Whether letters on that colour are dark


@dataclass(frozen=True, slots=True)
class Pattern:
    """Traffic between the ranks of a job."""

    image: str  # Picture, as the address of an image: a row per sender, a column per receiver
    words: str  # What is in it, for readers that do not see it


def pattern_of(flows: RankFlows, n_ranks: int) -> Pattern | None:
    """Draw the messages of one iteration. Result: None where the job sends nothing."""
    if not flows.src.size or n_ranks < 1:
        return None
    sent = sent_by(flows, n_ranks)
    share = np.sqrt(sent / sent.max())  # small messages must be seen beside large ones
    place = np.rint(share * (len(Cividis256) - 1)).astype(np.int64)
    image = points_of(Cividis256)[place]
    image[sent == 0] = 0
    buffer = BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(image).view(np.uint8).reshape(*sent.shape, 4))
    picture.save(buffer, "png")
    pairs = np.unique(flows.src * np.int64(n_ranks) + flows.dst).size
    steps = flows.n_rounds
    words = (
        f"{n_ranks:,} ranks, {pairs:,} pairs that send, in {steps:,} "
        f"{'step' if steps == 1 else 'steps'} an iteration"
    )
    return Pattern(f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}", words)


def sent_by(flows: RankFlows, n_ranks: int) -> Floats:
    """Return bytes by sender and receiver; beyond 128 ranks neighbours are put together."""
    size = min(n_ranks, _MOST)
    row, column = (rank * size // n_ranks for rank in (flows.src, flows.dst))
    cells: Ints = row * size + column
    sent: Floats = np.bincount(cells, flows.nbytes, minlength=size * size).astype(np.float64)
    return sent.reshape(size, size)


def blame_rows(matrix: pd.DataFrame, href: dict[str, str]) -> list[list[TableCell]]:
    """Return the rows of a table of victims and culprits, with their names first."""
    scale = named_most(matrix)
    heads = [
        TableCell("victim"),
        *(TableCell(name, href.get(name, "")) for name in map(str, matrix.columns)),
    ]
    rows = [heads]
    for victim, values in matrix.iterrows():
        name = str(victim)
        cells = [_shaded_cell(float(value), scale) for value in values.to_numpy()]
        rows.append([TableCell(name, href.get(name, "")), *cells])
    return rows


def _shaded_cell(value: float, scale: float) -> TableCell:
    """Return a number on the colour of its share."""
    if not value > 0:
        return TableCell("")
    place = round(min(1.0, value / scale) * (len(Cividis256) - 1))
    return TableCell(number(value, 2), "", Cividis256[place], place >= _LIGHT)
