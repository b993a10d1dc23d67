"""Pictures, as `coupling.plot` draws them, under the name that users type."""

import sys

from coupling.plot import (
    Plot,
    __dir__,  # noqa: F401 (what completion shows)
    blame,
    fabric,
    gantt,
    link_load,
    speedups,
)

__all__ = ["blame", "fabric", "gantt", "link_load", "speedups"]

sys.modules[__name__].__class__ = Plot
