"""Why this answer? What each column of one row adds to the probability of its answer.

A column's part is the probability of the answer less its mean when only that column's cell is
replaced by what training rows have there: their deciles for numbers, their categories by how common
they are. Parts are of one column at a time, so that they need not add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MAX_LEVELS = 12


@dataclass(frozen=True)
class ColumnPart:
    """What the cell of a column does to the answer.

    Attributes
    ----------
    column : str
        Its name.
    value : str
        The cell; empty where missing.
    usual : str
        What training rows have there: the middle value, or the most common category.
    part : float
        By how much the probability of the answer is larger for this cell.
    """

    column: str
    value: str
    usual: str
    part: float


def explain_row(
    model: Any, row: Any, profile: dict[str, Any], answer: int
) -> tuple[Floats, list[ColumnPart]]:
    """The row's probabilities, and the parts of its columns, the largest first.

    Parameters
    ----------
    model : Pipeline
        Answers data frames.
    row : pandas.DataFrame
        One row: floats with NaN, texts with NaN.
    profile : dict
        As :func:`kinlearn.tables.input_profile.profile_inputs` makes it.
    answer : int
        Number of the class, or of the label, whose probability is explained.
    """
    proba = np.asarray(model.predict_proba(row))[0]
    found = []
    for name in row.columns:
        usual = profile["columns"].get(name)
        if usual is None:
            continue
        values, weights = _usual_cells(usual)
        if len(values) == 0:
            continue
        others = row.iloc[np.zeros(len(values), dtype=int)].assign(**{name: values})
        mean = float(np.average(model.predict_proba(others)[:, answer], weights=weights))
        part = float(proba[answer]) - mean
        found.append(ColumnPart(name, _text(row[name].iloc[0]), _middle(usual), part))
    return proba, sorted(found, key=lambda each: -abs(each.part))


def _usual_cells(usual: dict[str, Any]) -> tuple[NDArray, Floats]:
    if usual["kind"] != "categorical":
        if usual["kind"] == "date" or "edges" not in usual:
            return np.empty(0), np.empty(0)
        ends = [usual["low"], *usual["edges"], usual["high"]]
        middles = np.array([0.5 * (a + b) for a, b in pairwise(ends)])
        # a bin of one value, as of whole numbers, is that value
        few = len(usual["edges"]) < 9
        values = np.array([*usual["edges"], usual["high"]]) if few else middles
        counts = np.array(usual["counts"], dtype=np.float64)
        return values[counts > 0], counts[counts > 0]
    levels = dict(list(usual["levels"].items())[:_MAX_LEVELS])
    values = np.array(list(levels), dtype=object)
    return values, np.array(list(levels.values()), dtype=np.float64)


def _middle(usual: dict[str, Any]) -> str:
    if usual["kind"] == "numeric":
        return f"{usual['quantiles']['0.5']:.6g}" if "quantiles" in usual else ""
    return next(iter(usual["levels"]), "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else f"{value:.6g}"
