"""LSPC-new, LSPC and KLR by the LSPC-new paper's rules, for many binary labels of the same rows.

    α_y = (K² + nλI)⁻¹ K z_y                                            (after Eq. 3)
    LSPC       max(0, α_1)ᵀφ / Σ_y max(0, α_y)ᵀφ                        (Eq. 4)
    LSPC'      α_1ᵀφ / Σ_y α_yᵀφ                                        (Eq. 5)
    LSPC-new   max(0, α_1ᵀφ) / Σ_y max(0, α_yᵀφ), ½ where both are 0    (Eq. 6)

σ and λ are chosen for every label and method by cross-validation for the AUC. KLR's λ weighs
against the sum of the losses, as is usual there, so that its reg is λ/n: against their mean, these
λ leave nothing of a rare label.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.stats import rankdata

from kinlearn import LSPC, KernelLogisticRegression
from kinlearn_experiments.reproduce.grids import LAMBDAS, WIDTHS, median_distance
from kinlearn_experiments.reproduce.logistic_labels import logistic_labels

Array = NDArray[np.float64]
METHODS = ("LSPC-new", "LSPC", "KLR")
# Enough to rank held-out rows; the final training is exact.
TUNING_TOLERANCE, TUNING_STEPS = 1e-2, 60


@dataclass(frozen=True)
class ThreeOutcomes:
    """AUC of every label by each method, and processor seconds of training one label."""

    auc: dict[str, Array]
    seconds: dict[str, float]


def label_aucs(Z: Array, scores: Array) -> Array:
    """Area under the ROC curve of every column; ½ where a class is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn_experiments.reproduce.three_methods import label_aucs
    >>> label_aucs(np.array([[0, 1], [1, 0], [1, 1]]), np.array([[0.1, 1], [0.5, 2], [0.4, 3]]))
    array([1. , 0.5])
    """
    positive = Z > 0
    n, m = positive.sum(axis=0), (~positive).sum(axis=0)
    ranks = np.where(positive, rankdata(scores, axis=0), 0.0).sum(axis=0)
    pairs = np.maximum(n * m, 1)
    return np.where(n * m > 0, (ranks - n * (n + 1) / 2) / pairs, 0.5)


def run_three(
    train: Array,
    test: Array,
    Z: Array,
    Z_test: Array,
    seed: int,
    n_folds: int = 2,
    correct: bool = False,
) -> ThreeOutcomes:
    """Tune, train and score all three methods on one split.

    Parameters
    ----------
    train, test : arrays of shapes (n, n) and (m, n)
        Squared distances (or what takes their place) to the training rows.
    Z, Z_test : arrays of shapes (n, L) and (m, L)
        Labels, 0 or 1.
    seed : int
        Of the folds.
    n_folds : int, default=2
        As in the paper.
    correct : bool, default=False
        Whether the "distances" are such that their kernel must be made positive semi-definite.
    """
    n, L = Z.shape
    median = median_distance(train)
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    shape = (len(WIDTHS), len(LAMBDAS), L)
    held = {name: np.zeros(shape) for name in METHODS}
    for k in range(n_folds):
        inner, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for w, width in enumerate(WIDTHS):
            K, K_out = kernels(
                train[np.ix_(inner, inner)], train[np.ix_(out, inner)], width * median, correct
            )
            for i, scores in _path(K, K_out, Z[inner]):
                for name, values in scores.items():
                    held[name][w, i] += label_aucs(Z[out], values)
    auc = {name: np.empty(L) for name in METHODS}
    best = {name: held[name].reshape(-1, L).argmax(axis=0) for name in METHODS}
    for w, width in enumerate(WIDTHS):
        if not any((best[name] // len(LAMBDAS) == w).any() for name in METHODS):
            continue
        K, K_test = kernels(train, test, width * median, correct)
        square = K @ K
        for i, lambda_ in enumerate(LAMBDAS):
            chosen = {name: np.flatnonzero(best[name] == w * len(LAMBDAS) + i) for name in METHODS}
            least_squares = np.union1d(chosen["LSPC-new"], chosen["LSPC"])
            if least_squares.size:
                found = _least_squares(K, square, K_test, Z[:, least_squares], lambda_)
                for name in ("LSPC-new", "LSPC"):
                    at = np.searchsorted(least_squares, chosen[name])
                    values = found[name][:, at]
                    auc[name][chosen[name]] = label_aucs(Z_test[:, chosen[name]], values)
            for t in chosen["KLR"]:
                model = KernelLogisticRegression(
                    kernel="precomputed", reg=lambda_ / n, n_centers=None
                )
                logits = np.asarray(model.fit(K, Z[:, t]).decision_function(K_test))
                auc["KLR"][t] = label_aucs(Z_test[:, [t]], logits[:, None])[0]
    K, _ = kernels(train, test[:1], median, correct)
    seconds = training_seconds(K, Z[:, 0])
    return ThreeOutcomes(auc, seconds)


def kernels(train: Array, test: Array, sigma: float, correct: bool = False) -> tuple[Array, Array]:
    """exp(-d²/(2σ²)) among training rows and towards them.

    The correction sets negative eigenvalues of the first to zero and projects the second on the
    eigenvectors that remain, as :class:`~kinlearn.features.HiddenMarkovKernel` does.
    """
    K, K_test = (np.exp(-squared / (2.0 * sigma**2)) for squared in (train, test))
    if not correct:
        return K, K_test
    s, U = eigh(K, driver="evd", check_finite=False)
    U = U[:, s > 0]
    K = (U * s[s > 0]) @ U.T
    return 0.5 * (K + K.T), K_test @ U @ U.T


def posteriors(one: Array, zero: Array) -> Array:
    """Eq. 6 (or Eq. 4, whose outputs are never negative)."""
    one, zero = np.maximum(one, 0.0), np.maximum(zero, 0.0)
    total = one + zero
    return np.divide(one, total, out=np.full_like(one, 0.5), where=total > 0)


def _outputs(K_test: Array, one: Array, both: Array) -> dict[str, Array]:
    """Posteriors by both rules from the parameters of class 1 and of both classes together."""
    zero = both[:, None] - one
    q_one = K_test @ one
    q_both = K_test @ both
    return {
        "LSPC-new": posteriors(q_one, q_both[:, None] - q_one),
        "LSPC": posteriors(K_test @ np.maximum(one, 0.0), K_test @ np.maximum(zero, 0.0)),
    }


def _least_squares(
    K: Array, square: Array, K_test: Array, Z: Array, lambda_: float
) -> dict[str, Array]:
    system = square + len(K) * lambda_ * np.eye(len(K))
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    both = cho_solve(factor, K.sum(axis=1), check_finite=False)
    return _outputs(K_test, cho_solve(factor, K @ Z, check_finite=False), both)


def _path(K: Array, K_out: Array, Z: Array) -> Iterator[tuple[int, dict[str, Array]]]:
    """Outputs of the held-out rows for every λ, from the largest on."""
    n = len(K)
    s, U = eigh(K, driver="evd", check_finite=False)
    projected, ones = U.T @ Z, U.sum(axis=0)
    seen = K_out @ U
    w: Array | None = None
    for i in reversed(range(len(LAMBDAS))):
        filtered = s / (s**2 + n * LAMBDAS[i])
        scores = _outputs(K_out, U @ (filtered[:, None] * projected), U @ (filtered * ones))
        w = logistic_labels(s, U, Z, LAMBDAS[i] / n, w, TUNING_TOLERANCE, TUNING_STEPS)
        # f(x) = k(x)ᵀα with α = Uw: the features in the eigenbasis are Uᵀk(x)
        scores["KLR"] = seen @ w
        yield i, scores


def training_seconds(K: Array, z: Array) -> dict[str, float]:
    """Time of one training after tuning, at λ = 0.1, by the library's own classes."""
    models = {
        "LSPC-new": LSPC(kernel="precomputed", reg=0.1, posterior="rounded", n_centers=None),
        "LSPC": LSPC(kernel="precomputed", reg=0.1, posterior="rounded_parameters", n_centers=None),
        "KLR": KernelLogisticRegression(kernel="precomputed", reg=0.1 / len(K), n_centers=None),
    }
    seconds = {}
    for name, model in models.items():
        started = time.process_time()
        model.fit(K, z)
        seconds[name] = time.process_time() - started
    return seconds
