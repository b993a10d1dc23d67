"""The garbage collector is as before when a run is over."""

import gc

import pytest

from coupling.collector import few_collections


def test_the_collector_is_as_before_also_after_an_error():
    before = gc.get_threshold(), gc.get_freeze_count()

    with few_collections():
        during = gc.get_threshold()
    with pytest.raises(KeyError), few_collections():
        raise KeyError

    assert during[0] >= 100_000
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_what_was_frozen_within_is_looked_at_again_when_the_last_has_ended():
    assert gc.get_freeze_count() == 0

    with few_collections():
        with few_collections():
            pass
        within = gc.get_freeze_count()

    assert within > 0
    assert gc.get_freeze_count() == 0
