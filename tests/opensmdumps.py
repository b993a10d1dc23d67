"""What OpenSM dumped of a small fabric, read for tests: wiring, tables and ca-order."""

import gzip
import re


def lines_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def read_wiring(path):
    """Return (guid, port) -> (peer guid, peer port), and the LID of every guid that has nodes."""
    peers, lids, guid = {}, {}, None
    for line in lines_of(path):
        if match := re.match(r'(?:Switch|Ca)\s+\d+ "([SH]-[0-9a-f]+)"', line):
            guid = match[1]
        elif match := re.match(r'\[(\d+)\](?:\(\w+\))?\s+"([SH]-[0-9a-f]+)"\[(\d+)\]', line):
            peers[guid, int(match[1])] = match[2], int(match[3])
            if guid.startswith("H-"):
                lids[guid] = int(re.search(r"# lid (\d+)", line)[1])
    return peers, lids


def read_tables(path):
    """Return switch guid -> LID -> output port."""
    tables, table = {}, {}
    for line in lines_of(path):
        if match := re.match(r"Unicast lids .* guid 0x([0-9a-f]+) ", line):
            table = tables.setdefault("S-" + match[1], {})
        elif match := re.match(r"0x([0-9a-f]+) (\d+) ", line):
            table[int(match[1], 16)] = int(match[2])
    return tables


def read_order(path):
    """Return the LID of every line of the ca-order, None for a dummy."""
    entries = [line.split("\t") for line in lines_of(path)]
    return [None if name == "DUMMY" else int(lid, 16) for lid, name in entries]
