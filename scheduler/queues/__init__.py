"""Queue policies: which waiting jobs start now."""

from collections.abc import Callable, Mapping
from typing import Any

from fabricsim.checking import brief, build
from scheduler.errors import PolicyError
from scheduler.queues.base import QueuePolicy
from scheduler.queues.conservative import Conservative
from scheduler.queues.dejavu import Cautious, Reckless
from scheduler.queues.easy import Easy
from scheduler.queues.fcfs import Fcfs
from scheduler.queues.limited import Limited
from scheduler.queues.priority import Priority, Sjf
from scheduler.switches import SwitchLimit

__all__ = [
    "POLICIES",
    "Cautious",
    "Conservative",
    "Easy",
    "Fcfs",
    "Limited",
    "Priority",
    "QueuePolicy",
    "Reckless",
    "Sjf",
    "make_policy",
]

POLICIES: dict[str, Callable[..., QueuePolicy]] = {
    "cautious": Cautious,
    "conservative": Conservative,
    "easy": Easy,
    "fcfs": Fcfs,
    "priority": Priority,
    "reckless": Reckless,
    "sjf": Sjf,
}


def make_policy(name: str, options: Mapping[str, Any]) -> QueuePolicy:
    """
    Make a queue policy by name.

    Parameters
    ----------
    name : str
        Key of `POLICIES`.
    options : mapping of str to any
        Its options; every policy also takes ``switches``, as Slurm's ``--switches`` (see
        `scheduler.switches.SwitchLimit`).

    Returns
    -------
    QueuePolicy
        A fresh one, nobody waiting.

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
    own = {key: value for key, value in options.items() if key != "switches"}
    policy = build("queue", name, POLICIES, own, PolicyError, others=["switches"])
    return Limited(policy, SwitchLimit(options["switches"])) if "switches" in options else policy
