"""ML-LSPC and plain LSPC for many labels by the multi-label paper's rules: grids, folds, criterion.

    (K²/n)·Θ + Θ·(λI + γL/T) = KΞ/n,    W = max(0, Pearson correlation of the labels)       (Eq. 1)

solved for every (λ, γ) at once from the eigenvectors of K and of L. Plain LSPC is γ = 0 with (σ, λ)
chosen for each label by itself. With targets ±1 the solution is q(1|x) - q(0|x); all-ones targets
give q(1|x) + q(0|x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kinlearn.solvers.label_similarity import pearson
from kinlearn_experiments.reproduce.grids import GAMMAS, LAMBDAS, WIDTHS, median_distance

Array = NDArray[np.float64]
# Takes labels and predictions of shape (..., n, T) as booleans; returns a figure for (...,).
Criterion = Callable[[NDArray[np.bool_], NDArray[np.bool_]], Array]
METHODS = ("LSPC", "ML-LSPC")


@dataclass(frozen=True)
class LabelOutcome:
    """Posteriors and differences of scores of the test rows, and the grid points chosen."""

    posterior: Array
    difference: Array
    chosen: list[dict[str, float]]


def right_share(Y: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
    """Return the share of right (row, label) pairs."""
    return np.asarray((predicted == Y).mean(axis=(-2, -1)))


def f_measure(Y: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> Array:
    """Return the F-measure of all (row, label) pairs together; 0 where nothing is right."""
    both = (predicted & Y).sum(axis=(-2, -1))
    total = predicted.sum(axis=(-2, -1)) + Y.sum()
    return np.asarray(np.divide(2.0 * both, total, out=np.zeros(both.shape), where=total > 0))


def run_label_method(
    name: str, train: Array, test: Array, Y: NDArray, criterion: Criterion, seed: int, n_folds: int
) -> LabelOutcome:
    """Tune by cross-validation, train, and score the test rows.

    Parameters
    ----------
    name : {"LSPC", "ML-LSPC"}
        Labels apart or together.
    train, test : arrays of shapes (n, n) and (m, n)
        Squared distances to the training rows.
    Y : array of shape (n, T)
        Labels, 0 or 1.
    criterion : callable
        What the held-out predictions of all folds together are judged by; greater is better, and
        of equal points the first is taken.
    seed : int
        Of the folds.
    n_folds : int
        Their number.
    """
    if name not in METHODS:
        raise ValueError(f"name must be one of {METHODS}, but it is {name!r}.")
    gammas = (0.0,) if name == "LSPC" else GAMMAS
    n, T = Y.shape
    median = median_distance(train)
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    held = np.empty((len(WIDTHS), len(LAMBDAS), len(gammas), n, T))
    for k in range(n_folds):
        inner, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for w, width in enumerate(WIDTHS):
            held[w, :, :, out] = np.moveaxis(
                differences(
                    kernel(train[np.ix_(inner, inner)], width * median),
                    kernel(train[np.ix_(out, inner)], width * median),
                    Y[inner],
                    gammas,
                ),
                2,
                0,
            )
    truth, predicted = Y > 0, held > 0
    groups = [np.arange(T)] if name == "ML-LSPC" else [np.array([t]) for t in range(T)]
    difference, total, chosen = np.empty((len(test), T)), np.empty((len(test), T)), []
    for labels in groups:
        values = criterion(truth[:, labels], predicted[..., labels])
        w, i, j = map(int, np.unravel_index(int(np.argmax(values)), values.shape))
        width, lambda_, gamma = WIDTHS[w], LAMBDAS[i], gammas[j]
        K, K_test = kernel(train, width * median), kernel(test, width * median)
        of = Y[:, labels]
        difference[:, labels] = differences(K, K_test, of, (gamma,), (lambda_,))[0, 0]
        total[:, labels] = sums(K, K_test, lambda_)[:, None]
        chosen.append({"width": width, "lambda": lambda_, "gamma": gamma})
    return LabelOutcome(rounded(difference, total), difference, chosen)


def kernel(squared: Array, sigma: float) -> Array:
    """Gaussian kernel of squared distances."""
    return np.asarray(np.exp(-squared / (2.0 * sigma**2)))


def differences(
    K: Array,
    K_test: Array,
    Y: NDArray,
    gammas: tuple[float, ...],
    lambdas: tuple[float, ...] = LAMBDAS,
) -> Array:
    """q(1|x) - q(0|x) of the test rows at every (λ, γ): shape (n_lambdas, n_gammas, m, T)."""
    n, T = Y.shape
    s, U = eigh(K, driver="evd", check_finite=False)
    W = np.maximum(pearson(Y.astype(float)), 0.0)
    np.fill_diagonal(W, 0.0)
    l, V = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    targets = s[:, None] * (U.T @ (2.0 * Y - 1.0) @ V)
    seen = K_test @ U
    found = np.empty((len(lambdas), len(gammas), len(K_test), T))
    for i, lambda_ in enumerate(lambdas):
        for j, gamma in enumerate(gammas):
            theta = targets / (s[:, None] ** 2 + n * (lambda_ + gamma * l / T))
            found[i, j] = seen @ theta @ V.T
    return found


def sums(K: Array, K_test: Array, lambda_: float) -> Array:
    """q(1|x) + q(0|x), the same for all labels: similarity does not act on equal parameters."""
    n = len(K)
    s, U = eigh(K, driver="evd", check_finite=False)
    return np.asarray(K_test @ (U @ (s * U.sum(axis=0) / (s**2 + n * lambda_))))


def rounded(difference: Array, total: Array) -> Array:
    """Posterior of 1 with negative outputs rounded up to zero; ½ where both are."""
    one, zero = np.maximum(0.0, total + difference), np.maximum(0.0, total - difference)
    both = one + zero
    return np.divide(one, both, out=np.full_like(one, 0.5), where=both > 0)
