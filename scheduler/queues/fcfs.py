"""First come, first served: nobody overtakes."""

from typing import ClassVar

from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.waiting import WaitingLine
from scheduler.reasons import ORDER, Verdict


class Fcfs:
    """FCFS: only the head of the queue may start."""

    name: ClassVar[str] = "fcfs"

    def __init__(self) -> None:
        self._line = WaitingLine(1)

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._line)

    def submit(self, job: Job) -> None:
        """Put a job at the end of the line."""
        self._line.append(job)

    def select(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit."""
        while (head := self._line.head()) is not None:
            placement = machine.try_to_place(head)
            if placement is None:
                if machine.wait_reasons is not None:
                    machine.wait_reasons.report(head.id, Verdict(machine.why, head.id))
                    machine.wait_reasons.rest = Verdict(ORDER, root=machine.why)
                return
            machine.start(placement)
            self._line.remove(head)
