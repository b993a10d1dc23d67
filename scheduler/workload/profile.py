"""Communication profile: rules that say how the jobs of a log communicate."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fabricsim.checking import Table, brief, path_of, shortened
from fabricsim.checking.documents import parse_toml
from fabricsim.checking.inputs import decoded
from netsim.common.units import parse_size, parse_time
from patterns.base import LEAST_BYTES, MOST_BYTES
from patterns.errors import PatternError
from patterns.phases import Model
from patterns.registry import PATTERNS, make_pattern
from scheduler.errors import WorkloadError
from scheduler.workload.base import read_source
from scheduler.workload.distributions import Distribution, read_distribution
from scheduler.workload.match import Match, read_match
from scheduler.workload.training import REFUSE, model_rule


def located(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Let matrix files start in a folder, in patterns at any depth."""

    def entry(key: str, value: object) -> object:
        if isinstance(value, Mapping):
            return located(value, folder)
        if isinstance(value, list):
            return [entry("", part) for part in value]
        given = key == "file" and isinstance(value, str) and value
        return str(folder / value) if given else value  # type: ignore[operator]

    return {key: entry(key, value) for key, value in spec.items()}


VERSION = 1
USUAL_FRACTION = 0.3
"""Of the time in which a job communicates, where only its pattern is given."""
USUAL_BYTES = "1 MiB"
_KEYS = (
    *("match", "chance", "pattern", "label", "comm_fraction", "bytes_per_flow", "iteration"),
    *("model", "misfit"),
)
_QUANTITIES: Mapping[str, Callable[[str | float], float]] = MappingProxyType(
    {"comm_fraction": float, "bytes_per_flow": parse_size, "iteration": parse_time}
)

LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "comm_fraction": (0.0, 1.0),
        "bytes_per_flow": (LEAST_BYTES, MOST_BYTES),
        "iteration": (1e-12, 1e15),
    }
)
"""Least and largest value of each quantity; beyond, times leave the range of numbers."""


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """A quantity that the log states for each job."""

    name: str  # column of the log (`Job.extra`)
    scale: float  # factor to SI units, or to a fraction


Quantity = Distribution | ColumnValue


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a profile."""

    place: str  # file and rule, for errors
    match: Match  # jobs the rule is about
    chance: float  # share of them that it decides, 0..1; the rest falls to the next rule
    # specification for `make_pattern`, without bytes; None for jobs that do not communicate
    pattern: Mapping[str, Any] | None
    label: str
    # two of ``comm_fraction``, ``bytes_per_flow`` (bytes) and ``iteration`` (seconds); bytes may be
    # in the pattern instead
    quantities: Mapping[str, Quantity]
    model: Model | None = None  # that jobs train, in place of a pattern; their ranks are GPUs
    misfit: str = REFUSE  # of `scheduler.workload.training.MISFITS`


@dataclass(frozen=True, slots=True)
class Profile:
    """
    How the jobs of a log communicate; the first rule that takes a job decides.

    Parameters
    ----------
    rules : tuple of Rule
        In order. A job that no rule takes does not communicate, nor one on a single node.
    table : mapping
        The profile as it was written, for manifests and sweeps.
    source : str
        Path, or what it was made from.
    """

    rules: tuple[Rule, ...]
    table: Mapping[str, Any] = field(repr=False)
    source: str

    def __repr__(self) -> str:
        return f"<Profile {shortened(self.source)!r}: {len(self.rules)} rules>"


def read_profile(path: str | Path) -> Profile:
    """
    Read a communication profile.

    Parameters
    ----------
    path : str or Path
        A TOML file as in `profile_from`; ``-`` is standard input.

    Returns
    -------
    Profile
        Checked: patterns exist, quantities are in range.

    Raises
    ------
    WorkloadError
        If the file cannot be read, is no TOML or no profile; the message names file, rule
        and key.
    """
    source = read_source(path)
    table = parse_toml(decoded(source, WorkloadError), source.name, WorkloadError)
    folder = None if str(path) == "-" else Path(path).parent
    return profile_from(table, source.name, folder)


def profile_from(
    table: Mapping[str, Any], source: str = "profile", folder: str | Path | None = None
) -> Profile:
    """
    Check a communication profile given as tables.

    Parameters
    ----------
    table : mapping
        ``version`` (1, may be left out) and ``rule``, a list of tables with the keys ``match`` (see
        `read_match`), ``chance`` (default 1), ``pattern`` (see `make_pattern`), ``label``
        (default: the pattern's name) and two of ``comm_fraction``, ``bytes_per_flow`` and
        ``iteration``, each a number or a distribution (see `read_distribution`), or
        ``{column = "...", scale = 1.0}`` where the log states it for each job. A rule with
        ``comm_fraction = 0`` needs nothing else; nor does one with ``model``, a table as in a
        snapshot, for training jobs on a GPU cluster, with ``misfit`` (``refuse`` or ``plain``)
        for jobs whose GPUs it does not fill. In place of ``rule`` the table may itself be one
        rule for all jobs, with ``pattern``, a name or a table; then ``comm_fraction`` is 0.3 and
        ``bytes_per_flow`` 1 MiB where it does not say.
    source : str, default "profile"
        What errors call it.
    folder : str or Path, optional
        Where the relative paths of matrix files start; default: the working directory.

    Returns
    -------
    Profile
        The rules.

    Raises
    ------
    WorkloadError
        If a key is unknown, a pattern cannot be made, a value is out of range, or not just
        two of the three quantities are given.
    """
    fields = Table(table, f"{source}:", WorkloadError)
    if "rule" not in fields and ("pattern" in fields or "model" in fields):
        return Profile(
            (_checked_rule(_whole_log_rule(table), source, _base_folder(folder)),), table, source
        )
    version, rules = fields.raw("version"), fields.raw("rule")
    fields.finish()
    if "version" in fields and (type(version) is not int or version != VERSION):
        raise fields.error("version", str(VERSION))
    folder = _base_folder(folder)
    if not isinstance(rules, list) or not rules:
        raise WorkloadError(f"{source}: expected at least one [[rule]], got {rules!r}.")
    made = tuple(
        _checked_rule(rule, f"{source}: rule {number}", folder)
        for number, rule in enumerate(rules, start=1)
    )
    return Profile(made, table, source)


def _base_folder(folder: str | Path | None) -> Path:
    """Return where relative paths start."""
    return Path() if folder is None else path_of("folder", folder, error=WorkloadError)


def _whole_log_rule(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rule for all jobs that a table stands for, with what it leaves open."""
    rule = {key: value for key, value in table.items() if key != "version"}
    if "model" in rule:
        return rule
    spec = {"name": rule["pattern"]} if isinstance(rule["pattern"], str) else rule["pattern"]
    open_ = not rule.keys() & {"bytes_per_flow", "iteration"}
    if (
        open_
        and isinstance(spec, Mapping)
        and "nbytes" in _pattern_options(spec)
        and "nbytes" not in spec
    ):
        rule["bytes_per_flow"] = USUAL_BYTES
    if len(rule.keys() & {"comm_fraction", "bytes_per_flow", "iteration"}) < 2:  # noqa: PLR2004 (a pair)
        rule.setdefault("comm_fraction", USUAL_FRACTION)
    return rule


def seeded(spec: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Give a pattern and those inside it a seed, where they take one and state none."""

    def give(own: Mapping[str, Any]) -> dict[str, Any]:
        missing = "seed" in _pattern_options(own) and "seed" not in own
        return {**own, "seed": seed} if missing else dict(own)

    return _change_everywhere(spec, give)


def _change_everywhere(
    spec: Mapping[str, Any], change: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Change the specification of a pattern and of those inside it."""

    def inside(value: object) -> object:
        if isinstance(value, Mapping):
            return _change_everywhere(value, change)
        return [inside(entry) for entry in value] if isinstance(value, list) else value

    return change({key: inside(value) for key, value in spec.items()})


def _pattern_options(spec: Mapping[str, Any]) -> set[str]:
    """Return the names of the options that a pattern takes; none where it is unknown."""
    name = spec.get("name")
    kind = PATTERNS.get(name) if isinstance(name, str) else None
    return set() if kind is None else {option.name for option in fields(kind)}  # type: ignore[arg-type]


def _checked_rule(table: object, place: str, folder: Path) -> Rule:
    """Check one rule."""
    fields = Table(table, f"{place}:", WorkloadError)
    table = {key: fields.raw(key) for key in _KEYS if key in fields}
    fields.finish()
    chance = fields.number("chance", 1.0, 0.0, 1.0)
    match = read_match(table.get("match", {}), place)
    label = fields.text("label") if "label" in fields else None
    quantities = {
        key: _read_quantity(table[key], key, f"{place}: {key}")
        for key in _QUANTITIES
        if key in table
    }
    if "model" in table:
        model, misfit = model_rule(fields, table, place)
        return Rule(place, match, float(chance), None, label or "training", {}, model, misfit)
    if "misfit" in table:
        raise fields.error("misfit", "a model beside it")
    silent = quantities.get("comm_fraction") == Distribution("constant", (0.0,))
    if silent and "pattern" not in table:
        return Rule(place, match, float(chance), None, label or "", {})
    spec = _check_pattern(table.get("pattern"), place, folder)
    _check_pair(spec, quantities, place)
    return Rule(place, match, float(chance), spec, label or spec["name"], quantities)


def _check_pattern(table: object, place: str, folder: Path) -> Mapping[str, Any]:
    """Check that a pattern can be made."""
    if isinstance(table, str):
        table = {"name": table}
    if not isinstance(table, Mapping):
        raise WorkloadError(
            f"{place}: pattern: expected a name or a table with one, got {brief(table)}."
        )
    try:
        spec = located(table, folder)
        make_pattern(spec)
    except (PatternError, TypeError) as error:
        raise WorkloadError(f"{place}: pattern: {error}") from error
    return spec


def _check_pair(spec: Mapping[str, Any], quantities: Mapping[str, Quantity], place: str) -> None:
    """Refuse all but two of fraction, bytes and iteration."""
    takes_bytes = "nbytes" in _pattern_options(spec)
    own_bytes = "nbytes" in spec or not takes_bytes
    if "bytes_per_flow" in quantities and own_bytes:
        why = "states nbytes itself" if takes_bytes else "has bytes of its own"
        raise WorkloadError(f"{place}: bytes_per_flow: expected none, as the pattern {why}.")
    given = [key for key in _QUANTITIES if key in quantities]
    stated = "nbytes" in spec or (not takes_bytes and len(given) == 1)  # else it is scaled
    if len(given) + stated != 2:  # noqa: PLR2004
        raise WorkloadError(
            f"{place}: expected two of {', '.join(_QUANTITIES)}, got {', '.join(given) or 'none'}"
            f"{' and nbytes of the pattern' if 'nbytes' in spec else ''}."
        )


def _read_quantity(value: object, key: str, place: str) -> Quantity:
    """Read a quantity and check its range."""
    if isinstance(value, Mapping) and "column" in value:
        return _column_value(value, place)
    drawn = read_distribution(value, _QUANTITIES[key], place)
    low, high = drawn.bounds
    least, most = LIMITS[key]
    if drawn.kind == "lognormal" and key == "comm_fraction":
        most = sys.float_info.max  # a sample above the whole is the whole
    if not least <= low <= high <= most:
        raise WorkloadError(f"{place}: expected {expected_of(key)}, got {value!r}.")
    return drawn


def expected_of(key: str) -> str:
    """Say which values a quantity of a rule may have."""
    if key == "comm_fraction":
        return "fractions in 0..1"
    least, most = LIMITS[key]
    unit = "bytes" if key == "bytes_per_flow" else "seconds"
    return f"values from {least:g} to {most:g} {unit}"


def _column_value(value: Mapping[str, object], place: str) -> ColumnValue:
    """Read a quantity that the log states."""
    scale = value.get("scale", 1.0)
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
    if set(value) - {"column", "scale"} or not isinstance(value["column"], str) or not number:
        raise WorkloadError(
            f"{place}: expected {{column = NAME, scale = NUMBER}}, got {dict(value)!r}."
        )
    return ColumnValue(value["column"], float(scale))  # type: ignore[arg-type]


_EVERY_COMM = {"comm_fraction": {"uniform": [0.1, 0.5]}, "bytes_per_flow": "1 MiB"}
_PARALLEL = {"min_nodes": 2}

DEFAULT_PROFILE = profile_from(
    {
        "version": VERSION,
        "rule": [
            {
                "match": _PARALLEL,
                "chance": 0.2,
                "pattern": {"name": "stencil", "dims": 3},
                "label": "stencil-3d",
                **_EVERY_COMM,
            },
            {
                "match": _PARALLEL,
                "chance": 0.25,
                "pattern": {"name": "stencil", "dims": 4},
                "label": "stencil-4d",
                **_EVERY_COMM,
            },
            {
                "match": _PARALLEL,
                "chance": 0.3333333333333333,
                "pattern": {"name": "unstructured-mesh"},
                **_EVERY_COMM,
            },
            {"match": _PARALLEL, "chance": 0.5, "pattern": {"name": "pairs"}, **_EVERY_COMM},
            {"match": _PARALLEL, "pattern": {"name": "sub-all-to-all"}, **_EVERY_COMM},
        ],
    },
    "default profile",
)
"""
Five patterns with equal chance for jobs of two nodes and more, 10 to 50 % communication.

An assumption, as no job log says how jobs communicate. The patterns are those of Pollard18,
section V-B (stencil, unstructured mesh, random pairs, sub-communicator all-to-all), its stencil
in 3D and 4D. Fractions spread around the 30 % of its second experiment; the HPCG runs measured on
IIT Kanpur's HPC2010 spent 40 % in MPI. Message sizes set the length of an iteration only: with f
given, a flow-level slowdown does not depend on it as long as latency is small beside it. The chance
of a rule counts among the jobs that the rules above left.
"""
