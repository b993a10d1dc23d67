"""Parquet tables, of which few bytes can stand for far more: bounded before they are decoded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fabricsim.checking.values import brief

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_CELL = 8  # bytes that a number takes, and the place of a text or a missing value


def parquet_table(
    data: bytes, name: str, most_rows: int, most_bytes: int, kind: type[ValueError]
) -> "pa.Table":
    """
    Decode a Parquet table if it is not too large.

    The file's metadata are checked first. Texts are then read as numbers into the list
    of different ones, from which their size follows before they are written out.

    `name`: messages begin with it. `most_rows`: of the table. `most_bytes`: of its decoded cells.
    """
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and needed for this format only)

    try:
        return _decode_within(pa.BufferReader(data), name, most_rows, most_bytes, kind)
    except kind:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise kind(f"{name}: expected a Parquet file, got: {brief(why)}.") from None


def _decode_within(
    data: "pa.BufferReader", name: str, most_rows: int, most_bytes: int, kind: type[ValueError]
) -> "pa.Table":
    """Decode a table, or refuse what is too large."""
    from pyarrow import parquet  # noqa: PLC0415 (slow to import, and needed for this format only)

    limit = f"{name}: more than {most_bytes // 2**20} MiB, decoded"
    file = parquet.ParquetFile(data)
    rows, schema = file.metadata.num_rows, file.schema_arrow
    if rows > most_rows:
        raise kind(f"{name}: expected at most {most_rows:,} rows, got more.")
    declared = [file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups)]
    if sum(declared) > most_bytes:
        raise kind(f"{limit}: {rows:,} rows of {len(file.schema)} columns.")
    for group in range(file.num_row_groups):
        # damaged metadata of a column raise here; looked at from Python they end the process
        next(file.iter_batches(1, row_groups=[group]), None)
    stored, cells, texts = _unpacked_bytes(file.metadata)
    if max(stored, cells) > most_bytes:
        raise kind(f"{limit}: {rows:,} rows of {len(file.schema)} columns.")
    data.seek(0)
    table = parquet.read_table(data, read_dictionary=texts)
    if cells + sum(map(_text_bytes, _text_arrays(table.columns))) > most_bytes:
        raise kind(f"{limit}, most of it texts that stand in many rows.")
    return table.cast(schema) if table.schema.types != schema.types else table


def _unpacked_bytes(metadata: "parquet.FileMetaData") -> tuple[int, int, list[str]]:
    """Return the bytes as unpacked, those of all cells without letters, and which are texts."""
    stored, cells, texts = 0, 0, {}
    for group in range(metadata.num_row_groups):
        for at in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(at)
            column = metadata.schema.column(at)
            stored += chunk.total_uncompressed_size
            cells += chunk.num_values * max(_CELL, column.length)
            if column.physical_type == "BYTE_ARRAY":
                texts[column.path] = True
    return stored, cells, list(texts)


def _text_arrays(arrays: list[Any]) -> Iterator["pa.DictionaryArray"]:
    """Yield the texts of arrays, also those inside lists and tables."""
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and needed for this format only)

    for array in arrays:
        if isinstance(array, pa.ChunkedArray):
            yield from _text_arrays(array.chunks)
        elif isinstance(array, pa.DictionaryArray):
            yield array
        elif isinstance(array, pa.StructArray):
            yield from _text_arrays(array.flatten())
        elif pa.types.is_nested(array.type):
            yield from _text_arrays([array.flatten()])


def _text_bytes(texts: "pa.DictionaryArray") -> int:
    """Return the bytes of texts that are written out."""
    import pyarrow.compute as pc  # noqa: PLC0415 (slow to import, and needed for this format only)

    lengths = pc.binary_length(texts.dictionary)
    return int(pc.sum(lengths.take(texts.indices)).as_py() or 0)
