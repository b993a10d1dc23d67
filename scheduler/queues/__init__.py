"""Queue policies: which waiting jobs start now."""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler.errors import PolicyError
from scheduler.options import build
from scheduler.queues.base import QueuePolicy
from scheduler.queues.easy import Easy
from scheduler.queues.fcfs import Fcfs

__all__ = ["POLICIES", "Easy", "Fcfs", "QueuePolicy", "make_policy"]

POLICIES: dict[str, Callable[..., QueuePolicy]] = {"easy": Easy, "fcfs": Fcfs}


def make_policy(name: str, options: Mapping[str, Any]) -> QueuePolicy:
    """
    Make a queue policy by name.

    Parameters
    ----------
    name : str
        Key of `POLICIES`.
    options : mapping of str to any
        Its options.

    Returns
    -------
    QueuePolicy
        A fresh one, nobody waiting.

    Raises
    ------
    PolicyError
        If the name or an option is unknown, or a value is out of range.
    """
    return build("queue", name, POLICIES, options, PolicyError)
