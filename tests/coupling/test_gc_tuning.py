"""The garbage collector is as before when a run is over."""

import gc

import pytest

from coupling.stopping import few_collections


def test_the_collector_is_as_before_also_after_an_error():
    before = gc.get_threshold()

    with few_collections():
        during = gc.get_threshold()
    with pytest.raises(KeyError), few_collections():
        raise KeyError

    assert during[0] >= 100_000
    assert gc.get_threshold() == before


def test_a_collector_that_is_switched_off_stays_off():
    before = gc.get_threshold()
    gc.set_threshold(0, *before[1:])
    try:
        with few_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
