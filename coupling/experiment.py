"""Experiment: everything a run depends on, read from TOML and checked at the door."""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coupling.errors import ExperimentError
from coupling.inputs import located
from coupling.tables import Table
from scheduler.allocators import ALIASES

ESTIMATES = ("requested", "runtime")
RUNTIME_MEANS = ("isolated", "baseline")
FAIRNESS = ("per-sender", "per-flow")


@dataclass(frozen=True, slots=True)
class Experiment:
    """
    Everything a run depends on; names are keys of the registries.

    Parameters
    ----------
    topology : str or mapping
        Name of a machine, or the fields of a topology (interfaces, "Topology").
    workload : mapping
        Fields of the ``[workload]`` table: path and format, or generator, and options.
    communication : mapping or None
        Fields of a communication profile, or ``{"profile": path}``; None: the default one.
    allocator : str
        Chooses where jobs run.
    queue : str, default "easy"
        Chooses which jobs start.
    queue_options, allocator_options, model_options : mapping, optional
        Options by name.
    routing : str, mapping or None, default None
        How flows find their way; None: as usual on the fabric (``jigsaw`` on fat-trees,
        dimension order on tori, minimal on dragonflies, else shortest paths).
    model : str, default "fast"
        Contention model.
    fairness : {"per-sender", "per-flow"}
        What a link shares evenly among.
    estimates : {"requested", "runtime"} or None
        What backfilling may know; None: requested times where the log has them.
    kill_at_limit : bool, default False
        End jobs at their requested time.
    seed : int, default 1
        Of everything drawn by chance.
    runtime_means : {"isolated", "baseline"}
        What the log's run time stands for.
    self_check : bool, default True
        Also run the same schedule on an infinite network, to show what the network costs.
    compare : tuple of str, optional
        Allocators to run one after the other; `allocator`, if given, is one of them.
    compare_options : mapping of str to mapping, optional
        Options of compared allocators, by name.
    window : int or None, default None
        Waiting jobs that a queue with a window tries behind the head; None: its default.
        Queues without a window ignore it.
    folder : Path, optional
        Where relative paths start.
    name : str, default "experiment"
        Name for tables and results.
    source : str, default "experiment"
        What errors call the experiment: its file.
    """

    topology: str | Mapping[str, Any]
    workload: Mapping[str, Any]
    allocator: str = "first-free"
    communication: Mapping[str, Any] | None = None
    queue: str = "easy"
    queue_options: Mapping[str, Any] = field(default_factory=dict)
    allocator_options: Mapping[str, Any] = field(default_factory=dict)
    routing: str | Mapping[str, Any] | None = None
    model: str = "fast"
    model_options: Mapping[str, Any] = field(default_factory=dict)
    fairness: str = "per-sender"
    estimates: str | None = None
    kill_at_limit: bool = False
    seed: int = 1
    runtime_means: str = "isolated"
    self_check: bool = True
    compare: tuple[str, ...] = ()
    compare_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    window: int | None = None
    folder: Path = field(default_factory=Path)
    name: str = "experiment"
    source: str = field(default="experiment", compare=False)

    @classmethod
    def read(cls, path: Path, changes: Sequence[str] = ()) -> "Experiment":
        """
        Read an experiment file.

        Parameters
        ----------
        path : Path
            A TOML file as in docs/experiment.md.
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
        tables = _parse(path)
        for change in changes:
            _set(tables, change)
        changed = {change.partition("=")[0].strip() for change in changes}
        if "scheduler.allocator" in changed and not any(
            key.startswith("compare") for key in changed
        ):
            tables.pop("compare", None)  # who names one allocator wants that one
        name = "experiment" if str(path) == "-" else path.stem
        return cls.from_tables(tables, str(path), path.parent, name)

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, Any], source: str, folder: Path, name: str
    ) -> "Experiment":
        """
        Check the tables of an experiment.

        Parameters
        ----------
        tables : mapping
            As parsed from TOML.
        source : str
            What to call the tables in errors.
        folder : Path
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
        top = Table(tables, source)
        known = ("topology", "workload", "communication", "scheduler", "network", "run", "compare")
        for key in tables:
            if key not in known:
                raise ExperimentError(
                    f"{source}: unknown table [{key}]; choose from {', '.join(known)}."
                )
        topology, workload = top.raw("topology"), top.raw("workload")
        if not isinstance(topology, (str, Mapping)):
            raise top.error("topology", "a table [topology] or the name of a machine")
        if not isinstance(workload, Mapping):
            raise top.error("workload", "a table [workload]")
        trace = dict(workload)
        estimates = trace.pop("estimates", None)
        if estimates is not None and estimates not in ESTIMATES:
            raise Table(workload, f"{source}: [workload]").error(
                "estimates", " or ".join(ESTIMATES)
            )
        communication = top.raw("communication")
        if communication is not None and not isinstance(communication, Mapping):
            raise top.error("communication", "a table [communication]")
        experiment = cls(
            topology=topology,
            workload=trace,
            communication=communication,
            estimates=estimates,
            folder=folder,
            name=name,
            source=source,
        )
        return _with_choices(experiment, tables, source)

    def resolve(self, path: str) -> Path:
        """
        Return a path of the file as seen from here.

        Parameters
        ----------
        path : str
            Absolute, or relative to the experiment file.

        Returns
        -------
        Path
            The path.
        """
        return self.folder / path

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
        )

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
        workload = dict(self.workload)
        if self.estimates is not None:
            workload["estimates"] = self.estimates
        tables: dict[str, Any] = {
            "topology": self.topology if isinstance(self.topology, str) else dict(self.topology),
            "workload": workload,
            "scheduler": {
                "queue": self.queue,
                "queue_options": dict(self.queue_options),
                "options": dict(self.allocator_options),
                "kill_at_limit": self.kill_at_limit,
            },
            "network": {
                "model": self.model,
                "fairness": self.fairness,
                "options": dict(self.model_options),
            },
            "run": {
                "seed": self.seed,
                "runtime_means": self.runtime_means,
                "self_check": self.self_check,
            },
        }
        if self.allocator in self.compare or not self.compare:
            tables["scheduler"]["allocator"] = self.allocator
        if self.window is not None:
            tables["scheduler"]["window"] = self.window
        if self.routing is not None:
            routing = self.routing if isinstance(self.routing, str) else dict(self.routing)
            tables["network"]["routing"] = routing
        if self.communication is not None:
            tables["communication"] = dict(self.communication)
        if self.compare:
            options = {name: dict(own) for name, own in self.compare_options.items()}
            tables["compare"] = {"allocators": list(self.compare), "options": options}
        return tables


def _with_choices(base: Experiment, tables: Mapping[str, Any], source: str) -> Experiment:
    """Read the tables [scheduler], [network], [run] and [compare]."""
    scheduler = Table(tables.get("scheduler", {}), f"{source}: [scheduler]")
    network = Table(tables.get("network", {}), f"{source}: [network]")
    run = Table(tables.get("run", {}), f"{source}: [run]")
    compare = Table(tables.get("compare", {}), f"{source}: [compare]")
    routing = network.raw("routing", base.routing)
    if routing is not None and not isinstance(routing, (str, Mapping)):
        raise network.error("routing", "a name or a table")
    experiment = replace(
        base,
        queue=scheduler.text("queue", base.queue),
        queue_options=_mapping(scheduler, "queue_options"),
        window=scheduler.integer("window") if "window" in scheduler else None,
        allocator=scheduler.text("allocator", base.allocator),
        allocator_options=_mapping(scheduler, "options"),
        kill_at_limit=scheduler.flag("kill_at_limit", base.kill_at_limit),
        routing=routing,
        model=network.text("model", base.model),
        model_options=_mapping(network, "options"),
        fairness=network.text("fairness", base.fairness, FAIRNESS),
        seed=run.integer("seed", base.seed),
        runtime_means=run.text("runtime_means", base.runtime_means, RUNTIME_MEANS),
        self_check=run.flag("self_check", base.self_check),
        compare=compare.names("allocators"),
        compare_options=_mapping(compare, "options"),
    )
    if "window" in scheduler and "window" in experiment.queue_options:
        raise scheduler.error("window", "it here or in queue_options, not in both")
    _check_compared(experiment, scheduler, compare)
    for table in (scheduler, network, run, compare):
        table.finish()
    return experiment


def _check_compared(experiment: Experiment, scheduler: Table, compare: Table) -> None:
    """Refuse an allocator or options that no compared run would use."""
    if not experiment.compare:
        return
    first: dict[str, str] = {}
    for name in experiment.compare:
        other = first.setdefault(ALIASES.get(name, name), name)
        if other != name:
            raise compare.fault(
                "allocators", f"{other!r} and {name!r} are one allocator; name it once."
            )
    among = f"one of those compared ({', '.join(experiment.compare)})"
    if "allocator" in scheduler and experiment.allocator not in experiment.compare:
        raise scheduler.error("allocator", among)
    if experiment.allocator_options and "allocator" not in scheduler:
        raise scheduler.error("options", "an allocator beside it, or [compare] options by name")
    for name, options in experiment.compare_options.items():
        if name not in experiment.compare or not isinstance(options, Mapping):
            raise compare.error("options", f"tables of options named by {among}")


def _mapping(table: Table, key: str) -> Mapping[str, Any]:
    """Return an inner table of options."""
    value = table.raw(key, {})
    if not isinstance(value, Mapping):
        raise table.error(key, "a table of options")
    return dict(value)


def _parse(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        return tomllib.loads(text)
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: expected TOML in UTF-8, got bytes that are not.") from error
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{path}: no valid TOML: {error}.") from error


def _set(tables: dict[str, Any], change: str) -> None:
    """Apply one ``table.field=value``; the value is TOML, or a bare word."""
    key, sign, text = change.partition("=")
    parts = key.strip().split(".")
    if not sign or not all(parts):
        raise ExperimentError(f"--set {change}: expected table.field=value.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    target: Any = tables
    for part in parts[:-1]:
        target = target.setdefault(part, {}) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        raise ExperimentError(f"--set {change}: {'.'.join(parts[:-1])} is no table.")
    target[parts[-1]] = value
