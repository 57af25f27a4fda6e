"""A table that was found readable, whatever it is kept in."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinlearn.tables.text_format import Dialect

BATCH_ROWS = 20_000
_CHUNK = 1 << 20


@dataclass(frozen=True)
class TableFile(ABC):
    """A table with its names but none of its rows.

    Attributes
    ----------
    path : Path
        Where it is, for sentences on it.
    names : list of str
        Its columns.
    dialect : Dialect or None
        How it is written, where it is a text.
    notes : list of str
        What was found out of the ordinary, in sentences.
    title : str
        What to call it in a report, in place of its file's name.
    """

    path: Path
    names: list[str]
    dialect: Dialect | None = None
    notes: list[str] = field(default_factory=list)
    title: str = ""

    @property
    def delimiter(self) -> str | None:
        """What separates cells; None where nothing does."""
        return None if self.dialect is None else self.dialect.delimiter

    @property
    def encoding(self) -> str:
        """Of the text."""
        return "utf-8" if self.dialect is None else self.dialect.encoding

    @property
    def files(self) -> list[Path]:
        """Where the bytes are."""
        return [self.path]

    @property
    def name(self) -> str:
        """What to call it in a report."""
        return self.title or self.path.name

    def batches(self) -> Iterator[Any]:
        """Yield ``pyarrow.RecordBatch`` of all columns, at most ``BATCH_ROWS`` rows each.

        Cells of a text are strings as they stand in it, so that what is written back is what was
        read.
        """
        for part in self._parts():
            for start in range(0, part.num_rows, BATCH_ROWS):
                yield part.slice(start, BATCH_ROWS)

    def fingerprint(self) -> str:
        """The SHA-256 of the bytes, to know a table again."""
        digest = hashlib.sha256()
        for path in self.files:
            with path.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        return digest.hexdigest()

    @abstractmethod
    def _parts(self) -> Iterator[Any]:
        """Batches of any size."""
