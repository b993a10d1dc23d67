"""The explorer in front of something: in a thread, or as the command."""

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from coupling.explorer.server import Explorer

EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=2</script>"\'{{7*7}}'


@contextmanager
def served(exhibit):
    """Serve an exhibit in a thread and give the explorer."""
    ready, holder = threading.Event(), []

    def work():
        asyncio.set_event_loop(asyncio.new_event_loop())
        explorer = Explorer(exhibit)
        holder.append(explorer)
        explorer.begin()
        explorer.loop.add_callback(ready.set)
        explorer.loop.start()
        explorer.end()
        asyncio.get_event_loop().close()

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(30)
    try:
        yield holder[0]
    finally:
        holder[0].loop.add_callback(holder[0].loop.stop)
        thread.join(30)


@contextmanager
def command(*arguments):
    """Run the command and give its process and the address that it prints."""
    with subprocess.Popen(  # noqa: S603 (arguments of the tests)
        [sys.executable, "-m", "coupling.cli", "view", *map(str, arguments), "--no-browser",
         "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process, json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=30)


def shown(page, expected, *, seconds=20):
    """Wait until the address holds something, and return its fields."""
    page.wait_for_function(
        "text => new RegExp(text).test(location.hash)", arg=expected, timeout=seconds * 1000
    )
    return dict(part.split("=", 1) for part in urlsplit(page.url).fragment.split("&"))


def place(page, name="gantt-0"):
    """Return the box of the frame of a picture, within its axes."""
    figure = page.evaluate(
        """name => {
          const doc = Bokeh.documents[0], plot = doc.get_model_by_name(name);
          Bokeh.index.find_one(plot).el.scrollIntoView();
          const box = Bokeh.index.find_one(plot).el.getBoundingClientRect();
          const inner = Bokeh.index.find_one(plot).frame.bbox;
          return [box.x + inner.left, box.y + inner.top, inner.width, inner.height];
        }""",
        name,
    )
    return dict(zip(("x", "y", "width", "height"), figure, strict=True))


def panel(page, text):
    """Wait until the panel says something and nothing more comes, and return all it says."""
    page.wait_for_function(
        """text => {
          const told = document.getElementById("panel").innerText;
          return told.includes(text) && !told.includes("Working it out");
        }""",
        arg=text,
    )
    return page.inner_text("#panel")


def point(page, name, x, y):
    """Return where a place of a picture is on the screen."""
    return page.evaluate(
        """([name, x, y]) => {
          const view = Bokeh.index.find_one(Bokeh.documents[0].get_model_by_name(name));
          const [xs, ys] = [view.frame.x_scale.compute(x), view.frame.y_scale.compute(y)];
          const box = view.el.getBoundingClientRect();
          return [box.x + xs, box.y + ys];
        }""",
        [name, float(x), float(y)],
    )
