"""The command `fabricsim`: parse, call, print."""

from coupling.cli.root import main

__all__ = ["main"]
