"""
Draw the pictures of the documentation anew.

Run: ``python -m benchmarks.pictures`` from the top level. Runs examples/synth16.toml in a temporary
folder and writes docs/pictures/interference.svg: one picture of its report.
"""

import argparse
import tempfile
from pathlib import Path

from coupling.experiments.campaign import run_campaign
from coupling.experiments.experiment import Experiment
from coupling.report.plots.jobs import slowdown_plots

ROOT = Path(__file__).parents[1]
SPACES = (
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'  # of a file
)
PICTURE = ROOT / "docs" / "pictures" / "interference.svg"


def main() -> None:
    """Run the example and keep one picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.parse_args()
    experiment = Experiment.read(ROOT / "examples" / "synth16.toml")
    with tempfile.TemporaryDirectory() as folder:
        campaign = run_campaign(experiment, Path(folder) / "synth16")
    inline = slowdown_plots(campaign.results)["interference-size"].html()
    alone = inline.replace("<svg ", f"<svg {SPACES} ", 1)
    PICTURE.write_text(alone + "\n", encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
