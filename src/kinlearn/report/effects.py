"""Which way a column pushes the answer: mean probabilities when only that column changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinlearn.report.importance import Importance
from kinlearn.report.svg import Plot, bars
from kinlearn.tables.words import percent

Floats = NDArray[np.float64]

MAX_COLUMNS = 6
MAX_ROWS = 150
_MAX_ANSWERS = 4
_MAX_LEVELS = 8
_GRID = np.linspace(0.03, 0.97, 11)
_N_BINS = 20


@dataclass(frozen=True)
class Effect:
    """Mean probability of some answers at some values of a column, all others as they are.

    Attributes
    ----------
    column : str
        Its name.
    values : list of float or list of str
        Values it was set to.
    answers : list of str
        Classes or labels.
    means : list of lists of float
        For each answer, its mean probability at each value.
    shares : list of float
        Share of rows: for a category its own, for numbers by twenty equal bins over the values.
    """

    column: str
    values: list[Any]
    answers: list[str]
    means: list[list[float]]
    shares: list[float]

    @property
    def is_numeric(self) -> bool:
        return not isinstance(self.values[0], str)

    @property
    def sentence(self) -> str:
        """The way of the first answer, in words."""
        p = self.means[0]
        low, high = int(np.argmin(p)), int(np.argmax(p))
        at = [f"{v:.4g}" if self.is_numeric else repr(v) for v in self.values]
        return (
            f"{self.column}: {self.answers[0]!r} is least expected at {at[low]} "
            f"({percent(p[low])}), most at {at[high]} ({percent(p[high])})."
        )


def effects_of(
    model: Any, frame: Any, importance: list[Importance], answers: list[tuple[int, str]], seed: int
) -> list[Effect]:
    """Effects of the columns that matter, the most important first.

    Parameters
    ----------
    model : Pipeline
        Answers data frames.
    frame : pandas.DataFrame
        Rows, floats with NaN and texts with NaN.
    importance : list of Importance
        Columns in the order of their importance; those that may be nothing are left out.
    answers : list of (int, str)
        Columns of the probabilities that are shown, and their names; at most four.
    seed : int
        Seed of the choice of rows.
    """
    rng = np.random.default_rng(seed)
    some = np.sort(rng.choice(len(frame), min(len(frame), MAX_ROWS), replace=False))
    rows = frame.iloc[some]
    chosen = answers[:_MAX_ANSWERS]
    found = []
    for name in [entry.column for entry in importance if entry.low > 0][:MAX_COLUMNS]:
        values, shares = _values_of(frame[name].to_numpy())
        if len(values) < 2:
            continue
        # all values at once: with many columns, reading cells costs more than answering rows
        many = rows.iloc[np.tile(np.arange(len(rows)), len(values))]
        proba = model.predict_proba(many.assign(**{name: np.repeat(values, len(rows))}))
        means = proba.reshape(len(values), len(rows), -1).mean(axis=1)
        curves = [means[:, k].tolist() for k, _ in chosen]
        found.append(Effect(name, values, [word for _, word in chosen], curves, shares))
    return found


def _values_of(column: NDArray) -> tuple[list[Any], list[float]]:
    if column.dtype.kind in "fiu":
        known = column[np.isfinite(column)].astype(np.float64)
        if len(known) == 0:
            return [], []
        values = np.unique(np.quantile(known, _GRID, method="nearest"))
        counts, _ = np.histogram(known, bins=_N_BINS, range=(values[0], max(values[-1], values[0])))
        return values.tolist(), (counts / len(known)).tolist()
    texts = [value for value in column.tolist() if isinstance(value, str)]
    levels, counts = np.unique(np.array(texts, dtype=str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
    return [str(levels[i]) for i in order], (counts[order] / max(len(column), 1)).tolist()


def effect_picture(effect: Effect) -> str:
    """The curve with the rows under it; of categories, bars."""
    title = f"Probability of {effect.answers[0]} by {effect.column}"
    if not effect.is_numeric:
        names = [
            f"{value} ({percent(share)})"
            for value, share in zip(effect.values, effect.shares, strict=True)
        ]
        p = effect.means[0]
        return bars(names, p, label=f"mean probability of {effect.answers[0]!r}", title=title)
    top = min(1.0, 1.15 * max(max(p) for p in effect.means) + 0.02)
    low, high = effect.values[0], effect.values[-1]
    plot = Plot((low, high), (0.0, top), effect.column, "mean probability", title)
    edges = np.linspace(low, high, len(effect.shares) + 1)
    height = 0.3 * top / max(*effect.shares, 1e-9)
    x = [low, *np.repeat(edges[1:-1], 2).tolist(), high]
    steps = np.repeat(np.array(effect.shares) * height, 2).tolist()
    plot.line([low, *x, high], [0.0, *steps, 0.0], "under-curve")
    for k, p in enumerate(effect.means):
        plot.line(effect.values, p, f"curve answer{k}")
        if len(effect.answers) > 1:
            plot.text(high, p[-1] + 0.015 * top, effect.answers[k], "note", "end")
    return plot.svg()
