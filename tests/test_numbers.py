"""Numbers in the prose of user pages: measured, by hand, or a setting; never loose."""

import inspect
import re
from pathlib import Path

import pytest

import fabricsim
from netsim.fluid.model import Fluid

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "research" not in path.parts
]
SKIPPED = re.compile(
    r"\A---\n.*?^---\n|^ *(```+).*?^ *\1|<!--.*?-->|^ *\|.*?$|`[^`\n]*`|\]\([^)]*\)",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.\d+(?!\.?\w)|\d[\d,.]*(?= %| times)")
BY_HAND = ("by hand", "means:")  # such paragraphs are those of test_page_of_the_model and others
SETTINGS = {  # versions, defaults, choices of the code and numbers of other projects
    "README.md": {"3.11", "0.2"},
    "docs/about/roadmap.md": {"1.0"},
    "docs/about/why.md": {"0.2"},
    "docs/concepts/model.md": {"0.8", "0.001", "0.2", "1.02", "1.05", "3.0"},
    "docs/concepts/non-blocking.md": {"3.3"},
    "docs/concepts/packets.md": {"1", "5.0", "1.25"},  # by hand in test_congestion_control
    "docs/how-to/pictures.md": {"3.4"},
    "docs/index.md": {"95"},
    "docs/reference/commands/calibrate.md": {"90", "0.8"},
    "docs/reference/commands/compare.md": {"95"},
    "docs/reference/commands/flows.md": {"12.5"},  # 100 Gb/s; its times are those of the example
    "docs/reference/commands/now.md": {"22.05", "25.05"},
    "docs/reference/commands/paper.md": {"95"},
    "docs/reference/commands/replay.md": {"95"},
    "docs/reference/commands/topology.md": {"2.0"},
    "docs/reference/results.md": {"0.2"},
    "docs/reference/snapshot.md": {"1.5"},
    # the last two: NCCL's tuner, in test_gpu_clusters
    "docs/reference/topologies.md": {"13.64", "5.25", "4.6875", "3.32", "8.4", "3.4"},
    "docs/start/install.md": {"3.11"},
    "docs/tutorials/gpu-training.md": {"0.35"},  # 35 of 100 ms
    "docs/tutorials/monday.md": {"95"},
}
_THUNDER = r"\| Thunder \| random \| {} \| {} KiB \| \d+ \| {}"  # packets, then the model
MEASURED = {  # in `benchmarks/evidence.md`, which commands write
    ("docs/concepts/limits.md", "1"): _THUNDER.format("adaptive", 32, r"1\.01\d "),
    ("docs/concepts/limits.md", "8"): _THUNDER.format("adaptive", 256, r"1\.08\d "),
    ("docs/concepts/limits.md", "13"): _THUNDER.format("static", 256, r"1\.12[5-9] "),
    ("docs/concepts/limits.md", "7"): _THUNDER.format("static", 32, r"[^|]* \| 1\.07\d "),
    ("docs/concepts/model.md", "0.39"): r"\| dragonfly \| adaptive \| 40 .* / 0\.39 / ",
    ("docs/concepts/model.md", "0.5"): r"\| .*tree.* \| adaptive \| 40 .* / 0\.[0-5]\d / ",
    ("docs/concepts/model.md", "0.97"): r"\| torus \| dimension-order \| 40 .* / 0\.97 / ",
    ("docs/concepts/model.md", "0.87"): r"\| torus \| dimension-order \| 20 .* / 0\.87 / ",
    ("docs/concepts/model.md", "7.8"): r"beside 7 senders .*\| 7\.78\d \|",
    ("docs/concepts/model.md", "7.1"): r"beside 7 senders .*\| 7\.0[5-9]\d \|",
    ("docs/concepts/model.md", "0.68"): r"\| torus \| 9 .*\| 0\.68 \|",
}


def numbers(path):
    """Return the numbers in the prose of a page, without those of examples by hand."""
    text = SKIPPED.sub("", path.read_text(encoding="utf-8"))
    parts = [part for part in text.split("\n\n") if not any(w in part.lower() for w in BY_HAND)]
    return set(NUMBER.findall("\n\n".join(parts)))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_number_in_prose_has_a_source(path):
    page = str(path.relative_to(ROOT))
    known = SETTINGS.get(page, set()) | {number for name, number in MEASURED if name == page}

    assert numbers(path) == known


@pytest.mark.parametrize(("place", "row"), MEASURED.items(), ids=lambda own: str(own)[:40])
def test_a_measured_number_is_what_a_command_recorded(place, row):
    evidence = (ROOT / "benchmarks" / "evidence.md").read_text(encoding="utf-8")

    assert re.search(row, evidence), place


def test_settings_in_prose_are_those_of_the_code():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tolerance = inspect.signature(Fluid).parameters["tolerance"].default

    assert fabricsim.__version__.startswith("0.2.")
    assert 'requires-python = ">=3.11"' in project
    assert f"`tolerance` is {tolerance}" in (ROOT / "docs/concepts/model.md").read_text("utf-8")
