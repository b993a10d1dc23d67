"""Work spread over copies of this process: the same answers in the same order, whatever happens."""

import os
import signal
import threading
from multiprocessing import active_children

import pytest

from coupling.runs.process_pool import spread, worker_context


@pytest.mark.parametrize("workers", [1, 2, 3, 9])
def test_answers_come_in_order_whatever_the_number_of_workers(workers):
    assert spread(lambda number: number**2, 5, workers) == [0, 1, 4, 9, 16]
    assert not active_children()


def test_copies_share_the_work():
    places = set(spread(lambda _: os.getpid(), 6, 2))

    assert os.getpid() in places
    assert len(places) == (2 if threading.active_count() == 1 else 1)


def test_a_process_with_another_thread_is_not_copied():
    """The thread may hold a lock, which nobody would open in the copy."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert worker_context().get_start_method() == "spawn"
        assert spread(lambda number: (number, os.getpid()), 2, 2) == [
            (0, os.getpid()),
            (1, os.getpid()),
        ]
    finally:
        stop.set()
        thread.join()


def test_what_a_killed_copy_had_to_do_is_done_here():
    here = os.getpid()

    def work(number):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert spread(work, 4, 2) == [0, 1, 2, 3]
    assert not active_children()


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_ends_the_copies(bad):
    """Number 0 is done here, number 1 in a copy."""

    def work(number):
        if number == bad:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        spread(work, 4, 2)
    assert not active_children()
