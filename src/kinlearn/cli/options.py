"""Options that several commands share, and lists written with commas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinlearn.cells.cell_rules import MISSING

Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates cells: one character or the word tab. By the file's ending."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of a text table, such as utf-8 or cp1252.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same result.")]
ModelPath = Annotated[Path, typer.Argument(help="Model file (.kin).", show_default=False)]
TablePath = Annotated[
    Path, typer.Argument(help="Table: .csv, .tsv or .parquet.", show_default=False)
]


def names_in(text: str | None) -> list[str]:
    """Names from a list with commas.

    Examples
    --------
    >>> names_in("age, bmi,")
    ['age', 'bmi']
    """
    return [] if text is None else [part.strip() for part in text.split(",") if part.strip()]


def missing_texts(text: str | None) -> list[str]:
    """Texts that mean a missing value: the usual ones, or those given instead."""
    return list(MISSING) if text is None else names_in(text)
