"""Experiment: everything a run depends on, read from TOML and checked at the door."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from dataclasses import fields as data_fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coupling.errors import ExperimentError
from coupling.inputs.experiment_fields import (
    DEFAULT_ALLOCATOR,
    DEFAULT_MODEL,
    PLACE_OF,
    PLACES,
    all_seeds,
    check_compared,
    checked_fields,
    fields_of,
    given_seeds,
)
from coupling.inputs.files import located, value_of
from coupling.inputs.plugins import label_of
from fabricsim.checking import path_of, shortened, unknown, wrong
from fabricsim.checking.documents import parse_toml
from fabricsim.checking.errors import public_class
from fabricsim.checking.inputs import read_text
from fabricsim.checking.values import MISSING
from netsim.topology.base import Topology
from patterns.base import Pattern
from scheduler.workload.base import Workload

if TYPE_CHECKING:
    import pandas as pd

RECORDED = "recorded"
"""Run of a record that nothing frees."""


@public_class
@dataclass(frozen=True, slots=True)
class Experiment:
    """
    Everything a run depends on; names are keys of the registries.

    However it is made, it is checked as a file is, with the same words; lists may be tuples or
    arrays, and paths of files texts or `Path`.

    Parameters
    ----------
    topology : str, Path, mapping, Topology or networkx.Graph
        Name of a machine, file of a fabric, fields of a topology (topologies.md), or the
        fabric itself.
    workload : str, Path, mapping, Workload or DataFrame
        A job log; or the fields of the ``[workload]`` table: path and format, or generator, and
        options; or jobs, as `read_log` returns them or as a table with the columns of a log.
    allocator : str
        Chooses where jobs run.
    communication : str, Path, mapping, Pattern or None
        Name of the pattern of all jobs, path or fields of a communication profile; None: the
        default one.
    queue : str, default "easy"
        Chooses which jobs start.
    queue_options, allocator_options : mapping, optional
        Options by name.
    routing : str, mapping or None, default None
        How flows find their way; None: as usual on the fabric (``jigsaw`` on fat-trees,
        dimension order on tori, minimal on dragonflies, else shortest paths).
    model : str, default "fluid"
        Contention model.
    model_options : mapping, optional
        Options by name.
    fairness : {"per-sender", "per-flow"}
        What a link shares evenly among.
    estimates : {"requested", "runtime"} or None
        What backfilling may know; None: requested times where the log has them.
    kill_at_limit : bool, default False
        End jobs at their requested time.
    node : mapping or None, default None
        What a node has: ``cores``, ``gpus`` and ``memory`` (as ``"256 GiB"``), or ``path``, the
        system configuration of AccaSim. Jobs that ask for less share nodes and their links; None:
        jobs have whole nodes.
    seed : int, default 1
        Of everything drawn by chance: each part that draws has a seed derived from it.
    seeds : mapping of str to int, optional
        Seeds of parts that shall not follow from `seed`: ``workload`` (generators),
        ``communication``, ``routing``, ``allocator``, ``model``.
    runtime_means : {"isolated", "baseline", "alone"}
        What the log's run time stands for.
    self_check : bool, default True
        Also run the same schedule on an infinite network, to show what the network costs.
    links_timeline : bool, default False
        Also write the load of every link over time.
    attribution : bool, default True
        Attribute lost time to the jobs that cause it; half of a run's time on large machines.
    compare : tuple of str, optional
        Allocators to run one after the other; `allocator`, if given, is one of them.
    compare_options : mapping of str to mapping, optional
        Options of compared allocators, by name.
    window : int or None, default None
        Waiting jobs that a queue with a window tries behind the head; None: its default.
        Queues without a window ignore it.
    replay : mapping or None, default None
        Fields of the ``[replay]`` table: the workload is a record whose jobs start when and where
        they did (docs/reference/experiment.md#replay).
    events : str, Path, mapping or None, default None
        Fields of the ``[events]`` table, or the path of a table of events: what happens to the
        machine during the run (docs/reference/experiment.md#events).
    plugins : sequence of str or Path, optional
        Python files with dictionaries such as ``ALLOCATORS = {"corner": Corner}``.
    folder : str or Path, optional
        Where relative paths start.
    name : str, default "experiment"
        Name for tables and results.
    source : str, default "experiment"
        What errors call the experiment: its file.
    pattern : str, mapping or Pattern, optional
        In place of `communication`: the pattern of all jobs.
    comm_fraction : float, optional
        Beside `pattern`: share of the time in which a job communicates; default 0.3.

    Raises
    ------
    ExperimentError
        If a value is wrong. Names of other packages and their options are looked at when it
        is run, before anything is simulated.
    """

    topology: str | Path | Mapping[str, Any] | Topology
    workload: "str | Path | Mapping[str, Any] | Workload | pd.DataFrame"
    allocator: str = DEFAULT_ALLOCATOR
    communication: str | Path | Mapping[str, Any] | Pattern | None = None
    queue: str = "easy"
    queue_options: Mapping[str, Any] = field(default_factory=dict)
    allocator_options: Mapping[str, Any] = field(default_factory=dict)
    routing: str | Mapping[str, Any] | None = None
    model: str = DEFAULT_MODEL
    model_options: Mapping[str, Any] = field(default_factory=dict)
    fairness: str = "per-sender"
    estimates: str | None = None
    kill_at_limit: bool = False
    node: Mapping[str, Any] | None = None
    seed: int = 1
    seeds: Mapping[str, int] = field(default_factory=dict)
    runtime_means: str = "isolated"
    self_check: bool = True
    links_timeline: bool = False
    attribution: bool = True
    compare: tuple[str, ...] = ()
    compare_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    window: int | None = None
    replay: Mapping[str, Any] | None = None
    events: str | Path | Mapping[str, Any] | None = None
    plugins: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path)
    name: str = "experiment"
    source: str = field(default="experiment", compare=False)
    pattern: InitVar[str | Mapping[str, Any] | Pattern | None] = None
    comm_fraction: InitVar[float | None] = None

    def __post_init__(
        self, pattern: str | Mapping[str, Any] | Pattern | None, comm_fraction: float | None
    ) -> None:
        """Check the fields, and keep them as plain values."""
        if pattern is not None or comm_fraction is not None:
            object.__setattr__(
                self, "communication", self._with_communication(pattern, comm_fraction)
            )
        for name, value in checked_fields(self._field_values()).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        compared = f", {len(self.compare)} compared" if self.compare else ""
        return (
            f"<Experiment {shortened(self.name)!r}: allocator {shortened(self.allocator)!r}, "
            f"queue {shortened(self.queue)!r}, model {self.model!r}{compared}>"
        )

    def _repr_html_(self) -> str:
        """Return a table of the settings, for notebooks."""
        rows = {
            f"{table}.{key}" if table in PLACES else table: value
            for table, entry in self.tables().items()
            for key, value in (entry.items() if table in PLACES else [("", entry)])
        }
        cells = (
            f"<tr><th>{escape(name)}</th><td>{escape(shortened(str(value), 200))}</td></tr>"
            for name, value in rows.items()
        )
        return f"<table>{''.join(cells)}</table>"

    def _with_communication(self, pattern: object, comm_fraction: object) -> dict[str, Any]:
        """Return the table [communication] that stands for a pattern of all jobs."""
        if pattern is None:
            raise wrong("comm_fraction", "a pattern beside it", MISSING, ExperimentError)
        if self.communication is not None:
            raise wrong("communication", "none beside pattern", self.communication, ExperimentError)
        stated = {} if comm_fraction is None else {"comm_fraction": comm_fraction}
        return {"pattern": pattern, **stated}

    @classmethod
    def read(cls, path: str | Path, changes: Sequence[str] = ()) -> "Experiment":
        """
        Read an experiment file.

        Parameters
        ----------
        path : str or Path
            A TOML file as in docs/reference/experiment.md; ``-`` is standard input.
        changes : sequence of str, optional
            Fields to set over those of the file, e.g. ``"scheduler.allocator=ta"``.

        Returns
        -------
        Experiment
            Checked as far as that needs no other file.

        Raises
        ------
        ExperimentError
            If the file cannot be read, or a field is unknown or has a wrong value.
        """
        path = path_of("path", path, error=ExperimentError)
        if isinstance(changes, str):
            raise wrong("changes", "a list such as ['run.seed=2']", changes, ExperimentError)
        tables = parse_toml(read_text(path, ExperimentError), str(path), ExperimentError)
        set_fields(tables, changes)
        name = "experiment" if str(path) == "-" else path.stem
        return cls.from_tables(tables, str(path), path.parent, name)

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, Any], source: str, folder: str | Path, name: str
    ) -> "Experiment":
        """
        Check the tables of an experiment.

        Parameters
        ----------
        tables : mapping
            As parsed from TOML.
        source : str
            What to call the tables in errors.
        folder : str or Path
            Where relative paths start.
        name : str
            Name for tables and results.

        Returns
        -------
        Experiment
            The experiment.

        Raises
        ------
        ExperimentError
            If a field is unknown or has a wrong value.
        """
        found = fields_of(tables, source)
        experiment = cls(
            **found,
            source=source,
            folder=path_of("folder", folder, error=ExperimentError),
            name=name,
        )
        check_compared(experiment._field_values(), stated="allocator" in found)
        return experiment

    def replace(self, *changes: str, **fields: Any) -> "Experiment":  # noqa: ANN401 (of any field)
        """
        Return the experiment with other values; the same is checked as for a new one.

        Parameters
        ----------
        *changes : str
            Fields as the command sets them, e.g. ``"scheduler.allocator=ta"``.
        **fields
            Fields by the names of the parameters, e.g. ``allocator="ta"``. Where an allocator, a
            queue or a model is named, the options of the former one go, and with an allocator
            also `compare`.

        Returns
        -------
        Experiment
            A new one.

        Raises
        ------
        ExperimentError
            If a field is unknown or has a wrong value.

        Examples
        --------
        >>> first = Experiment("cab", {"generator": "synth", "mean_nodes": 4})
        >>> first.replace(allocator="jigsaw", seed=2).allocator
        'jigsaw'
        >>> first.replace("scheduler.allocator=ta").allocator
        'ta'
        """
        known = [*(own.name for own in data_fields(self)), "pattern", "comm_fraction"]
        for key in fields:
            if key not in known:
                raise ExperimentError(f"replace: {unknown('field', key, known)}")
        made = self
        if changes:
            tables = {key: _inner_table(value) for key, value in self.tables().items()}
            set_fields(tables, changes)
            made = self.from_tables(tables, self.source, self.folder, self.name)
        fields = _dropped_fields(fields) | fields
        return replace(made, **fields) if fields else made

    def _field_values(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {own.name: getattr(self, own.name) for own in data_fields(self)}

    @property
    def workload_table(self) -> Mapping[str, Any]:
        """Fields of the workload, whatever it was given as."""
        return cast(Mapping[str, Any], self.workload)

    @property
    def communication_table(self) -> Mapping[str, Any] | None:
        """Fields of the communication profile, whatever it was given as; None: the default."""
        return cast(Mapping[str, Any] | None, self.communication)

    @property
    def events_table(self) -> Mapping[str, Any] | None:
        """Fields of the table ``[events]``, whatever it was given as; None: nothing happens."""
        return cast(Mapping[str, Any] | None, self.events)

    @property
    def all_seeds(self) -> Mapping[str, int]:
        """Seed of every part: its own, or the one that follows from `seed`."""
        return all_seeds(self.seed, self.seeds)

    def located(self) -> "Experiment":
        """
        Return the experiment with absolute paths, to be run from anywhere.

        Returns
        -------
        Experiment
            The same otherwise.
        """
        folder = self.folder
        return replace(
            self,
            topology=located(self.topology, folder),
            workload=located(self.workload, folder),
            communication=located(self.communication, folder),
            routing=located(self.routing, folder),
            replay=located(self.replay, folder),
            node=located(self.node, folder),
            events=located(self.events, folder),
        )

    @property
    def label(self) -> str:
        """What tables and folders call a run of this experiment: its allocator, or the record."""
        if self.replay is not None and "free_from" not in self.replay:
            return RECORDED
        return label_of(self.allocator)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made anew in another process, so that plug-ins are loaded there."""
        return _made_again, (self._field_values(),)

    def variants(self) -> tuple["Experiment", ...]:
        """
        Return one experiment per compared allocator.

        Returns
        -------
        tuple of Experiment
            In the order of `compare`; the experiment itself when nothing is compared.
        """
        if not self.compare:
            return (self,)
        own = {self.allocator: self.allocator_options, **self.compare_options}
        alone = replace(self, compare=(), compare_options={})
        return tuple(
            replace(alone, allocator=name, allocator_options=own.get(name, {}))
            for name in self.compare
        )

    def tables(self) -> dict[str, Any]:
        """
        Return the experiment as TOML tables with every default written out.

        Returns
        -------
        dict
            What `from_tables` reads back.
        """
        workload = dict(self.workload_table)
        if self.estimates is not None:
            workload["estimates"] = self.estimates
        tables: dict[str, Any] = {"topology": self.topology, "workload": workload}
        if self.communication_table is not None:
            tables["communication"] = dict(self.communication_table)
        if self.replay is not None:
            tables["replay"] = dict(self.replay)
        if self.events_table is not None:
            tables["events"] = dict(self.events_table)
        values = self._field_values() | {"seeds": self.all_seeds, "compare": list(self.compare)}
        values["plugins"] = list(self.plugins) or None
        for table, keys in PLACES.items():
            tables[table] = {
                key: values[own] for key, own in keys.items() if values[own] is not None
            }
        if not self.compare:
            del tables["compare"]
        elif self.allocator not in self.compare:
            del tables["scheduler"]["allocator"]
        return tables


def _inner_table(value: object) -> Any:  # noqa: ANN401 (what a table may hold)
    """Return a table that can be changed."""
    return (
        {key: _inner_table(own) for key, own in value.items()}
        if isinstance(value, Mapping)
        else value
    )


def _dropped_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that go where another allocator, queue or model is named."""
    found: dict[str, Any] = {}
    if "allocator" in fields:
        found |= {"allocator_options": {}}
        found |= {} if "compare" in fields else {"compare": (), "compare_options": {}}
    if "queue" in fields:
        found["queue_options"] = {}
    if "model" in fields:
        found["model_options"] = {}
    if fields.get("pattern") is not None:
        found["communication"] = None
    return found


def _made_again(values: Mapping[str, Any]) -> Experiment:
    """Return an experiment of these fields."""
    return Experiment(**values)


def require_experiment(experiment: object) -> None:
    """Refuse what is no experiment, such as its tables."""
    if not isinstance(experiment, Experiment):
        raise wrong("experiment", "an Experiment", experiment, ExperimentError)


def let_seeds_follow(tables: dict[str, Any]) -> None:
    """Take out, in place, the seeds that follow from the run's."""
    run = tables.get("run")
    if not isinstance(run, dict) or not isinstance(run.get("seeds"), dict):
        return
    try:
        run["seeds"] = given_seeds(run.get("seed", 1), run["seeds"])
    except (TypeError, ValueError):
        return  # wrong seeds, to be reported where all is checked


_OPTIONS = {
    ("scheduler", "allocator"): "allocator_options",
    ("scheduler", "queue"): "queue_options",
    ("network", "model"): "model_options",
}


def set_fields(tables: dict[str, Any], changes: Sequence[str]) -> None:
    """Set fields, in place, as a command line states them; naming an allocator ends comparison."""
    if changes:
        let_seeds_follow(tables)
    before = {key: _named_in(tables, *key) for key in _OPTIONS}
    for change in changes:
        if not isinstance(change, str):
            raise wrong("changes", "texts such as 'run.seed=2'", change, ExperimentError)
        set_field(tables, change)
    changed = {change.partition("=")[0].strip() for change in changes}
    if "scheduler.allocator" in changed and not any(key.startswith("compare") for key in changed):
        tables.pop("compare", None)
    for (table, key), options in _OPTIONS.items():
        stated = any(name.startswith(f"{table}.{options}") for name in changed)
        if _named_in(tables, table, key) != before[table, key] and not stated:
            tables[table].pop(options, None)  # those of another one


def _named_in(tables: Mapping[str, Any], table: str, key: str) -> object:
    found = tables.get(table)
    return found.get(key) if isinstance(found, Mapping) else None


def set_field(tables: dict[str, Any], change: str) -> None:
    """Set ``table.field=value`` in place; the value is TOML or a bare word."""
    key, sign, text = change.partition("=")
    parts = key.strip().split(".")
    if not sign or not all(parts):
        raise ExperimentError(f"--set {change}: expected table.field=value.")
    if len(parts) == 1:
        parts = PLACE_OF.get(parts[0], parts)
    value = value_of(text, f"--set {key}")
    target: Any = tables
    for part in parts[:-1]:
        target = target.setdefault(part, {}) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        raise ExperimentError(f"--set {change}: {'.'.join(parts[:-1])} is no table.")
    target[parts[-1]] = value
