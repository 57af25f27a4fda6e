"""Prevalidated ridge: linear ridge scores, their scale fitted on exact leave-one-out scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from kinlearn.posterior import Link
from kinlearn.selection.links import fit_beta, log_loss_rows

Floats = NDArray[np.float64]
REGS = np.logspace(-3, 3, 13)


class PrevalidatedRidge(ClassifierMixin, BaseEstimator):
    """min_W ||Z - 1b' - XW||² + reg ||W||², then softmax(beta * scores).

    ``reg`` and ``beta`` have the least log-loss of the leave-one-out scores, after [1]_; its
    authors' code is not used.

    Parameters
    ----------
    regs : ndarray
        Strengths to try.

    References
    ----------
    .. [1] Dempster, Webb, Schmidt (2024). Prevalidated ridge regression is a highly-efficient
       drop-in replacement for logistic regression for high-dimensional data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from kinlearn_experiments.bench.methods.prevalidated_ridge import PrevalidatedRidge
    >>> X, y = load_wine(return_X_y=True)
    >>> PrevalidatedRidge().fit(scale(X), y).score(scale(X), y) > 0.95
    True
    """

    def __init__(self, regs: NDArray[np.float64] = REGS) -> None:
        self.regs = regs

    def fit(self, X: Floats, y: NDArray[Any]) -> PrevalidatedRidge:
        """Decompose once, try every reg, keep the best."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        Z = np.eye(len(self.classes_))[codes]
        self.mean_, self.prior_ = X.mean(axis=0), Z.mean(axis=0)
        U, s, Vt = np.linalg.svd(X - self.mean_, full_matrices=False)
        projected = U.T @ (Z - self.prior_)
        best = np.inf
        for reg in self.regs:
            held_out = left_out_scores(U, s, projected, Z, self.prior_, reg)
            beta = float(fit_beta(held_out, Z))
            loss = float(log_loss_rows(held_out, beta, Z).mean())
            if loss < best:
                best, self.reg_, self.beta_ = loss, float(reg), beta
        self.coef_ = Vt.T @ ((s / (s**2 + self.reg_))[:, None] * projected)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Calibrated softmax of the scores."""
        return Link(self.beta_)((X - self.mean_) @ self.coef_ + self.prior_)

    def predict(self, X: Floats) -> NDArray[Any]:
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def left_out_scores(
    U: Floats, s: Floats, projected: Floats, Z: Floats, prior: Floats, reg: float
) -> Floats:
    """Scores of every row by the ridge without it: (q_i - h_i z_i) / (1 - h_i)."""
    shrink = s**2 / (s**2 + reg)
    scores = prior + U @ (shrink[:, None] * projected)
    leverage = (1.0 / len(U) + (U**2) @ shrink)[:, None]
    return (scores - leverage * Z) / np.maximum(1.0 - leverage, 1e-12)
