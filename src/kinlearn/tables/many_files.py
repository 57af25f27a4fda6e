"""A folder of tables, or those that a pattern names, read as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError, quoted
from kinlearn.optional import require
from kinlearn.tables.table_file import TableFile


@dataclass(frozen=True)
class ManyFiles(TableFile):
    """Tables with the same columns, one after the other in the order of their names."""

    parts: list[TableFile] = field(default_factory=list)

    @property
    def files(self) -> list[Path]:
        """Where the bytes are."""
        return [path for part in self.parts for path in part.files]

    def _parts(self) -> Iterator[Any]:
        typed = not all(part.dialect for part in self.parts)
        for part in self.parts:
            for batch in part.batches():
                chosen = batch.select(self.names)
                yield _as_texts(chosen) if typed and self._types_differ else chosen

    @property
    def _types_differ(self) -> bool:
        firsts = (next(part.batches(), None) for part in self.parts)
        schemas = [batch.select(self.names).schema for batch in firsts if batch is not None]
        return any(schema != schemas[0] for schema in schemas)


def is_pattern(path: Path) -> bool:
    """Whether a path names many files by ``*``, ``?`` or ``[...]``."""
    return has_magic(str(path)) and not path.exists()


def open_many(
    path: Path, suffixes: tuple[str, ...], open_one: Callable[[Path], TableFile]
) -> TableFile:
    """Open all tables of a folder, or of a pattern.

    Parameters
    ----------
    path : Path
        A folder, or a pattern such as ``data/*.csv``.
    suffixes : tuple of str
        Endings of tables; other files of a folder are passed over.
    open_one : callable
        Opens one table.
    """
    if is_pattern(path):
        found = sorted(Path(name) for name in glob(str(path), recursive=True))
        if not found:
            raise TableError(f"No file is named like {path}: check the pattern and the folder.")
    else:
        found = sorted(p for p in path.iterdir() if p.name.lower().endswith(suffixes))
        if not found:
            raise TableError(
                f"The folder {path} holds no table: tables end in {', '.join(suffixes)}."
            )
    parts = [open_one(file) for file in found if file.is_file()]
    first = parts[0]
    for part in parts[1:]:
        if set(part.names) != set(first.names):
            odd = sorted(set(part.names) ^ set(first.names))
            raise TableError(
                f"{part.path} and {first.path} have different columns ({quoted(odd)} in one of "
                "them only): tables that are read as one have the same."
            )
    notes = [f"{len(parts)} files are read as one table: {quoted([p.name for p in found], 3)}."]
    notes += first.notes
    return ManyFiles(path, first.names, first.dialect, notes, parts=parts)


def _as_texts(batch: Any) -> Any:
    arrow = require("pyarrow", "Reading a table")
    columns = [column.cast(arrow.string()) for column in batch.columns]
    return arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)
