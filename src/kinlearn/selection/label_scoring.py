"""How good held-out scores of many labels are: criteria over a whole grid, greater better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score

from kinlearn.posterior import Link, fit_common_beta, log_loss_rows
from kinlearn.selection.folds import Validation
from kinlearn.selection.label_link import joined, label_links
from kinlearn.selection.link import MANY_COPIES
from kinlearn.selection.scoring import weighted_auc

Array: TypeAlias = NDArray[np.float64]

ALIASES = {
    "neg_mean_squared_error": "squared_error",
    "neg_log_loss": "log_loss",
    "neg_hamming_loss": "hamming_loss",
    "accuracy": "hamming_loss",
    "f1": "f1_macro",
    "roc_auc_ovr": "roc_auc",
    "label_ranking_average_precision": "lrap",
}
ROW_WISE = ("squared_error", "log_loss", "hamming_loss")
NAMES = (*ROW_WISE, "f1_micro", "f1_macro", "roc_auc", "lrap")


@dataclass(frozen=True)
class ScoreLayout:
    """What the score columns mean.

    Indicators have columns d (one a label) and e (one for all labels, or one a label), the
    difference and the sum of the scores of 1 and 0. Otherwise there is a column per (label, class).

    Attributes
    ----------
    indicator : bool
    sizes : tuple of int
        Number of classes of each label.
    """

    indicator: bool
    sizes: tuple[int, ...]

    @property
    def n_labels(self) -> int:
        return len(self.sizes)

    def difference(self, scores: Array) -> Array:
        """``q_1 - q_0`` of indicators, shape (rows, labels)."""
        return scores[:, : self.n_labels]

    def by_label(self, scores: Array) -> list[Array]:
        """Scores of every label, shape (rows, classes of the label) each."""
        if self.indicator:
            d = self.difference(scores)
            e = np.broadcast_to(scores[:, self.n_labels :], d.shape)
            return [
                np.column_stack([e[:, t] - d[:, t], e[:, t] + d[:, t]]) / 2 for t in self.labels
            ]
        edges = np.cumsum(self.sizes)[:-1]
        return np.split(scores, edges, axis=1)

    @property
    def labels(self) -> range:
        return range(self.n_labels)

    def scaled(self, columns: Array, scales: list[Array]) -> Array:
        """Score columns, or coefficients of such, with every class's score times its scale.

        Indicators: ``a_1·q_1 - a_0·q_0 = ½(a_1+a_0)·d + ½(a_1-a_0)·e``; the sums e, of which all
        labels may have one in common, stay as they are, and no probability depends on them.
        """
        if not self.indicator:
            return columns * np.concatenate(scales)
        off, on = np.stack(scales, axis=1)
        d, e = columns[..., : self.n_labels], columns[..., self.n_labels :]
        return np.concatenate([d * (on + off) / 2 + e * (on - off) / 2, e], axis=-1)

    def offset_columns(self, offsets: list[Array], n_columns: int) -> Array:
        """What to add to the score columns for every class's score to be moved by its offset."""
        if not self.indicator:
            return np.concatenate(offsets)
        off, on = np.stack(offsets, axis=1)
        return np.concatenate([on - off, np.zeros(n_columns - self.n_labels)])


@dataclass(frozen=True)
class LabelTargets:
    """What held-out scores of labels are calibrated by, in the scores' order.

    Attributes
    ----------
    layout : ScoreLayout
    targets : list of ndarrays of shape (R, classes)
        Chance of every class of every label.
    weights : ndarray of shape (R, T)
        Numbers of copies, from ``sample_weight`` alone; 0 where unobserved.
    n_smooth : float
        Number of copies of all training rows.
    repeated : float
        Share of them that have another copy of their class, the mean over labels.
    """

    layout: ScoreLayout
    targets: list[Array]
    weights: Array
    n_smooth: float
    repeated: float

    def beta(self, scores: Array) -> float:
        """The one beta that calibrates all labels."""
        return fit_common_beta(joined(self.blocks(scores)), self.n_smooth)

    def links(self, scores: Array, balances: list[Array] | None = None) -> tuple[Link, list[Link]]:
        """The link of all labels together, and one for every label, near the common one."""
        return label_links(self.blocks(scores), self.n_smooth, self.repeated, balances)

    @property
    def many_copies(self) -> bool:
        """Whether most rows were seen more than once."""
        return self.repeated >= MANY_COPIES

    def blocks(self, scores: Array) -> list[tuple[Array, Array, Array]]:
        """Scores, targets and weights of every label's observed rows."""
        by_label = self.layout.by_label(scores.astype(np.float64, copy=False))
        blocks = []
        for t, (q, z) in enumerate(zip(by_label, self.targets, strict=True)):
            seen = self.weights[:, t] > 0
            blocks.append((q[seen], z[seen], self.weights[seen, t]))
        return blocks


@dataclass(frozen=True)
class HeldOutLabels(LabelTargets):
    """The copies of rows that held-out scores speak of, in the scores' order.

    Attributes
    ----------
    layout, targets, weights, n_smooth, repeated
        As in :class:`LabelTargets`.
    fit_targets, fit_weights : ndarrays of shape (R, score columns)
        What least squares fits, with ``class_weight`` too.
    pair_weights : ndarray of shape (R, T)
        The same weights by label.
    starts : ndarray or None
        Where each fold begins; None to score all rows together.
    validation : Validation
        What was held out.
    expand : callable
        Gives (Y of original rows, scores for them) to a user's own criterion.
    """

    fit_targets: Array
    fit_weights: Array
    pair_weights: Array
    starts: NDArray[np.intp] | None
    validation: Validation
    expand: Callable[[Array], tuple[Array, Array]]

    def parts(self) -> list[slice]:
        """Return the slices of rows scored together."""
        if self.starts is None:
            return [slice(0, len(self.weights))]
        return [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def strata(self) -> NDArray[np.intp] | None:
        """Of a single label, the class of each entry, one more where it is unobserved."""
        if self.layout.n_labels > 1:
            return None
        unknown = self.targets[0].shape[1]
        return np.where(self.weights[:, 0] > 0, self.targets[0].argmax(axis=1), unknown)

    def reweighted(self, factors: Array) -> HeldOutLabels:
        """The same with every entry's weights times a factor; entries of weight 0 are unknown."""

        def expand(scores: Array) -> tuple[Array, Array]:
            return self.expand(np.where(factors[:, None] > 0, scores, np.nan))

        column = factors[:, None]
        return replace(
            self,
            weights=self.weights * column,
            fit_weights=self.fit_weights * column,
            pair_weights=self.pair_weights * column,
            expand=expand,
        )


def resolve_label_scoring(scoring: Any, indicator: bool) -> Any:
    """Return the criterion's own name, or the callable given."""
    if scoring is None:
        return "squared_error"
    if callable(scoring):
        return scoring
    name = ALIASES.get(scoring, scoring)
    if name not in NAMES:
        raise ValueError(
            f"scoring={scoring!r} is not known. Choose one of {list(NAMES)}, scikit-learn's names "
            f"{sorted(ALIASES)}, or a function of (Y_true, scores)."
        )
    if name == "lrap" and not indicator:
        raise ValueError(
            "scoring='lrap' ranks labels that are on or off, but Y has more than two classes: use "
            "'squared_error', 'log_loss', 'hamming_loss', 'f1_macro' or 'roc_auc'."
        )
    return name


def score_label_grid(
    scores: Array, rows: HeldOutLabels, scoring: Any
) -> tuple[Array, Array | None]:
    """Score every grid point on every part.

    Parameters
    ----------
    scores : ndarray of shape (P, R, score columns)
    rows : HeldOutLabels
    scoring : str or callable

    Returns
    -------
    values : ndarray of shape (P, parts)
        Greater is better; NaN where a criterion is not defined.
    by_row : ndarray of shape (P, R) or None
        Each row's own score, for criteria that are means over pairs.
    """
    parts = rows.parts()
    if isinstance(scoring, str) and scoring in ROW_WISE:
        by_row = np.stack([row_scores(point, rows, scoring) for point in scores])
        weights = row_weights(rows, scoring)
        values = np.stack([by_row[:, part] @ _shares(weights[part]) for part in parts], axis=1)
        return values, by_row
    values = np.array(
        [[_score_part(point, rows, part, scoring) for part in parts] for point in scores]
    )
    return values, None


def _shares(weights: Array) -> Array:
    """Weights that add up to one; NaN where there are none."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.size, np.nan)


def row_weights(rows: HeldOutLabels, scoring: Any) -> Array:
    """Weight of a row in the mean of a row-wise criterion: that of its pairs together."""
    source = rows.fit_weights if scoring == "squared_error" else rows.weights
    return np.asarray(source.sum(axis=1))


def row_scores(point: Array, rows: HeldOutLabels, scoring: str) -> Array:
    """Mean score of every row over its observed labels; 0 for a row without any."""
    if scoring == "squared_error":
        losses, weights = np.square(point - rows.fit_targets), rows.fit_weights
    else:
        weights = rows.weights
        by_label = rows.layout.by_label(point.astype(np.float64, copy=False))
        if scoring == "log_loss":
            beta = rows.beta(point)
            columns = [
                log_loss_rows(q, beta, z) for q, z in zip(by_label, rows.targets, strict=True)
            ]
        else:
            columns = [
                1.0 - z[np.arange(len(z)), q.argmax(axis=1)]
                for q, z in zip(by_label, rows.targets, strict=True)
            ]
        losses = np.column_stack(columns)
    total = weights.sum(axis=1)
    return -(losses * weights).sum(axis=1) / np.where(total > 0, total, 1.0)


def _score_part(point: Array, rows: HeldOutLabels, part: slice, scoring: Any) -> float:
    if callable(scoring) or scoring == "lrap":
        mask = np.zeros(len(rows.weights), dtype=bool)
        mask[part] = True
        Y, expanded = rows.expand(np.where(mask[:, None], point, np.nan))
        known = ~np.isnan(expanded).any(axis=1)
        if callable(scoring):
            return float(scoring(Y[known], expanded[known]))
        known &= ~np.isnan(Y).any(axis=1)
        if not known.any():
            return float("nan")
        return float(label_ranking_average_precision_score(Y[known], expanded[known]))
    by_label = rows.layout.by_label(point[part].astype(np.float64, copy=False))
    values, hits, sizes = [], [], []
    for t, (q, z) in enumerate(
        zip(by_label, (target[part] for target in rows.targets), strict=True)
    ):
        weights = rows.weights[part, t]
        wanted = [1] if q.shape[1] == 2 else range(q.shape[1])
        for y in wanted:
            if scoring == "roc_auc":
                value = q[:, 1] - q[:, 0] if q.shape[1] == 2 else q[:, y]
                values.append(weighted_auc(value, weights * z[:, y], weights * (1.0 - z[:, y])))
            else:
                predicted = q.argmax(axis=1) == y
                hits.append(float(weights @ (predicted * z[:, y])))
                sizes.append(float(weights @ (predicted + z[:, y])))
    if scoring == "roc_auc":
        defined = [value for value in values if not np.isnan(value)]
        return float(np.mean(defined)) if defined else float("nan")
    if scoring == "f1_micro":
        return 2.0 * sum(hits) / max(sum(sizes), 1e-300)
    return float(np.mean([2.0 * h / s if s > 0 else 0.0 for h, s in zip(hits, sizes, strict=True)]))


def best_f1_threshold(proba: Array, positive: Array, negative: Array) -> float:
    """The threshold with the best F1 of ``proba > threshold``; ½ without positives.

    It lies midway between two probabilities.

    Parameters
    ----------
    proba : ndarray of shape (R,)
        Held-out probabilities.
    positive, negative : ndarrays of shape (R,)
        Weights of the two sides.

    Examples
    --------
    >>> import numpy as np
    >>> best_f1_threshold(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 1]), np.array([1, 0, 0]))
    0.15000000000000002
    """
    if positive.sum() <= 0:
        return 0.5
    levels, where = np.unique(proba, return_inverse=True)
    above = np.cumsum(np.bincount(where, weights=positive)[::-1])[::-1]
    called = np.cumsum(np.bincount(where, weights=positive + negative)[::-1])[::-1]
    f1 = 2.0 * above / (called + positive.sum())
    best = int(f1.argmax())
    below = levels[best - 1] if best > 0 else 0.0
    return float(0.5 * (levels[best] + below))
