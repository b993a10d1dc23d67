"""Colours that the colour-blind tell apart: of runs, of things, and of load."""

from collections.abc import Sequence

_NAMED = {  # Okabe & Ito: tells apart for the colour-blind; one allocator, one colour, always
    "first-free": "#7a7f85",
    "baseline": "#7a7f85",
    "random": "#d55e00",
    "ta": "#009e73",
    "ta, whole leaves": "#b59b00",
    "laas": "#cc79a7",
    "jigsaw": "#0072b2",
    "lc": "#56b4e9",
    "lc+s": "#e69f00",
}
_OTHERS = ("#e69f00", "#56b4e9", "#cc79a7", "#b59b00", "#7a4fa3", "#a0522d", "#2f4858", "#4c9f38")
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", *_OTHERS[3:])
"""Of things without a colour of their own, such as jobs."""
LOAD = ("#a9b5c0", "#f0b040", "#d55e00", "#c2255c")
"""From an idle cable to a full one."""


def palette(names: Sequence[str]) -> dict[str, str]:
    """Return the colour of each run: the same for an allocator in every report."""
    chosen: dict[str, str] = {}
    for name in names:
        used = set(chosen.values())
        free = [colour for colour in _OTHERS if colour not in used] or list(_OTHERS)
        own = _NAMED.get(name)
        chosen[name] = own if own is not None and own not in used else free[0]
    return chosen
