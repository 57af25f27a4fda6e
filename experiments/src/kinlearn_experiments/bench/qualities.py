"""The figures of a cell: how right, how well ranked and how trustworthy the probabilities are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from kinlearn.metrics import brier_score, expected_calibration_error

Floats = NDArray[np.float64]

# Figures of which more is better; of all others less is.
GREATER = frozenset({"accuracy", "auc"})
QUALITIES = ("accuracy", "auc", "log_loss", "brier", "ece")
# A forest or a count of neighbours may answer exactly 0: one such row must not decide a table.
LEAST_PROBABILITY = 1e-6
# Rows that are further from summing to one than single precision explains are a fault.
SUM_TOLERANCE = 1e-3


def qualities(truth: Sequence[NDArray[np.int64]], proba: Sequence[Floats]) -> dict[str, float]:
    """Accuracy, AUC, log-loss, Brier score and calibration error over all rows of all blocks.

    A block is a task or a label (one block: a single problem). The AUC is the mean over blocks, and
    in a block over its classes against the rest where the test rows have both; the others are means
    over all rows. The log-loss is of probabilities kept at 1e-6 or above.

    Parameters
    ----------
    truth : sequence of ndarray of shape (n_i,)
        Class numbers.
    proba : sequence of ndarray of shape (n_i, c_i)
        A column for each class number.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.bench.qualities import qualities
    >>> found = qualities([np.array([0, 1])], [np.array([[0.75, 0.25], [0.25, 0.75]])])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 1.0, 'auc': 1.0, 'log_loss': 0.288, 'brier': 0.125, 'ece': 0.25}
    """
    for table, codes in zip(proba, truth, strict=True):
        _check(table, codes)
    width = max(table.shape[1] for table in proba)
    padded = np.vstack([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in proba])
    codes = np.concatenate(truth)
    right = padded[np.arange(codes.size), codes]
    classes = np.arange(width)
    return {
        "accuracy": float(np.mean(padded.argmax(axis=1) == codes)),
        "auc": _mean_auc(truth, proba),
        "log_loss": float(-np.log(np.maximum(right, LEAST_PROBABILITY)).mean()),
        "brier": float(brier_score(codes, padded, classes=classes)),
        "ece": expected_calibration_error(codes, padded, classes=classes),
    }


def _mean_auc(truth: Sequence[NDArray[np.int64]], proba: Sequence[Floats]) -> float:
    """NaN where no block has rows of two classes."""
    per_block = []
    for codes, table in zip(truth, proba, strict=True):
        # Two classes have one curve, read from either side.
        columns = [1] if table.shape[1] == 2 else np.unique(codes)
        areas = [
            roc_auc_score(codes == k, table[:, k])
            for k in columns
            if (codes == k).any() and (codes != k).any()
        ]
        if areas:
            per_block.append(np.mean(areas))
    return float(np.mean(per_block)) if per_block else float("nan")


def _check(table: Floats, codes: NDArray[np.int64]) -> None:
    if table.ndim != 2 or len(table) != len(codes):
        raise ValueError(
            f"predict_proba gave an array of shape {table.shape} for {len(codes)} rows; one row of "
            "probabilities for each was expected."
        )
    if not np.isfinite(table).all():
        raise ValueError("predict_proba gave values that are not finite.")
    worst = float(np.abs(table.sum(axis=1) - 1.0).max())
    if worst > SUM_TOLERANCE or table.min() < -SUM_TOLERANCE:
        raise ValueError(
            f"predict_proba gave rows that are no probabilities: sums off by {worst:.2g}, "
            f"least value {table.min():.2g}."
        )
