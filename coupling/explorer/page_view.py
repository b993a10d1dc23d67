"""What a page shows, of runs or of a moment: this place alone decides it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bokeh.embed.util import RenderItem

from coupling.explorer.address import BY
from coupling.explorer.channel import Follower
from coupling.explorer.figures import TimeAxis
from coupling.explorer.moment import Moment, MomentSession, blame_table
from coupling.explorer.panel import html, templates
from coupling.explorer.run_view import RunView
from coupling.explorer.session import Session
from coupling.report.plots.style import LOAD

_KEYS = (
    ("← →", "earlier, later"),
    ("↑ ↓", "other nodes"),
    ("+ -", "less or more time"),
    ("] [", "fewer or more nodes"),
    ("0", "all of it"),
    ("j k", "next, previous job"),
    ("Esc", "choose nothing"),
    ("b", "colour by something else"),
    ("r", "another run"),
    ("c", "another run beside it"),
    ("/", "type a job's number"),
    (", .", "an earlier, a later moment of the fabric"),
    ("space", "play, or stop"),
    ("w", "the whole run instead of a moment"),
    ("l", "type a cable's name"),
    ("p", "to the panel"),
    ("t", "dark or light"),
    ("?", "show the keys, or hide them"),
)
_NAMED = ("fabric", "fabric-1", "heat", "rate")  # figures that have a place of their own
_SHARED = ("j k", "Esc", "/", "l", "p", "t", "?")
_MOMENT_KEYS = tuple(pair for pair in _KEYS if pair[0] in _SHARED)
_MOST_KEYED = 12  # runs in the key of the overview


@dataclass(frozen=True, slots=True)
class PageView:
    """A page: its template with all that it holds from the begin, and what happens in it."""

    title: str
    template: str
    keys: Sequence[tuple[str, str]]  # Of the keyboard, and what they do
    fields: Mapping[str, Any]  # What the template takes besides
    make_session: Callable[[], Follower]


def page_view(shown: RunView | Moment) -> PageView:
    """Return what the page shows."""
    if isinstance(shown, Moment):
        about = {"about": shown.about, "blame": blame_table(shown)}
        session = partial(MomentSession, shown)
        return PageView(shown.title, "moment.html", _MOMENT_KEYS, about, session)
    fields: dict[str, Any] = {
        "runs": shown.names,
        "colours": {name: shown.colours[name] for name in shown.names[:_MOST_KEYED]},
        "by": BY,
        "end_s": shown.end_s,
        "dates": TimeAxis(shown.begin_unix_s, shown.zone).words,
    }
    return PageView(shown.title, "page.html", _KEYS, fields, partial(Session, shown))


def page_html(view: PageView, session: Any) -> str:  # noqa: ANN401 (a session of Bokeh)
    """Write the page with the places of the session's figures."""
    item = RenderItem(token=session.token, roots=session.document.roots).to_json()
    names = {root.id: root.name for root in session.document.roots}
    places = [
        {"element": element, "id": root, "name": names[root]}
        for root, element in item["roots"].items()
    ]
    named = {own["name"].replace("-", "_"): own for own in places if own["name"] in _NAMED}
    return (
        templates()
        .get_template(view.template)
        .render(
            title=view.title,
            keys=view.keys,
            strips=[place for place in places if place["name"].startswith("over-")],
            gantts=[place for place in places if place["name"].startswith("gantt-")],
            load=LOAD,
            items=html(json.dumps(item).replace("<", "\\u003c")),
            **named,
            **view.fields,
        )
    )
