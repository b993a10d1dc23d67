"""Notebooks of the site run with the examples of the clone, without colours or broken lines."""

import os
import subprocess
from pathlib import Path

if not Path("examples").exists():
    Path("examples").symlink_to(Path(os.environ["FABRICSIM_CLONE"], "examples"))
for name in ("CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):  # the kernel sets them
    os.environ.pop(name, None)
os.environ["TERM"] = "dumb"


def sh(_: str, cell: str) -> None:
    """Run commands; IPython's own magic hands the output on in pieces, which end within lines."""
    done = subprocess.run(  # noqa: S603 (the page's own commands)
        ["/bin/sh", "-ec", cell], capture_output=True, text=True, check=False
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(done.stderr)


get_ipython().register_magic_function(sh, "cell")  # noqa: F821 (IPython gives it)
