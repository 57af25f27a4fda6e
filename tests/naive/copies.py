"""Rows that coincide: fits to rows as passed, and refits without one copy of a row."""

import numpy as np

from naive.held_out import convention
from naive.kernels import naive_kernel
from naive.lspc import naive_ridge


def naive_merged(X, y, weights, n_classes):
    """Distinct rows of positive weight with their weights and the weighted means of targets."""
    kept = weights > 0
    rows, member = np.unique(X[kept], axis=0, return_inverse=True)
    mass = np.zeros((len(rows), n_classes))
    np.add.at(mass, (member.ravel(), y[kept]), weights[kept])
    total = mass.sum(axis=1)
    return rows, mass / total[:, None], total


def naive_scores_of_rows(
    X, y, weights, X_new, sigma, reg, *, ridge=None, centers=None, classwise=None, n_classes=None
):
    """Fit to rows as passed, identical ones merged, every distinct row a centre; score new rows.

    With `classwise` = (X, y) a class has the centres at which that table has it.
    """
    n_classes = y.max() + 1 if n_classes is None else n_classes
    rows, Z, total = naive_merged(X, y, weights, n_classes)
    ridge = reg * total.sum() if ridge is None else ridge
    centers = rows if centers is None else centers
    own = np.ones((n_classes, len(centers)), bool)
    if classwise is not None:
        for k in range(n_classes):
            having = classwise[0][classwise[1] == k]
            own[k] = [(having == center).all(axis=1).any() for center in centers]
    scores = np.empty((len(X_new), n_classes))
    for k, used in enumerate(own):
        Phi, Phi_new = (naive_kernel("rbf", A, centers[used], sigma) for A in (rows, X_new))
        scores[:, k] = (Phi_new @ naive_ridge(Phi, Z[:, [k]], ridge, total))[:, 0]
    return scores


def without_one_copy(X, y, weights, i):
    """Weights when one copy of row i leaves: of those with its class, the mean weight."""
    same = (X[i] == X).all(axis=1) & (y == y[i])
    left = weights.astype(float)
    left[same] *= 1 - 1 / same.sum()
    return left


def leave_one_copy_out(X, y, sigma, reg, weights=None, **how):
    """Refit without one copy of every row as passed, under the one ridge of leave-one-out."""
    weights = np.ones(len(y)) if weights is None else weights
    how = {"ridge": convention(reg, weights), "n_classes": y.max() + 1, **how}
    return np.vstack(
        [
            naive_scores_of_rows(
                X, y, without_one_copy(X, y, weights, i), X[[i]], sigma, reg, **how
            )
            for i in range(len(y))
        ]
    )


def leave_folds_out(X, y, cv, sigma, reg, weights=None, **how):
    """Refit to the rows of each (train, test) in `cv` that stay, and score those that left."""
    weights = np.ones(len(y)) if weights is None else weights
    scores = np.empty((len(y), y.max() + 1))
    for train, test in cv:
        scores[test] = naive_scores_of_rows(
            X[train], y[train], weights[train], X[test], sigma, reg, n_classes=y.max() + 1, **how
        )
    return scores
