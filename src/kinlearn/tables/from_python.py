"""Tables in Python as the command line reads them: ``kinlearn.read_table`` and ``train_table``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinlearn.optional import require

if TYPE_CHECKING:
    from kinlearn.tables.table_file import TableFile

# Whole numbers with more digits than this are not told apart by floats.
_DIGITS = 15


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
) -> Any:
    """Read a table as ``kinlearn train`` and ``kinlearn predict`` read it.

    A model gives the rows that come out the same answers as ``kinlearn predict`` gives the file.
    A column of plain numbers becomes numbers; all other cells stay as they stand, for how they are
    read is the model's to say: ``01234``, ``$1,200``, ``24,5``, ``Yes``. Missing cells are None or
    NaN.

    Parameters
    ----------
    path : str or Path
        A table: CSV, TSV or JSON lines, compressed by gzip or not, Parquet, ``.xlsx``; a folder
        of them, a pattern such as ``"data/*.csv"``, or ``"-"`` for standard input.
    delimiter, encoding : str, optional
        What separates cells, and the encoding of the text; found when left out.
    missing : sequence of str, optional
        Texts that mean a missing value, in place of the usual ones.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kinlearn import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "visits.csv")
    ...     _ = path.write_text("age;zip;smoker\\n51;01234;?\\n;90210;Yes\\n")
    ...     print(read_table(path).to_string(index=False))
     age   zip smoker
    51.0 01234   None
     NaN 90210    Yes
    """
    from kinlearn.cells.cell_rules import CellRules
    from kinlearn.tables.columns import find_decimal
    from kinlearn.tables.files import open_table

    arrow = require("pyarrow", "Reading a table")
    pandas = require("pandas", "Reading a table")
    file = open_table(path, delimiter=delimiter, encoding=encoding)
    batches = list(file.batches())
    if not batches:
        return pandas.DataFrame(columns=file.names)
    table = arrow.Table.from_batches(batches)
    rules = CellRules() if missing is None else CellRules(tuple(missing))
    commas = find_decimal(table, rules) == ","
    columns = {
        name: _series(table[name].combine_chunks(), rules.of_answers, commas)
        for name in table.column_names
    }
    return pandas.DataFrame(columns)


def train_table(
    table: Any,
    target: str | None = None,
    *,
    labels: Sequence[str] = (),
    task: str | None = None,
    group: str | None = None,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    max_rows: int | None = None,
    max_error: float = 0.05,
    per_task: bool = False,
    all_rows: bool = False,
    cost: Sequence[str] = (),
    miss: Sequence[str] = (),
    seed: int = 0,
) -> Any:
    """Train on a table as ``kinlearn train`` does, to the same model.

    Parameters
    ----------
    table : DataFrame, str or Path
        Rows of pandas, polars or pyarrow, or a file that :func:`read_table` can read.
    target : str, optional
        Column of classes to predict.
    labels : sequence of str
        Yes/no columns to predict together, in place of a target.
    task, group : str, optional
        Column that names the task; column whose rows are held out together.
    numeric, categorical, drop : sequence of str
        Columns to take as numbers, as categories, or to leave out; the others are taken for what
        they look like.
    missing : sequence of str, optional
        Texts that mean a missing value, in place of the usual ones.
    decimal : {".", ","}, optional
        The decimal mark in texts; found when left out.
    max_rows : int, optional
        Largest number of rows to train on, drawn evenly.
    max_error : float, default=0.05
        Error allowed among answered rows; the others are handed over.
    per_task : bool, default=False
        Whether that holds for every task on its own.
    all_rows : bool, default=False
        Go over all rows of a larger table, once those drawn have been trained on.
    cost, miss : sequence of str
        What errors cost, ``"no:yes=20"``; how much of a class may be answered otherwise,
        ``"yes=0.05"``.
    seed : int, default=0
        The same seed gives the same model.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Takes tables as it was trained with: ``model.predict_proba(read_table("new.csv"))``. Saved
        by :func:`kinlearn.save`, it serves ``kinlearn predict`` and the other commands as one of
        ``kinlearn train`` does.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kinlearn import train_table
    >>> dose = np.arange(200) % 10 / 2.0
    >>> table = pd.DataFrame({"ill": np.where(dose > 2, "y", "n")})
    >>> table["dose"] = [f"{x} mg" for x in dose]
    >>> model = train_table(table, "ill")
    >>> model.predict(pd.DataFrame({"dose": ["0.5 mg", "4 mg"]})).tolist()
    ['n', 'y']
    """
    from kinlearn.cells.cell_rules import MISSING
    from kinlearn.persistence.carried_facts import carry
    from kinlearn.tables.all_rows import train_on_all_rows
    from kinlearn.tables.data_frame_file import DataFrameFile
    from kinlearn.tables.files import open_table
    from kinlearn.tables.plain import finite
    from kinlearn.tables.training import Wishes, read_training_table, train, training_facts

    wishes = Wishes(
        target=target,
        labels=list(labels),
        task=task,
        group=group,
        numeric=list(numeric),
        categorical=list(categorical),
        drop=list(drop),
        missing=list(MISSING if missing is None else missing),
        decimal=decimal,
        max_rows=max_rows,
        max_error=max_error,
        per_task=per_task,
        all_rows=all_rows,
        seed=seed,
        cost=list(cost),
        miss=list(miss),
    )
    file: TableFile = (
        open_table(table) if isinstance(table, str | Path) else DataFrameFile.of(table)
    )
    trained = train(read_training_table(file, wishes), wishes)
    if wishes.all_rows:
        trained, _ = train_on_all_rows(file, trained, trained.wishes)
    carry(trained.model, finite(training_facts(file, trained)))
    return trained.model


def _series(column: Any, rules: Any, commas: bool) -> Any:
    """A column as pandas keeps it: numbers where all of it is plainly numbers."""
    arrow = require("pyarrow", "Reading a table")
    compute = require("pyarrow.compute", "Reading a table")
    pandas = require("pandas", "Reading a table")
    if not arrow.types.is_string(column.type):
        whole = arrow.types.is_integer(column.type) and column.null_count
        return column.to_pandas().astype("Int64") if whole else column.to_pandas()
    present = rules.present(column)
    known = present.drop_null()
    marked = compute.any(compute.match_substring(known, ".")).as_py()
    coded = compute.any(compute.match_substring_regex(known, r"^[+-]?0[0-9]")).as_py()
    long = compute.any(compute.match_substring_regex(known, rf"[0-9]{{{_DIGITS + 1}}}")).as_py()
    plain = len(known) > 0 and bool(rules.are_plain_numbers(known).all())
    if not plain or coded or long or (marked and commas):
        return pandas.Series(present.to_pylist(), dtype=object)
    values, _ = rules.numbers(column)
    if not marked and present.null_count == 0 and (values == values.astype("int64")).all():
        return pandas.Series(values.astype("int64"))
    return pandas.Series(values)
