"""Notebooks of the site run with the examples of the clone, and without colours."""

import os
from pathlib import Path

if not Path("examples").exists():
    Path("examples").symlink_to(Path(os.environ["FABRICSIM_CLONE"], "examples"))
for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):  # the kernel sets them
    os.environ.pop(name, None)
os.environ["TERM"] = "dumb"
