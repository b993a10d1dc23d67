"""Record of past submissions: how long the same job took on which shape (Yang)."""

from scheduler.job import Job

Key = tuple[int, int, int, str]
"""User, executable, size, pattern."""


def pattern_of(job: Job) -> str:
    """Return the name of a job's communication pattern."""
    return "" if job.communication is None else job.communication.label


class Record:
    """
    What the scheduler has learned from jobs that have ended.

    Notes
    -----
    Yang, section VI: a job is looked up by user name and executable, then by size and
    communication pattern. What is kept is the *stretch*, run time / expected run time, as
    submissions of one job differ in length; its mean by shape.
    """

    def __init__(self) -> None:
        self._seen: dict[Key, dict[str, tuple[int, float]]] = {}

    def __len__(self) -> int:
        """Return the number of different jobs."""
        return len(self._seen)

    def add(self, job: Job, shape: str, stretch: float) -> None:
        """Enter a run."""
        shapes = self._seen.setdefault(_key(job), {})
        count, total = shapes.get(shape, (0, 0.0))
        shapes[shape] = (count + 1, total + stretch)

    def stretch(self, job: Job, shape: str) -> float:
        """
        Return how long a job is expected to take on a shape, relative to its estimate.

        Result: mean of the same job on this shape; where it never ran on it, of all its runs; 1 if
        it never ran.
        """
        shapes = self._seen.get(_key(job))
        if not shapes:
            return 1.0
        runs = [shapes[shape]] if shape in shapes else list(shapes.values())
        return sum(total for _, total in runs) / sum(count for count, _ in runs)


def _key(job: Job) -> Key:
    """Return what makes two submissions the same job."""
    return job.user, job.executable, job.n_nodes, pattern_of(job)
