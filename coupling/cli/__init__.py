"""The command `fabricsim`: one file a command; parse, call, print."""

from coupling.cli.root import main

__all__ = ["main"]
