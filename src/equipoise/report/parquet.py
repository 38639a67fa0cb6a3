"""Rows as a Parquet file: typed columns, text as it is."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence

from equipoise.report.columns import Column, Row, value
from equipoise.terms import Misuse


def parquet(rows: Sequence[Row], columns: Sequence[Column], about: Mapping[str, str]) -> bytes:
    """The file's bytes: the same rows give the same bytes. `about` is kept in its metadata.

    An empty number is null; text is never changed. Raises Misuse where polars is not installed.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise Misuse("Parquet needs polars. Install it with: pip install 'equipoise[parquet]'."
                     ) from error
    types = {"text": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean}
    frame = pl.DataFrame(
        {column.name: [value(column, row) for row in rows] for column in columns},
        schema={column.name: types[column.type] for column in columns})
    meanings = {column.name: column.meaning for column in columns}
    out = io.BytesIO()
    frame.write_parquet(out, metadata={**about, "columns": json.dumps(meanings)})
    return out.getvalue()
