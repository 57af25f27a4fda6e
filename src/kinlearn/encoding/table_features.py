"""TableFeatures: a table with columns of any kind as an array of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from kinlearn.all_or_nothing import drop_fit
from kinlearn.cells.cell_rules import MISSING, CellRules
from kinlearn.cells.data_frames import arrow_table, column_names, is_data_frame
from kinlearn.cells.refusals import TableError, unknown_column
from kinlearn.cells.table_cells import TableCells
from kinlearn.encoding.date_parts import DateParts
from kinlearn.encoding.kinds import CATEGORICAL, DATES, NUMERIC, decide
from kinlearn.encoding.number_columns import NumberColumns
from kinlearn.encoding.threshold_columns import ThresholdColumns
from kinlearn.kernels.steps import MOST_CUTS, N_CUTS
from kinlearn.optional import require

# Rarer categories beyond this many share one column, and a category never seen joins them.
MAX_CATEGORIES = 40
UNKNOWN = "(missing)"
# Fewer rows do not settle so many coefficients.
THRESHOLD_ROWS = 2000
RARE = "infrequent_sklearn"  # what scikit-learn calls categories that share a column
_WHERE = "The table"


class TableFeatures(TransformerMixin, BaseEstimator):
    """The columns of a table as numbers: what ``kinlearn train`` does before it learns.

    Takes DataFrames of pandas and polars, tables of pyarrow and arrays. Cells are read as the
    command line reads those of a file, whatever dtypes they have.

    - **Numbers** are scaled to mean 0 and deviation 1, skewed counts by their logarithm. A missing
      one gets the median, and sets a column of its own. Many columns that are mostly zero, such as
      counts of words, keep their scale among each other.
    - **Categories** have a column of 0 and 1 each; missing is a category. Those beyond the most
      frequent ones share a column, and so do categories never seen in training.
    - **Dates** become days since the first one, year, season, day of the week and time of day,
      as far as these vary.

    Parameters
    ----------
    numeric, categorical, dates : sequences of str, optional
        Columns whose kind is decided. Others are what their cells look like: numbers where at least
        95 % of the cells that are not missing are such, dates where all are, else categories.
    drop : sequence of str
        Columns to leave out, such as ids and the target.
    task : str, optional
        The column that names tasks. It comes out first, as the number of the task, -1 for one never
        seen; give the classifier ``task_column=0``.
    max_categories : int, default=40
        Most columns that a column of categories may become.
    thresholds : "auto", int or None, default=None
        Also give each number as so many indicators of thresholds, at quantiles of its column: for
        models that are linear in what they take. ``"auto"`` is 20 from 2,000 rows on, as far as
        that makes no more than 4,000 columns. The kernel ``"steps"`` makes its own.
    missing : sequence of str
        Texts that mean a missing value.
    decimal : {".", ","}, default="."
        The decimal mark in texts.
    forms : dict, optional
        How the cells of a column are written, by its name; found by training.

    Attributes
    ----------
    numeric_, categorical_, dates_ : list of str
        The columns, by what they were taken for.
    cells_ : TableCells
        Reads the cells.
    columns_ : ColumnTransformer
        Makes numbers of them.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray
        Their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn import TableFeatures
    >>> table = pd.DataFrame({"age": [30, None, 50], "sex": ["f", "m", "f"]})
    >>> features = TableFeatures().set_output(transform="pandas")
    >>> print(features.fit_transform(table).round(2).to_string(index=False))
      age  age_missing  sex_f  sex_m
    -1.22          0.0    1.0    0.0
     0.00          1.0    0.0    1.0
     1.22          0.0    1.0    0.0
    """

    def __init__(
        self,
        *,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        dates: Sequence[str] = (),
        drop: Sequence[str] = (),
        task: str | None = None,
        max_categories: int = MAX_CATEGORIES,
        thresholds: int | str | None = None,
        missing: Sequence[str] = MISSING,
        decimal: str = ".",
        forms: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        self.numeric = numeric
        self.categorical = categorical
        self.dates = dates
        self.drop = drop
        self.task = task
        self.max_categories = max_categories
        self.thresholds = thresholds
        self.missing = missing
        self.decimal = decimal
        self.forms = forms

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> TableFeatures:
        """Decide what the columns are, and learn medians, scales and categories.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows of a table, of pandas, polars or pyarrow, or an array.
        y : object
            Ignored.

        Returns
        -------
        TableFeatures
            The fitted transformer.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the rows as numbers.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows of a table.
        y : object
            Ignored.
        **fit_params : dict
            None are taken.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        frame = self._fit(X)
        return self.columns_.transform(frame)

    def _fit(self, X: Any) -> Any:
        """Fit; return the cells as they were read."""
        drop_fit(self)
        X = self._named(X, reset=True)
        rules = CellRules(tuple(self.missing), self.decimal)
        given = column_names(X)
        for name in self.drop:
            if name not in given:
                raise unknown_column(name, given, _WHERE)
        names = [name for name in given if name not in set(self.drop)]
        named = {NUMERIC: self.numeric, CATEGORICAL: self.categorical, DATES: self.dates}
        kinds = decide(arrow_table(X, rules, names, _WHERE), rules, named, self.task)
        self.numeric_, self.categorical_ = kinds[NUMERIC], kinds[CATEGORICAL]
        self.dates_ = kinds[DATES]
        if not any(kinds.values()):
            raise TableError("The table has no column to learn from: all are left out by drop=.")
        self.cells_ = TableCells(
            self.numeric_,
            self.categorical_,
            self.task,
            self.missing,
            self.decimal,
            self.dates_,
            getattr(self, "forms", None),
        )
        frame = self.cells_.fit_transform(X)
        self.columns_ = self._columns(self._n_cuts(len(frame))).fit(frame)
        return frame

    def transform(self, X: Any) -> Any:
        """Return the rows as numbers.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows of a table. Other columns may stand beside those seen in training.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        return self.columns_.transform(self.cells_.transform(self._named(X, reset=False)))

    def inverse_transform(self, X: Any) -> Any:
        """Return the cells that rows of numbers were made of, as far as these tell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            As :meth:`transform` returns them.

        Returns
        -------
        pandas.DataFrame
            Floats, dates and texts, missing cells NaN; a category that shares a column with others,
            or was not seen in training, is not told.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        found: dict[str, Any] = {}
        for name, step, columns in self.columns_.transformers_:
            own = X[:, self.columns_.output_indices_[name]]
            if name == "thresholds":
                continue
            if name in ("numbers", "dates"):
                cells = step.inverse_transform(own)
            else:
                cells = step[-1].inverse_transform(own).astype(object)
                for untold in (None, UNKNOWN, RARE):
                    cells[cells == untold] = np.nan
            found |= dict(zip(columns, cells.T, strict=True))
        return require("pandas", "TableFeatures").DataFrame(found)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that come out.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns that go in, where these were seen without names.

        Returns
        -------
        ndarray of str
            A number is named as its column, and what is made of a column begins with its name.
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        made: list[str] = []
        for _, step, columns in self.columns_.transformers_:
            made += step.get_feature_names_out(np.array(columns, dtype=object)).tolist()
        if not hasattr(self, "feature_names_in_"):
            made = [
                re.sub(r"^x(\d+)", lambda found: str(given[int(found[1])]), each) for each in made
            ]
        return np.array(made, dtype=object)

    def origins(self) -> NDArray[np.object_]:
        """Return the column that each column that comes out is made of.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> import pandas as pd
        >>> from kinlearn import TableFeatures
        >>> table = pd.DataFrame({"age": [30, None], "sex": ["f", "m"]})
        >>> TableFeatures().fit(table).origins().tolist()
        ['age', 'age', 'sex', 'sex']
        """
        check_is_fitted(self)
        made: list[str] = []
        for name, step, columns in self.columns_.transformers_:
            if name == "numbers":
                made += [*columns, *(columns[i] for i in step.marked_)]
            elif name == "thresholds":
                made += [columns[i] for i in step.cut_columns_]
            else:
                widths = {
                    "task": lambda step: [1],
                    "dates": lambda step: [len(parts) for parts in step[0].parts_],
                    "categories": lambda step: step[-1]._n_features_outs,
                }[name](step)
                made += np.repeat(np.array(columns, dtype=object), widths).tolist()
        return np.array(made, dtype=object)

    def _n_cuts(self, n_rows: int) -> int | None:
        """How many thresholds a number gets."""
        given = self.thresholds
        if given is None:
            return None
        if isinstance(given, str) and given == "auto":
            few = n_rows < THRESHOLD_ROWS or len(self.numeric_) * N_CUTS > MOST_CUTS
            return None if few else N_CUTS
        if isinstance(given, bool) or not isinstance(given, Integral) or given < 1:
            raise TableError(
                f'thresholds={given!r} must be "auto", None, or a whole number of at least 1.'
            )
        return int(given)

    def _columns(self, n_cuts: int | None) -> ColumnTransformer:
        """What makes numbers of the columns, by kind."""
        parts: list[tuple[str, Any, list[str]]] = []
        if self.task is not None:
            task = make_pipeline(
                SimpleImputer(strategy="constant", fill_value=UNKNOWN),
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            )
            parts.append(("task", task, [self.task]))
        if self.numeric_:
            parts.append(("numbers", NumberColumns(), self.numeric_))
            if n_cuts is not None:
                parts.append(("thresholds", ThresholdColumns(n_cuts), self.numeric_))
        if self.dates_:
            parts.append(("dates", make_pipeline(DateParts(), StandardScaler()), self.dates_))
        if self.categorical_:
            categories = make_pipeline(
                SimpleImputer(strategy="constant", fill_value=UNKNOWN),
                OneHotEncoder(
                    handle_unknown="infrequent_if_exist",
                    max_categories=self.max_categories,
                    sparse_output=False,
                ),
            )
            parts.append(("categories", categories, self.categorical_))
        return ColumnTransformer(parts, verbose_feature_names_out=False)

    def _named(self, X: Any, reset: bool) -> Any:
        """Rows as a table with names; those of an array are x0, x1, ...."""
        named = is_data_frame(X)
        if named and reset:
            self.feature_names_in_ = np.array(column_names(X), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        if named and hasattr(self, "feature_names_in_"):
            return X
        values = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(values.shape[1])])
        return require("pandas", "TableFeatures").DataFrame(values, columns=names)
