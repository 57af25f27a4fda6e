"""Columns that tell the answer nearly perfectly by themselves: usually written together with it.

A column alone, or merely whether its cell is missing, is asked for the answer of every row, as the
other rows teach it: a category by the most common answer of its other rows, a number by a small
tree in five folds. What remains of the error of always giving the most common answer tells how much
the column knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from kinlearn.tables.input_profile import numbers_of
from kinlearn.tables.words import percent

# Share of the error left: by its values, by its gaps alone.
LEFT_BY_VALUES = 0.05
LEFT_BY_GAPS = 0.1
MIN_ROWS = 20
# Rows looked at: enough to tell 95 % from 97 %.
_MAX_ROWS = 10_000
_MAX_LEAVES = 8
# Numbers with so few values are asked as categories.
_FEW_NUMBERS = 20
_N_FOLDS = 5


@dataclass(frozen=True)
class Leak:
    """A column that alone tells nearly every answer.

    Attributes
    ----------
    column : str
        Its name.
    answer : str
        The target or label it tells.
    accuracy : float
        Share of rows it tells right.
    base : float
        Share that the most common answer tells right.
    by_gaps : bool
        Whether what tells is which cells are missing.
    """

    column: str
    answer: str
    accuracy: float
    base: float
    by_gaps: bool

    @property
    def sentence(self) -> str:
        """What to tell, with what to do."""
        how = "whether its cell is missing tells" if self.by_gaps else "alone tells"
        return (
            f"{self.column}: {how} {self.answer} for {percent(self.accuracy)} of the rows (the "
            f"most common answer: {percent(self.base)}). Is it known before the answer is? If it "
            f"is written down with it, leave it out: --drop {self.column}"
        )


def find_leaks(frame: Any, answers: dict[str, NDArray]) -> list[Leak]:
    """Return the columns of `frame` that tell an answer nearly perfectly, the surest first.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns to learn from: floats with NaN, texts with NaN.
    answers : dict of str to ndarray
        For each target or label its answers; NaN where unknown.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> y = np.tile(["no", "yes", "no"], 20)
    >>> frame = pd.DataFrame({"x": np.arange(60.0) % 7, "alive": np.where(y == "yes", "y", "n")})
    >>> [leak.column for leak in find_leaks(frame, {"survived": y})]
    ['alive']
    """
    found = []
    for answer, values in answers.items():
        known = np.array([value == value for value in values], dtype=bool)
        rows = _some(np.flatnonzero(known))
        classes, truth = np.unique(values[rows].astype(str), return_inverse=True)
        base = float(np.bincount(truth).max() / len(truth)) if len(truth) else 1.0
        if len(rows) < MIN_ROWS or len(classes) < 2:
            continue
        for name in frame.columns:
            leak = _of_column(str(name), frame[name].to_numpy()[rows], answer, truth, base)
            if leak is not None:
                found.append(leak)
    return sorted(found, key=lambda leak: -leak.accuracy)


def _of_column(
    name: str, values: NDArray, answer: str, truth: NDArray[np.intp], base: float
) -> Leak | None:
    numbers = numbers_of(values)
    values = values if numbers is None else numbers
    missing = np.array([v != v for v in values], dtype=bool)
    gaps = _told_by_categories(missing.astype(np.intp), truth) if missing.any() else 0.0
    if 1.0 - gaps <= LEFT_BY_GAPS * (1.0 - base):
        return Leak(name, answer, gaps, base, True)
    texts, level = np.unique(values.astype(str), return_inverse=True)
    needed = 1.0 - LEFT_BY_VALUES * (1.0 - base)
    told = (
        _told_by_number(numbers, truth, needed)
        if numbers is not None and len(texts) > _FEW_NUMBERS
        else _told_by_categories(level, truth)
    )
    if told >= needed:
        return Leak(name, answer, told, base, False)
    return None


def _told_by_categories(level: NDArray[np.intp], truth: NDArray[np.intp]) -> float:
    """Share of rows whose answer is the most common one of the other rows of their category."""
    counts = np.zeros((level.max() + 1, truth.max() + 1))
    np.add.at(counts, (level, truth), 1)
    others = counts[level]
    rows = np.arange(len(truth))
    # a row alone in its category gets the most common answer of all
    others = others + 1e-6 * counts.sum(axis=0) / len(truth)
    others[rows, truth] -= 1.0
    return float((others.argmax(axis=1) == truth).mean())


def _told_by_number(values: NDArray[np.float64], truth: NDArray[np.intp], needed: float) -> float:
    """Share of rows that a small tree on the number tells right, in folds.

    A tree that does not tell as much as `needed` of the rows it was grown on is not held out.
    """
    # Ranks part as the numbers do; a tree's own are of half the digits, and end at 3e38.
    ranks = np.unique(values, return_inverse=True, equal_nan=True)[1].astype(np.float64)
    filled = np.where(np.isfinite(values), ranks, np.nan)[:, None]
    n_folds = min(_N_FOLDS, int(np.bincount(truth).min()))
    if n_folds < 2:
        return 0.0
    tree = DecisionTreeClassifier(max_leaf_nodes=_MAX_LEAVES, random_state=0)
    if tree.fit(filled, truth).score(filled, truth) < needed:
        return 0.0
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return float((cross_val_predict(tree, filled, truth, cv=folds) == truth).mean())


def _some(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(rows) <= _MAX_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _MAX_ROWS, replace=False))
