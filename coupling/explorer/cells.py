"""The cells of a sweep, which keeps no nodes and no links: a cell is run again when wanted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from coupling.errors import ResultError
from coupling.explorer.run_view import Failed, OnReady, RunView
from coupling.inputs.experiment import Experiment
from coupling.report.plots.style import palette
from coupling.results.picture_values import LEAST_SCALE, dates_of
from coupling.results.result import Result
from coupling.runs.given_objects import drawable_fabrics
from coupling.sweep.plan import CellRunner, Plan
from coupling.sweep.store import Store


class SweepView(RunView):
    """The finished cells of a sweep. `folder`: Its directory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(title=folder.resolve().name, about="", results={}, fabrics={})
        plan, store = Plan.load(folder), Store(folder)
        self._bench, self._experiments = CellRunner(), dict[str, Experiment]()
        self._summaries, self._seconds = dict[str, Mapping[str, Any]](), dict[str, float]()
        for number, cell in enumerate(plan.cells):
            if not store.has(cell):
                continue
            name = ", ".join(
                f"{name.split('.')[-1]} {value}" for name, value in cell.factors.items()
            )
            self._experiments[name] = plan.experiment(number)
            self._summaries[name] = store.mark(cell)["summary"]
            self._seconds[name] = float(store.cost(cell).get("elapsed_s") or 0.0)
            manifest = {"inputs_sha256": dict(enumerate(cell.inputs))}
            self.sources[name] = (self._experiments[name], manifest)
        if not self._experiments:
            raise ResultError(
                f"{folder}: expected a finished cell, found none; compute them with fabricsim "
                f"sweep {folder}."
            )
        found = list(self._summaries.values())
        self.about = f"{len(found):,} of {len(plan.cells):,} cells of {plan.spec.name}"
        self.colours = palette(self.names)
        self.end_s = max([1.0, *(float(own.get("makespan_s") or 0.0) for own in found)])
        self.begin_unix_s, self.zone = dates_of(found, self.end_s)
        means = [float(own.get("mean_network_slowdown") or 1.0) for own in found]
        self.scale = max(LEAST_SCALE, 1.0 + 2.0 * (max(means) - 1.0))

    @property
    def names(self) -> list[str]:
        """Return what can be chosen."""
        return list(self._experiments)

    def prepare(self) -> None:
        """Let the server answer at once: a cell is run when it is shown."""

    def overview(self, names: Sequence[str]) -> Sequence[str]:
        """Return the cells whose numbers are drawn: those that are looked at."""
        return [name for name in names if name]

    def ready(self, names: Sequence[str], on_ready: OnReady) -> str:
        """Run the cells that are wanted; say what is awaited."""
        for name in names:
            if name and name not in self.results:
                found = self._worker.ask(("cell", name), partial(self._run_cell, name), on_ready)
                if found is None:
                    long = self._seconds[name]
                    took = f"; that took {long:.2g} s when the sweep did" if long else ""
                    return f"The cell {name} is being run again{took}. A sweep keeps no nodes."
                if isinstance(found, Failed):
                    return f"The cell {name} cannot be shown: {found.why}"
                self.results[name] = found
        return ""

    def _run_cell(self, name: str) -> Result:
        """Run a cell again, and see that it is the same."""
        experiment = replace(self._experiments[name], links_timeline=True)
        result = replace(self._bench.run(experiment), name=name)
        kept = {key: value for key, value in self._summaries[name].items() if key != "name"}
        again = json.loads(json.dumps(dict(result.summary)))
        again.pop("name", None)
        if again != kept:
            differ = [key for key in kept if kept[key] != again.get(key)]
            raise ResultError(
                f"run again, it has another {', '.join(differ[:3]) or 'summary'}: files or "
                "versions have changed since the sweep."
            )
        self.fabrics |= drawable_fabrics([(experiment, [result])])
        return result
