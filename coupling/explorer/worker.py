"""Works things out beside the server, so that no picture waits for them."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from coupling.errors import CouplingError
from netsim.common.errors import NetsimError
from patterns.errors import PatternError
from scheduler.errors import SchedulerError

_KEPT = 500  # answers


@dataclass(frozen=True, slots=True)
class Failed:
    """What cannot be worked out."""

    why: str  # A line


class Worker:
    """A thread that works out one thing at a time; answers are remembered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[Hashable, Any] = {}
        self._waiting: list[Callable[[], None]] = []
        self._busy = False

    def ask(self, key: Hashable, work: Callable[[], Any], on_ready: Callable[[], None]) -> Any:  # noqa: ANN401
        """Return an answer, or None until `on_ready` is called in the worker's thread."""
        with self._lock:
            if key in self._found:
                return self._found[key]
            self._waiting.append(on_ready)
            if not self._busy:
                self._busy = True
                # A daemon: ending the server does not wait for an answer.
                threading.Thread(target=self._work_off, args=(key, work), daemon=True).start()
            return None

    def _work_off(self, key: Hashable, work: Callable[[], Any]) -> None:
        """Compute a result and notify all that wait."""
        answer: Any = Failed("it could not be worked out.")
        try:
            answer = work()
        except (CouplingError, NetsimError, PatternError, SchedulerError) as error:
            answer = Failed(str(error))
        finally:
            with self._lock:
                self._found[key] = answer
                for old in list(self._found)[:-_KEPT]:
                    del self._found[old]
                waiting, self._waiting, self._busy = self._waiting, [], False
            for on_ready in waiting:
                on_ready()
