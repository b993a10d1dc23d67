"""Pages in a real browser: Debian's chromium without a window, offline."""

import json
import os
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
NO_BROWSER = "chromium is not installed"
SECONDS = 120
LOOK = """
<script>
addEventListener("load", () => {
  const width = document.documentElement.clientWidth, all = [...document.querySelectorAll("*")];
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(
    v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
  ).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = element => {
    for (let e = element; e; e = e.parentElement) {
      const own = rgb(getComputedStyle(e).backgroundColor);
      if (own.length === 3 || own[3] === 1) return own;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const e of all) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || ["script", "style", "title"].includes(e.localName)) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const inside = i => {
      const [a, b] = [i.getBoundingClientRect(), e.getBoundingClientRect()];
      return a.left <= b.left && b.right <= a.right && a.top <= b.top && b.bottom <= a.bottom;
    };
    // numbers on the cells of a matrix do not lie on the page: test_blame_matrix has their contrast
    if (svg && ["rgb(0, 0, 0)", "rgb(255, 255, 255)"].includes(style.fill)
      && [...e.closest("svg").querySelectorAll("image")].some(inside)) continue;
    const a = light(rgb(svg ? style.fill : style.color)), b = light(back(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push([e.tagName, e.textContent.slice(0, 30), ratio]);
  }
  const wide = all.filter(e => !e.closest("svg > *") && !["THEAD"].includes(e.tagName)
    && !e.closest("thead") && (e.getBoundingClientRect().right > width + 1
    || (["DIV", "TABLE", "TD"].includes(e.tagName) && e.scrollWidth > e.clientWidth + 1)));
  const seen = {
    width, faint,
    page: document.documentElement.scrollWidth,
    wide: wide.map(e => [e.tagName, e.textContent.slice(0, 40)]),
    asked: performance.getEntriesByType("resource").map(e => e.name),
    loaded: document.querySelectorAll("script, img, iframe, link, object, embed").length,
    hit: String(window.hit),
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
  };
  parent.postMessage(JSON.stringify(seen), "*");
});
</script>
"""


FRAME = """<!DOCTYPE html><html><body></body><script>
addEventListener("message", event => { document.body.textContent = event.data; });
const frame = document.createElement("iframe");
frame.style = "border:0;width:%dpx;height:3000px;color-scheme:%s";
frame.src = "%s";
document.body.append(frame);
</script></html>"""  # a window has a least width, a frame has none


def only_own_script(text):
    """Say whether a page has and allows the script of reports alone."""
    script = Path("coupling/report/templates/report.js").read_text("utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    allowed = [part.split() for own in policy for part in own.split(";")]
    return (
        text.count("<script") == 1
        and f"<script>{script}</script>" in text
        and ["default-src", "'none'"] in allowed
        and ["script-src", f"'sha256-{digest}'"] in allowed
    )


def chromium(folder, *arguments):
    """Run chromium with a profile of its own and return what it prints."""
    quiet = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}",
    )  # fmt: skip
    return subprocess.run(  # noqa: S603 (arguments of this file)
        [PROGRAM, *quiet, *arguments],
        capture_output=True,
        check=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | {"HOME": str(folder)},
    ).stdout


def look(text, folder, *, width=1280, dark=False):
    """
    Open a page and return what a reader meets.

    Elements that reach beyond the window or hide a part of themselves, text of a contrast below
    4.5 to 1 (WCAG 2.1, AA), what was asked of the network, and whether anything ran.
    """
    return answer(text, folder, LOOK, width=width, dark=dark)


def answer(text, folder, script, *, width=1280, dark=False):
    """Open a page with a script that posts JSON to its parent when all is loaded; return it."""
    page = folder / "look.html"
    spot = (
        "<head>" if "<head>" in text else "<body>"
    )  # before the policy that allows no other script
    page.write_text(text.replace(spot, f"{spot}{script}", 1), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME % (width, "dark" if dark else "light", page.as_uri()), encoding="utf-8")
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if dark else "1")
    wait = "--virtual-time-budget=20000"
    dom = chromium(folder, scheme, wait, "--window-size=1400,3000", "--dump-dom", frame.as_uri())
    return json.loads(unescape(dom[dom.index("<body>") + 6 : dom.rindex("</body>")]))


def printed(text, folder):
    """Print a page and return the PDF."""
    page, out = folder / "print.html", folder / "print.pdf"
    page.write_text(text, encoding="utf-8")
    chromium(folder, f"--print-to-pdf={out}", "--no-pdf-header-footer", page.as_uri())
    return out.read_bytes()
