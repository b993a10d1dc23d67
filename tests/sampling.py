"""Cases of which the suite runs some, and `pytest -m heavy` the others."""

import pytest
from hypothesis import given, settings

HEAVY = pytest.mark.heavy


def sampled(names, chosen):
    """Return all names for `parametrize`; those that are not chosen are heavy."""
    return [name if name in chosen else pytest.param(name, marks=HEAVY) for name in names]


def thinned(names, step):
    """Return all names for `parametrize`; all but one of `step` are heavy."""
    return [pytest.param(name, marks=HEAVY) if at % step else name for at, name in enumerate(names)]


def drawn(few, many, *strategies):
    """Test a few examples that Hypothesis draws, and many where the test is heavy."""

    def of(test):
        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=HEAVY)])
        def both(examples):
            settings(max_examples=examples, deadline=None)(given(*strategies)(test))()

        both.__name__, both.__doc__ = test.__name__, test.__doc__
        return both

    return of
