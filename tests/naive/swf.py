"""Standard Workload Format read line by line with the default filter; imports nothing of ours."""

import gzip
from pathlib import Path


def jobs(path, processors_per_node, max_nodes=None):
    """Return (id, submit, nodes, run time, requested time) of each kept job, by submit time."""
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1")
    kept = []
    for line in text.split("\n"):
        if not line.strip() or line.strip().startswith(";"):
            continue
        words = [float(word) for word in line.split()]
        number, submit, _, run, procs = words[:5]
        procs = procs if procs > 0 else words[7]
        nodes = -int(-procs // processors_per_node)
        if run <= 0 or procs <= 0 or words[10] == 5 or submit < 0:
            continue
        if max_nodes is None or nodes <= max_nodes:
            kept.append((int(number), submit, nodes, run, words[8] if words[8] > 0 else run))
    first = min((submit for _, submit, *_ in kept), default=0.0)
    return sorted(((n, s - first, *rest) for n, s, *rest in kept), key=lambda job: job[1])
