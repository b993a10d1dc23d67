"""Placements of one more job, for people."""

from coupling.report.answer import Answer, Section
from coupling.report.columns import assumptions
from coupling.results import formatting as units
from coupling.site.placement_options import EarliestFit, PlacementOption, Placing

_HEADS = ("", "slowed", "5-95 %", "own lost", "others'", "most hurt", "by")
PAGE_ROWS = 50
"""Placements that a page shows."""
_NAMES = 3  # links that a line names
_READ = (
    "slowed: together / ideal of the new job, median; own lost, others': node-hours lost in a day, "
    "by the new job, and by the others more than without it; by: allocator that proposes it."
)


def place_answer(found: Placing, top: int | None = None, *, why: bool = True) -> Answer:
    """Return placements of one more job, least loss first."""
    shown = list(enumerate(found.options[:top], start=1))
    copied = [f"{place} --nodelist={own.nodelist}" for place, own in shown]
    if found.isolated:
        copied += [f"{place} {_link_line(own)}" for place, own in shown]
    if not shown and found.later is not None:
        copied = [f"--nodelist={found.later.nodelist}"]
    placements = Section(
        "Placements, best first" if shown else "The earliest placement",
        _HEADS,
        [_option_row(place, own) for place, own in shown],
        left=(0, 5, 6),
        copied=copied,
    )
    closing = [*([_READ] if shown else []), *_note_lines(found, why=why)]
    title = "Where one more job would run best"
    return Answer(title, _total_lines(found), [placements], closing)


def _total_lines(found: Placing) -> list[str]:
    """Return what was looked for and found."""
    apart = " on links of their own" if found.isolated else ""
    first = (
        f"{found.nodes:,} nodes wanted{apart}; "
        f"{units.counted(found.samples, 'sample')}; {found.free:,} free"
    )
    if found.connected < found.free:
        first += f" (at most {found.connected:,} that reach each other)"
    if not found.options:
        return [found.topology.summary, first, _wait_line(found.later, isolated=found.isolated)]
    best = min(found.options, key=lambda own: own.own_node_hours)
    kindest = min(found.options, key=lambda own: own.others_node_hours)
    number = {own: place for place, own in enumerate(found.options, start=1)}
    how = "all that there are" if found.all_tried else "of allocators and a search from them"
    return [
        found.topology.summary,
        first,
        (
            f"{units.counted(found.tried, 'placement')} rated ({how}), least loss of all first; "
            f"best for itself: {number[best]}, for the others: {number[kindest]}."
        ),
    ]


def _wait_line(later: EarliestFit | None, *, isolated: bool) -> str:
    """Return when enough nodes will be free."""
    what = "isolated placement" if isolated else "placement"
    if later is None:
        return f"No {what} now, and none that time limits of running jobs promise."
    return (
        f"No {what} now. At the latest at {later.clock} (in {units.duration(later.wait_s)}), when "
        f"{units.counted(len(later.ended), 'job')} reached the time limit, if no other job starts."
    )


def _option_row(place: int, own: PlacementOption) -> tuple[str, ...]:
    names = own.allocators[0] if own.allocators else units.MISSING
    more = len(own.allocators) - 1
    hurt = units.MISSING
    if own.most_hurt is not None:
        hurt = f"{own.most_hurt} {units.change(own.most_hurt_by)}"
    return (
        str(place),
        units.ratio(own.network_slowdown),
        f"{own.low:.2f}-{own.high:.2f}",
        units.number(own.own_node_hours),
        units.number(own.others_node_hours),
        hurt,
        names + (f" and {more} more" if more > 0 else ""),
    )


def _link_line(own: PlacementOption) -> str:
    """Return the links that a placement owns, and the proof that it is non-blocking."""
    some = ", ".join(own.links[:_NAMES])
    more = f" and {len(own.links) - _NAMES} more" if len(own.links) > _NAMES else ""
    links = f"{units.counted(len(own.links), 'link')}: {some}{more}" if own.links else "no links"
    return f"owns {links}; isolated and non-blocking: {own.proof}"


def _note_lines(found: Placing, *, why: bool = True) -> list[str]:
    """Return what was assumed and is odd, and allocators for other fabrics."""
    lines = assumptions(found.assumed, why=why)
    if found.refused:
        lines.append(f"Allocators that do not know this fabric: {', '.join(found.refused)}.")
    return [*lines, *found.remarks]
