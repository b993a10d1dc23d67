"""The commands `list` and `check-plugin`: the names of parts, and parts of one's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines
from coupling.errors import ExperimentError

if TYPE_CHECKING:
    from coupling.checks.check import PluginCheck

_KINDS = (
    *("allocators", "routings", "patterns", "topologies", "models", "queues"),
    *("generators", "readers"),
)


def names(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}.")],
    as_json: of.AsJson = False,
) -> None:
    """
    List allocators, patterns, topologies and other names.

    Example:

      fabricsim list allocators
    """
    from coupling.inputs.names import names_of
    from fabricsim.checking import choice

    found = names_of(choice("list", kind, _KINDS, error=ExperimentError))
    text = json.dumps(found, indent=2) if as_json else repr(found)
    sys.stdout.write(f"{text}\n")


def check_plugin(
    target: Annotated[
        str, typer.Argument(help="FILE.py, module:Name, FILE.py:Name, or a name that is known.")
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            help="allocators, queues, patterns, topologies, routings, contention_models or "
            "readers, where the target does not say."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="An option of the part, e.g. --set step=2; path of a log."),
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Check that a plug-in conforms.

    Exit status 1 when a rule is broken.

    Example:

      fabricsim check-plugin mine.py --kind allocators
    """
    from coupling.checks.check import check_plugin as check
    from coupling.inputs.files import value_of

    options = {}
    for change in changes or ():
        key, sign, text = change.partition("=")
        if not sign or not key.strip():
            raise ExperimentError(f"--set {change}: expected option=value.")
        options[key.strip()] = value_of(text, f"--set {key}")
    found = check(target, kind, options)
    if as_json:
        print_json(found.to_dict())
    else:
        print_lines(*_rule_lines(found))
    if not found.passed:
        raise typer.Exit(1)


def _rule_lines(found: PluginCheck) -> Iterator[str]:
    """Yield the parts, each with its rules and the cases that break them."""
    for (kind, name), group in groupby(found.findings, key=lambda own: (own.kind, own.name)):
        rules = list(group)
        n_claimed = sum(finding.claimed for finding in rules)
        n_held = sum(finding.holds for finding in rules)
        rest = f", {len(rules) - n_claimed} not claimed" if n_claimed < len(rules) else ""
        yield f"{name} ({kind}): {n_held} of {n_claimed} rules hold{rest}"
        for finding in rules:
            word = "BROKEN" if finding.broken else "holds" if finding.claimed else "not claimed"
            yield f"  {word:11}  {finding.rule}"
            for sentence in finding.broken:
                yield f"               {sentence}"
