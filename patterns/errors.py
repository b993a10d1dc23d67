"""
Errors of the pattern package.

* PatternError       a pattern that cannot be built as asked, or an unknown name or option
"""

from fabricsim.checking.errors import FabricsimError


class PatternError(FabricsimError):
    """A communication pattern cannot be built in the way asked for."""
