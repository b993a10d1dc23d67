"""WaitLedger: how long jobs waited, for which reason and behind which job, by an observer."""

from array import array
from collections.abc import Mapping, Sequence

from scheduler.allocation import Allocation
from scheduler.job import Job
from scheduler.observer import Observer
from scheduler.rates import JobRate
from scheduler.reasons import NO_JOB, NOT_REPORTED, REASONS, Verdict

MOST_HOLDERS = 8  # kept of one job, the longest waits; others under NO_JOB
_NUMBER = {reason: number for number, reason in enumerate(("", *REASONS))}
_Span = list[float]  # seconds, and when they began and ended


class _Waiting:
    """A job in the queue: seconds by verdict, and the verdict of now."""

    __slots__ = ("since_s", "spans", "unlooked", "verdict")

    def __init__(self, now_s: float, unlooked: Mapping[Verdict, float]) -> None:
        self.verdict: Verdict | None = None  # None: it is among the rest
        self.since_s = now_s
        self.unlooked = dict(unlooked)  # the clocks of the rest when it came among them
        self.spans: dict[Verdict, _Span] = {}


class WaitLedger(Observer):
    """
    Writes down why jobs wait, as the queue policy says when it passes them over.

    A verdict holds until the next instant. Those on jobs that the policy does not look at are the
    same for all; clocks run for them, one per verdict, which a job reads when it comes among them
    and when it leaves. So an instant costs as much as the policy looks at, however long the
    queue is.

    `rows`: Row by row: the job, the reason, whose reservation it waited for, the root
    (`scheduler.reasons.Verdict`). Reason and root are numbers of the key of `REASONS`, from 1; 0
    where there is no root. `spans`: Row by row: seconds waited for this reason; when that began
    and ended, perhaps with pauses.
    """

    def __init__(self) -> None:
        self.rows, self.spans = array("q"), array("d")
        self._queue: dict[int, _Waiting] = {}
        self._clocks: dict[Verdict, float] = {}
        self._rest, self._since_s = NOT_REPORTED, 0.0

    def on_submit(self, jobs: Sequence[Job], now_s: float) -> None:
        """Let jobs into the queue, among the rest."""
        self._run_clocks(now_s)
        for job in jobs:
            self._queue[job.id] = _Waiting(now_s, self._clocks)

    def on_wait(self, news: Mapping[int, Verdict | None], rest: Verdict, now_s: float) -> None:
        """Take the verdicts from now on."""
        self._run_clocks(now_s)
        self._rest = rest
        for job, verdict in news.items():
            state = self._queue[job]
            self._book_time(state, now_s)
            state.verdict = verdict
            if verdict is None:
                state.unlooked = dict(self._clocks)

    def on_change(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """Close the accounts of jobs that start."""
        del ended, job_rates
        if not started:
            return
        self._run_clocks(now_s)
        for allocation in started:
            job = allocation.job.id
            state = self._queue.pop(job, None)
            if state is None:
                continue  # it runs already, and routes have changed
            self._book_time(state, now_s)
            self._write_rows(job, state)

    def _run_clocks(self, now_s: float) -> None:
        """Count the time since the last instant for the rest of the queue."""
        if now_s > self._since_s:
            passed_s = now_s - self._since_s
            self._clocks[self._rest] = self._clocks.get(self._rest, 0.0) + passed_s
        self._since_s = now_s

    def _book_time(self, state: _Waiting, now_s: float) -> None:
        """Book the time since a job's last verdict."""
        begin_s, state.since_s = state.since_s, now_s
        if now_s <= begin_s:
            return
        if state.verdict is not None:
            span = state.spans.get(state.verdict)
            if span is None:
                _add_stretch(state.spans, state.verdict, now_s - begin_s, (begin_s, now_s))
            else:
                span[0] += now_s - begin_s
                span[2] = now_s
            return
        for verdict, clock_s in self._clocks.items():
            passed_s = clock_s - state.unlooked.get(verdict, 0.0)
            if passed_s > 0.0:
                _add_stretch(state.spans, verdict, passed_s, (begin_s, now_s))

    def _write_rows(self, job: int, state: _Waiting) -> None:
        """Write the rows of a job that leaves the queue."""
        for verdict, span in state.spans.items():
            self.rows.extend((job, _NUMBER[verdict.reason], verdict.holder, _NUMBER[verdict.root]))
            self.spans.extend(span)


def _add_stretch(
    spans: dict[Verdict, _Span], verdict: Verdict, wait_s: float, when: Sequence[float]
) -> None:
    """Add a stretch of waiting; of many holders the least are put together."""
    span = spans.get(verdict)
    if span is not None:
        span[0] += wait_s
        span[2] = when[1]
        return
    spans[verdict] = [wait_s, *when]
    if len(spans) <= 2 * MOST_HOLDERS or verdict.holder == NO_JOB:
        return
    held = sorted((key for key in spans if key.holder != NO_JOB), key=lambda key: spans[key][0])
    for key in held[:-MOST_HOLDERS]:
        seconds, first_s, last_s = spans.pop(key)
        both = spans.setdefault(key._replace(holder=NO_JOB), [0.0, first_s, last_s])
        both[:] = both[0] + seconds, min(both[1], first_s), max(both[2], last_s)
