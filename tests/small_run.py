"""A small experiment for the tests of commands: a log of forty jobs on sixteen nodes."""

EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 4
[workload]
path = "log.swf"
[scheduler]
allocator = "random"
[network]
routing = "d-mod-k"
"""


LINE = "{id} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 {status} 1 1 1 1 1 -1 -1\n"


def swf(n_jobs=40, **changes):
    text = "; Version: 2.2\n"
    for number in range(1, n_jobs + 1):
        fields = {"id": number, "submit": number, "run": 50 + number, "procs": 1 + number % 7}
        text += LINE.format(**({"asked": 100, "status": 1} | fields | changes))
    return text


def write_small(folder):
    """Write the experiment and its log."""
    (folder / "try.toml").write_text(EXPERIMENT)
    (folder / "log.swf").write_text(swf())
