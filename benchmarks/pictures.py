"""
Draw the pictures of the documentation anew.

Run: ``python -m benchmarks.pictures`` from the top level. Runs examples/synth16.toml in a temporary
folder, estimates examples/placed_jobs.json, and writes docs/pictures/*.svg: pictures of their
pages. With ``--screenshots FOLDER`` it also takes pictures of whole pages with Debian's chromium:
wide, 400 pixels, dark, and as PDF.
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from coupling.inputs.experiment import Experiment
from coupling.inputs.snapshot import read_snapshot
from coupling.report.estimate import estimate_answer
from coupling.report.fabric import fabric_answer
from coupling.report.figures import run_figures
from coupling.report.pictures import moment_scene
from coupling.report.plots.fabric import fabric_picture
from coupling.report.plots.style import Picture
from coupling.report.report import report_html
from coupling.report.verify import verify_answer
from coupling.runs.campaign import Campaign, run_campaign
from coupling.runs.given_objects import drawable_fabrics
from coupling.site.estimate import estimate
from coupling.site.verify import verify
from netsim.registries.topologies import make_topology
from netsim.topology.structure.inspect import inspect_topology

ROOT = Path(__file__).parents[1]
SPACES = (
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'  # of a file
)
PICTURES = ROOT / "docs" / "pictures"
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--hide-scrollbars",
)  # fmt: skip
SHOTS = {
    "wide": ("--window-size=1280,9000", "--blink-settings=preferredColorScheme=1"),
    "dark": ("--window-size=1280,9000", "--blink-settings=preferredColorScheme=0"),
    "400": ("--window-size=400,14000", "--blink-settings=preferredColorScheme=1"),
}


def main() -> None:
    """Draw what the documentation shows, and whole pages where they are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--screenshots", type=Path, help="folder for pictures of whole pages")
    folder = parser.parse_args().screenshots
    experiment = Experiment.read(ROOT / "examples" / "synth16.toml")
    with tempfile.TemporaryDirectory() as place:
        campaign = run_campaign(experiment, Path(place) / "synth16")
        for name, picture in shown(campaign).items():
            alone = str(picture.html()).replace("<svg ", f"<svg {SPACES} ", 1)
            path = PICTURES / f"{name}.svg"
            path.write_text(alone + "\n", encoding="utf-8")
            print(f"{path.relative_to(ROOT)} is written.")
        if folder is not None:
            photograph(pages(campaign), folder)


def shown(campaign: Campaign) -> dict[str, Picture]:
    """Return the pictures of the documentation by the name of their file."""
    sections = run_figures(
        campaign.results, drawable_fabrics([(campaign.experiment, campaign.results)])
    )
    found = {(g, one.name): one.picture for g, own in sections.items() for one in own.figures}
    snapshot = read_snapshot(ROOT / "examples" / "placed_jobs.json")
    return {
        "interference": found["jobs", "interference-size"],
        "gantt": found["gantt", "random"],
        "blame": found["blame", "random"],
        "fabric": fabric_picture("fabric", moment_scene(snapshot), "Load of a small fabric"),
    }


def pages(campaign: Campaign) -> dict[str, str]:
    """Return a page of each kind."""
    experiment, results = campaign.experiment, campaign.results
    fabrics = drawable_fabrics([(experiment, results)])
    placed = read_snapshot(ROOT / "examples" / "placed_jobs.json")
    parts = read_snapshot(ROOT / "examples" / "partitions.json")
    inspected = inspect_topology(make_topology("thunder-1458"))
    return {
        "report": report_html(results, experiment.tables(), campaign.manifest, fabrics=fabrics),
        "estimate": estimate_answer(placed, estimate(placed), page=True).html(),
        "verify": verify_answer(parts, verify(parts), page=True).html(),
        "inspect": fabric_answer(inspected, "thunder-1458", page=True).html(),
    }


def photograph(texts: Mapping[str, str], folder: Path) -> None:
    """Take pictures of pages."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("expected Debian's chromium for --screenshots, found none.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        page = (folder / f"{name}.html").resolve()
        page.write_text(text, encoding="utf-8")
        wanted = {f"{name}-{kind}.png": look for kind, look in SHOTS.items()}
        for file, look in wanted.items():
            shoot(program, folder, f"--screenshot={page.parent / file}", *look, page.as_uri())
        pdf = page.with_suffix(".pdf")
        shoot(program, folder, f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri())
        print(f"{folder / name}: {', '.join(SHOTS)} and PDF are written.")


def shoot(program: str, folder: Path, *arguments: str) -> None:
    """Run chromium with a profile of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as profile:
        subprocess.run(  # noqa: S603 (arguments of this file)
            [program, *QUIET, f"--user-data-dir={profile}", *arguments],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
