"""A sweep as it is asked for: an experiment, and what varies in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from coupling.errors import ExperimentError
from coupling.inputs.experiment import Experiment, let_seeds_follow, set_field
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.inputs.files import Table
from coupling.sweep.factors import (
    WHOLE,
    Design,
    Group,
    Label,
    check_factor,
    is_policy,
    label_of_value,
    placed,
    read_design,
    with_values,
)
from fabricsim.checking import brief, path_of, plain, shortened
from fabricsim.checking.documents import parse_toml
from fabricsim.checking.inputs import read_text
from netsim.topology.base import Topology

_ALLOCATOR = "scheduler.allocator"
_TABLE = "sweep"


@dataclass(frozen=True)
class Spec:
    """An experiment, and what varies in it."""

    tables: Mapping[str, Any]  # Of the experiment, with absolute paths
    design: Design  # What varies, with absolute paths
    name: str  # For tables and results
    source: str  # What errors call the sweep: its file

    def __post_init__(self) -> None:
        """Refuse factors that no experiment knows, and values that nothing distinguishes."""
        for name in self.design.factors:
            check_factor(name, f"{self.source}: [{_TABLE}]")
        self.labels  # noqa: B018 (checks them)
        try:
            self.to_toml()
        except TypeError as error:
            raise ExperimentError(
                f"{self.source}: expected values that a file can hold, by which a cell is known: "
                f"{error}."
            ) from None

    def __repr__(self) -> str:
        return f"<Spec {shortened(self.name)!r}: {len(self.design)} cells>"

    @classmethod
    def read(cls, path: str | Path, changes: Sequence[str] = (), varied: object = None) -> "Spec":
        """Read an experiment file with a table ``[sweep]``, or with `varied` in its place."""
        path = path_of("path", path, error=ExperimentError)
        tables = parse_toml(read_text(path, ExperimentError), str(path), ExperimentError)
        own = tables.pop(_TABLE, None)
        if varied is None and own is None:
            raise ExperimentError(
                f"{path}: expected a table [{_TABLE}] with lists of values, it is missing; "
                "`fabricsim run` runs a single experiment."
            )
        varied = own if varied is None else varied
        return cls.make(tables, varied, source=str(path), folder=path.parent, changes=changes)

    @classmethod
    def make(
        cls,
        experiment: Experiment | Mapping[str, Any],
        varied: object,
        *,
        source: str = "sweep",
        folder: Path | None = None,
        changes: Sequence[str] = (),
    ) -> "Spec":
        """Make a sweep of an experiment; `folder`: where paths start, if not with it."""
        name = Path(source).stem
        if isinstance(experiment, Experiment):
            if isinstance(experiment.topology, Topology):
                raise ExperimentError(
                    f"{source}: topology: expected a name or a table, with which a result can be "
                    f"run again, got an object: {experiment.topology!r}."
                )
            folder, name = folder or experiment.folder, experiment.name
            experiment = experiment.tables()
        tables = plain(experiment, source, ExperimentError)
        let_seeds_follow(tables)
        place, begin = f"{source}: [{_TABLE}]", (folder or Path()).resolve()
        varied, compared = _with_compared(tables, varied, place)
        design = read_design(varied, place)
        for change in changes:
            if change.partition("=")[0].strip() in design.factors:
                raise ExperimentError(f"--set {change}: {place} varies this field.")
            if change.partition("=")[0].partition(".")[0].strip() == _TABLE:
                raise ExperimentError(
                    f"--set {change}: expected a field of the experiment, such as "
                    f"workload.n_jobs=100; what varies stands in [{_TABLE}] of the file."
                )
            set_field(tables, change)
        base = _with_absolute_paths({key: tables[key] for key in tables if key != "compare"}, begin)
        groups = tuple(_placed_group(group, begin) for group in design.groups)
        named = Table(plain(varied, place, ExperimentError), place).text("name", name)
        return cls(base, replace(design, groups=compared + groups), named, source)

    @cached_property
    def combinations(self) -> tuple[Mapping[str, Any], ...]:
        """Values of the factors of every cell; those that share inputs and samples are together."""
        names = self.design.factors
        inputs = [name for name in names if name.split(".")[0] in ("topology", "workload")]
        drawn = [name for name in names if not is_policy(name)]
        first: dict[str, int] = {}

        def place(values: Mapping[str, Any]) -> list[int]:
            keys = (repr([values[name] for name in own]) for own in (inputs, drawn))
            return [first.setdefault(key, len(first)) for key in keys]

        return tuple(sorted(self.design.combinations(), key=place))

    @cached_property
    def labels(self) -> Mapping[str, Mapping[str, Label]]:
        """Label of each value (as `repr` writes it) by name of the factor."""
        found: dict[str, dict[str, Label]] = {}
        for group in self.design.groups:
            for name, values in group.items():
                found[name] = self._labels_of(name, values)
        return found

    def _labels_of(self, name: str, values: Sequence[Any]) -> dict[str, Label]:
        """Label the values of a factor: numbers where all are, else texts, all different."""
        by_value = {repr(value): label_of_value(value) for value in values}
        kinds = {type(label) for label in by_value.values()}
        if kinds == {int, float}:
            by_value = {key: float(label) for key, label in by_value.items()}
        elif len(kinds) > 1:
            by_value = {key: str(label) for key, label in by_value.items()}
        seen: set[Label] = set()
        for label in by_value.values():
            if label in seen:
                raise ExperimentError(
                    f"{self.source}: [{_TABLE}] {name}: two values are called {brief(label)}; give "
                    "their tables a field label."
                )
            seen.add(label)
        return by_value

    def factors_of(self, values: Mapping[str, Any]) -> dict[str, Label]:
        """Return the labels of one of `combinations`, by name of the factor."""
        return {name: self.labels[name][repr(value)] for name, value in values.items()}

    def experiment(self, values: Mapping[str, Any]) -> Experiment:
        """Return the experiment of one of `combinations`."""
        tables = with_values(self.tables, values, Path("/"), f"{self.source}: [{_TABLE}]")
        experiment = Experiment.from_tables(tables, self.source, Path("/"), self.name)
        if experiment.links_timeline:
            raise ExperimentError(
                f"{self.source}: [run] links_timeline: expected false in a sweep, which keeps no "
                "load of links; got true."
            )
        return experiment

    def to_toml(self) -> str:
        """Write the sweep as a file that `read` takes, from anywhere."""
        groups = [
            {name: list(values) for name, values in group.items()} for group in self.design.groups
        ]
        sweep = {"name": self.name, "jobs": self.design.jobs, "zip": groups}
        return tomli_w.dumps({**self._with_model(), _TABLE: sweep})

    def _with_model(self) -> Mapping[str, Any]:
        """Name the model, so that cells do not depend on what is its default when they are run."""
        network = self.tables.get("network", {})
        if not isinstance(network, Mapping) or "network.model" in self.design.factors:
            return self.tables
        return {**self.tables, "network": {"model": DEFAULT_MODEL, **network}}


def _with_compared(
    tables: Mapping[str, Any], varied: object, place: str
) -> tuple[Any, tuple[Group, ...]]:
    """Return what varies, and the allocators that the experiment compares as a factor."""
    compare = tables.get("compare")
    if not isinstance(compare, Mapping) or not isinstance(varied, Mapping):
        return varied, ()
    if _names_allocators(varied):
        return varied, ()  # named here: those are wanted
    names, options = compare.get("allocators", []), compare.get("options", {})
    table = Table({_ALLOCATOR: names}, place)
    values = [
        {"name": name, **options[name]} if name in options else name
        for name in table.names(_ALLOCATOR)
    ]
    return varied, ({_ALLOCATOR: tuple(values)},) if values else ()


def _names_allocators(varied: Mapping[str, Any]) -> bool:
    """Say whether a table varies the allocator."""
    tables = [varied, varied.get("random"), *(varied.get("zip") or [])]
    return any(
        isinstance(table, Mapping)
        and (_ALLOCATOR in table or "allocator" in (table.get("scheduler") or {}))
        for table in tables
    )


def _with_absolute_paths(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the tables of an experiment with absolute paths."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        if name in WHOLE or not isinstance(table, Mapping):
            found[name] = placed(name, table, folder)
        else:
            found[name] = {key: placed(f"{name}.{key}", one, folder) for key, one in table.items()}
    return found


def _placed_group(group: Group, folder: Path) -> Group:
    """Return a group with absolute paths."""
    return {
        name: tuple(placed(name, value, folder) for value in values)
        for name, values in group.items()
    }
