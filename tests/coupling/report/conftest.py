"""Two runs that pages, pictures and tables are made of."""

import pytest
from coupling_samples import sample
from markupsafe import Markup

from coupling.report.plots.style import Picture


@pytest.fixture(scope="module")
def runs():
    """Return Baseline, in which two jobs disturb each other, and an isolating run."""
    return [
        sample(
            "first-free",
            runtimes_s=(7200.0, 3600.0, 1800.0),
            interference_delay_s=(1800.0, 0.0, 0.0),
        ),
        sample("jigsaw"),
    ]


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures out of pages: where words are tested, they take nine tenths of the time."""
    monkeypatch.setattr(Picture, "html", lambda _: Markup("<svg></svg>"))
