"""Help of the commands: in panels, flags without a type, links to pages."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

PAGES = "https://github.com/fabricsim/fabricsim/tree/main/docs/reference/commands"
PANELS = {
    "Ask about a machine": (
        *("now", "whatif", "place", "estimate", "flows", "verify", "calibrate", "lft"),
    ),
    "Simulate": ("run", "sweep", "gather", "replay", "paper"),
    "Results": (
        *("compare", "explain", "report", "view", "metrics", "export", "snapshot", "rerun"),
    ),
    "Files and names": ("trace", "topology", "list", "check-plugin"),
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_ORDER = list(_PANEL_OF)
_PAGE_OF = {"gather": "sweep", "list": "index"}


def _bare_flags(params: list[Any]) -> list[Any]:
    """Return parameters whose flags show no type: they take no value."""
    for own in params:
        if isinstance(own, TyperOption) and own.is_flag:
            own.metavar = ""
    return params


class Command(TyperCommand):
    """A command whose flags are shown without a type."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 (typer's context)
        """Return the parameters."""
        return _bare_flags(super().get_params(ctx))


class Group(TyperGroup):
    """Commands in the order of the panels."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 (typer's context)
        """Return the parameters."""
        return _bare_flags(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (typer's context)
        """Return the names, grouped by panel."""
        return sorted(super().list_commands(ctx), key=_place)


def _place(name: str) -> int:
    """Return where a command stands; subcommands stay as they are."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def arrange(app: typer.Typer) -> None:
    """Give every command of the application its panel and a link to its page."""
    for command in app.registered_commands:
        name = str(command.name or getattr(command.callback, "__name__", ""))
        command.cls, command.rich_help_panel = Command, _PANEL_OF[name]
        command.epilog = _link(_PAGE_OF.get(name, name))
    for group in app.registered_groups:
        name, inner = str(group.name), group.typer_instance
        group.cls, group.rich_help_panel = Group, _PANEL_OF[name]
        for command in [] if inner is None else inner.registered_commands:
            command.cls, command.epilog = Command, _link(name)


def _link(page: str) -> str:
    """Return a line that leads to a page of the documentation."""
    return f"Page: [link={PAGES}/{page}.md]docs/reference/commands/{page}.md[/link]"
