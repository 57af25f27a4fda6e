"""Tables of one JSON object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinlearn.cells.refusals import TableError
from kinlearn.tables.table_file import BATCH_ROWS, TableFile
from kinlearn.tables.text_bytes import check_encoding, open_text
from kinlearn.tables.typed_rows import batches_of, kind_of


@dataclass(frozen=True)
class JsonLines(TableFile):
    """A table of one JSON object a line; what a line does not name is missing."""

    kinds: dict[str, str | None] = field(default_factory=dict)

    def _parts(self) -> Iterator[Any]:
        yield from batches_of(_rows(self.path), self.kinds, BATCH_ROWS)


def open_json_lines(path: Path) -> JsonLines:
    """Look at all lines, for names and kinds of columns, and refuse what is no object."""
    check_encoding(path, "utf-8")
    kinds: dict[str, str | None] = {}
    for row in _rows(path):
        for name, value in row.items():
            kinds[name] = kind_of(value, kinds.get(name))
    if not kinds:
        raise TableError(f"{path} is empty: it needs one JSON object a line.")
    return JsonLines(path, list(kinds), kinds=kinds)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(open_text(path, "utf-8"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TableError(f"Line {number} of {path} is no JSON ({error}): correct it.") from None
        if not isinstance(row, dict):
            raise TableError(
                f"Line {number} of {path} is {str(row)[:40]!r}, and not an object with a value for "
                'each column, such as {"age": 51}.'
            )
        yield {name: _finite(value) for name, value in row.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
