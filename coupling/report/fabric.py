"""What a fabric is made of, for people."""

from coupling.report.answer import Answer, Section
from coupling.report.columns import seconds
from coupling.report.estimate import stem
from coupling.results.formatting import counted, ratio, volume
from netsim.topology.base import Topology
from netsim.topology.structure.inspect import LinkReport, TopologyReport

_LINES = 20  # irregularities that are written out
_NAMES = 5  # switches of one taper that are named


def fabric_answer(found: TopologyReport, what: str, *, page: bool = False) -> Answer:
    """Return the levels and links of a fabric, `what`, and what is irregular."""
    levels = [
        (
            str(level.level or "-"),
            str(level.switches),
            str(level.cables_down),
            str(level.cables_up),
            str(level.cables_across),
            _span_text(level.parallel_cables),
            ratio(level.taper),
        )
        for level in found.levels
    ]
    heads = ("level", "switches", "cables down", "up", "across", "parallel", "taper")
    kinds = [(kind.name, str(kind.links), _rate_text(kind)) for kind in found.links]
    sections = [
        Section("Levels", heads, levels),
        Section("Links", ("link class", "links", "Gb/s"), kinds),
    ]
    if page:
        from coupling.report.pictures import fabric_pictures  # noqa: PLC0415 (matplotlib)

        sections.insert(0, Section("The fabric", pictures=lambda: fabric_pictures(found)))
    title = f"{stem(what)}: what the fabric is made of"
    return Answer(
        title, _size_lines(found), sections, _closing_lines(found), "Assumed and irregular"
    )


def _size_lines(found: TopologyReport) -> list[str]:
    """Return how large a fabric is."""
    topology = found.topology
    usable = topology.usable_nodes.size
    idle = f" ({usable:,} take jobs)" if usable < found.n_nodes else ""
    nodes, switches = counted(found.n_nodes, "node"), counted(found.n_switches, "switch")
    kind = "half duplex" if topology.half_duplex else "full duplex"
    absent = 0 if topology.absent is None else topology.absent.size
    return [
        f"{topology.name}: {nodes}{idle}, {switches}",
        f"{counted(topology.n_links, 'directed link')} ({absent:,} absent), {kind}",
    ]


def _closing_lines(found: TopologyReport) -> list[str]:
    """Return delays, and what is assumed, irregular, missing or cut off."""
    topology = found.topology
    lines = [_delay_lines(topology), *(f"Assumed: {line}." for line in found.assumed)]
    if topology.limiter_link:
        lines.insert(0, f"Hosts send and receive {8e-9 * topology.limiter_link:g} Gb/s in all.")
    lines += [f"Irregular: {line.rstrip('.')}." for line in found.irregular[:_LINES]]
    if len(found.irregular) > _LINES:
        lines.append(f"{len(found.irregular) - _LINES} more irregularities (--json has all).")
    if found.missing:
        names = [topology.vertex_name(vertex) for vertex in found.missing[:_LINES]]
        more = " ..." if len(found.missing) > _LINES else ""
        lines.append(
            f"Missing, or without a cable: {len(found.missing)} ({', '.join(names)}{more})."
        )
    return [*lines, *_leaf_lines(found), _unreachable_text(found)]


def _leaf_lines(found: TopologyReport) -> list[str]:
    """Return how tapered leaves are, where they differ."""
    leaves: dict[str, list[str]] = {}
    for leaf, _, above, taper in zip(
        *(part.tolist() for part in found.leaves.columns), strict=True
    ):
        written = f"{taper:.3g}:1" if above else "no cable to other switches"
        leaves.setdefault(written, []).append(found.topology.vertex_name(leaf))
    if len(leaves) < 2 or len(found.levels) < 2:  # noqa: PLR2004 (all alike, or no tree)
        return []
    lines = []
    for written, names in sorted(leaves.items(), key=lambda entry: -len(entry[1])):
        some = ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
        lines.append(f"Taper {written}: {counted(len(names), 'switch')} with nodes ({some}).")
    more = len(lines) - _LINES
    return lines[:_LINES] + ([f"{more} more tapers (--json has all)."] if more > 0 else [])


def _delay_lines(topology: Topology) -> str:
    """Write latency, packet and buffer, which inspection would hide otherwise."""
    base, more = seconds(topology.latency_base_s), seconds(topology.latency_per_link_s)
    packet = f"a packet of {volume(topology.packet_bytes)}" if topology.packet_bytes else ""
    each = " and ".join([*([more] if more != "0 s" else []), *([packet] if packet else [])])
    parts = [*([base] if base != "0 s" else []), *([f"{each} per further link"] if each else [])]
    buffer = volume(topology.buffer_bytes) if topology.buffer_bytes else "none"
    return f"Latency: {' and '.join(parts) or 'none'}. Buffer of a port: {buffer}."


def _span_text(least_and_most: list[int]) -> str:
    """Write the sizes of bundles of cables."""
    least, most = least_and_most
    return str(most) if least == most else f"{least} to {most}"


def _rate_text(kind: LinkReport) -> str:
    """Write the capacities of links in Gb/s."""
    slow, fast = (f"{8 * rate / 1e9:g}" for rate in (kind.slowest, kind.fastest))
    return slow if slow == fast else f"{slow} to {fast}"


def _unreachable_text(found: TopologyReport) -> str:
    """Return which nodes cannot be reached."""
    lost, pairs = found.lost.nodes.tolist(), found.lost.n_pairs
    if not found.topology.usable_nodes.size:
        return "No node takes jobs."
    if not lost and not pairs:
        return "All nodes that take jobs reach each other."
    names = ", ".join(found.topology.vertex_name(node) for node in lost[:_LINES])
    more = " ..." if len(lost) > _LINES else ""
    parts = [f"{counted(len(lost), 'node')} cut off ({names}{more})"] if lost else []
    parts += [f"{counted(pairs, 'pair')} of nodes without a path"] if pairs else []
    return f"{' and '.join(parts)}."
