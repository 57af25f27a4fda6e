"""Options that several commands share, and lists written with commas."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates cells, one character or the word tab: found if left out."),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of a text, such as utf-8 or cp1252: found if left out."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same result.")]
By = Annotated[
    str | None,
    typer.Option(
        help="Columns whose groups the report judges on their own: sex,age.", show_default=False
    ),
]
ModelPath = Annotated[Path, typer.Argument(help="Model file (.kin).", show_default=False)]
TablePath = Annotated[
    Path,
    typer.Argument(
        help="Table: .csv, .tsv, .jsonl (each also .gz), .parquet, .xlsx; a folder or a pattern "
        "of such files; - for standard input.",
        show_default=False,
    ),
]


def names_in(text: str | None) -> list[str]:
    """Names from a list with commas; a name that holds one stands in double quotes.

    Examples
    --------
    >>> names_in("age, bmi,"), names_in('"height, cm",age')
    (['age', 'bmi'], ['height, cm', 'age'])
    """
    if text is None:
        return []
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return [part.strip() for part in parts if part.strip()]


def missing_texts(text: str | None) -> list[str]:
    """Texts that mean a missing value: the usual ones, or those given instead."""
    if text is not None:
        return names_in(text)
    from kinlearn.cells.cell_rules import MISSING

    return list(MISSING)
