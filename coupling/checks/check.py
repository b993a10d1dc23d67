"""Check a part against the rules of its kind, on small machines and with small jobs."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from coupling.checks import allocators, models, patterns, queues, readers, routings, topologies
from coupling.checks.allocators import Breach, raised
from coupling.checks.topologies import damaged_fabrics, whole_fabrics
from coupling.inputs.plugins import (
    REGISTRIES,
    PluginError,
    load_file,
    load_installed,
    named,
    referred,
)
from fabricsim.checking.documents import json_fields
from netsim.common.errors import RoutingError
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from patterns.registry import PATTERNS, make_pattern
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.queues import make_policy
from scheduler.workload.registry import READERS

Options = Mapping[str, Any]
Subject = TypeVar("Subject")
_MOST = 10  # sentences of a rule: more say nothing new

_TAKEN = "it takes a machine of some kind, and refuses others with a reason"
_SENTENCES = 3  # of each rule that is broken
_SEED = 7
_KIND_OF_METHOD = {"allocate": "allocators", "select": "queues", "steps": "patterns"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one rule."""

    kind: str  # Of the part, e.g. ``"allocators"``.
    name: str  # Of the part
    rule: str  # What a part of this kind keeps
    # Some of the cases that break it, a sentence each; empty where it holds
    broken: tuple[str, ...]
    # Whether the part claims what the rule is about. An allocator that does not say that it
    # isolates neither keeps nor breaks the rule of those that do.
    claimed: bool = True

    @property
    def holds(self) -> bool:
        """Whether the part claims the rule and nothing breaks it."""
        return self.claimed and not self.broken


@dataclass(frozen=True, slots=True)
class PluginCheck:
    """What was found about plug-ins, rule by rule."""

    findings: tuple[Finding, ...]  # By part, in the order of its rules

    @property
    def passed(self) -> bool:
        """Whether every rule that is claimed holds."""
        return not any(finding.broken for finding in self.findings)

    def __repr__(self) -> str:
        n_broken = sum(bool(finding.broken) for finding in self.findings)
        return f"<PluginCheck: {len(self.findings)} rules, {n_broken} broken>"

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim check-plugin --json` prints."""
        return {"passed": self.passed} | json_fields(self)


def check_plugin(
    target: object, kind: str | None = None, options: Options | None = None
) -> PluginCheck:
    """Check a plug-in (file, reference, name or object) against the rules of its kind."""
    if kind is not None and kind not in REGISTRIES:
        raise PluginError(f"kind: expected one of {', '.join(REGISTRIES)}, got {kind!r}.")
    findings: list[Finding] = []
    for its_kind, name in _target_parts(target, kind):
        rules, found, unclaimed = _CHECKS[its_kind](name, options or {})
        broken: dict[str, list[str]] = {rule: [] for rule in rules}
        for rule, sentence in found:
            if len(broken[rule]) < _SENTENCES:
                broken[rule].append(sentence)
        findings += [
            Finding(its_kind, name, rule, tuple(said), bool(said) or rule not in unclaimed)
            for rule, said in broken.items()
        ]
    return PluginCheck(tuple(findings))


def _target_parts(target: object, kind: str | None) -> list[tuple[str, str]]:
    """Return kind and name of the parts that a target stands for, loaded."""
    if isinstance(target, (str, Path)) and _is_file(str(target)):
        added = load_file(target)
        parts = [(its, name) for its in added if kind in (None, its) for name in added[its]]
        if not parts:
            raise PluginError(f"{target}: expected {kind}, found {', '.join(added)}.")
        return parts
    if isinstance(target, (str, Path)) and ":" not in str(target):
        return [(_kind_of_name(str(target), kind), str(target))]
    kind = kind or _kind_of_class(target)
    return [(kind, named(str(target) if isinstance(target, Path) else target, kind, Path()))]


def _is_file(target: str) -> bool:
    """Say whether a target is a Python file: by its name, or a path to one without that ending."""
    return target.endswith(".py") or (os.sep in target and Path(target).is_file())


def _kind_of_name(name: str, kind: str | None) -> str:
    """Return the kind of a registered name."""
    load_installed()
    kinds = [its for its, known in REGISTRIES.items() if name in known and kind in (None, its)]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise PluginError(f"{name!r} is the name of several: give --kind, {' or '.join(kinds)}.")
    where = f"{kind} are {', '.join(REGISTRIES[kind])}" if kind else "none of any kind has the name"
    raise PluginError(f"unknown {name!r}: expected FILE.py, module:Name or a name; {where}.")


def _kind_of_class(target: object) -> str:
    """Return the kind of a class, by its methods."""
    made = referred(str(target), Path()) if isinstance(target, (str, Path)) else target
    kinds = {kind for method, kind in _KIND_OF_METHOD.items() if hasattr(made, method)}
    if not isinstance(made, type) or len(kinds) != 1:
        raise PluginError(f"{target}: give --kind, one of {', '.join(REGISTRIES)}.")
    return kinds.pop()


Checked = tuple[tuple[str, ...], Iterator[Breach], frozenset[str]]
"""Rules, what breaks them, and the rules about what a part does not claim."""
_NOTHING = frozenset[str]()


def _check_allocator(name: str, options: Options) -> Checked:
    """Check an allocator on every machine that it takes."""
    make = partial(make_allocator, name, options, _SEED)
    _require_options("allocators", name, make)
    found = _on_fabrics(
        partial(_takes_machine, make), partial(_churn_faults, make), AllocationError
    )
    return (*allocators.RULES, _TAKEN), found, allocators.unclaimed(make())


def breaches(
    rules: Mapping[str, Callable[[Subject], Iterable[str]]], subject: Subject
) -> Iterator[Breach]:
    """Yield what breaks each of some rules. Yields rule and sentence."""
    for rule, check in rules.items():
        try:
            for sentence in islice(check(subject), _MOST):
                yield rule, sentence
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            yield rule, raised(error)


def _takes_machine(make: Callable[[], Any], fabric: Topology) -> None:
    """Ask for one node: it is refused where the machine is of another kind."""
    make().allocate(allocators.job_of(1), Cluster(fabric))


def _churn_faults(make: Callable[[], Any], fabric: Topology, whole: bool) -> Iterator[Breach]:
    """Yield what an allocator breaks on one machine."""
    return allocators.broken(make, fabric, whole=whole)


def _check_routing(name: str, options: Options) -> Checked:
    """Check a routing on every machine that it takes."""
    spec = {"name": name, **options}

    def tried(fabric: Topology, _whole: bool) -> Iterator[Breach]:
        case = routings.Case(fabric, partial(make_routing, spec, fabric, _SEED))
        return breaches(routings.RULES, case)

    def take(fabric: Topology) -> object:
        return make_routing(spec, fabric, _SEED)

    unclaimed = _NOTHING
    if not any(map(partial(_is_taken, take), damaged_fabrics().values())):
        unclaimed = frozenset([routings.ABSENT])
    return (*routings.RULES, _TAKEN), _on_fabrics(take, tried, RoutingError), unclaimed


def _is_taken(take: Callable[[Topology], object], fabric: Topology) -> bool:
    """Say whether a routing does not refuse a fabric."""
    try:
        take(fabric)
    except RoutingError:
        return False
    except Exception:  # noqa: BLE001 (whatever a plug-in raises; reported as a breach)
        return True
    return True


def _on_fabrics(
    take: Callable[[Topology], object],
    check: Callable[[Topology, bool], Iterator[Breach]],
    refusal: type[Exception],
) -> Iterator[Breach]:
    """Yield what is broken on the machines that a part takes; it takes one at least."""
    n_taken, reason = 0, ""
    whole = whole_fabrics()
    for label, fabric in (whole | damaged_fabrics()).items():
        try:
            take(fabric)
        except refusal as error:
            reason = f"it takes none; the last refusal: {error}"
            continue
        except Exception as error:  # noqa: BLE001 (whatever a plug-in raises)
            yield _TAKEN, f"on the fabric ({fabric.summary}): {raised(error)}"
            n_taken += 1
            continue
        n_taken += 1
        for rule, sentence in check(fabric, label in whole):
            yield rule, f"on the fabric ({fabric.summary}): {sentence}"
    if not n_taken:
        yield _TAKEN, reason


def _check_queue(name: str, options: Options) -> Checked:
    """Check a queue policy, under an allocator that keeps links and one that does not."""
    make = partial(make_policy, name, options)
    _require_options("queues", name, make)
    jobs = queues.some_workloads()
    found = (
        breach
        for allocator in ("first-free", "jigsaw")
        for breach in breaches(queues.RULES, queues.Queue(make, jobs, allocator))
    )
    return tuple(queues.RULES), found, _NOTHING


def _check_pattern(name: str, options: Options) -> Checked:
    rules = tuple(patterns.RULES)
    if not is_dataclass(PATTERNS[name]):
        return rules, iter([(rules[0], f"{name} is no dataclass")]), _NOTHING

    def make(**more: object) -> Any:  # noqa: ANN401 (a pattern)
        return make_pattern({"name": name, **options, **more})

    _require_options("patterns", name, make)
    return rules, breaches(patterns.RULES, make), patterns.unclaimed(make())


def _check_topology(name: str, options: Options) -> Checked:
    """Check a fabric."""
    make = partial(make_topology, {"kind": name, **options})
    _require_options("topologies", name, make)
    return tuple(topologies.RULES), breaches(topologies.RULES, make), _NOTHING


def _check_model(name: str, options: Options) -> Checked:
    """Check a contention model."""

    def make(fabric: Topology) -> Any:  # noqa: ANN401 (a model)
        return make_contention_model(name, fabric, options=options)

    scene = models.scene_of(make)
    _require_options("contention_models", name, scene.make)
    return tuple(models.RULES), breaches(models.RULES, scene), models.unclaimed(scene)


def _check_reader(name: str, options: Options) -> Checked:
    """Check a reader with a log."""
    path = options.get("path")
    if not isinstance(path, (str, Path)) or set(options) != {"path"} or not Path(path).is_file():
        raise PluginError(
            f"readers {name!r}: expected path, a job log that it reads (--set path=LOG), "
            f"got {dict(options)!r}."
        )
    sample = readers.Sample(READERS[name], Path(path))
    return tuple(readers.RULES), breaches(readers.RULES, sample), _NOTHING


def _require_options(kind: str, name: str, make: Callable[[], object]) -> None:
    """Refuse what cannot be made with the given options."""
    try:
        make()
    except Exception as error:  # whatever a plug-in raises
        raise PluginError(f"{kind} {name!r} cannot be made: {raised(error)[7:]}") from error


_CHECKS: Mapping[str, Callable[[str, Options], Checked]] = {
    "allocators": _check_allocator,
    "queues": _check_queue,
    "patterns": _check_pattern,
    "topologies": _check_topology,
    "routings": _check_routing,
    "contention_models": _check_model,
    "readers": _check_reader,
}
