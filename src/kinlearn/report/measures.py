"""Accuracy, AUC, log-loss, Brier score and calibration error, with bootstrap intervals.

All are sums over rows, weighted by how often a row was drawn, so that hundreds of resamples are a
few matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta as beta_law

from kinlearn.selection.hand_over import independent_share
from kinlearn.tables.evaluation import Evaluation

Floats = NDArray[np.float64]

N_BINS = 15
N_RESAMPLES = 400
LEVEL = 0.95
# Rows times resamples held at one time.
_CELLS = 4_000_000


class Measure(NamedTuple):
    """A figure and the interval its bootstrap gives; NaN where it is not defined."""

    value: float
    low: float
    high: float


def measure(
    evaluation: Evaluation, *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> dict[str, Measure]:
    """Return ``accuracy``, ``auc``, ``log_loss``, ``brier`` and ``ece``.

    The interval of the accuracy is Clopper and Pearson's; the others are of the percentile
    bootstrap over the held-out rows, or over whole groups where there are any. The model is not
    fitted anew. AUC of several classes is the mean over
    classes of one against the rest.

    Parameters
    ----------
    evaluation : Evaluation
        Rows and their probabilities.
    n_resamples : int
        Resamples of the bootstrap.
    seed : int
        Its seed.

    Returns
    -------
    dict of str to Measure
    """
    ones = np.ones((1, evaluation.n_rows))
    points = figures(evaluation, ones)
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // max(evaluation.n_rows, 1))
    parts = []
    for start in range(0, n_resamples, step):
        weights = _draw(evaluation, min(step, n_resamples - start), rng)
        parts.append(figures(evaluation, weights))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    found = {
        name: Measure(
            float(points[name][0]),
            *_quantiles(np.concatenate([part[name] for part in parts]), tails),
        )
        for name in points
    }
    return {**found, "accuracy": accuracy_of(evaluation)}


def accuracy_of(evaluation: Evaluation, level: float = LEVEL) -> Measure:
    """Share of right answers with its exact interval.

    Rows of a group err together, so that each is worth less than a case
    (:func:`kinlearn.selection.hand_over.independent_share`).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(891)
    >>> sure = np.tile([1.0, 0.0], (891, 1))
    >>> accuracy_of(Evaluation(["no", "yes"], np.zeros(891, int), sure, rows, "new rows")).low
    0.9958...
    """
    n, right = evaluation.n_rows, evaluation.right
    group = np.arange(n) if evaluation.group is None else evaluation.group
    share = independent_share(~right, group)
    return Measure(float(right.mean()), *exact_interval(share * right.sum(), share * n, level))


def share_of(successes: int, n: int) -> Measure:
    """A share of independent rows with its exact interval; NaN of none."""
    value = successes / n if n else float("nan")
    return Measure(value, *exact_interval(successes, n, LEVEL))


def figures(evaluation: Evaluation, weights: Floats) -> dict[str, Floats]:
    """The figures under each row of `weights` (resamples × rows)."""
    total = weights.sum(axis=1)
    likeliest = (evaluation.likeliest == evaluation.truth).astype(np.float64)
    right = evaluation.right.astype(np.float64)
    tiny = np.finfo(np.float64).tiny
    loss = -np.log(np.maximum(evaluation.of_truth, tiny))
    one_hot = np.eye(len(evaluation.classes))[evaluation.truth]
    brier = np.square(evaluation.proba - one_hot).sum(axis=1)
    return {
        "accuracy": weights @ right / total,
        "auc": _mean_auc(evaluation, weights),
        "log_loss": weights @ loss / total,
        "brier": weights @ brier / total,
        "ece": calibration_error(evaluation.confidence, likeliest, weights),
    }


def _draw(evaluation: Evaluation, n: int, rng: np.random.Generator) -> Floats:
    """How often each row is drawn; rows of a group are drawn together."""
    if evaluation.group is None:
        size = evaluation.n_rows
        return rng.multinomial(size, np.full(size, 1.0 / size), size=n).astype(np.float64)
    names, member = np.unique(evaluation.group, return_inverse=True)
    times = rng.multinomial(len(names), np.full(len(names), 1.0 / len(names)), size=n)
    return times[:, member].astype(np.float64)


def _mean_auc(evaluation: Evaluation, weights: Floats) -> Floats:
    n_classes = len(evaluation.classes)
    if n_classes == 2:
        return weighted_auc(evaluation.truth == 1, evaluation.proba[:, 1], weights)
    aucs = np.stack(
        [
            weighted_auc(evaluation.truth == k, evaluation.proba[:, k], weights)
            for k in range(n_classes)
        ]
    )
    known = np.isfinite(aucs)
    count = known.sum(axis=0)
    sums = np.where(known, aucs, 0.0).sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def weighted_auc(positive: NDArray[np.bool_], score: Floats, weights: Floats) -> Floats:
    """Area under the ROC curve under each row of `weights`; NaN where a class is absent.

    The chance that a positive row scores higher than a negative one, ties counting half.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_auc(np.array([False, True, True]), np.array([0.1, 0.1, 0.9]), np.ones((1, 3)))
    array([0.75])
    """
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    sorted_weights = weights[:, order]
    up = np.add.reduceat(sorted_weights * positive[order], starts, axis=1)
    down = np.add.reduceat(sorted_weights * ~positive[order], starts, axis=1)
    below = np.cumsum(down, axis=1) - down
    pairs = up.sum(axis=1) * down.sum(axis=1)
    better = (up * (below + 0.5 * down)).sum(axis=1)
    return np.where(pairs > 0, better / np.where(pairs > 0, pairs, 1.0), np.nan)


def calibration_error(confidence: Floats, right: Floats, weights: Floats) -> Floats:
    """Σ_b |Σ_{i in b} w_i (right_i - confidence_i)| / Σ w_i, over bins of confidence."""
    edges = np.arange(1, N_BINS) / N_BINS
    member = np.searchsorted(edges, confidence, side="left")
    bins = np.eye(N_BINS)[member] * (right - confidence)[:, None]
    return np.abs(weights @ bins).sum(axis=1) / weights.sum(axis=1)


def _quantiles(values: Floats, tails: list[float]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if finite.size < values.size / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, tails)
    return float(low), float(high)


def exact_interval(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share.

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(9, 10)]
    [0.555, 0.997]
    """
    if n == 0:
        return 0.0, 1.0
    tail = (1.0 - level) / 2
    low = 0.0 if successes == 0 else float(beta_law.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta_law.isf(tail, successes + 1, n - successes))
    return low, high
