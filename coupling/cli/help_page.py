"""Help of the commands: in panels, words for values instead of types, links to pages."""

from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

PAGES = "https://github.com/fabricsim/fabricsim/tree/main/docs/reference/commands"
PANELS = {
    "Ask about a machine": (
        *("now", "whatif", "place", "estimate", "flows", "verify", "ebb", "ecmp-audit", "stagger"),
        *("calibrate", "lft"),
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


_WORDS = {  # what stands for a value, by the name of the option
    "add_cables": "A>B",
    "changes": "FIELD=VALUE",
    "exclude": "NODES",
    "fail": "NAME",
    "move": "JOB=NODES",
    "topology": "FABRIC",
}


def _no_type(ctx: object) -> None:
    """Show no type of an argument: its help says what it is."""
    del ctx


def _with_words(params: list[Any]) -> list[Any]:
    """Return parameters that show a word for their value, and flags nothing: they take none."""
    for own in params:
        if isinstance(own, TyperOption) and own.is_flag:
            own.metavar = ""
        elif isinstance(own, TyperArgument):
            own.display_type_rich = _no_type  # type: ignore[method-assign]
        elif own.metavar is None:
            described = getattr(own, "type_descriptor", None)  # older releases have a `type`
            kind = str(described.annotation if described else own.type).lower()
            number = "int" in kind or "float" in kind
            word = "NUMBER" if number else "PATH" if "path" in kind else "TEXT"
            own.metavar = _WORDS.get(str(own.name), word)
    return params


class Command(TyperCommand):
    """A command whose values are shown as words."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 (typer's context)
        """Return the parameters."""
        return _with_words(super().get_params(ctx))


class Group(TyperGroup):
    """Commands in the order of the panels."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 (typer's context)
        """Return the parameters."""
        return _with_words(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (typer's context)
        """Return the names, grouped by panel."""
        return sorted(super().list_commands(ctx), key=_command_order)


def _command_order(name: str) -> int:
    """Return where a command stands; subcommands stay as they are."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def arrange(app: typer.Typer) -> None:
    """Give every command of the application its panel and a link to its page."""
    for command in app.registered_commands:
        name = str(command.name or getattr(command.callback, "__name__", ""))
        command.cls, command.rich_help_panel = Command, _PANEL_OF[name]
        command.epilog = _docs_link(_PAGE_OF.get(name, name))
    for group in app.registered_groups:
        name, inner = str(group.name), group.typer_instance
        group.cls, group.rich_help_panel = Group, _PANEL_OF[name]
        for command in [] if inner is None else inner.registered_commands:
            command.cls, command.epilog = Command, _docs_link(name)


def _docs_link(page: str) -> str:
    """Return a line that leads to a page of the documentation."""
    return f"Page: [link={PAGES}/{page}.md]docs/reference/commands/{page}.md[/link]"
