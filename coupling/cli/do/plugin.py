"""What the command `check-plugin` does: load, check, print, and say by the exit status."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from coupling.checks.check import Finding, PluginCheck, check_plugin
from coupling.cli.do.estimate import print_json
from coupling.errors import ExperimentError
from coupling.inputs.table import value_of
from coupling.report.columns import text_lines, text_of


def run_check_plugin(
    target: str, kind: str | None, changes: Sequence[str], *, as_json: bool
) -> bool:
    """
    Check a plug-in and show what comes out, rule by rule.

    `changes`: options, as ``"step=2"``.
    """
    options = {}
    for change in changes:
        key, sign, text = change.partition("=")
        if not sign or not key.strip():
            raise ExperimentError(f"--set {change}: expected option=value.")
        options[key.strip()] = value_of(text, f"--set {key}")
    found = check_plugin(target, kind, options)
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(text_lines(*_lines(found))))
    return found.passed


def _lines(found: PluginCheck) -> Iterator[str]:
    """Yield the parts, each with its rules and the cases that break them."""
    for (kind, name), group in groupby(found.findings, key=lambda own: (own.kind, own.name)):
        rules = list(group)
        n_claimed = sum(finding.claimed for finding in rules)
        n_held = sum(finding.holds for finding in rules)
        rest = f", {len(rules) - n_claimed} not claimed" if n_claimed < len(rules) else ""
        yield f"{name} ({kind}): {n_held} of {n_claimed} rules hold{rest}"
        for finding in rules:
            yield from _rule(finding)


def _rule(finding: Finding) -> Iterator[str]:
    """Yield a rule and what breaks it."""
    word = "BROKEN" if finding.broken else "holds" if finding.claimed else "not claimed"
    yield f"  {word:11}  {finding.rule}"
    for sentence in finding.broken:
        yield f"               {sentence}"
