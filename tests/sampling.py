"""Cases of which the suite runs some, and `pytest -m heavy` the others."""

import pytest


def sampled(names, chosen):
    """Return all names for `parametrize`; those that are not chosen are heavy."""
    heavy = pytest.mark.heavy
    return [name if name in chosen else pytest.param(name, marks=heavy) for name in names]
