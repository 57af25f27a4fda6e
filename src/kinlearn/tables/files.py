"""Opening a table, whatever it is kept in, to read it in batches of bounded size."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from kinlearn.cells.refusals import TableError
from kinlearn.tables.json_lines import open_json_lines
from kinlearn.tables.many_files import is_pattern, open_many
from kinlearn.tables.parquet_file import open_parquet
from kinlearn.tables.spreadsheets import open_spreadsheet
from kinlearn.tables.table_file import BATCH_ROWS, TableFile
from kinlearn.tables.text_bytes import GZIP, open_bytes
from kinlearn.tables.text_file import open_text_file

__all__ = ["BATCH_ROWS", "TableFile", "open_table"]

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
PARQUET_SUFFIXES = (".parquet", ".pq")
SHEET_SUFFIXES = (".xlsx", ".xlsm")
JSON_SUFFIXES = (".jsonl", ".ndjson")
PLAIN = (*TEXT_SUFFIXES, *JSON_SUFFIXES)
SUFFIXES = (*PLAIN, *(f"{ending}.gz" for ending in PLAIN), *PARQUET_SUFFIXES, *SHEET_SUFFIXES)
STANDARD = Path("-")
_ZIP, _PARQUET, _OLD_OFFICE = b"PK\x03\x04", b"PAR1", b"\xd0\xcf\x11\xe0"


def open_table(
    path: Path | str, *, delimiter: str | None = None, encoding: str | None = None
) -> TableFile:
    """Look at a table and refuse, in a sentence, what cannot be read.

    Parameters
    ----------
    path : path
        A file, a folder of them, a pattern such as ``data/*.csv``, or ``-`` for standard input:
        delimited text and JSON lines, both as they are or compressed by gzip, Parquet, or a
        spreadsheet.
    delimiter : str, optional
        What separates cells; found when left out.
    encoding : str, optional
        Encoding of the text; found when left out.

    Returns
    -------
    TableFile
    """
    path = Path(path)
    delimiter = check_delimiter(delimiter)
    if path == STANDARD:
        return _from_standard_input(delimiter, encoding)
    if path.is_dir() or is_pattern(path):
        return open_many(path, SUFFIXES, lambda part: _open(part, delimiter, encoding))
    if not path.exists():
        raise TableError(f"There is no file {path}.")
    return _open(path, delimiter, encoding)


def suffix_of(path: Path) -> str:
    """The ending of a file's name that tells its format, in small letters.

    Examples
    --------
    >>> suffix_of(Path("Visits.CSV.gz")), suffix_of(Path("visits.v2.parquet"))
    ('.csv.gz', '.parquet')
    """
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings[-1:] == [".gz"]:
        return "".join(endings)
    return endings[-1] if endings else ""


def how_it_ends(path: Path) -> str:
    """What to say of a name that tells no format.

    Examples
    --------
    >>> how_it_ends(Path("visits.json")), how_it_ends(Path("visits"))
    ("ends in '.json'", 'has no ending')
    """
    ending = suffix_of(path)
    return f"ends in {ending!r}" if ending else "has no ending"


def check_delimiter(delimiter: str | None) -> str | None:
    """Return the character meant, with ``tab`` and ``\\t`` for the tab."""
    if delimiter is None:
        return None
    delimiter = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(delimiter, delimiter)
    if len(delimiter) != 1:
        raise TableError(f"--delimiter must be one character or the word tab, got {delimiter!r}.")
    return delimiter


def _open(path: Path, delimiter: str | None, encoding: str | None) -> TableFile:
    ending = suffix_of(path)
    if ending not in SUFFIXES:
        raise TableError(
            f"{path} {how_it_ends(path)}, so its format is unknown: tables end in "
            f"{', '.join(SUFFIXES)}."
        )
    return _open_by_content(path, ending, delimiter, encoding)


def _open_by_content(
    path: Path, ending: str, delimiter: str | None, encoding: str | None
) -> TableFile:
    """What has no name is known by its first bytes; a name that they contradict is refused."""
    with path.open("rb") as stream:
        head = stream.read(4)
    if ending and not ending.endswith(".gz") and head[:2] == GZIP:
        raise TableError(f"{path} is compressed by gzip: let its name end in .gz.")
    if ending.endswith(".gz") and head[:2] != GZIP:
        raise TableError(f"{path} is not compressed by gzip: let its name end without .gz.")
    if ending in TEXT_SUFFIXES and head in (_ZIP, _PARQUET):
        kind = "a spreadsheet or archive" if head == _ZIP else "Parquet"
        raise TableError(f"{path} is {kind}, whatever its name says: rename it.")
    if head == _OLD_OFFICE:
        raise TableError(
            f"{path} is a spreadsheet of before 2007: open it and save it as .xlsx or CSV."
        )
    if head == _ZIP or ending in SHEET_SUFFIXES:
        return open_spreadsheet(path)
    if head == _PARQUET or ending in PARQUET_SUFFIXES:
        return open_parquet(path)
    plain = ending.removesuffix(".gz")
    if plain in JSON_SUFFIXES or (not ending and _begins_with_brace(path)):
        return open_json_lines(path)
    usual = TEXT_SUFFIXES.get(plain, ",")
    return open_text_file(path, usual, delimiter, encoding)


def _begins_with_brace(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(256).lstrip()[:1] == b"{"


def _from_standard_input(delimiter: str | None, encoding: str | None) -> TableFile:
    """What comes in is put aside on disk first: it is looked at before it is read."""
    with tempfile.NamedTemporaryFile(prefix="kinlearn-", delete=False) as stored:
        path = Path(stored.name)
        atexit.register(path.unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, stored)
    if path.stat().st_size == 0:
        raise TableError("Standard input is empty: pipe a table into it, or name a file.")
    found = _open_by_content(path, "", delimiter, encoding)
    return replace(found, title="standard input")
