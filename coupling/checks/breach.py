"""Breach: a rule that does not hold, and the sentence that says where."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

Breach = tuple[str, str]
"""Rule, and what was seen."""

Subject = TypeVar("Subject")
_MOST = 10  # sentences of a rule: more say nothing new


def breaches(
    rules: Mapping[str, Callable[[Subject], Iterable[str]]], subject: Subject
) -> Iterator[Breach]:
    """Yield what breaks each of some rules. Yields rule and sentence."""
    for rule, check in rules.items():
        try:
            for sentence in islice(check(subject), _MOST):
                yield rule, sentence
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            yield rule, raised(error)


def raised(error: Exception) -> str:
    """Return the sentence for an unexpected error."""
    text = " ".join(str(error).split())[:200]
    return f"raises {type(error).__name__}: {text}" if text else f"raises {type(error).__name__}"
