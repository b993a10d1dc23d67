"""
How quickly the explorer draws a result, how much memory it takes, and what it looks like.

Run: ``python -m benchmarks.explorer RESULT`` from the top level, for example on what ``fabricsim
run examples/thunder.toml --set 'compare.allocators=["random"]'`` wrote. It opens the explorer in
Debian's chromium, pans and zooms, and writes a section of the evidence. With ``--screenshots
FOLDER`` it takes pictures of the page instead: wide, dark, 400 pixels. Needs the extra ``dev``.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.evidence import record, verdict
from coupling.explorer.run_view import exhibit_of

FIRST_S, ANEW_S, MOST_MIB = 2.0, 0.3, 1536
LEAST_BARS = 1_000_000
WINDOWS = [(k / 10, 0.1 + k / 10) for k in range(9)] + [(0.5, 0.5 + 2.0**-k) for k in range(1, 10)]
SIZE = {"width": 1440, "height": 1000}
LOOKS = {
    "wide": (SIZE, "light"),
    "dark": (SIZE, "dark"),
    "400": ({"width": 400, "height": 2000}, "light"),
}
ZOOM = """
async ([from, to]) => {
  const doc = Bokeh.documents[0], channel = window.explorer, time = doc.get_model_by_name("time");
  const begin = performance.now(), before = channel.drawn, [least, most] = time.bounds;
  time.setv({ start: least + from * (most - least), end: least + to * (most - least) });
  while (channel.drawn === before) await new Promise((done) => setTimeout(done, 2));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return (performance.now() - begin) / 1000;
}
"""


SETTLED = "() => !document.getElementById('panel').innerText.includes('Working it out')"


def main() -> None:
    """Measure, or take pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description=__doc__)
    parser.add_argument("result", type=Path, help="result directory of run")
    parser.add_argument("--address", default="", help="of a picture: the part after #")
    parser.add_argument("--screenshots", type=Path, help="folder for pictures of the page")
    parser.add_argument("--no-record", action="store_true", help="leave the evidence alone")
    given = parser.parse_args()
    if given.screenshots:
        take_pictures(given.result, given.screenshots, given.address)
        return
    found = measured(given.result)
    bars = len(exhibit_of([given.result]).run(found["run"]).bars.job)
    lines, holds = table(found, bars)
    print("\n".join(lines))
    if not given.no_record:
        record("The explorer draws a million bars", "python -m benchmarks.explorer RESULT", lines)
    sys.exit(0 if holds else 1)


@contextmanager
def viewed(result: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """Start the command; give its process, address and the seconds until it answers."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "coupling.cli", "view", str(result), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        try:
            yield process, address, time.perf_counter() - begin
        finally:
            process.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    program = shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, address: str, size: Any, scheme: Any) -> tuple[Page, float]:  # noqa: ANN401
    """Open the page; return it and the seconds until it is drawn."""
    page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
    begin = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("body[data-drawn]")
    return page, time.perf_counter() - begin


def measured(result: Path) -> dict[str, Any]:
    """Measure: a first start compiles the kernels, a second one counts."""
    with chromium() as browser:
        with viewed(result) as (_, address, _):
            opened(browser, address, SIZE, "light")
        with viewed(result) as (process, address, start_s):
            page, first_s = opened(browser, address, SIZE, "light")
            page.wait_for_timeout(1000)
            anew = [float(page.evaluate(ZOOM, list(window))) for window in WINDOWS]
            for by in ("pattern", "job"):
                page.select_option("#by", by)
                page.wait_for_timeout(500)
                anew += [float(page.evaluate(ZOOM, list(window))) for window in WINDOWS[:4]]
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
            run = page.input_value("#run")
    return {"start_s": start_s, "first_s": first_s, "anew_s": anew, "peak": peak, "run": run}


def table(found: dict[str, Any], bars: int) -> tuple[list[str], bool]:
    """Return the lines of the evidence, and whether all bars are met."""
    anew = np.array(found["anew_s"])
    worst = float(np.quantile(anew, 0.9))
    rows = [
        ("jobs on nodes: bars", f"{bars:,}", f"at least {LEAST_BARS:,}", bars >= LEAST_BARS),
        ("page opened until drawn", f"{found['first_s']:.2f} s", f"at most {FIRST_S:g} s",
         found["first_s"] <= FIRST_S),
        (f"picture anew, 9 of 10 of {anew.size} pans and zooms", f"{worst:.3f} s",
         f"at most {ANEW_S:g} s", worst <= ANEW_S),
        ("peak memory of the server", f"{found['peak']:.0f} MiB", f"at most {MOST_MIB} MiB",
         found["peak"] <= MOST_MIB),
    ]  # fmt: skip
    lines = ["| what | measured | bar | met |", "| --- | --- | --- | --- |"]
    lines += [f"| {what} | {value} | {bar} | {verdict(ok)} |" for what, value, bar, ok in rows]
    lines.append("")
    lines.append(
        f"Median {np.median(anew):.3f} s, worst {anew.max():.3f} s. From the command to the "
        f"address, with reading and checking the result: {found['start_s']:.1f} s.",
    )
    return lines, all(ok for *_, ok in rows)


def take_pictures(result: Path, folder: Path, address: str) -> None:
    """Take pictures of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser, viewed(result) as (_, where, _):
        for name, (size, scheme) in LOOKS.items():
            page, _ = opened(browser, f"{where}#{address}", size, scheme)
            page.wait_for_function(SETTLED)
            page.wait_for_timeout(1500)
            path = folder / f"explorer-{name}.png"
            page.screenshot(path=path, full_page=name == "400")
            few = Image.open(path).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE)
            few.save(path, optimize=True)
            print(f"{path} is written.")


if __name__ == "__main__":
    main()
