"""
Communication patterns: which rank sends to which.

* `PATTERNS`      class of every pattern, by name
* `make_pattern`  builds one from a name and options
* `Pattern`       what every pattern is: immutable, with the steps of one iteration
* `Step`          messages sent at once
* `PatternError`  a pattern that cannot be built as asked
"""

from patterns.base import Pattern, Step
from patterns.errors import PatternError
from patterns.registry import PATTERNS, make_pattern

__all__ = ["PATTERNS", "Pattern", "PatternError", "Step", "make_pattern"]
