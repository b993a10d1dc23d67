"""A site of eight hosts on two leaves and two spines, as ibnetdiscover prints it."""

GUID = 0x2C90300080000
HOSTS = [f"cn{n:03}" for n in range(1, 9)]  # cn001..cn004 on one leaf, the others on the other


def adapter(number, described, leaf, port):
    own = GUID + 16 * number
    return (
        f"caguid=0x{own:x}\n"
        f'Ca\t1 "H-{own:016x}"\t\t# "{described}"\n'
        f'[1]({own + 1:x})\t"S-{leaf:016x}"[{port}]\t\t# lid {number + 1} "leaf" lid 90 4xQDR\n\n'
    )


def switch(guid, described, ends):
    lines = [
        f"switchguid=0x{guid:x}({guid:x})",
        f'Switch\t8 "S-{guid:016x}"\t\t# "{described}" lid {100 + guid % 0x10000 // 0x1000}',
    ]
    for port, (kind, peer, far) in enumerate(ends, start=1):
        lines.append(f'[{port}]\t"{kind}-{peer:016x}"[{far}]\t\t# "peer" lid 1 4xQDR')
    return "\n".join([*lines, "", ""])


def discovered(described):
    """Return what ibnetdiscover prints of eight hosts on two leaves and two spines."""
    a, b, top, other = (GUID + 0x1000 * k for k in range(1, 5))
    text = ""
    for leaf, name, first in ((a, "MF0;edge1:SX6036/U1", 0), (b, "MF0;edge2:SX6036/U1", 4)):
        hosts = [("H", GUID + 16 * (first + k), 1) for k in range(4)]
        place = 1 if leaf == a else 2
        text += switch(leaf, name, [*hosts, ("S", top, place), ("S", other, place)])
    for guid, name in ((top, "MF0;core1:SX6036/U1"), (other, "MF0;core2:SX6036/U1")):
        port = 5 if guid == top else 6
        text += switch(guid, name, [("S", a, port), ("S", b, port)])
    for number, name in enumerate(described):
        text += adapter(number, name, a if number < 4 else b, number % 4 + 1)
    return text


def forms(number):
    own = GUID + 16 * number
    return [
        HOSTS[number],
        f"{HOSTS[number]} HCA-1",
        f"H-{own:016x}",
        f"0x{own:x}",
        f"0x{own:016x}",
        f"{own:016x}",
        f"{own:X}",
        f"0x{own + 1:x}",  # of its port
    ]
