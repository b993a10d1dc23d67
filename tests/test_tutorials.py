"""Tutorials, tour and gallery are run as a newcomer would: cell by cell, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if "file_format: mystnb" in path.read_text(encoding="utf-8")
]
QUICK = ("python",)
CELL = re.compile(
    r"^```\{code-cell\} ipython3\n(?::tags: [^\n]*\n)?(.*?)^```", re.MULTILINE | re.DOTALL
)


def cells(page):
    """Return the text of each cell of a notebook."""
    return CELL.findall(page.read_text(encoding="utf-8"))


def program(page):
    """Return a program that does what the cells do, and prints how many pictures were drawn."""
    lines = ["import subprocess, matplotlib", "matplotlib.use('agg')"]
    lines += ["from matplotlib import pyplot", "pictures = 0"]
    for text in cells(page):
        magic, _, rest = text.partition("\n")
        if magic == "%%sh":
            lines.append(f"subprocess.run(['sh', '-ec', {rest!r}], check=True)")
        elif magic.startswith("%%writefile "):
            lines.append(f"open({magic.split()[1]!r}, 'w').write({rest!r})")
        else:
            lines.append(text)
        lines.append("pictures += len(pyplot.get_fignums()); pyplot.close('all')")
    return "\n".join([*lines, "print(f'pictures: {pictures}')"])


def environment():
    """Return an environment in which the command is found."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "80"}


@pytest.mark.parametrize(
    "page",
    [  # all are run at each landing: the site is built of them
        pytest.param(page, id=page.stem, marks=() if page.stem in QUICK else pytest.mark.heavy)
        for page in NOTEBOOKS
    ],
)
def test_the_cells_of_a_page_run_and_draw(page, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = tmp_path / "page.py"
    script.write_text(program(page), encoding="utf-8")

    done = subprocess.run(  # noqa: S603 (the pages' own commands)
        [sys.executable, script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    drawn = int(done.stdout.rpartition("pictures: ")[2])
    assert drawn >= (15 if page.stem == "gallery" else 1)


def test_every_page_that_is_called_a_tutorial_is_a_notebook():
    pages = set((ROOT / "docs" / "tutorials").glob("*.md"))

    assert pages - set(NOTEBOOKS) == {ROOT / "docs" / "tutorials" / "index.md"}
