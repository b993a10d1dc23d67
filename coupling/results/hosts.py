"""Which nodes each job had: host lists of a whole table of jobs, read at once."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist

_NUMBERED = re.compile(r"(.*?[^0-9]|)([0-9]{1,9})")
_MOST_NUMBER = 10_000_000


def hosts_of(lists: pd.Series, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Return row of the job and number of the node, by job, of all nodes in host lists."""
    texts = [str(text) for text in lists]
    counted = _numbered_names(names)
    if counted is None:
        return _read_slowly(texts, range(len(texts)), names)
    stem, width, table = counted
    digits = rf"[0-9]{{{width}}}" if width else "(?:0|[1-9][0-9]{0,8})"
    numbers = rf"{digits}(?:-{digits})?"
    one = rf"{re.escape(stem)}(?:{digits}|\[{numbers}(?:,{numbers})*\])"
    usual, ranges = re.compile(rf"{one}(?:,{one})*"), re.compile(r"([0-9]+)(?:-([0-9]+))?")
    rows, first, last = [], [], []
    odd = set()
    for row, text in enumerate(texts):
        if usual.fullmatch(text) is None:
            odd.add(row)
            continue
        for begin, end in ranges.findall(text.replace(stem, "")):
            rows.append(row)
            first.append(int(begin))
            last.append(int(end or begin))
    found = np.array([rows, first, last], dtype=np.int64)
    job, node = _unroll_ranges(found[0], found[1], found[2], table)
    odd |= set(job[node < 0].tolist())
    if not odd:
        return job, node
    known = ~np.isin(job, list(odd))
    odd_job, odd_node = _read_slowly([texts[row] for row in sorted(odd)], sorted(odd), names)
    job, node = np.concatenate([job[known], odd_job]), np.concatenate([node[known], odd_node])
    order = np.argsort(job, kind="stable")
    return job[order], node[order]


def _unroll_ranges(rows: Ints, first: Ints, last: Ints, table: Ints) -> tuple[Ints, Ints]:
    """Return row and node of every number of the ranges; a range that is odd has one node, -1."""
    good = (first <= last) & (last < table.size)
    size = np.where(good, last - first + 1, 1)
    number = np.arange(size.sum()) + np.repeat(first - (np.cumsum(size) - size), size)
    node = np.where(np.repeat(good, size), table[np.minimum(number, table.size - 1)], -1)
    return np.repeat(rows, size), node


def _numbered_names(names: Sequence[str]) -> tuple[str, int, Ints] | None:
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


def _read_slowly(
    texts: Sequence[str], rows: Sequence[int], names: Sequence[str]
) -> tuple[Ints, Ints]:
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
