"""A case: files and arguments of one command, as a pure function of a number."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

from coupling.results.manifest import MANIFEST
from fuzz.documents import Damage, damage_document
from fuzz.hashes import with_hashes
from fuzz.tables import damage_csv, damage_parquet
from fuzz.texts import damage_text, word
from fuzz.values import MEANT, MUCH, TEXTS

_N_JOBS = re.compile(rb"n_jobs = ([0-9]{1,99})\b")
_SHAPE = re.compile(
    rb"(?:dims|children|parents|parallel|radix|levels|groups|routers|rails|lanes|global_links|"
    rb'nodes_per_router|nodes_per_group|spines_per_rail)"?\s*[:=]\s*(\[[^\]]*\]|[0-9]+)'
)


@dataclass(frozen=True, slots=True)
class Seed:
    """
    A valid input: the command succeeds on it.

    `forms` says of each file that is damaged what it is: `json` and `toml` are our own documents,
    which know all their fields; `foreign-json` is not, and `text`, `csv`, `bars`, `parquet`.
    """

    name: str
    argv: tuple[str, ...]
    files: Mapping[str, bytes]
    forms: Mapping[str, str]
    weight: float = 1.0
    options: tuple[str, ...] = ()
    status: int = 0
    pool: tuple[Any, ...] = field(default=())
    pictures: bool = False
    """Whether the report is drawn, which takes a second."""


@dataclass(frozen=True, slots=True)
class Case:
    """What to run, and what must come of it."""

    number: int
    seed: Seed
    argv: tuple[str, ...]
    files: Mapping[str, bytes]
    notes: tuple[str, ...]
    must_refuse: bool = False
    must_agree: bool = False
    usage: bool = False
    """Whether the arguments were damaged, so that the answer may be how to use the command."""


def case(number: int, seeds: tuple[Seed, ...]) -> Case:
    """Return the case of a number."""
    chance = Random(number)  # noqa: S311
    (seed,) = chance.choices(seeds, [seed.weight for seed in seeds])
    plain = Case(number, seed, seed.argv, seed.files, ())
    if not seed.forms or (seed.options and chance.random() < 0.12):
        return _with_arguments(chance, plain)
    rounds = chance.choices((1, 2, 3), (70, 20, 10))[0]
    name = chance.choice(sorted(seed.forms))
    found = plain
    for _ in range(rounds):
        if chance.random() < 0.2:
            name = chance.choice(sorted(seed.forms))
        damage = _damage(chance, seed, name, found.files[name])
        if _too_much(damage.data):
            damage = Damage(found.files[name], "nothing")
        found = replace(
            found,
            files={**found.files, name: damage.data},
            notes=(*found.notes, f"{name}: {damage.note}"),
            must_refuse=damage.must_refuse and rounds == 1,
            must_agree=damage.must_agree and rounds == 1,
        )
    if any(name.endswith(MANIFEST) for name in found.files) and chance.random() < 0.6:
        notes = (*found.notes, "with hashes")  # of which not every reader needs every field
        found = replace(found, files=with_hashes(found.files), notes=notes, must_refuse=False)
    return found


def _too_much(data: bytes) -> bool:
    """Say whether a document rightly asks for more jobs or links than a case has time for."""
    shapes = b" ".join(found[1] for found in _SHAPE.finditer(data))
    sizes = [int(word) for word in re.findall(rb"[0-9]{1,99}", shapes)]
    if b"generator" in data:
        found = _N_JOBS.search(data)
        sizes.append(int(found[1]) if found else MUCH[1] - 1)  # thousands, where nobody says
    return any(MUCH[0] < size < MUCH[1] for size in sizes)


def _damage(chance: Random, seed: Seed, name: str, data: bytes) -> Damage:
    """Damage a file, mostly as what it is."""
    form = seed.forms[name]
    kind = form.removeprefix("foreign-")
    if kind in {"json", "toml"} and chance.random() < 0.85:
        try:
            damage = damage_document(chance, data, kind, list(seed.pool))
        except (ValueError, RecursionError, AttributeError, IndexError, TypeError):
            return Damage(damage_text(chance, data), "as text")  # no document any more
        own = form == kind
        return damage if own else Damage(damage.data, damage.note)
    if kind in _AS_TABLES and chance.random() < 0.6:
        return Damage(_AS_TABLES[kind](chance, data), f"as {kind}")
    if kind == "parquet":
        return Damage(damage_parquet(chance, data), "as parquet")
    return Damage(damage_text(chance, data), "as text")


_AS_TABLES: dict[str, Callable[[Random, bytes], bytes]] = {
    "csv": damage_csv,
    "bars": partial(damage_csv, sign="|"),
    "columns": partial(damage_csv, sign=" "),
}


def _with_arguments(chance: Random, plain: Case) -> Case:
    """Damage the arguments: names and values of options, files, what is given twice."""
    argv = list(plain.argv)
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randrange(len(argv) + 1)
        how = chance.randrange(6)
        if how == 0 and place < len(argv) and len(argv) > 1:
            del argv[place]
        elif how == 1 and place < len(argv):
            argv[place] = _argument(chance)
        elif how == 2:
            argv.insert(place, _argument(chance))
        elif plain.seed.options:
            option = chance.choice(plain.seed.options)
            argv.append(option)
            if chance.random() < 0.85:
                argv.append(_argument(chance))
        else:
            argv[chance.randrange(1, len(argv))] = _argument(chance)
    safe = tuple(_safe(before, word) for before, word in pairwise(["", *argv]))
    return replace(plain, argv=safe, notes=(f"arguments {' '.join(safe)[:60]!r}",), usage=True)


def _argument(chance: Random) -> str:
    """Return what may stand on a command line."""
    return chance.choice((chance.choice(TEXTS), chance.choice(MEANT), word(chance), word(chance)))


def _safe(before: str, argument: str) -> str:
    """Return an argument that a shell can pass on, leads nowhere else and asks for little work."""
    if before in {"--n-jobs", "--random"} and argument.isdecimal() and argument.isascii():
        return argument if not MUCH[0] < int(argument[:99]) < MUCH[1] else "17"
    return argument.replace("\0", "").replace("/", "_")
