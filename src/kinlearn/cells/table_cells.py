"""The first step of a table's pipeline: a DataFrame of any dtypes as the command line reads it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from kinlearn.cells.cell_rules import MISSING
from kinlearn.cells.data_frames import arrow_table, column_names, is_data_frame
from kinlearn.cells.refusals import TableError
from kinlearn.cells.schema import StrayCells, TableSchema

_WHERE = "The table"


class TableCells(TransformerMixin, BaseEstimator):
    """Columns as floats, dates and texts in one spelling, whatever library read them.

    A text file, Parquet, and DataFrames with columns of bools, whole numbers, floats, nullable
    numbers, categories, texts or mixtures of these come out the same, cell by cell. What comes out
    may go in again.

    Parameters
    ----------
    numeric, categorical : sequences of str
        Names of the columns to take, by kind.
    task : str, optional
        The column that names tasks, which comes first.
    missing : sequence of str
        Texts that mean a missing value.
    decimal : {".", ","}, default="."
        The decimal mark in texts.
    dates : sequence of str
        Names of the columns of dates.
    forms : dict, optional
        How the cells of a column are written, by its name; found by training.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = TableCells(numeric=["age"], categorical=["code", "smokes"])
    >>> read = pd.DataFrame({"code": [1.0, None], "smokes": [True, False], "age": ["51", "?"]})
    >>> print(cells.fit_transform(read).to_string(index=False))
     age code smokes
    51.0    1   True
     NaN  NaN  False
    """

    # What was noted of a training on a table, for its file; a fit anew knows nothing of it.
    training_facts_: dict[str, Any] | None = None

    def __init__(
        self,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        task: str | None = None,
        missing: Sequence[str] = MISSING,
        decimal: str = ".",
        dates: Sequence[str] = (),
        forms: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        self.numeric = numeric
        self.categorical = categorical
        self.task = task
        self.missing = missing
        self.decimal = decimal
        self.dates = dates
        self.forms = forms

    @property
    def schema(self) -> TableSchema:
        """The columns and how their cells are read."""
        return TableSchema(
            numeric=list(self.numeric),
            categorical=list(self.categorical),
            task=self.task,
            missing=list(self.missing),
            decimal=self.decimal,
            # Files of earlier versions have neither.
            dates=list(getattr(self, "dates", ())),
            forms=dict(getattr(self, "forms", None) or {}),
        )

    def fit(self, X: Any, y: Any = None) -> TableCells:
        """Look whether the columns are there; nothing is learnt.

        Parameters
        ----------
        X : DataFrame
            Rows of a table, of pandas, polars or pyarrow.
        y : ignored
        """
        self._columns(X)
        self.training_facts_ = None
        self.feature_names_in_ = np.array(self.schema.features, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns as a ``pandas.DataFrame`` of floats and texts, missing cells NaN.

        Parameters
        ----------
        X : DataFrame
            Rows of a table, of pandas, polars or pyarrow. Other columns may stand beside.
        """
        strays = StrayCells(_WHERE)
        frame = self.schema.frame(self._columns(X), strays)
        for name in strays.counts:
            warnings.warn(strays.sentence_on(name), stacklevel=2)
        for name in strays.other_marks:
            warnings.warn(strays.sentence_on_marks(name), stacklevel=2)
        return frame

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that come out."""
        return np.array(self.schema.features, dtype=object)

    def _columns(self, X: Any) -> Any:
        """The columns as a ``pyarrow.Table``."""
        schema = self.schema
        if not is_data_frame(X):
            raise TableError(
                f"The model takes a DataFrame with the columns it was trained with, but got a "
                f"{type(X).__name__}: give pandas.DataFrame(rows, columns=...)."
            )
        schema.check(column_names(X), _WHERE)
        return arrow_table(X, schema.rules, schema.features, _WHERE)
