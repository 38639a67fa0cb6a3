"""A run's cells as a folder in the layout that Hugging Face reads a dataset from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from equipoise.report.columns import Column, dictionary

DATA = "data/train-00000-of-00001.parquet"


def folder(
    data: bytes, columns: Sequence[Column], registration: bytes, about: Mapping[str, str]
) -> dict[str, bytes]:
    """Every file of the folder by its path in it, with a list of their SHA-256.

    `registration` is what was registered, byte for byte; `about` says of which run, with which
    stamps and head. The licence is left to whoever publishes it.
    """
    files = {
        DATA: data,
        "columns.csv": dictionary(columns).encode(),
        "registration.json": registration,
        "provenance.json": (json.dumps(about, indent=1) + "\n").encode(),
        "README.md": _card(columns, about).encode("utf-8", "backslashreplace"),
    }
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n"
                   for name, content in sorted(files.items()))
    return {**files, "SHA256SUMS": sums.encode()}


def _card(columns: Sequence[Column], about: Mapping[str, str]) -> str:
    facts = "\n".join(f"- {name.replace('_', ' ')}: `{value}`" for name, value in about.items())
    lines = "\n".join(f"| `{column.name}` | {column.type} | {_cell(column.meaning)} |"
                      for column in columns)
    return f"""---
# license: name one before you publish this
pretty_name: {json.dumps(about["run"])}
tags:
- equipoise
configs:
- config_name: default
  data_files:
  - split: train
    path: {DATA}
---

# {about["run"]}

One row a cell: what was asked, the reply word for word, and what each reader made of it. Where
there is no answer, its reason stands beside it.

{facts}

`registration.json` is what the ledger holds of the run's plan. `SHA256SUMS` names every file by
its content: check it with `sha256sum -c SHA256SUMS`. The head names the whole ledger that the rows
were derived from.

| column | type | meaning |
|---|---|---|
{lines}
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
