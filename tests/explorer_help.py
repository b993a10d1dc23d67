"""The explorer in front of something: in a thread, or as the command."""

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

from coupling.explorer.server import Explorer


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
