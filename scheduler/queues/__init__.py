"""Queue policies: which waiting jobs start now."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from fabricsim.checking import brief, build
from fabricsim.checking.onuse import on_use
from fabricsim.checking.registry import Registry
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine, QueuePolicy
from scheduler.queues.limits import UserLimits, limited
from scheduler.switches import SwitchLimit

if TYPE_CHECKING:
    from scheduler.queues.batsim import Batsim
    from scheduler.queues.conservative import Conservative
    from scheduler.queues.dejavu import Cautious, Reckless
    from scheduler.queues.easy import Easy, Fcfs
    from scheduler.queues.multifactor import Multifactor
    from scheduler.queues.partitions import Partitions
    from scheduler.queues.priority import Priority, Sjf

__all__ = [
    "POLICIES",
    "Batsim",
    "Cautious",
    "Conservative",
    "Easy",
    "Fcfs",
    "Limited",
    "Multifactor",
    "Partitions",
    "Priority",
    "QueuePolicy",
    "Reckless",
    "Sjf",
    "make_policy",
]

__getattr__, __dir__ = on_use(__name__)

POLICIES: Registry[Callable[..., QueuePolicy]] = Registry(
    {
        "batsim": "scheduler.queues:Batsim",
        "cautious": "scheduler.queues:Cautious",
        "conservative": "scheduler.queues:Conservative",
        "easy": "scheduler.queues:Easy",
        "fcfs": "scheduler.queues:Fcfs",
        "multifactor": "scheduler.queues:Multifactor",
        "partitions": "scheduler.queues:Partitions",
        "priority": "scheduler.queues:Priority",
        "reckless": "scheduler.queues:Reckless",
        "sjf": "scheduler.queues:Sjf",
    }
)


_OF_ALL = ("switches", "limits")  # options of every policy


class Limited:
    """
    A queue policy whose jobs want few leaf switches for a while.

    `policy`: Chooses which jobs start. `limit`: Refuses placements.
    """

    name: ClassVar[str] = "limited"

    def __init__(self, policy: QueuePolicy, limit: SwitchLimit) -> None:
        self.inner = policy
        self._limit = limit

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self.inner)

    def submit(self, job: Job) -> None:
        """Take a job into the queue."""
        self.inner.submit(job)

    def select(self, machine: Machine) -> None:
        """Start every job that may start now."""
        machine.switch_limit = self._limit
        self.inner.select(machine)


def make_policy(name: str, options: Mapping[str, Any]) -> QueuePolicy:
    """
    Make a queue policy by name.

    Parameters
    ----------
    name : str
        Key of `POLICIES`.
    options : mapping of str to any
        Its options; every policy also takes ``switches``, as Slurm's ``--switches`` (see
        `scheduler.switches.SwitchLimit`), and many ``limits`` of users
        (``{MaxJobsPerUser = 4, MaxTRESPerUser = "node=64"}``).

    Returns
    -------
    QueuePolicy
        A fresh one, its queue empty.

    Raises
    ------
    PolicyError
        If the name or an option is unknown, or a value is out of range.

    Examples
    --------
    >>> make_policy("easy", {"window": 10, "switches": "1@5"}).name
    'limited'
    """
    if not isinstance(options, Mapping):
        raise PolicyError(f"queue {name!r}: expected a table of options, got {brief(options)}.")
    own = {key: value for key, value in options.items() if key not in _OF_ALL}
    policy = build("queue", name, POLICIES, own, PolicyError, others=list(_OF_ALL))
    for method in ("submit", "select", "__len__"):  # one of the user's own may lack it
        if not callable(getattr(policy, method, None)):
            raise PolicyError(f"queue {name!r}: expected a method {method}, it is missing.")
    if "limits" in options:
        limited(policy, UserLimits.read(options["limits"]), name)
    return Limited(policy, SwitchLimit(options["switches"])) if "switches" in options else policy
