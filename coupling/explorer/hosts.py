"""Which nodes each job had: host lists of a whole table of jobs, read at once."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from netsim.arrays import Ints
from netsim.errors import TopologyError
from netsim.hostlist import expand_hostlist
from netsim.kernelcache import load_kernels

_NUMBERED = re.compile(r"(.*?[^0-9]|)([0-9]{1,9})")
_MOST_NUMBER = 10_000_000


def hosts_of(lists: pd.Series, names: Sequence[str]) -> tuple[Ints, Ints]:
    """
    Return the nodes of jobs.

    `lists`: host list of each job. `names`: name of each node. Result: row of the job and number of
    the node of every node that a job had, by job; names that are no node are an error.
    """
    texts = [str(text) for text in lists]
    counted = _numbered(names)
    if counted is None:
        return _slowly(texts, range(len(texts)), names)
    stem, width, table = counted
    kernels = load_kernels("coupling.explorer.host_kernels", "kernels of the explorer", 6)
    data = [text.encode() for text in texts]
    letters = np.frombuffer(b"".join(data), dtype=np.uint8)
    start = np.concatenate([[0], np.cumsum([len(own) for own in data], dtype=np.int64)])
    start = start.astype(np.int64)
    stem_ = np.frombuffer(stem.encode(), dtype=np.uint8)
    none = np.zeros(start.size - 1, dtype=np.int64)
    known = (letters, start, stem_, width, table)
    count = kernels.read_hosts(*known, none, np.zeros(0, dtype=np.int64), False)
    usual = np.maximum(count, 0)
    node = np.empty(int(usual.sum()), dtype=np.int64)
    kernels.read_hosts(*known, np.cumsum(usual) - usual, node, True)
    job = np.repeat(np.arange(count.size), usual)
    odd = np.flatnonzero(count < 0)
    if not odd.size:
        return job, node
    odd_job, odd_node = _slowly([texts[row] for row in odd], odd.tolist(), names)
    # A list that was given up half-way may have written its first nodes; they are not counted.
    job, node = np.concatenate([job, odd_job]), np.concatenate([node, odd_node])
    order = np.argsort(job, kind="stable")
    return job[order], node[order]


def _numbered(names: Sequence[str]) -> tuple[str, int, Ints] | None:
    """Return what names begin with, their digits and node by number; None where they differ."""
    parts = [_NUMBERED.fullmatch(name) for name in names]
    if not parts or any(part is None for part in parts):
        return None
    stems, digits = zip(*(part.groups() for part in parts if part), strict=True)
    plain = all(text == str(int(text)) for text in digits)
    if len(set(stems)) > 1 or not (plain or len({len(text) for text in digits}) == 1):
        return None
    numbers = np.array([int(text) for text in digits], dtype=np.int64)
    if numbers.max() >= _MOST_NUMBER or np.unique(numbers).size < numbers.size:
        return None
    table = np.full(int(numbers.max()) + 1, -1, dtype=np.int64)
    table[numbers] = np.arange(numbers.size)
    return stems[0], 0 if plain else len(digits[0]), table


def _slowly(texts: Sequence[str], rows: Sequence[int], names: Sequence[str]) -> tuple[Ints, Ints]:
    """Read lists one by one."""
    number = {name: place for place, name in enumerate(names)}
    job, node = [], []
    for row, text in zip(rows, texts, strict=True):
        for name in expand_hostlist(text):
            if name not in number:
                raise TopologyError(f"expected names of nodes of the fabric, got {name[:40]!r}.")
            job.append(row)
            node.append(number[name])
    return np.array(job, dtype=np.int64), np.array(node, dtype=np.int64)
