"""Cells that are read already, as numbers: what a fitted TableFeatures gives, without its frames.

scikit-learn's steps look at a DataFrame for milliseconds before they touch it, which is most of the
time that a single row takes. Here each part is asked once what it makes of every category there is,
and from then on columns of numbers and texts go straight to the array. The result is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.encoding.date_parts import days_of
from kinlearn.encoding.table_features import TableFeatures

Array = NDArray[np.float64]
# A text that no table has.
_NEVER_SEEN = "\0never seen\0"


class ReadCells:
    """Makes of columns of cells what ``TableFeatures.transform`` makes of their table.

    Parameters
    ----------
    features : TableFeatures
        Fitted; it stays as it is.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from kinlearn import TableFeatures
    >>> table = pd.DataFrame({"age": [30, None, 50], "sex": ["f", "m", "f"]})
    >>> features = TableFeatures().fit(table)
    >>> cells = {"age": np.array([50.0]), "sex": np.array(["x"], dtype=object)}
    >>> ReadCells(features).numbers(cells).round(2)
    array([[1.22, 0.  , 0.  , 0.  ]])
    >>> features.transform(pd.DataFrame(cells)).round(2)
    array([[1.22, 0.  , 0.  , 0.  ]])
    """

    def __init__(self, features: TableFeatures) -> None:
        self.parts: list[tuple[str, Any, list[str]]] = []
        self.places = features.columns_.output_indices_
        self.width = len(features.get_feature_names_out())
        for name, step, columns in features.columns_.transformers_:
            columns = list(columns)
            if name in ("task", "categories"):
                step = [_Words(step, columns, i) for i in range(len(columns))]
            self.parts.append((name, step, columns))

    def numbers(self, cells: Mapping[str, NDArray]) -> Array:
        """Return the rows as numbers.

        Parameters
        ----------
        cells : mapping of str to ndarray
            Columns by name: floats, dates, and objects that are texts or NaN.
        """
        n_rows = len(next(iter(cells.values())))
        out = np.empty((n_rows, self.width))
        for name, step, columns in self.parts:
            part = out[:, self.places[name]]
            if name in ("numbers", "thresholds"):
                part[...] = step.transform(np.column_stack([cells[each] for each in columns]))
            elif name == "dates":
                days = np.column_stack([days_of(cells[each]) for each in columns])
                scaled, scale = step[0].transform(days), step[1]
                scaled -= scale.mean_
                scaled /= scale.scale_
                part[...] = scaled
            else:
                at = 0
                for words, column in zip(step, columns, strict=True):
                    made = words.numbers(cells[column])
                    part[:, at : at + made.shape[1]] = made
                    at += made.shape[1]
        return out


class _Words:
    """What one column of a fitted encoder becomes, category by category, asked of the encoder."""

    def __init__(self, step: Any, columns: Sequence[str], number: int) -> None:
        known = [text for text in step[-1].categories_[number].tolist() if isinstance(text, str)]
        asked = np.full((len(known) + 2, len(columns)), np.nan, dtype=object)
        asked[:, number] = [*known, _NEVER_SEEN, np.nan]
        widths = getattr(step[-1], "_n_features_outs", [1] * len(columns))
        start = int(sum(widths[:number]))
        made = np.asarray(_asked(step, asked, columns), dtype=np.float64)
        self.made = made[:, start : start + int(widths[number])]
        self.at = {text: i for i, text in enumerate(known)}
        self.unknown, self.missing = len(known), len(known) + 1

    def numbers(self, cells: NDArray) -> Array:
        at, missing, unknown = self.at, self.missing, self.unknown
        found = [
            at.get(cell, unknown) if isinstance(cell, str) else missing for cell in cells.tolist()
        ]
        return self.made[found]


def _asked(step: Any, cells: NDArray, columns: Sequence[str]) -> Any:
    """A step's answer, asked with names if it was fitted to such."""
    if not hasattr(step[0], "feature_names_in_"):
        return step.transform(cells)
    from kinlearn.optional import require

    return step.transform(require("pandas", "TableFeatures").DataFrame(cells, columns=columns))
