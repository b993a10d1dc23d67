"""Workers begin as copies of this process where that is safe."""

import threading

from coupling.runs.workers import worker_context


def test_a_process_with_another_thread_is_not_copied():
    """The thread may hold a lock, which nothing would open in the copy."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert worker_context().get_start_method() == "spawn"
    finally:
        stop.set()
        thread.join()
