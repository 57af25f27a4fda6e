"""The logistic loss over rows, for one score of two classes or one score a class.

``L(f) = Σ_n share_n loss(f_n, z_n)``. Two classes have one score, ``loss = log(1+exp(f)) - z f``;
more have one score a class and ``loss = logsumexp(f) - zᵀf``, the symmetric softmax. Targets z may
be means of merged rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogisticLoss:
    """The loss of scores of shape (n, k), k = 1 for two classes.

    Attributes
    ----------
    targets : ndarray of shape (n, k)
        Chance of the second class, or of every class.
    share : ndarray of shape (n, 1)
        Weights of the rows; they add up to one over all rows of a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.solvers.logistic_loss import LogisticLoss
    >>> loss = LogisticLoss.of(np.eye(2), np.array([0.5, 0.5]))
    >>> round(loss.value(np.zeros((2, 1))), 4)
    0.6931
    """

    targets: Array
    share: Array

    @classmethod
    def of(cls, Z: Array, share: Array) -> LogisticLoss:
        """From one-hot (or mean) targets with a column a class."""
        return cls(Z[:, 1:] if Z.shape[1] == 2 else Z, np.asarray(share, dtype=float)[:, None])

    @property
    def binary(self) -> bool:
        return self.targets.shape[1] == 1

    def evaluate(self, f: Array) -> tuple[float, Array]:
        """``L(f)``, and the chance of the second class or of every class."""
        if self.binary:
            # log(1+exp(f)) - z f, from exp(-|f|), which cannot overflow
            small = np.exp(-np.abs(f))
            rows = np.maximum(f, 0.0) + np.log1p(small) - self.targets * f
            p = np.where(f >= 0.0, 1.0, small) / (1.0 + small)
            return float(self.share[:, 0] @ rows[:, 0]), p
        top = f.max(axis=1, keepdims=True)
        odds = np.exp(f - top)
        total = odds.sum(axis=1, keepdims=True)
        rows = (np.log(total) + top)[:, 0] - np.einsum("nk,nk->n", self.targets, f)
        return float(self.share[:, 0] @ rows), odds / total

    def value(self, f: Array) -> float:
        """``L(f)``."""
        return self.evaluate(f)[0]

    def slopes(self, p: Array) -> Array:
        """``∂L/∂f`` where the probabilities are p."""
        return self.share * (p - self.targets)

    def curvature(self, p: Array, change: Array) -> Array:
        """``∂²L/∂f²`` times a change of the scores."""
        if self.binary:
            return self.share * (p * (1.0 - p) * change)
        mean = np.einsum("nk,nk->n", p, change)[:, None]
        return self.share * (p * (change - mean))
