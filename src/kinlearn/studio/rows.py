"""The rows of a table as a person reads them, and how they are known again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.cells.cell_rules import CellRules
from kinlearn.cells.refusals import TableError
from kinlearn.studio.media import MediaColumn, media_column
from kinlearn.tables.columns import NUMERIC, Column, infer_columns
from kinlearn.tables.files import TableFile
from kinlearn.tables.sample import Sample, read_sample

# Rows held in memory; of a larger table as many are drawn evenly.
MAX_ROWS = 1_000_000
# Rows by which columns are judged.
JUDGED_ROWS = 20_000
# Characters of one cell that are shown.
LONGEST = 20_000
_LONG = 80
_DIGITS = 7
_GROUPED_FROM = 10_000


@dataclass(frozen=True)
class Cell:
    """One cell as it is shown.

    Attributes
    ----------
    name : str
        The column.
    kind : {"missing", "number", "text", "long", "image", "sound"}
        How it is shown.
    text : str
        What is shown.
    whole : str
        The cell as it stands in the table, where that is not what is shown.
    used : bool
        Whether the model learns from the column.
    """

    name: str
    kind: str
    text: str
    whole: str = ""
    used: bool = True


@dataclass(frozen=True)
class Rows:
    """A table in memory, its columns judged.

    Attributes
    ----------
    file : TableFile
        Where it came from.
    sample : Sample
        Its rows (all of them, up to ``MAX_ROWS``) and their numbers.
    rules : CellRules
        How cells are read.
    columns : list of Column
        Every column that could be learnt from, and what it was taken for.
    answers : list of str
        Columns of answers, which are shown to nobody and left out of digests.
    media : dict of str to MediaColumn
        Columns of paths to images or sounds.
    """

    file: TableFile
    sample: Sample
    rules: CellRules
    columns: list[Column]
    answers: list[str]
    media: dict[str, MediaColumn]

    @property
    def n_rows(self) -> int:
        """How many rows there are to choose from."""
        return int(self.sample.table.num_rows)

    @cached_property
    def sha256(self) -> str:
        """The fingerprint of the file."""
        return self.file.fingerprint()

    @cached_property
    def _place(self) -> dict[int, int] | None:
        if self.sample.is_whole:
            return None
        return {int(row): i for i, row in enumerate(self.sample.positions)}

    def place(self, row: int) -> int | None:
        """Where a row of the file is held, if it is."""
        if self._place is not None:
            return self._place.get(row)
        return row - 1 if 1 <= row <= self.n_rows else None

    def number(self, place: int) -> int:
        """The number in the file of the row held at a place."""
        return int(self.sample.positions[place])

    @cached_property
    def _kinds(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def _value(self, name: str, place: int) -> Any:
        return self.sample.table[name][place].as_py()

    def cells(self, place: int, order: Sequence[str] = ()) -> list[Cell]:
        """All cells of a row but the answers, those named in `order` first."""
        names = [name for name in self.sample.table.column_names if name not in self.answers]
        rank = {name: k for k, name in enumerate(order)}
        names.sort(key=lambda name: rank.get(name, len(rank)))
        return [self._cell(name, place) for name in names]

    def _cell(self, name: str, place: int) -> Cell:
        column = self._kinds.get(name)
        used = column is None or column.kind != "dropped" or name in self.media
        text = written(self._value(name, place))
        if text.strip() in ("", *self.rules.missing):
            return Cell(name, "missing", text.strip(), used=used)
        if name in self.media:
            return Cell(name, self.media[name].kind, text, used=used)
        if column is not None and column.kind == NUMERIC:
            shown = readable_number(text, self.rules.decimal)
            return Cell(name, "number", shown, "" if shown == text else text, used)
        if len(text) > LONGEST:
            more = f"{len(text) - LONGEST:,} more characters"
            return Cell(name, "long", f"{text[:LONGEST]} … ({more})", used=used)
        return Cell(name, "long" if len(text) > _LONG else "text", text, used=used)

    def texts_of(self, place: int) -> dict[str, str]:
        """What a row shows, by column, in few words: for a row beside another."""
        return {cell.name: cell.text for cell in self.cells(place)}

    def digest(self, place: int) -> str:
        """A short fingerprint of a row, without the columns of answers."""
        table = self.sample.table
        content = [
            [name, written(self._value(name, place))]
            for name in table.column_names
            if name not in self.answers
        ]
        text = json.dumps(content, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def answered(self, name: str) -> NDArray[np.object_]:
        """The texts of a column of answers, None where there is none yet."""
        if name not in self.sample.table.column_names:
            return np.full(self.n_rows, None, dtype=object)
        texts = self.rules.of_answers.texts(self.sample.table[name].combine_chunks())
        return np.array(texts.to_pylist(), dtype=object)

    def texts(self, name: str) -> NDArray[np.object_]:
        """A column in the spelling the models know, None where missing."""
        column = self.rules.texts(self.sample.table[name].combine_chunks())
        return np.array(column.to_pylist(), dtype=object)


def read_rows(file: TableFile, rules: CellRules, answers: list[str], apart: list[str]) -> Rows:
    """Read a table to be labelled and judge its columns by the first rows of an even draw."""
    sample = read_sample(file, MAX_ROWS, seed=0)
    table = sample.table.combine_chunks()
    sample = replace(sample, table=table)
    known = [name for name in answers if name in table.column_names]
    if len(table.column_names) == len(known):
        raise TableError(
            f"{file.path} holds nothing but the column of answers: there must be a column to look "
            "at and learn from."
        )
    judged = table
    if table.num_rows > JUDGED_ROWS:
        chosen = np.random.default_rng(0).permutation(table.num_rows)[:JUDGED_ROWS]
        judged = table.take(np.sort(chosen))
    columns = infer_columns(judged, rules, apart=[*known, *apart], where=str(file.path))
    folder = file.path.resolve().parent
    media = {
        column.name: found
        for column in columns
        if (found := media_column(judged[column.name], column.name, folder)) is not None
    }
    return Rows(file, sample, rules, columns, answers, media)


def written(value: Any) -> str:
    """A cell as text, as it stands in a text file."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value) if value % 1 else f"{value:.0f}"
    return str(value)


def readable_number(text: str, decimal: str = ".") -> str:
    """A number as it is read most easily: seven digits, thousands apart.

    Examples
    --------
    >>> [readable_number(text) for text in ("3.14159265358979", "2024", "-0.5", "x")]
    ['3.141593', '2024', '-0.5', 'x']
    >>> readable_number("1250000").split()
    ['1', '250', '000']
    """
    plain = text.strip().replace(decimal, ".")
    try:
        value = float(plain)
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    whole = value == int(value) and abs(value) < 1e15
    shown = f"{value:.0f}" if whole else f"{value:.{_DIGITS}g}"
    if whole and abs(value) >= _GROUPED_FROM:
        shown = f"{value:,.0f}".replace(",", "\u202f")
    elif not whole and len(plain) <= len(shown):
        shown = plain
    return shown.replace(".", decimal)
