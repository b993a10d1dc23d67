"""Damage to tables: CSV cell by cell, Parquet column by column."""

import io
from collections.abc import Callable
from random import Random

import numpy as np
import pandas as pd

from fuzz.texts import damage_bytes, word
from fuzz.values import MEANT, TEXTS


def damage_csv(chance: Random, data: bytes, sign: str = ",") -> bytes:
    """Drop, double, rename or exchange columns, change or lose cells."""
    rows = [line.split(sign) for line in data.decode("utf-8", "surrogateescape").split("\n")]
    full = [row for row in rows if len(row) > 1]
    if not full:
        return data
    if chance.random() < 0.5:
        _damage_columns(chance, full)
    else:
        _damage_row(chance, chance.choice(full), full)
    text = "\n".join(sign.join(each) for each in rows)
    return text.encode("utf-8", "surrogatepass")


def _damage_columns(chance: Random, rows: list[list[str]]) -> None:
    """Drop, double, exchange or rename columns of all rows."""
    width = min(len(row) for row in rows)
    one, other = chance.randrange(width), chance.randrange(width)
    how = chance.randrange(4)
    for row in rows:
        if how == 0:
            del row[one]
        elif how == 1:
            row.insert(other, row[one])
        elif how == 2:
            row[one], row[other] = row[other], row[one]
    if how == 3:
        head = rows[0]
        head[one] = chance.choice((head[one] + "x", head[one].upper(), "", *TEXTS))


def _damage_row(chance: Random, row: list[str], rows: list[list[str]]) -> None:
    """Drop, add or change a cell of one row."""
    place = chance.randrange(len(row))
    how = chance.randrange(5)
    if how == 0:
        del row[place]
    elif how == 1:
        row.append(chance.choice(row))
    elif how == 2:
        row[place] = chance.choice((*TEXTS, *MEANT))
    elif how == 3:
        row[place] = chance.choice(chance.choice(rows))
    else:
        row[place] = word(chance)


def damage_parquet(chance: Random, data: bytes) -> bytes:
    """Damage a Parquet file as bytes, or write another table."""
    if chance.random() < 0.2:
        return damage_bytes(chance, data)
    try:
        frame = pd.read_parquet(io.BytesIO(data))
    except Exception:  # noqa: BLE001 (an earlier damage went that far)
        return damage_bytes(chance, data)
    if not len(frame.columns):
        return data
    written = io.BytesIO()
    try:
        _other_table(chance, frame).to_parquet(written, index=False)
    except (ValueError, TypeError, OverflowError, ArithmeticError):  # not every table has a file
        return damage_bytes(chance, data)
    return written.getvalue()


def _other_table(chance: Random, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with other columns, rows or cells."""
    columns = list(frame.columns)
    name = chance.choice(columns)
    rows = np.array(chance.sample(range(len(frame)), len(frame)), dtype=np.int64)
    kinds = ("float64", "int64", "str", "bool", "datetime64[ns]", "category", "int8", "float32")
    ways: tuple[Callable[[], pd.DataFrame], ...] = (
        lambda: frame.drop(columns=name),
        lambda: frame.rename(columns={name: chance.choice((f"{name}x", "", *TEXTS[:7]))}),
        lambda: frame.iloc[rows],
        lambda: frame.iloc[rows[: chance.randrange(len(frame) + 1)]],
        lambda: pd.concat([frame, frame.iloc[rows[: chance.randint(1, 5)]]]),
        lambda: frame.assign(**{name: frame[chance.choice(columns)]}),
        lambda: frame.assign(**{name: frame[name].astype(chance.choice(kinds))}),
        lambda: frame.assign(**{name: _constant(chance)}),
        lambda: frame.assign(**{name: [[1, 2]] * len(frame)}),
        lambda: frame.assign(**{name: _other_cell(chance, frame[name].astype(object).tolist())}),
        lambda: frame.assign(**{name: _other_cell(chance, frame[name].astype(object).tolist())}),
    )
    return chance.choice(ways)()


def _other_cell(chance: Random, cells: list) -> pd.Series:
    """Return a column with another cell."""
    if cells:
        cells[chance.randrange(len(cells))] = _constant(chance)
    return _column(cells)


def _column(cells: list) -> pd.Series:
    """Return cells as numbers where they are numbers, else as text."""
    if all(isinstance(cell, (int, float)) for cell in cells):
        return pd.Series(cells, dtype="float64")
    return pd.Series([None if cell is None else str(cell) for cell in cells], dtype="str")


def _constant(chance: Random) -> float | str | None:
    """Return a value of a cell."""
    numbers = (0.0, -1.0, 1e308, -1e308, float("nan"), float("inf"), 1e-320, 2.0**62, 0.5)
    return chance.choice((*numbers, *numbers, None, *TEXTS[:9], "=1+1", "[red]", "n[0-3]"))
