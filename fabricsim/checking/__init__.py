"""
What comes in from outside is checked here, with the same words at every door.

Every error reads ``PLACE: expected WHAT, got THIS.`` on one line, and is of the kind that the
package at the door raises.

* `whole`, `number`, `flag`, `choice`, `text`, `wholes` -- one value
* `path_of` -- a path, given as text or `Path`
* `wrong`, `brief` -- the error for a value, and the value as errors show it
* `unknown`, `meant` -- the sentence about a name that is not known, with the closest one that is
* `first_names` -- some names, and how many more
* `shortened` -- a name as the `repr` of an object shows it
* `plain` -- what Python has for the lists, texts and numbers of a file
* `sheets` -- comma-separated values: how they are written, and cells that are read
* `Table` -- a table of TOML or JSON, field by field
* `build`, `look_up` -- what a registry has under a name, with options
"""

from typing import TYPE_CHECKING

from fabricsim.checking.onuse import on_use

if TYPE_CHECKING:
    from fabricsim.checking.registry import build, look_up
    from fabricsim.checking.table import Table
    from fabricsim.checking.values import (
        brief,
        choice,
        first_names,
        flag,
        meant,
        number,
        path_of,
        plain,
        shortened,
        text,
        unknown,
        whole,
        wholes,
        wrong,
    )

__all__ = [
    "Table",
    "brief",
    "build",
    "choice",
    "first_names",
    "flag",
    "look_up",
    "meant",
    "number",
    "path_of",
    "plain",
    "shortened",
    "text",
    "unknown",
    "whole",
    "wholes",
    "wrong",
]

__getattr__, __dir__ = on_use(__name__)
