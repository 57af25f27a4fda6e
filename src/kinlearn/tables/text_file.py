"""Tables in delimited text, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.optional import require
from kinlearn.tables.table_file import TableFile
from kinlearn.tables.text_bytes import check_encoding, find_encoding, is_compressed, is_marked
from kinlearn.tables.text_format import find_dialect, find_ragged_row

_BLOCK_BYTES = 2 << 20
_MAX_BLOCK_BYTES = 256 << 20


@dataclass(frozen=True)
class TextFile(TableFile):
    """A table in delimited text."""

    def _parts(self) -> Iterator[Any]:
        arrow = require("pyarrow", "Reading a table")
        text = require("pyarrow.csv", "Reading a table")
        dialect = self.dialect
        assert dialect is not None
        blank = [f"\0{i}" for i in range(dialect.n_blank)]
        names = [*self.names, *blank]
        options = {
            "parse_options": text.ParseOptions(
                delimiter=dialect.delimiter, newlines_in_values=True, ignore_empty_lines=True
            ),
            "convert_options": text.ConvertOptions(
                column_types={name: arrow.string() for name in names}, strings_can_be_null=False
            ),
        }
        block, done = _BLOCK_BYTES, 0
        while True:
            reading = text.ReadOptions(
                use_threads=False,
                block_size=block,
                encoding=_arrow_encoding(dialect.encoding),
                column_names=names,
                skip_rows=dialect.skipped,
            )
            try:
                with (
                    _source(self.path) as source,
                    text.open_csv(source, read_options=reading, **options) as reader,
                ):
                    for batch in reader:
                        done += 1
                        yield self._held(batch, blank)
                return
            except arrow.ArrowInvalid as error:
                message = str(error)
                no_rows = "Empty CSV" in message or "Could not skip" in message
                long = "straddling" in message or "Could not skip" in message
                if long and done == 0 and block < _MAX_BLOCK_BYTES:
                    block *= 8  # one row is longer than a block
                    continue
                if no_rows:
                    return
                ragged = find_ragged_row(self.path, dialect)
                raise ragged or TableError(f"{self.path} cannot be read: {message}.") from None

    def _held(self, batch: Any, blank: list[str]) -> Any:
        """The batch without columns that have no name, which must hold nothing."""
        compute = require("pyarrow.compute", "Reading a table")
        for i, name in enumerate(blank):
            texts = compute.utf8_trim_whitespace(batch.column(name))
            held = texts.filter(compute.not_equal(texts, ""))
            if len(held):
                raise TableError(
                    f"Column {len(self.names) + 1 + i} of {self.path} has no name but holds "
                    f"{held[0].as_py()!r}: give it a name, or empty it."
                )
        return batch.select(self.names) if blank else batch


def open_text_file(
    path: Path, usual: str, delimiter: str | None = None, encoding: str | None = None
) -> TextFile:
    """Look at a text and refuse, in a sentence, what cannot be read.

    Parameters
    ----------
    path : Path
        The file.
    usual : str
        What separates cells in files of such a name.
    delimiter, encoding : str, optional
        What separates cells, and the encoding, where they are known.
    """
    require("pyarrow", "Reading a table")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty: it needs a line of column names and rows below it.")
    if encoding is None:
        encoding = find_encoding(path)
    else:
        check_encoding(path, encoding)
    dialect = find_dialect(path, encoding, is_marked(path), usual, delimiter)
    return TextFile(path, dialect.names, dialect, dialect.notes(usual))


@contextmanager
def _source(path: Path) -> Iterator[Any]:
    arrow = require("pyarrow", "Reading a table")
    if not is_compressed(path):
        yield path
        return
    with arrow.input_stream(str(path), compression="gzip") as stream:
        yield stream


def _arrow_encoding(encoding: str) -> str:
    # With its own name for UTF-8 pyarrow does not decode in Python.
    return "utf8" if encoding.replace("_", "-").lower() in ("utf-8", "utf8", "ascii") else encoding
