"""Two runs that pages, pictures and tables are made of."""

import pytest
from coupling_samples import sample


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
